// SPDX-License-Identifier: Apache-2.0
// A chat over a multicast group: every line of standard input goes to the group, every line of the
// others is printed. Ends when standard input has ended and LINES lines of others have come.
//
//   cc -o mcast_chat mcast_chat.c -libverbs
//   weft run -- ./mcast_chat DEVICE GROUP NAME LINES      (weft_lo 239.1.2.3 alice 2)
#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kQKey = 0x11111111, kGrh = 40, kDepth = 16, kLine = 256, kSlot = kGrh + kLine };
enum { kMulticastQpn = 0xFFFFFF };

struct chat {
  struct ibv_context* context;
  struct ibv_pd* pd;
  struct ibv_comp_channel* channel;
  struct ibv_cq* cq;
  struct ibv_mr* mr;
  struct ibv_qp* qp;
  struct ibv_ah* group;
  char slots[kDepth + 1][kSlot];  // one to receive into for each request, the last to send from
};

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
    fprintf(stderr, "mcast_chat: no device %s; ibv_devices lists those there are\n", name);
    exit(1);
  }
  return context;
}

// The GID of a group is its IPv6 address, or its IPv4 address as ::ffff:a.b.c.d.
static union ibv_gid group_gid(const char* text) {
  union ibv_gid gid;
  memset(&gid, 0, sizeof gid);
  if (inet_pton(AF_INET6, text, gid.raw) == 1) return gid;
  gid.raw[10] = gid.raw[11] = 0xFF;
  if (inet_pton(AF_INET, text, gid.raw + 12) == 1) return gid;
  fprintf(stderr, "mcast_chat: %s is no multicast address\n", text);
  exit(1);
}

static void post_receive(struct chat* chat, uint64_t slot) {
  struct ibv_sge into = {
      .addr = (uintptr_t)chat->slots[slot], .length = kSlot, .lkey = chat->mr->lkey};
  struct ibv_recv_wr request = {.wr_id = slot, .sg_list = &into, .num_sge = 1};
  struct ibv_recv_wr* bad = NULL;
  if (ibv_post_recv(chat->qp, &request, &bad) != 0) die("ibv_post_recv");
}

