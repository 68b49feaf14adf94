// SPDX-License-Identifier: Apache-2.0
// usage: raw_packets: queue pairs of whole packets by themselves, on a node that carries a data
// service. What one sends to its own port, another one there receives; each check that fails is
// named, and the exit code says whether one did.
#include <arpa/inet.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/raw_packet.h"

enum { kHeaders = 8 + 12, kPayload = 256, kIcrc = 4, kVcrc = 2, kBufferSize = 8192 };

static int failures;
static void check(int good, const char* what) {
  if (good) return;
  printf("FAILED: %s (errno %d)\n", what, errno);
  ++failures;
}
#define CHECK(what) check((what), #what)

static struct ibv_context* context;
static struct ibv_pd* pd;
static struct ibv_cq* cq;
static struct ibv_mr* mr;
static uint16_t lid;
static uint8_t memory[kBufferSize];

static struct ibv_qp* make(uint8_t port) {
  struct ibv_qp_init_attr wanted = {
      .send_cq = cq, .recv_cq = cq, .cap = {16, 16, 4, 4, 0}, .qp_type = IBV_QPT_RAW_PACKET};
  struct ibv_qp_attr to = {.qp_state = IBV_QPS_INIT, .port_num = port};
  struct ibv_qp* const qp = ibv_create_qp(pd, &wanted);
  CHECK(qp != NULL);
  if (qp == NULL) exit(1);
  CHECK(ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PORT) == 0);
  to.qp_state = IBV_QPS_RTR;
  CHECK(ibv_modify_qp(qp, &to, IBV_QP_STATE) == 0);
  to.qp_state = IBV_QPS_RTS;
  CHECK(ibv_modify_qp(qp, &to, IBV_QP_STATE) == 0);
  return qp;
}

// An RC SEND to this port, all but its CRCs, from whom it likes.
static uint32_t write_packet(uint8_t* at) {
  const uint16_t words = (kHeaders + kPayload + kIcrc) / 4;
  memset(at, 0, kHeaders);
  at[1] = 2;  // LNH: BTH
  at[2] = (uint8_t)(lid >> 8);
  at[3] = (uint8_t)lid;
  at[4] = (uint8_t)(words >> 8);
  at[5] = (uint8_t)words;
  at[7] = 77;              // SLID
  at[8] = 4;               // SEND Only
  at[10] = at[11] = 0xFF;  // P_Key
  at[15] = 9;              // destination
  for (int i = 0; i < kPayload; ++i)
    at[kHeaders + i] = (uint8_t)i;
  return kHeaders + kPayload;
}

static int post_send(struct ibv_qp* qp, uint32_t length, enum ibv_wr_opcode opcode, uint16_t pkey,
                     unsigned flags) {
  struct ibv_sge piece = {(uintptr_t)memory, length, mr->lkey};
  struct ibv_send_wr request = {.wr_id = 1,
                                .sg_list = &piece,
                                .num_sge = 1,
                                .opcode = opcode,
                                .send_flags = IBV_SEND_SIGNALED | flags,
                                .imm_data = htonl(pkey)};
  struct ibv_send_wr* bad;
  return ibv_post_send(qp, &request, &bad);
}
static void post_receive(struct ibv_qp* qp, uint32_t first, uint32_t second) {
  struct ibv_sge pieces[2] = {{(uintptr_t)memory + 1024, first, mr->lkey},
                              {(uintptr_t)memory + 2048, second, mr->lkey}};
  struct ibv_recv_wr request = {.wr_id = 2, .sg_list = pieces, .num_sge = second > 0 ? 2 : 1};
  struct ibv_recv_wr* bad;
  CHECK(ibv_post_recv(qp, &request, &bad) == 0);
}
// The next completion; the test's time limit ends a wait for nothing.
static struct ibv_wc next(void) {
  struct ibv_wc done;
  while (ibv_poll_cq(cq, 1, &done) == 0) {
  }
  return done;
}
// Those of a send and of the packet that it is, whichever comes first.
static struct ibv_wc sent_and_received(void) {
  struct ibv_wc one = next();
  struct ibv_wc other = next();
  const int is_receive = (one.opcode & IBV_WC_RECV) != 0;
  CHECK(one.status == IBV_WC_SUCCESS && other.status == IBV_WC_SUCCESS);
  return is_receive ? one : other;
}

