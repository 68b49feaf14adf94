// SPDX-License-Identifier: Apache-2.0
// The limit for RDMA writes over sockets: a ping-pong between two processes in each of which one
// thread spins on memory while a second receives UDP datagrams and copies them there. Each process
// has one CPU.
//
// usage: udp_memory_latency [SIZE [COUNT]]
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kLargest = 4096;

std::int64_t now_ns() {
  return std::chrono::steady_clock::now().time_since_epoch().count();
}

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  sched_setaffinity(0, sizeof set, &set);
}

int bound_socket(sockaddr_in& address) {
  const int fd = socket(AF_INET, SOCK_DGRAM, 0);
  address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) {
    std::perror("udp_memory_latency: socket");
    std::exit(1);
  }
  return fd;
}

// One end: `placed` counts the messages that the second thread has copied into `memory`.
class End {
 public:
  End(int fd, const sockaddr_in& peer, std::size_t size) : fd_(fd), peer_(peer), size_(size) {
    std::thread([this] { place(); }).detach();
  }
  void send() {
    sendto(fd_, out_.data(), size_, 0, reinterpret_cast<const sockaddr*>(&peer_), sizeof peer_);
  }
  void await(std::uint64_t count) {
    while (placed_.load(std::memory_order_acquire) < count) {
    }
  }

 private:
  void place() {
    std::vector<char> in(kLargest);
    for (;;) {
      const ssize_t got = recv(fd_, in.data(), in.size(), 0);
      if (got <= 0) continue;
      std::memcpy(memory_.data(), in.data(), static_cast<std::size_t>(got));
      placed_.fetch_add(1, std::memory_order_release);
    }
  }

  int fd_;
  sockaddr_in peer_;
  std::size_t size_;
  std::vector<char> out_ = std::vector<char>(kLargest);
  std::vector<char> memory_ = std::vector<char>(kLargest);
  std::atomic<std::uint64_t> placed_{0};
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t size = argc > 1 ? static_cast<std::size_t>(std::atoi(argv[1])) : 8;
  const int count = argc > 2 ? std::atoi(argv[2]) : 5'000;
  if (size == 0 || size > kLargest || count < 1) {
    fmt::print(stderr, "usage: udp_memory_latency [SIZE (1 to {}) [COUNT]]\n", kLargest);
    return 2;
  }
  sockaddr_in here;
  sockaddr_in there;
  const int ours = bound_socket(here);
  const int theirs = bound_socket(there);
  const pid_t child = fork();
  if (child == 0) {
    pin(1);
    End end(theirs, here, size);
    for (std::uint64_t i = 1;; ++i) {
      end.await(i);
      end.send();
    }
  }
  pin(0);
  End end(ours, there, size);
  usleep(100'000);  // until the other process waits
  std::vector<std::int64_t> times;
  for (int i = 1; i <= count; ++i) {
    const std::int64_t start = now_ns();
    end.send();
    end.await(static_cast<std::uint64_t>(i));
    times.push_back(now_ns() - start);
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  std::sort(times.begin(), times.end());
  fmt::print("{{\"mode\": \"memory\", \"bytes\": {}, \"round_trip_ns\": {}, \"p99_ns\": {}}}\n",
             size, times[times.size() / 2], times[times.size() * 99 / 100]);
  fmt::print("result: udp into memory {} B = {} ns\n", size, times[times.size() / 2]);
  std::fflush(stdout);
  _exit(0);
}
