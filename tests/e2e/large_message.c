// SPDX-License-Identifier: Apache-2.0
// Messages as large as they get: a write of 2^31 bytes, the most that there is, all of which is
// compared, and one that is a byte longer. Most of what is sent is memory that nobody has touched.
// Linked with the distribution's library, as programs are; run it under `weft run`.
#define _GNU_SOURCE
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "rc_pair.h"

static const size_t kGiB = (size_t)1 << 30;
static const size_t kMark = (size_t)16 << 20;  // so far apart are the bytes that are not zero
static const size_t kPacket = 4096;
enum { kPatience = 100 };

static uint8_t* map(size_t length) {
  uint8_t* const memory = mmap(NULL, length, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) die("mmap");
  return memory;
}

static struct ibv_mr* reg(struct rc_pair* w, uint8_t* memory, size_t length) {
  struct ibv_mr* const mr = ibv_reg_mr(w->pd, memory, length, kRights);
  if (mr == NULL) die("reg_mr");
  return mr;
}

// The source has a number at each mark, and zeros between them.
static uint64_t word_at(size_t offset) {
  return offset % kMark == 0 ? offset % kGiB / kMark + 1 : 0;
}

static int holds_source(const uint8_t* memory, size_t length) {
  for (size_t at = 0; at < length; at += sizeof(uint64_t)) {
    uint64_t word = 0;
    memcpy(&word, memory + at, sizeof word);
    if (word != word_at(at)) {
      printf("wrong at %zu: %llx\n", at, (unsigned long long)word);
      return 0;
    }
  }
  return 1;
}

// So that a packet that does not come is missed.
static void spoil(uint8_t* memory, size_t length) {
  for (size_t at = 0; at < length; at += kPacket)
    memory[at] = memory[at + kPacket - 1] = 0xFF;
}

// Writes `length` bytes, which are the source as often as it fits. The completion at this side.
static struct ibv_wc write_large(struct rc_pair* w, const struct ibv_mr* source,
                                 const struct ibv_mr* target, uint64_t length) {
  struct ibv_sge pieces[3];
  int count = 0;
  for (uint64_t done = 0; done < length; ++count) {
    const uint64_t part = length - done < kGiB ? length - done : kGiB;
    pieces[count] = (struct ibv_sge){(uintptr_t)source->addr, (uint32_t)part, source->lkey};
    done += part;
  }
  struct ibv_recv_wr receive = {.wr_id = 1};
  struct ibv_recv_wr* bad_receive = NULL;
  if (ibv_post_recv(w->qp[1], &receive, &bad_receive)) die("post_recv");
  struct ibv_send_wr request = {
      .sg_list = pieces, .num_sge = count, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = 7};
  request.wr.rdma.remote_addr = (uintptr_t)target->addr;
  request.wr.rdma.rkey = target->rkey;
  struct ibv_send_wr* bad = NULL;
  if (ibv_post_send(w->qp[0], &request, &bad)) die("post_send");
  struct ibv_wc sent = next_completion(w, 0);
  if (sent.status != IBV_WC_SUCCESS) return sent;
  const struct ibv_wc arrived =
      sent.opcode == IBV_WC_RECV_RDMA_WITH_IMM ? sent : next_completion(w, 0);
  if (sent.opcode == IBV_WC_RECV_RDMA_WITH_IMM) sent = next_completion(w, 0);
  printf("the peer was told of %u bytes: %s\n", arrived.byte_len,
         ibv_wc_status_str(arrived.status));
  return sent;
}

int main(void) {
  alarm(kPatience);
  struct rc_pair w = {0};
  open_pair(&w, 2);
  uint8_t* const from = map(kGiB);
  for (size_t at = 0; at < kGiB; at += kMark) {
    const uint64_t word = word_at(at);
    memcpy(from + at, &word, sizeof word);
  }
  struct ibv_mr* const source = reg(&w, from, kGiB);
  // A page more, so that nothing but the length of the message is wrong later.
  uint8_t* const to = map(2 * kGiB + kPacket);
  madvise(to, 2 * kGiB, MADV_HUGEPAGE);
  spoil(to, 2 * kGiB);
  struct ibv_mr* const target = reg(&w, to, 2 * kGiB + kPacket);

  struct ibv_wc sent = write_large(&w, source, target, 2 * kGiB);
  printf("2^31: %s, %s\n", ibv_wc_status_str(sent.status),
         holds_source(to, 2 * kGiB) ? "right" : "wrong");
  spoil(to, kPacket);
  sent = write_large(&w, source, target, 2 * kGiB + 1);
  printf("2^31 + 1: %s, target %s\n", ibv_wc_status_str(sent.status),
         to[0] == 0xFF && to[kPacket - 1] == 0xFF ? "untouched" : "written to");
  if (ibv_dereg_mr(source) || ibv_dereg_mr(target)) die("dereg_mr");
  close_pair(&w);
  return 0;
}