struct lids_flow {
  struct ibv_flow_attr attributes;
  struct weft_flow_spec_lids lids;
};
static struct lids_flow lids_of(uint16_t first, uint16_t last) {
  const struct lids_flow flow = {{.size = sizeof flow, .num_of_specs = 1, .port = 1},
                                 {.type = WEFT_FLOW_SPEC_LIDS,
                                  .size = sizeof flow.lids,
                                  .first_lid = first,
                                  .last_lid = last}};
  return flow;
}

static void expect_refused(struct ibv_qp* qp, struct ibv_flow_attr* flow, int error,
                           const char* what) {
  errno = 0;
  check(ibv_create_flow(qp, flow) == NULL && errno == error, what);
}

static void test_refusals(struct ibv_qp* qp) {
  struct lids_flow lids = lids_of(5, 4);
  expect_refused(qp, &lids.attributes, EINVAL, "LIDs the wrong way round");
  lids = lids_of(0xC000, 0xC000);
  expect_refused(qp, &lids.attributes, EINVAL, "a multicast LID");
  // What was taken before the one that is not is given back.
  lids = lids_of(0xBFFE, 0xC000);
  expect_refused(qp, &lids.attributes, EINVAL, "LIDs of which one is multicast");
  lids = lids_of(0xBFFE, 0xBFFF);
  struct ibv_flow* flow = ibv_create_flow(qp, &lids.attributes);
  CHECK(flow != NULL);
  expect_refused(qp, &lids.attributes, EEXIST, "the same flow again");
  CHECK(ibv_destroy_flow(flow) == 0);
  lids.attributes.port = 2;
  expect_refused(qp, &lids.attributes, EINVAL, "another port");
  lids.attributes.port = 1;
  lids.lids.size = 4;
  expect_refused(qp, &lids.attributes, EINVAL, "a short specification");
  lids.lids.size = sizeof lids.lids;
  lids.lids.type = IBV_FLOW_SPEC_ETH;
  expect_refused(qp, &lids.attributes, EOPNOTSUPP, "Ethernet");
  lids = lids_of(9, 9);
  lids.attributes.priority = 1;
  expect_refused(qp, &lids.attributes, EOPNOTSUPP, "a priority");
  lids.attributes.priority = 0;
  lids.attributes.flags = IBV_FLOW_ATTR_FLAGS_DONT_TRAP;
  expect_refused(qp, &lids.attributes, EOPNOTSUPP, "a flag");
  struct ibv_flow_attr plain = {.size = sizeof plain, .port = 1};
  expect_refused(qp, &plain, EINVAL, "a flow of nothing");
  plain.type = IBV_FLOW_ATTR_MC_DEFAULT;
  expect_refused(qp, &plain, EOPNOTSUPP, "multicast");
}

static void test_gids(struct ibv_qp* qp) {
  struct {
    struct ibv_flow_attr attributes;
    struct ibv_flow_spec_ipv6 gids;
  } flow = {{.size = sizeof flow, .num_of_specs = 1, .port = 1},
            {.type = IBV_FLOW_SPEC_IPV6, .size = sizeof flow.gids}};
  expect_refused(qp, &flow.attributes, EINVAL, "an empty mask");
  flow.gids.val.dst_ip[0] = 0xFD;
  flow.gids.mask.dst_ip[0] = 0xFF;
  flow.gids.mask.dst_ip[1] = 0xF0;
  struct ibv_flow* const held = ibv_create_flow(qp, &flow.attributes);
  CHECK(held != NULL);
  CHECK(held == NULL || ibv_destroy_flow(held) == 0);
  flow.gids.mask.dst_ip[1] = 0x0F;
  expect_refused(qp, &flow.attributes, EOPNOTSUPP, "a mask with a hole");
  flow.gids.mask.dst_ip[1] = 0;
  flow.gids.mask.dst_ip[9] = 1;
  expect_refused(qp, &flow.attributes, EOPNOTSUPP, "a mask with bits behind");
  flow.gids.mask.dst_ip[9] = 0;
  flow.gids.mask.src_ip[3] = 1;
  expect_refused(qp, &flow.attributes, EOPNOTSUPP, "an SGID");
}

