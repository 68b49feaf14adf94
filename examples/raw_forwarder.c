// SPDX-License-Identifier: Apache-2.0
// A data service that forwards, on a node of a lab that carries one of type "process": packets to
// its service LIDs come to it whole, and it sends them on to the port that their GRH names. Only
// the LIDs are changed, which the ICRC of packets with a GRH does not cover: it stays their
// sender's. One kind of packet is changed itself: a request for a connection names LIDs by which it
// is to be answered, and is told those of the service, so that answers come through here too.
//
//   usage: raw_forwarder GID=LID ...      which port has which GID
//
// Nothing but libibverbs. Several processes of it share the packets of their node, flow by flow.
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  kBuffers = 512,
  kBuffer = 4352,  // more than the longest packet has
  kMostPorts = 64,
};

// Places in a packet, bytes from its LRH (IBA 7.7, 8.3, 9.2).
enum {
  kDlid = 2,
  kSlid = 6,
  kDgid = 8 + 24,
  kBth = 8 + 40,
  kDestQp = kBth + 5,
  kMad = kBth + 12 + 8,
  kIcrc = 4,
  kVcrc = 2,
};

// In a MAD that asks for a connection (IBA 12.6.5): of its primary path, as its sender has it.
enum {
  kClass = 1,
  kAttribute = 16,
  kLocalLid = 24 + 52,
  kRemoteLid = 24 + 54,
  kMadSize = 256,
  kCommunicationManagement = 7,
  kConnectRequest = 0x10,
};

struct port {
  uint8_t gid[16];
  uint16_t lid;
};

static struct port ports[kMostPorts];
static int port_count;
static uint8_t buffers[kBuffers][kBuffer];
static volatile sig_atomic_t stopping;

static uint64_t forwarded, without_new_icrc, unknown;

static void stop(int number) {
  (void)number;
  stopping = 1;
}

static void die(const char* what) {
  fprintf(stderr, "raw_forwarder: %s: %s\n", what, strerror(errno));
  exit(1);
}

static void read_port(const char* text) {
  char gid[64];
  const char* const equals = strchr(text, '=');
  const size_t length = equals == NULL ? 0 : (size_t)(equals - text);
  struct port* const port = &ports[port_count];
  if (length == 0 || length >= sizeof gid || port_count == kMostPorts) goto wrong;
  memcpy(gid, text, length);
  gid[length] = '\0';
  port->lid = (uint16_t)strtoul(equals + 1, NULL, 0);
  if (inet_pton(AF_INET6, gid, port->gid) != 1 || port->lid == 0) goto wrong;
  ++port_count;
  return;
wrong:
  fprintf(stderr, "raw_forwarder: %s: must be GID=LID, as in fe80::1=7\n", text);
  exit(2);
}

static uint16_t read16(const uint8_t* at) {
  return (uint16_t)(at[0] << 8 | at[1]);
}

static void write16(uint8_t* at, uint16_t value) {
  at[0] = (uint8_t)(value >> 8);
  at[1] = (uint8_t)value;
}

static const struct port* port_of(const uint8_t* packet, uint32_t length) {
  if (length < kMad || (packet[1] & 3) != 3) return NULL;  // LNH: there is a GRH
  for (int i = 0; i < port_count; ++i) {
    if (memcmp(ports[i].gid, packet + kDgid, sizeof ports[i].gid) == 0) return &ports[i];
  }
  return NULL;
}

static int asks_for_connection(const uint8_t* packet, uint32_t length) {
  const uint8_t* const mad = packet + kMad;
  return length == kMad + kMadSize + kIcrc + kVcrc && packet[kDestQp] == 0 &&
         read16(packet + kDestQp + 1) == 1 && mad[kClass] == kCommunicationManagement &&
         read16(mad + kAttribute) == kConnectRequest;
}

// How many of its bytes go on; 0: none, nobody knows where to.
static uint32_t forward(uint8_t* packet, uint32_t length) {
  const struct port* const to = port_of(packet, length);
  const uint16_t service = read16(packet + kDlid);
  if (to == NULL) return 0;
  write16(packet + kSlid, service);
  write16(packet + kDlid, to->lid);
  if (!asks_for_connection(packet, length)) {
    ++without_new_icrc;
    return length - kVcrc;
  }
  write16(packet + kMad + kLocalLid, service);
  write16(packet + kMad + kRemoteLid, to->lid);
  return length - kVcrc - kIcrc;  // the adapter makes what is not there
}

static void post_receive(struct ibv_qp* qp, const struct ibv_mr* mr, uint64_t buffer) {
  struct ibv_sge piece = {(uintptr_t)buffers[buffer], kBuffer, mr->lkey};
  struct ibv_recv_wr request = {.wr_id = buffer, .sg_list = &piece, .num_sge = 1};
  struct ibv_recv_wr* bad;
  if ((errno = ibv_post_recv(qp, &request, &bad)) != 0) die("ibv_post_recv");
}

