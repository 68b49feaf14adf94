// SPDX-License-Identifier: Apache-2.0
// One datagram from one queue pair to another in the same process, and what the receiver learns.
//
//   cc -o ud_hello ud_hello.c -libverbs
//   weft run -- ./ud_hello [DEVICE]
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kQKey = 0x11111111, kGrh = 40, kHalf = 512 };

static void die(const char* what) {
  perror(what);
  exit(1);
}

static struct ibv_context* open_device(const char* name) {
  int count = 0;
  struct ibv_device** list = ibv_get_device_list(&count);
  struct ibv_context* context = NULL;
  for (int i = 0; i < count && context == NULL; ++i) {
    if (strcmp(ibv_get_device_name(list[i]), name) == 0) context = ibv_open_device(list[i]);
  }
  ibv_free_device_list(list);
  if (context == NULL) {
    fprintf(stderr, "ud_hello: no device %s; ibv_devices lists those there are\n", name);
    exit(1);
  }
  return context;
}

// A datagram queue pair sends and receives in the state RTS; three transitions lead there.
static struct ibv_qp* make_queue_pair(struct ibv_pd* pd, struct ibv_cq* cq) {
  struct ibv_qp_init_attr init = {
      .send_cq = cq,
      .recv_cq = cq,
      .cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = IBV_QPT_UD,
  };
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

// An address handle to this port's own first GID.
static struct ibv_ah* address_of_myself(struct ibv_context* context, struct ibv_pd* pd) {
  struct ibv_ah_attr attr = {.is_global = 1, .port_num = 1};
  if (ibv_query_gid(context, 1, 0, &attr.grh.dgid) != 0) die("ibv_query_gid");
  struct ibv_ah* ah = ibv_create_ah(pd, &attr);
  if (ah == NULL) die("ibv_create_ah");
  return ah;
}

int main(int argc, char** argv) {
  struct ibv_context* context = open_device(argc > 1 ? argv[1] : "weft_lo");
  struct ibv_pd* pd = ibv_alloc_pd(context);
  struct ibv_cq* cq = ibv_create_cq(context, 2, NULL, NULL, 0);
  static char memory[2 * kHalf];  // the first half is received into, the second sent from
  struct ibv_mr* mr = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
  if (pd == NULL || cq == NULL || mr == NULL) die("setting up");
  struct ibv_qp* from = make_queue_pair(pd, cq);
  struct ibv_qp* to = make_queue_pair(pd, cq);
  struct ibv_ah* ah = address_of_myself(context, pd);

  struct ibv_sge into = {.addr = (uintptr_t)memory, .length = kHalf, .lkey = mr->lkey};
  struct ibv_recv_wr receive = {.sg_list = &into, .num_sge = 1};
  struct ibv_recv_wr* bad_receive = NULL;
  if (ibv_post_recv(to, &receive, &bad_receive) != 0) die("ibv_post_recv");

  strcpy(memory + kHalf, "hello over UDP");
  struct ibv_sge piece = {.addr = (uintptr_t)(memory + kHalf),
                          .length = (uint32_t)strlen(memory + kHalf) + 1,
                          .lkey = mr->lkey};
  struct ibv_send_wr send = {
      .sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
  send.wr.ud.ah = ah;
  send.wr.ud.remote_qpn = to->qp_num;
  send.wr.ud.remote_qkey = kQKey;
  struct ibv_send_wr* bad_send = NULL;
  if (ibv_post_send(from, &send, &bad_send) != 0) die("ibv_post_send");

  for (int done = 0; done < 2;) {
    struct ibv_wc wc;
    const int got = ibv_poll_cq(cq, 1, &wc);
    if (got < 0) die("ibv_poll_cq");
    if (got == 0) continue;
    if (wc.status != IBV_WC_SUCCESS) {
      fprintf(stderr, "ud_hello: %s\n", ibv_wc_status_str(wc.status));
      return 1;
    }
    // The network header of the datagram comes first.
    if (wc.opcode == IBV_WC_RECV) {
      printf("%s (%u bytes, from the expected queue pair: %s)\n", memory + kGrh, wc.byte_len - kGrh,
             wc.src_qp == from->qp_num ? "yes" : "no");
    }
    ++done;
  }

  ibv_destroy_ah(ah);
  ibv_destroy_qp(from);
  ibv_destroy_qp(to);
  ibv_dereg_mr(mr);
  ibv_destroy_cq(cq);
  ibv_dealloc_pd(pd);
  ibv_close_device(context);
  return 0;
}