static void make_queue_pair(struct chat* chat) {
  struct ibv_qp_init_attr init = {
      .send_cq = chat->cq,
      .recv_cq = chat->cq,
      .cap = {.max_send_wr = kDepth, .max_recv_wr = kDepth, .max_send_sge = 1, .max_recv_sge = 1},
      .qp_type = IBV_QPT_UD,
  };
  chat->qp = ibv_create_qp(chat->pd, &init);
  if (chat->qp == NULL) die("ibv_create_qp");
  struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = kQKey};
  int failed =
      ibv_modify_qp(chat->qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
  attr.qp_state = IBV_QPS_RTR;
  if (failed == 0) failed = ibv_modify_qp(chat->qp, &attr, IBV_QP_STATE);
  attr.qp_state = IBV_QPS_RTS;
  if (failed == 0) failed = ibv_modify_qp(chat->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
  if (failed != 0) die("ibv_modify_qp");
}

static void join(struct chat* chat, const char* device, const char* group) {
  const union ibv_gid gid = group_gid(group);
  chat->context = open_device(device);
  chat->pd = ibv_alloc_pd(chat->context);
  chat->channel = ibv_create_comp_channel(chat->context);
  chat->cq = ibv_create_cq(chat->context, 2 * kDepth, NULL, chat->channel, 0);
  chat->mr = ibv_reg_mr(chat->pd, chat->slots, sizeof chat->slots, IBV_ACCESS_LOCAL_WRITE);
  if (chat->pd == NULL || chat->channel == NULL || chat->cq == NULL || chat->mr == NULL) {
    die("setting up");
  }
  make_queue_pair(chat);
  for (uint64_t slot = 0; slot < kDepth; ++slot)
    post_receive(chat, slot);
  if (ibv_attach_mcast(chat->qp, &gid, 0) != 0) die("ibv_attach_mcast");
  struct ibv_ah_attr attr = {.grh = {.dgid = gid, .hop_limit = 1}, .is_global = 1, .port_num = 1};
  chat->group = ibv_create_ah(chat->pd, &attr);
  if (chat->group == NULL) die("ibv_create_ah");
}

// The line is in the send slot. Nothing else is written there before its completion.
static void send_line(struct chat* chat, uint32_t length) {
  struct ibv_sge piece = {
      .addr = (uintptr_t)chat->slots[kDepth], .length = length, .lkey = chat->mr->lkey};
  struct ibv_send_wr request = {
      .sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED};
  request.wr.ud.ah = chat->group;
  request.wr.ud.remote_qpn = kMulticastQpn;
  request.wr.ud.remote_qkey = kQKey;
  struct ibv_send_wr* bad = NULL;
  if (ibv_post_send(chat->qp, &request, &bad) != 0) die("ibv_post_send");
}

// Prints what came from others and returns how many lines that were; `sending` is cleared when the
// line that was under way has gone.
static int take_completions(struct chat* chat, int* sending) {
  int heard = 0;
  struct ibv_wc wc;
  while (ibv_poll_cq(chat->cq, 1, &wc) > 0) {
    if (wc.status != IBV_WC_SUCCESS) {
      fprintf(stderr, "mcast_chat: %s\n", ibv_wc_status_str(wc.status));
      exit(1);
    }
    if (wc.opcode == IBV_WC_SEND) {
      *sending = 0;
      continue;
    }
    // A member of the group hears itself too.
    if (wc.src_qp != chat->qp->qp_num) {
      printf("%.*s\n", (int)(wc.byte_len - kGrh), chat->slots[wc.wr_id] + kGrh);
      fflush(stdout);
      ++heard;
    }
    post_receive(chat, wc.wr_id);
  }
  return heard;
}

static void wait_for_event(struct chat* chat) {
  struct ibv_cq* cq = NULL;
  void* user = NULL;
  if (ibv_get_cq_event(chat->channel, &cq, &user) != 0) die("ibv_get_cq_event");
  ibv_ack_cq_events(cq, 1);
}

int main(int argc, char** argv) {
  if (argc != 5) {
    fprintf(stderr, "usage: mcast_chat DEVICE GROUP NAME LINES\n");
    return 2;
  }
  static struct chat chat;
  setvbuf(stdin, NULL, _IONBF, 0);  // poll() sees what is in the pipe, not in a buffer
  join(&chat, argv[1], argv[2]);
  printf("joined\n");
  fflush(stdout);

  int missing = atoi(argv[4]);
  int typing = 1;
  int sending = 0;
  while (typing || sending || missing > 0) {
    // Ask for an event first and look afterwards, so that none falls between the two.
    if (ibv_req_notify_cq(chat.cq, 0) != 0) die("ibv_req_notify_cq");
    missing -= take_completions(&chat, &sending);
    if (!typing && !sending && missing <= 0) break;
    struct pollfd watched[2] = {{.fd = chat.channel->fd, .events = POLLIN},
                                {.fd = typing && !sending ? STDIN_FILENO : -1, .events = POLLIN}};
    if (poll(watched, 2, -1) < 0) die("poll");
    if (watched[0].revents != 0) wait_for_event(&chat);
    if (watched[1].revents != 0) {
      char line[kLine / 2];
      typing = fgets(line, sizeof line, stdin) != NULL;
      if (!typing) continue;
      line[strcspn(line, "\n")] = '\0';
      snprintf(chat.slots[kDepth], kLine, "%.32s: %s", argv[3], line);
      send_line(&chat, (uint32_t)strlen(chat.slots[kDepth]));
      sending = 1;
    }
  }

  ibv_destroy_ah(chat.group);
  ibv_destroy_qp(chat.qp);
  ibv_dereg_mr(chat.mr);
  ibv_destroy_cq(chat.cq);
  ibv_destroy_comp_channel(chat.channel);
  ibv_dealloc_pd(chat.pd);
  ibv_close_device(chat.context);
  return 0;
}