static void post_send(struct ibv_qp* qp, const struct ibv_mr* mr, uint64_t buffer,
                      uint32_t length) {
  struct ibv_sge piece = {(uintptr_t)buffers[buffer], length, mr->lkey};
  struct ibv_send_wr request = {.wr_id = buffer,
                                .sg_list = &piece,
                                .num_sge = 1,
                                .opcode = IBV_WR_SEND,
                                .send_flags = IBV_SEND_SIGNALED};
  struct ibv_send_wr* bad;
  if ((errno = ibv_post_send(qp, &request, &bad)) != 0) die("ibv_post_send");
}

static void serve(struct ibv_qp* qp, const struct ibv_mr* mr, struct ibv_cq* cq) {
  struct ibv_wc done[32];
  int count;
  while ((count = ibv_poll_cq(cq, 32, done)) > 0) {
    for (int i = 0; i < count; ++i) {
      const uint64_t buffer = done[i].wr_id;
      uint32_t length = 0;
      if (done[i].status != IBV_WC_SUCCESS) {
        fprintf(stderr, "raw_forwarder: %s\n", ibv_wc_status_str(done[i].status));
        exit(1);
      }
      if (done[i].opcode == IBV_WC_RECV) {
        length = forward(buffers[buffer], done[i].byte_len);
        if (length > 0) {
          ++forwarded;
        } else {
          ++unknown;
        }
      }
      if (length > 0) {
        post_send(qp, mr, buffer, length);
      } else {
        post_receive(qp, mr, buffer);
      }
    }
  }
  if (count < 0) die("ibv_poll_cq");
}

static void ready(struct ibv_qp* qp) {
  struct ibv_qp_attr attributes = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  if ((errno = ibv_modify_qp(qp, &attributes, IBV_QP_STATE | IBV_QP_PORT)) != 0) die("INIT");
  attributes.qp_state = IBV_QPS_RTR;
  if ((errno = ibv_modify_qp(qp, &attributes, IBV_QP_STATE)) != 0) die("RTR");
  attributes.qp_state = IBV_QPS_RTS;
  if ((errno = ibv_modify_qp(qp, &attributes, IBV_QP_STATE)) != 0) die("RTS");
}

int main(int argc, char** argv) {
  struct ibv_device** list;
  for (int i = 1; i < argc; ++i)
    read_port(argv[i]);
  list = ibv_get_device_list(NULL);
  if (list == NULL || list[0] == NULL) die("no device");
  struct ibv_context* const context = ibv_open_device(list[0]);
  if (context == NULL) die("ibv_open_device");
  ibv_free_device_list(list);
  struct ibv_pd* const pd = ibv_alloc_pd(context);
  struct ibv_comp_channel* const channel = ibv_create_comp_channel(context);
  if (pd == NULL || channel == NULL) die("resources");
  struct ibv_cq* const cq = ibv_create_cq(context, 2 * kBuffers, NULL, channel, 0);
  struct ibv_mr* const mr = ibv_reg_mr(pd, buffers, sizeof buffers, IBV_ACCESS_LOCAL_WRITE);
  if (cq == NULL || mr == NULL) die("resources");
  struct ibv_qp_init_attr wanted = {.send_cq = cq,
                                    .recv_cq = cq,
                                    .cap = {kBuffers, kBuffers, 1, 1, 0},
                                    .qp_type = IBV_QPT_RAW_PACKET};
  struct ibv_qp* const qp = ibv_create_qp(pd, &wanted);
  if (qp == NULL) die("ibv_create_qp");
  ready(qp);
  for (uint64_t buffer = 0; buffer < kBuffers; ++buffer)
    post_receive(qp, mr, buffer);
  // Whatever comes to this port and is not for its own LIDs.
  struct ibv_flow_attr attributes = {
      .type = IBV_FLOW_ATTR_ALL_DEFAULT, .size = sizeof attributes, .port = 1};
  struct ibv_flow* const flow = ibv_create_flow(qp, &attributes);
  if (flow == NULL) die("ibv_create_flow");

  struct sigaction action = {.sa_handler = stop};
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  printf("forwarding\n");
  fflush(stdout);
  while (!stopping) {
    struct ibv_cq* woken;
    void* user;
    if (ibv_req_notify_cq(cq, 0) != 0) die("ibv_req_notify_cq");
    serve(qp, mr, cq);
    if (ibv_get_cq_event(channel, &woken, &user) != 0) {
      if (errno == EINTR) continue;
      die("ibv_get_cq_event");
    }
    ibv_ack_cq_events(cq, 1);
  }
  printf("forwarded %llu packets, %llu with the ICRC of their senders; %llu to nobody known\n",
         (unsigned long long)forwarded, (unsigned long long)without_new_icrc,
         (unsigned long long)unknown);
  if ((errno = ibv_destroy_flow(flow)) != 0) die("ibv_destroy_flow");
  if ((errno = ibv_destroy_qp(qp)) != 0) die("ibv_destroy_qp");
  ibv_dereg_mr(mr);
  ibv_destroy_cq(cq);
  ibv_destroy_comp_channel(channel);
  ibv_dealloc_pd(pd);
  ibv_close_device(context);
  return 0;
}
