// SPDX-License-Identifier: Apache-2.0
// rdma_getaddrinfo with every combination of hints, by the distribution's own librdmacm: what it
// says must be what rdma_getaddrinfo(3) promises, and what it says must be of use: an endpoint is
// made from each answer (addresses and routes are resolved, listeners are bound), and of each kind
// that programs use a connection.
//
//   weft run -- addrinfo_hints
#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/ib.h>
#include <netdb.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kPort = 7431, kNone = 0 };

static int wrong = 0;
static int asked = 0;
static int connected = 0;

struct Case {
  const char* family_name;
  const char* node;
  int family;
  int flags;
  int qp_type;
  int port_space;
};

static void complain(const struct Case* c, const char* what) {
  fprintf(stderr, "%s, %s, QP type %d, port space %#x: %s\n", c->family_name,
          (c->flags & RAI_PASSIVE) != 0 ? "passive" : "active", c->qp_type, c->port_space, what);
  ++wrong;
}

static bool is_stream(int qp_type) {
  return qp_type == IBV_QPT_RC || qp_type == IBV_QPT_UC || qp_type == IBV_QPT_XRC_SEND ||
         qp_type == IBV_QPT_XRC_RECV;
}
static bool is_datagram_space(int port_space) {
  return port_space == RDMA_PS_UDP || port_space == RDMA_PS_IPOIB;
}

// "This could occur, for example, if hints.ai_qptype and hints.ai_port_space are inconsistent."
static bool is_consistent(const struct Case* c) {
  if (is_stream(c->qp_type) && is_datagram_space(c->port_space)) return false;
  return !(c->qp_type == IBV_QPT_UD && c->port_space == RDMA_PS_TCP);
}

// With no hint of either kind, a stream is what comes first.
static int expected_qp_type(const struct Case* c) {
  if (c->qp_type != kNone) return c->qp_type;
  return is_datagram_space(c->port_space) ? IBV_QPT_UD : IBV_QPT_RC;
}
static int expected_port_space(const struct Case* c) {
  if (c->port_space != kNone) return c->port_space;
  return c->qp_type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
}

static int port_of(const struct sockaddr* address) {
  switch (address->sa_family) {
    case AF_INET:
      return ntohs(((const struct sockaddr_in*)address)->sin_port);
    case AF_INET6:
      return ntohs(((const struct sockaddr_in6*)address)->sin6_port);
    case AF_IB:  // the low 16 bits of a service ID of the IP port spaces
      return (int)(be64toh(((const struct sockaddr_ib*)address)->sib_sid) & 0xFFFF);
    default:
      return -1;
  }
}

static int ask(const struct Case* c, struct rdma_addrinfo** answer) {
  const struct rdma_addrinfo hints = {.ai_flags = c->flags,
                                      .ai_family = c->family,
                                      .ai_qp_type = c->qp_type,
                                      .ai_port_space = c->port_space};
  char service[8];
  snprintf(service, sizeof service, "%d", kPort);
  return rdma_getaddrinfo(c->node, service, &hints, answer);
}

static void check_answer(const struct Case* c, const struct rdma_addrinfo* answer) {
  const bool passive = (c->flags & RAI_PASSIVE) != 0;
  if (answer->ai_family != c->family) complain(c, "another family");
  if (answer->ai_qp_type != expected_qp_type(c)) complain(c, "another QP type");
  if (answer->ai_port_space != expected_port_space(c)) complain(c, "another port space");
  if (((answer->ai_flags & RAI_PASSIVE) != 0) != passive) complain(c, "the other side");
  const struct sockaddr* const own = passive ? answer->ai_src_addr : answer->ai_dst_addr;
  if (own == NULL || own->sa_family != c->family || port_of(own) != kPort) {
    complain(c, "another address");
  }
  if (passive && answer->ai_dst_len != 0) complain(c, "a destination for a listener");
}

// The active side resolves its address and its route here, the passive one binds.
static void check_endpoint(const struct Case* c, struct rdma_addrinfo* answer) {
  struct rdma_cm_id* id = NULL;
  if (rdma_create_ep(&id, answer, NULL, NULL) != 0) {
    complain(c, strerror(errno));
    return;
  }
  if ((c->flags & RAI_PASSIVE) != 0) {
    if (rdma_listen(id, 0) != 0) complain(c, "cannot listen");
    if (ntohs(rdma_get_src_port(id)) != kPort) complain(c, "bound to another port");
  } else {
    if (id->verbs == NULL) complain(c, "no device");
    if (id->route.num_paths < 1) complain(c, "no route");
    if (ntohs(rdma_get_dst_port(id)) != kPort) complain(c, "leads to another port");
  }
  if (id->qp_type != (enum ibv_qp_type)expected_qp_type(c)) complain(c, "endpoint of another type");
  rdma_destroy_ep(id);
}

static void check(const struct Case* c) {
  struct rdma_addrinfo* answer = NULL;
  ++asked;
  const int code = ask(c, &answer);
  if (!is_consistent(c)) {
    if (code == 0) complain(c, "an answer to what is inconsistent");
  } else if (code != 0) {
    complain(c, gai_strerror(code));
  } else {
    check_answer(c, answer);
    check_endpoint(c, answer);
  }
  if (code == 0) rdma_freeaddrinfo(answer);
}

static struct ibv_qp_init_attr queue_pair(int type) {
  return (struct ibv_qp_init_attr){
      .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = (enum ibv_qp_type)type,
      .sq_sig_all = 1};
}

