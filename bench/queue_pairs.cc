// SPDX-License-Identifier: Apache-2.0
// Ten thousand idle datagram queue pairs in one process: memory for each, and whether creating the
// last thousand takes as long as the first. An ordinary verbs program; it runs itself under
// `weft run`.
#include <infiniband/verbs.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kQueuePairs = 10'000;
constexpr std::size_t kStep = 1'000;

// Private and shared pages of this process, bytes; socket buffers are the kernel's.
double resident_bytes() {
  std::ifstream file("/proc/self/statm");
  long total = 0;
  long resident = 0;
  file >> total >> resident;
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

ibv_context* open_first_device() {
  ibv_device** list = ibv_get_device_list(nullptr);
  if (list == nullptr || list[0] == nullptr) die("ibv_get_device_list");
  ibv_context* context = ibv_open_device(list[0]);
  if (context == nullptr) die("ibv_open_device");
  ibv_free_device_list(list);
  return context;
}

int measure() {
  ibv_context* context = open_first_device();
  ibv_pd* pd = ibv_alloc_pd(context);
  ibv_cq* cq = ibv_create_cq(context, 1024, nullptr, nullptr, 0);
  if (pd == nullptr || cq == nullptr) die("ibv_alloc_pd, ibv_create_cq");
  ibv_qp_init_attr attributes{};
  attributes.send_cq = attributes.recv_cq = cq;
  attributes.qp_type = IBV_QPT_UD;
  attributes.cap = {.max_send_wr = 128,
                    .max_recv_wr = 512,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 64};
  std::vector<ibv_qp*> queue_pairs;
  queue_pairs.reserve(kQueuePairs);
  const double before = resident_bytes();
  std::vector<double> step_ms;
  while (queue_pairs.size() < kQueuePairs) {
    const auto start = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < kStep; ++i) {
      queue_pairs.push_back(ibv_create_qp(pd, &attributes));
      if (queue_pairs.back() == nullptr) die("ibv_create_qp");
    }
    const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
    step_ms.push_back(took.count());
  }
  const double each = (resident_bytes() - before) / static_cast<double>(kQueuePairs);
  for (std::size_t i = 0; i < step_ms.size(); ++i) {
    std::printf("queue pairs %5zu to %5zu: %.1f ms\n", i * kStep, (i + 1) * kStep - 1, step_ms[i]);
  }
  std::printf("result: bytes per idle queue pair = %.0f\n", each);
  std::printf("result: creation, last thousand / first thousand = %.2f\n",
              step_ms.back() / step_ms.front());
  for (ibv_qp* queue_pair : queue_pairs)
    ibv_destroy_qp(queue_pair);
  ibv_destroy_cq(cq);
  ibv_dealloc_pd(pd);
  ibv_close_device(context);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::strcmp(argv[1], "measure") == 0) return measure();
  const auto self = std::filesystem::canonical("/proc/self/exe");
  const std::string weft = (self.parent_path().parent_path() / "bin" / "weft").string();
  execl(weft.c_str(), "weft", "run", "--", self.c_str(), "measure", nullptr);
  die(weft.c_str());
}
