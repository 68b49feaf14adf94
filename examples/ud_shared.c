// SPDX-License-Identifier: Apache-2.0
// Three services, each a datagram queue pair, that receive into one shared queue: buffers are
// posted when it runs low, which an asynchronous event tells, and go to whichever service needs
// them.
//
//   cc -o ud_shared ud_shared.c -libverbs
//   weft run -- ./ud_shared [DEVICE]
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kQKey = 0x22222222, kGrh = 40, kServices = 3, kMessages = 60 };
enum { kSlots = 16, kLow = 4, kSlot = 128 };

static struct ibv_context* context;
static struct ibv_mr* mr;
static struct ibv_srq* srq;
static char memory[(kSlots + 1) * kSlot];  // the last slot is sent from

static void die(const char* what) {
  perror(what);
  exit(1);
}

static void open_device(const char* name) {
  int count = 0;
  struct ibv_device** list = ibv_get_device_list(&count);
  for (int i = 0; i < count && context == NULL; ++i) {
    if (strcmp(ibv_get_device_name(list[i]), name) == 0) context = ibv_open_device(list[i]);
  }
  ibv_free_device_list(list);
  if (context == NULL) {
    fprintf(stderr, "ud_shared: no device %s; ibv_devices lists those there are\n", name);
    exit(1);
  }
}

static struct ibv_qp* make_queue_pair(struct ibv_pd* pd, struct ibv_cq* cq,
                                      struct ibv_srq* shared) {
  struct ibv_qp_init_attr init = {.send_cq = cq,
                                  .recv_cq = cq,
                                  .srq = shared,
                                  .cap = {.max_send_wr = 1, .max_send_sge = 1},
                                  .qp_type = IBV_QPT_UD};
  struct ibv_qp* qp = ibv_create_qp(pd, &init);
  if (qp == NULL) die("ibv_create_qp");
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = kQKey};
  int failed =
      ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  attr.qp_state = IBV_QPS_RTR;
  if (failed == 0) failed = ibv_modify_qp(qp, &attr, IBV_QP_STATE);
  attr.qp_state = IBV_QPS_RTS;
  if (failed == 0) failed = ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
  if (failed != 0) die("ibv_modify_qp");
  return qp;
}

static void post_slot(uint64_t slot) {
  struct ibv_sge into = {
      .addr = (uintptr_t)(memory + slot * kSlot), .length = kSlot, .lkey = mr->lkey};
  struct ibv_recv_wr receive = {.wr_id = slot, .sg_list = &into, .num_sge = 1};
  struct ibv_recv_wr* bad = NULL;
  if (ibv_post_srq_recv(srq, &receive, &bad) != 0) die("ibv_post_srq_recv");
}

static void arm_limit(void) {
  struct ibv_srq_attr attr = {.srq_limit = kLow};
  if (ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT) != 0) die("ibv_modify_srq");
}

static void await_limit(void) {
  struct ibv_async_event event;
  if (ibv_get_async_event(context, &event) != 0) die("ibv_get_async_event");
  if (event.event_type != IBV_EVENT_SRQ_LIMIT_REACHED || event.element.srq != srq) {
    fprintf(stderr, "ud_shared: event %s\n", ibv_event_type_str(event.event_type));
    exit(1);
  }
  ibv_ack_async_event(&event);
}

static struct ibv_wc next_completion(struct ibv_cq* cq) {
  struct ibv_wc wc;
  int got = 0;
  while (got == 0)
    got = ibv_poll_cq(cq, 1, &wc);
  if (got < 0) die("ibv_poll_cq");
  if (wc.status != IBV_WC_SUCCESS) {
    fprintf(stderr, "ud_shared: %s\n", ibv_wc_status_str(wc.status));
    exit(1);
  }
  return wc;
}

static void send_to(struct ibv_qp* from, struct ibv_ah* ah, uint32_t qpn, int message) {
  char* const text = memory + kSlots * kSlot;
  snprintf(text, kSlot, "message %d", message);
  struct ibv_sge piece = {
      .addr = (uintptr_t)text, .length = (uint32_t)strlen(text) + 1, .lkey = mr->lkey};
  struct ibv_send_wr send = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND};
  send.send_flags = IBV_SEND_SIGNALED;
  send.wr.ud.ah = ah;
  send.wr.ud.remote_qpn = qpn;
  send.wr.ud.remote_qkey = kQKey;
  struct ibv_send_wr* bad = NULL;
  if (ibv_post_send(from, &send, &bad) != 0) die("ibv_post_send");
}

int main(int argc, char** argv) {
  open_device(argc > 1 ? argv[1] : "weft_lo");
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 2 * kSlots, NULL, NULL, 0);
  mr = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_srq_init_attr init = {.attr = {.max_wr = kSlots, .max_sge = 1}};
  srq = ibv_create_srq(pd, &init);
  if (cq == NULL || mr == NULL || srq == NULL) die("setting up");
  struct ibv_qp* const from = make_queue_pair(pd, cq, srq);
  struct ibv_qp* services[kServices];
  for (int i = 0; i < kServices; ++i)
    services[i] = make_queue_pair(pd, cq, srq);
  struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
  if (ibv_query_gid(context, 1, 0, &attr.grh.dgid) != 0) die("ibv_query_gid");
  struct ibv_ah* const ah = ibv_create_ah(pd, &attr);
  if (ah == NULL) die("ibv_create_ah");

  uint64_t used[kSlots];
  int used_count = 0;
  int refills = 0;
  int counts[kServices] = {0};
  for (uint64_t slot = 0; slot < kSlots; ++slot)
    post_slot(slot);
  arm_limit();
  for (int message = 0; message < kMessages; ++message) {
    struct ibv_qp* const to = services[message % kServices];
    send_to(from, ah, to->qp_num, message);
    for (int done = 0; done < 2; ++done) {
      const struct ibv_wc wc = next_completion(cq);
      if (wc.opcode != IBV_WC_RECV) continue;
      char expected[kSlot];
      snprintf(expected, sizeof expected, "message %d", message);
      if (wc.qp_num != to->qp_num || wc.src_qp != from->qp_num ||
          strcmp(memory + wc.wr_id * kSlot + kGrh, expected) != 0) {
        fprintf(stderr, "ud_shared: message %d is not as it was sent\n", message);
        return 1;
      }
      ++counts[message % kServices];
      used[used_count++] = wc.wr_id;
    }
    if (used_count > kSlots - kLow) {
      await_limit();
      while (used_count > 0)
        post_slot(used[--used_count]);
      arm_limit();
      ++refills;
    }
  }
  printf("%d, %d and %d messages, refilled %d times\n", counts[0], counts[1], counts[2], refills);

  ibv_destroy_ah(ah);
  ibv_destroy_qp(from);
  for (int i = 0; i < kServices; ++i)
    ibv_destroy_qp(services[i]);
  ibv_destroy_srq(srq);
  ibv_dereg_mr(mr);
  ibv_destroy_cq(cq);
  ibv_dealloc_pd(pd);
  ibv_close_device(context);
  return 0;
}