static void* accept_one(void* argument) {
  struct rdma_cm_id* request = NULL;
  if (rdma_get_request(argument, &request) != 0) return "no request came";
  char* const said = rdma_accept(request, NULL) == 0 ? NULL : "cannot accept";
  rdma_destroy_ep(request);
  return said;
}

static void connect_to(const struct Case* c, struct rdma_cm_id* listener) {
  struct ibv_qp_init_attr attributes = queue_pair(c->qp_type);
  struct rdma_addrinfo* answer = NULL;
  struct rdma_cm_id* id = NULL;
  pthread_t server;
  if (pthread_create(&server, NULL, accept_one, listener) != 0) abort();
  if (ask(c, &answer) != 0 || rdma_create_ep(&id, answer, NULL, &attributes) != 0 ||
      rdma_connect(id, NULL) != 0) {
    complain(c, strerror(errno));
    exit(1);  // nobody comes to the server
  }
  void* said = NULL;
  pthread_join(server, &said);
  if (said != NULL) complain(c, said);
  ++connected;
  rdma_destroy_ep(id);
  rdma_freeaddrinfo(answer);
}

static void check_connection(const struct Case* active) {
  struct Case passive = *active;
  passive.flags |= RAI_PASSIVE;
  struct ibv_qp_init_attr attributes = queue_pair(active->qp_type);
  struct rdma_addrinfo* answer = NULL;
  struct rdma_cm_id* listener = NULL;
  if (ask(&passive, &answer) != 0 || rdma_create_ep(&listener, answer, NULL, &attributes) != 0 ||
      rdma_listen(listener, 1) != 0) {
    complain(&passive, strerror(errno));
  } else {
    connect_to(active, listener);
  }
  if (listener != NULL) rdma_destroy_ep(listener);
  if (answer != NULL) rdma_freeaddrinfo(answer);
}

// What does not depend on the product below.
static void check_the_rest(void) {
  struct rdma_addrinfo* answer = NULL;
  const struct Case v4 = {"IPv4", "127.0.0.1", AF_INET, 0, IBV_QPT_RC, RDMA_PS_TCP};
  if (rdma_getaddrinfo(NULL, NULL, NULL, &answer) == 0) complain(&v4, "an answer to nothing");
  const struct Case other = {"IPv4 as IPv6", "127.0.0.1", AF_INET6, RAI_NUMERICHOST | RAI_FAMILY,
                             IBV_QPT_RC,     RDMA_PS_TCP};
  if (ask(&other, &answer) == 0) complain(&other, "an answer of another family");
  const struct Case name = {"a name",        "localhost", AF_INET,
                            RAI_NUMERICHOST, IBV_QPT_RC,  RDMA_PS_TCP};
  if (ask(&name, &answer) != EAI_NONAME) complain(&name, "a name is no numerical address");
  // Without a node, what the hints hold is what comes back.
  struct sockaddr_in source = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  struct sockaddr_in destination = source;
  destination.sin_port = htons(kPort);
  const struct rdma_addrinfo hints = {.ai_family = AF_INET,
                                      .ai_flags = RAI_NOROUTE,
                                      .ai_qp_type = IBV_QPT_RC,
                                      .ai_port_space = RDMA_PS_TCP,
                                      .ai_src_len = sizeof source,
                                      .ai_dst_len = sizeof destination,
                                      .ai_src_addr = (struct sockaddr*)&source,
                                      .ai_dst_addr = (struct sockaddr*)&destination};
  if (rdma_getaddrinfo(NULL, NULL, &hints, &answer) != 0) {
    complain(&v4, "no answer to hints alone");
    return;
  }
  if (answer->ai_src_len != sizeof source ||
      memcmp(answer->ai_dst_addr, &destination, sizeof destination) != 0) {
    complain(&v4, "other addresses than the hints'");
  }
  check_endpoint(&v4, answer);
  rdma_freeaddrinfo(answer);
}

int main(void) {
  static const struct {
    const char* name;
    const char* node;
    int family;
    int flags;
  } families[] = {{"IPv4", "127.0.0.1", AF_INET, 0},
                  {"IPv4 by number", "127.0.0.1", AF_INET, RAI_NUMERICHOST | RAI_NOROUTE},
                  {"IPv6", "::1", AF_INET6, RAI_FAMILY},
                  {"GID", "::ffff:127.0.0.1", AF_IB, RAI_FAMILY | RAI_NUMERICHOST}};
  static const int types[] = {kNone,      IBV_QPT_RC,       IBV_QPT_UC,
                              IBV_QPT_UD, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV};
  static const int spaces[] = {kNone, RDMA_PS_TCP, RDMA_PS_UDP, RDMA_PS_IPOIB, RDMA_PS_IB};
  check_the_rest();
  for (size_t f = 0; f < sizeof families / sizeof *families; ++f) {
    for (size_t t = 0; t < sizeof types / sizeof *types; ++t) {
      for (size_t s = 0; s < sizeof spaces / sizeof *spaces; ++s) {
        struct Case c = {families[f].name,  families[f].node, families[f].family,
                         families[f].flags, types[t],         spaces[s]};
        check(&c);
        c.flags |= RAI_PASSIVE;
        check(&c);
        c.flags = families[f].flags;
        const bool used = types[t] == IBV_QPT_RC || types[t] == IBV_QPT_UD;
        if (used && spaces[s] != kNone && is_consistent(&c)) check_connection(&c);
      }
    }
  }
  printf("%d combinations of hints, %d connections, %d complaints\n", asked, connected, wrong);
  return wrong == 0 ? 0 : 1;
}
