// SPDX-License-Identifier: Apache-2.0
// usage: mpi_check pingpong|allreduce|onesided: an MPI program of the plainest kind. It knows
// nothing of what carries it; whatever arrives is compared with what must arrive, and a difference
// ends the job with a message. Rank 0 says what was done.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// From the eager protocol of any library to its rendezvous protocol.
static const int kSizes[] = {0, 1, 8, 64, 1000, 4096, 8200, 65536, 300001, 4194304};
enum { kCountOfSizes = sizeof kSizes / sizeof kSizes[0], kLargest = 4194304 };

static void fail(const char* what, int size, int at) {
  fprintf(stderr, "mpi_check: %s of %d bytes is wrong at %d\n", what, size, at);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned char value_at(int round, int rank, int at) {
  return (unsigned char)(round * 31 + rank * 101 + at * 7 + (at >> 8));
}

static void fill(unsigned char* bytes, int size, int round, int rank) {
  for (int i = 0; i < size; ++i)
    bytes[i] = value_at(round, rank, i);
}

static void check(const char* what, const unsigned char* bytes, int size, int round, int rank) {
  for (int i = 0; i < size; ++i) {
    if (bytes[i] != value_at(round, rank, i)) fail(what, size, i);
  }
}

// Every size there and back several times; each way carries bytes of its own.
static void ping_pong(int rank) {
  unsigned char* out = malloc(kLargest);
  unsigned char* in = malloc(kLargest);
  const int other = 1 - rank;
  for (int s = 0; s < kCountOfSizes; ++s) {
    const int size = kSizes[s];
    const int rounds = size > 100000 ? 5 : 50;
    for (int round = 0; round < rounds; ++round) {
      MPI_Status status;
      int count = -1;
      fill(out, size, round, rank);
      memset(in, 0xEE, (size_t)size);
      if (rank == 0) MPI_Send(out, size, MPI_BYTE, other, s, MPI_COMM_WORLD);
      MPI_Recv(in, size, MPI_BYTE, other, s, MPI_COMM_WORLD, &status);
      if (rank == 1) MPI_Send(out, size, MPI_BYTE, other, s, MPI_COMM_WORLD);
      MPI_Get_count(&status, MPI_BYTE, &count);
      if (count != size) fail("the length of a message", size, count);
      check("a message", in, size, round, other);
    }
  }
  if (rank == 0) printf("ping-pong of %d sizes up to %d bytes: right\n", kCountOfSizes, kLargest);
  free(out);
  free(in);
}

// Sums of integers and maxima of doubles, both known beforehand.
static void all_reduce(int rank, int ranks) {
  const int count = 262144;
  long* sums = malloc((size_t)count * sizeof *sums);
  double* peaks = malloc((size_t)count * sizeof *peaks);
  for (int n = 1; n <= count; n *= 8) {
    for (int i = 0; i < n; ++i) {
      sums[i] = (long)(rank + 1) * (i + 1);
      peaks[i] = rank == i % ranks ? i + 0.5 : -1.0;
    }
    MPI_Allreduce(MPI_IN_PLACE, sums, n, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, peaks, n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) {
      if (sums[i] != (long)(i + 1) * ranks * (ranks + 1) / 2) fail("a sum", n, i);
      if (peaks[i] != i + 0.5) fail("a maximum", n, i);
    }
  }
  if (rank == 0) printf("all-reduce of up to %d elements by %d ranks: right\n", count, ranks);
  free(sums);
  free(peaks);
}

// Puts, gets and fetched additions into memory of the others.
static void one_sided(int rank, int ranks) {
  enum { kCells = 4096 };
  long* window_memory;
  long got[kCells];
  MPI_Win window;
  MPI_Win_allocate((kCells + 1) * (MPI_Aint)sizeof(long), sizeof(long), MPI_INFO_NULL,
                   MPI_COMM_WORLD, &window_memory, &window);
  window_memory[kCells] = 0;
  MPI_Barrier(MPI_COMM_WORLD);

  const int next = (rank + 1) % ranks;
  MPI_Win_lock_all(0, window);
  for (int i = 0; i < kCells; ++i)
    got[i] = 1000L * rank + i;
  MPI_Put(got, kCells, MPI_LONG, next, 0, kCells, MPI_LONG, window);
  MPI_Win_flush(next, window);
  MPI_Barrier(MPI_COMM_WORLD);
  memset(got, 0, sizeof got);
  MPI_Get(got, kCells, MPI_LONG, next, 0, kCells, MPI_LONG, window);
  MPI_Win_flush(next, window);
  for (int i = 0; i < kCells; ++i) {
    if (got[i] != 1000L * rank + i) fail("what was put and got", kCells, i);
  }
  const long one = 1;
  long before = -1;
  for (int i = 0; i < 100; ++i) {
    MPI_Fetch_and_op(&one, &before, MPI_LONG, 0, kCells, MPI_SUM, window);
    MPI_Win_flush(0, window);
  }
  MPI_Win_unlock_all(window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
    if (window_memory[kCells] != 100L * ranks) fail("a counter", 8, (int)window_memory[kCells]);
    MPI_Win_unlock(0, window);
    printf("put, get and fetch-and-add of %d ranks: right\n", ranks);
  }
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  int rank = 0;
  int ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* const what = argc == 2 ? argv[1] : "";
  if (strcmp(what, "pingpong") == 0 && ranks == 2) {
    ping_pong(rank);
  } else if (strcmp(what, "allreduce") == 0) {
    all_reduce(rank, ranks);
  } else if (strcmp(what, "onesided") == 0) {
    one_sided(rank, ranks);
  } else {
    fprintf(stderr, "usage: mpi_check pingpong|allreduce|onesided; a ping-pong has two ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MPI_Finalize();
  return 0;
}
