// SPDX-License-Identifier: Apache-2.0
// A program with connected queue pairs forks while its requests are on their way: the child writes
// all over what it has inherited and ends in one of several ways, and the parent goes on. What the
// parent's peer reads and writes is the parent's memory, before and after. Linked with the
// distribution's library, as programs are; run it under `weft run`. usage: fork_ways [init]
// Prints a line for each way, and "child: ..." where a child has something to say.
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "rc_pair.h"

enum { kLength = 256 * 1024, kRounds = 8, kPatience = 20 };

struct world {
  struct rc_pair pair;
  struct ibv_mr* mr;
  uint8_t* memory;  // the first one's half, then the second one's
};

static void open_world(struct world* w) {
  open_pair(&w->pair, kRounds);
  if (posix_memalign((void**)&w->memory, 4096, 2 * kLength) != 0) die("memory");
  memset(w->memory, 0, 2 * kLength);
  w->mr = ibv_reg_mr(w->pair.pd, w->memory, 2 * kLength, kRights);
  if (w->mr == NULL) die("reg_mr");
}

static void close_world(struct world* w) {
  if (ibv_dereg_mr(w->mr)) die("dereg_mr");
  close_pair(&w->pair);
  free(w->memory);
}

static void post(struct world* w, enum ibv_wr_opcode opcode) {
  struct ibv_sge piece = {(uintptr_t)w->memory, kLength, w->mr->lkey};
  struct ibv_send_wr request = {.sg_list = &piece, .num_sge = 1, .opcode = opcode};
  struct ibv_send_wr* bad = NULL;
  request.wr.rdma.remote_addr = (uintptr_t)w->memory + kLength;
  request.wr.rdma.rkey = w->mr->rkey;
  if (ibv_post_send(w->pair.qp[0], &request, &bad)) die("post_send");
}

static void complete(struct world* w, int count) {
  for (; count > 0; --count)
    if (next_completion(&w->pair, 1).status != IBV_WC_SUCCESS) die("a request");
}

static int holds(const uint8_t* memory, int value) {
  for (int i = 0; i < kLength; ++i)
    if (memory[i] != value) return 0;
  return 1;
}

// A write and a read of what was written, while the pages are shared with a child or not.
static int goes_on(struct world* w, int value) {
  memset(w->memory, value, kLength);
  post(w, IBV_WR_RDMA_WRITE);
  complete(w, 1);
  if (!holds(w->memory + kLength, value)) return 0;
  memset(w->memory, 0, kLength);
  post(w, IBV_WR_RDMA_READ);
  complete(w, 1);
  return holds(w->memory, value);
}

static int works_by_itself(void) {
  struct world own = {0};
  open_world(&own);
  const int works = goes_on(&own, 0x33);
  close_world(&own);
  return works;
}

enum way { kLeaves, kExits, kExecutes, kOpens, kStays, kWays };
static const char* const kNames[] = {"_exit", "exit", "exec", "opens the device itself", "stays"};

// What it sees is what there was, or what was on its way; what it writes is its own.
static void be_child(struct world* w, enum way way, int before, int release, char** argv) {
  char end = 0;
  if (!holds(w->memory, before)) _exit(3);
  memset(w->memory, 0xEE, 2 * kLength);
  switch (way) {
    case kLeaves:
      _exit(0);
    case kExits:
      exit(0);
    case kExecutes:
      execl(argv[0], argv[0], "alone", (char*)NULL);
      _exit(4);
    case kOpens:
      exit(works_by_itself() ? 0 : 5);
    default:  // until the parent has done its work
      exit(read(release, &end, 1) == 1 && holds(w->memory, 0xEE) ? 0 : 6);
  }
}

static void fork_and_go_on(struct world* w, enum way way, char** argv) {
  const int before = 0x40 + (int)way;
  int release[2];
  if (pipe(release)) die("pipe");
  memset(w->memory, before, kLength);
  memset(w->memory + kLength, 0, kLength);
  for (int i = 0; i < kRounds; ++i)
    post(w, IBV_WR_RDMA_WRITE);
  fflush(NULL);
  const pid_t child = fork();
  if (child < 0) die("fork");
  if (child == 0) be_child(w, way, before, release[0], argv);
  complete(w, kRounds);
  int right = holds(w->memory + kLength, before);
  for (int i = 0; i < kRounds; ++i)
    right = right && goes_on(w, 0x80 + i);
  if (write(release[1], "x", 1) != 1) die("write");
  int status = -1;
  if (waitpid(child, &status, 0) != child) die("waitpid");
  right = right && goes_on(w, 0x11);
  close(release[0]);
  close(release[1]);
  printf("child %s: ended with %d, parent's memory is %s\n", kNames[way], status,
         right ? "right" : "wrong");
}

int main(int argc, char** argv) {
  alarm(kPatience);
  const char* what = argc > 1 ? argv[1] : "";
  if (strcmp(what, "alone") == 0) {
    if (!works_by_itself()) return 7;
    printf("child: works by itself after exec\n");
    return 0;
  }
  if (strcmp(what, "init") == 0 && ibv_fork_init()) die("fork_init");
  printf("fork is %s\n",
         ibv_is_fork_initialized() == IBV_FORK_UNNEEDED ? "as it always is" : "prepared for");
  struct world w = {0};
  open_world(&w);
  for (int way = 0; way < kWays; ++way)
    fork_and_go_on(&w, (enum way)way, argv);
  close_world(&w);
  return 0;
}
