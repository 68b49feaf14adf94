// SPDX-License-Identifier: Apache-2.0
// Two reliable connections of one program, on weft_lo, with each other. Whatever fails ends it.
#pragma once

#include <infiniband/verbs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ };

struct rc_pair {
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_comp_channel* channel;
  struct ibv_cq* cq;
  struct ibv_qp* qp[2];
};

static inline void die(const char* what) {
  fprintf(stderr, "%s failed\n", what);
  exit(1);
}

static inline void connect_end(struct rc_pair* w, int end) {
  struct ibv_qp_attr a = {.qp_state = IBV_QPS_INIT, .port_num = 1};
  a.qp_access_flags = kRights;
  if (ibv_modify_qp(w->qp[end], &a,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)) {
    die("to INIT");
  }
  a.qp_state = IBV_QPS_RTR;
  a.path_mtu = IBV_MTU_4096;
  a.dest_qp_num = w->qp[1 - end]->qp_num;
  a.max_dest_rd_atomic = a.max_rd_atomic = 4;
  a.min_rnr_timer = 12;
  a.ah_attr.is_global = 1;
  a.ah_attr.port_num = 1;
  if (ibv_query_gid(w->context, 1, 0, &a.ah_attr.grh.dgid)) die("query_gid");
  if (ibv_modify_qp(w->qp[end], &a,
                    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                        IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)) {
    die("to RTR");
  }
  a.qp_state = IBV_QPS_RTS;
  a.timeout = 14;
  a.retry_cnt = a.rnr_retry = 7;
  if (ibv_modify_qp(w->qp[end], &a,
                    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                        IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)) {
    die("to RTS");
  }
}

// Each send queue takes `depth` requests.
static inline void open_pair(struct rc_pair* w, unsigned depth) {
  struct ibv_device** list = ibv_get_device_list(NULL);
  for (int i = 0; list != NULL && list[i] != NULL; ++i) {
    if (strcmp(ibv_get_device_name(list[i]), "weft_lo") == 0) w->context = ibv_open_device(list[i]);
  }
  if (list != NULL) ibv_free_device_list(list);
  if (w->context == NULL) die("open_device");
  w->pd = ibv_alloc_pd(w->context);
  w->channel = ibv_create_comp_channel(w->context);
  w->cq = ibv_create_cq(w->context, 64, NULL, w->channel, 0);
  if (w->pd == NULL || w->channel == NULL || w->cq == NULL) die("objects");
  struct ibv_qp_init_attr init = {
      .send_cq = w->cq, .recv_cq = w->cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 1};
  init.cap.max_send_wr = init.cap.max_recv_wr = depth;
  init.cap.max_send_sge = init.cap.max_recv_sge = 4;
  for (int i = 0; i < 2; ++i)
    if ((w->qp[i] = ibv_create_qp(w->pd, &init)) == NULL) die("create_qp");
  for (int i = 0; i < 2; ++i)
    connect_end(w, i);
}

// After the regions.
static inline void close_pair(struct rc_pair* w) {
  if (ibv_destroy_qp(w->qp[0]) || ibv_destroy_qp(w->qp[1]) || ibv_destroy_cq(w->cq) ||
      ibv_destroy_comp_channel(w->channel) || ibv_dealloc_pd(w->pd) ||
      ibv_close_device(w->context)) {
    die("closing");
  }
}

// The next completion. `asleep`: waiting in the kernel, so that a thread of the library does the
// work.
static inline struct ibv_wc next_completion(struct rc_pair* w, int asleep) {
  struct ibv_wc wc;
  for (;;) {
    if (asleep && ibv_req_notify_cq(w->cq, 0)) die("req_notify_cq");
    const int got = ibv_poll_cq(w->cq, 1, &wc);
    if (got < 0) die("poll_cq");
    if (got == 1) return wc;
    if (!asleep) continue;
    struct ibv_cq* of = NULL;
    void* context = NULL;
    if (ibv_get_cq_event(w->channel, &of, &context)) die("get_cq_event");
    ibv_ack_cq_events(of, 1);
  }
}