static void test_packets(struct ibv_qp* sender, struct ibv_qp* receiver) {
  struct lids_flow own = lids_of(lid, lid);
  struct ibv_flow* const flow = ibv_create_flow(receiver, &own.attributes);
  CHECK(flow != NULL);
  CHECK(ibv_destroy_qp(receiver) == EBUSY);
  // Without its ICRC: the adapter makes it.
  const uint32_t length = write_packet(memory);
  post_receive(receiver, 1024, 0);
  CHECK(post_send(sender, length, IBV_WR_SEND, 0, 0) == 0);
  struct ibv_wc done = sent_and_received();
  CHECK(done.byte_len == length + kIcrc + kVcrc && done.qp_num == receiver->qp_num);
  CHECK(memcmp(memory, memory + 1024, length) == 0);
  // The headers apart, and the ICRC that was made kept.
  memcpy(memory, memory + 1024, done.byte_len);
  post_receive(receiver, 128, 1024);
  CHECK(post_send(sender, length + kIcrc, IBV_WR_SEND, 0, 0) == 0);
  done = sent_and_received();
  CHECK(memcmp(memory, memory + 1024, kHeaders) == 0);
  CHECK(memcmp(memory + kHeaders, memory + 2048, done.byte_len - kHeaders) == 0);
  // Another P_Key: the ICRC follows, or it would not arrive.
  post_receive(receiver, 1024, 0);
  CHECK(post_send(sender, length + kIcrc, WEFT_WR_SEND_PKEY, 0x8005, 0) == 0);
  sent_and_received();
  CHECK(memory[1024 + 10] == 0x80 && memory[1024 + 11] == 0x05);
  // What is damaged does not arrive, and what follows does.
  memory[kHeaders] ^= 1;
  post_receive(receiver, 1024, 0);
  CHECK(post_send(sender, length + kIcrc, IBV_WR_SEND, 0, 0) == 0);
  CHECK(next().opcode == IBV_WC_SEND);
  CHECK(post_send(sender, length, IBV_WR_SEND, 0, 0) == 0);
  done = sent_and_received();
  CHECK(memory[1024 + kHeaders] == memory[kHeaders]);
  // No packet at all: the request fails, and the queue stops until it is told to go on.
  CHECK(post_send(sender, length, IBV_WR_SEND, 0, IBV_SEND_IP_CSUM) == EINVAL);
  CHECK(post_send(sender, length, IBV_WR_RDMA_WRITE, 0, 0) == EINVAL);
  CHECK(post_send(sender, length - 1, IBV_WR_SEND, 0, 0) == 0);
  CHECK(next().status == IBV_WC_LOC_LEN_ERR);
  struct ibv_qp_attr on = {.qp_state = IBV_QPS_RTS};
  CHECK(ibv_modify_qp(sender, &on, IBV_QP_STATE) == 0);
  post_receive(receiver, 1024, 0);
  CHECK(post_send(sender, length, IBV_WR_SEND, 0, 0) == 0);
  sent_and_received();
  CHECK(ibv_destroy_flow(flow) == 0);
}

int main(void) {
  struct ibv_device** const list = ibv_get_device_list(NULL);
  struct ibv_device_attr_ex about;
  struct ibv_port_attr port;
  context = ibv_open_device(list[0]);
  pd = ibv_alloc_pd(context);
  cq = ibv_create_cq(context, 64, NULL, NULL, 0);
  mr = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
  CHECK(ibv_query_port(context, 1, &port) == 0);
  lid = port.lid;
  CHECK(ibv_query_device_ex(context, NULL, &about) == 0);
  CHECK(about.raw_packet_caps == IBV_RAW_PACKET_CAP_SCATTER_FCS);
  CHECK((about.device_cap_flags_ex & IBV_DEVICE_MANAGED_FLOW_STEERING) != 0);
  CHECK(about.orig_attr.max_raw_ethy_qp > 0);
  struct ibv_qp* const sender = make(1);
  struct ibv_qp* const receiver = make(1);
  test_refusals(receiver);
  test_gids(receiver);
  test_packets(sender, receiver);
  CHECK(ibv_destroy_qp(sender) == 0);
  CHECK(ibv_destroy_qp(receiver) == 0);
  if (failures == 0) printf("all good\n");
  return failures == 0 ? 0 : 1;
}
