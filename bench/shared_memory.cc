// SPDX-License-Identifier: Apache-2.0
// What shared memory can do between processes that wait as the programs of a lab do: they spin, and
// let others run in between. The limits of bench/fabric_programs.
//
//   shared_memory ring BYTES SECONDS       messages from one process to another through a ring of
//                                          4 KiB slots: a copy in and a copy out
//   shared_memory ping-pong BYTES COUNT    there and back through a third process that moves each
//                                          message from one ring to the next
//
// Prints one line of JSON. The first process has CPU 0, the second CPU 1, the third any.
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSlot = 4096;
constexpr std::size_t kSlots = 256;
constexpr int kAnyCpu = -1;

// One process writes, one reads.
struct Ring {
  alignas(64) std::atomic<std::uint64_t> written{0};
  alignas(64) std::atomic<std::uint64_t> read{0};
  alignas(64) std::array<std::uint32_t, kSlots> sizes{};
  alignas(kSlot) std::array<std::array<char, kSlot>, kSlots> slots{};

  void put(const char* from, std::size_t size) {
    const std::uint64_t n = written.load(std::memory_order_relaxed);
    while (n - read.load(std::memory_order_acquire) == kSlots)
      sched_yield();
    std::memcpy(slots[n % kSlots].data(), from, size);
    sizes[n % kSlots] = static_cast<std::uint32_t>(size);
    written.store(n + 1, std::memory_order_release);
  }
  // Waits for the next, hands its bytes to `use`, gives its slot back.
  template <class Use>
  void take(Use use) {
    const std::uint64_t n = read.load(std::memory_order_relaxed);
    while (written.load(std::memory_order_acquire) == n)
      sched_yield();
    use(slots[n % kSlots].data(), sizes[n % kSlots]);
    read.store(n + 1, std::memory_order_release);
  }
};

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

template <class T>
T& shared() {
  void* const memory =
      mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) die("mmap");
  return *new (memory) T;
}

// A process of its own that ends with this one.
void start(int cpu, const std::function<void()>& body) {
  const pid_t child = fork();
  if (child < 0) die("fork");
  if (child > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (cpu != kAnyCpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<std::size_t>(cpu), &set);
    sched_setaffinity(0, sizeof set, &set);
  }
  body();
  _exit(0);
}

int ring(std::size_t bytes, std::size_t seconds) {
  Ring& ring = shared<Ring>();
  start(0, [&] {
    const std::vector<char> from(bytes, 'x');
    for (;;) {
      for (std::size_t at = 0; at < bytes; at += kSlot)
        ring.put(from.data() + at, std::min(kSlot, bytes - at));
    }
  });
  start(1, [&] {
    std::vector<char> to(bytes);
    std::size_t at = 0;
    std::uint64_t total = 0;
    const auto begin = Clock::now() + std::chrono::milliseconds(200);
    const auto end = begin + std::chrono::seconds(seconds);
    for (;;) {
      ring.take([&](const char* data, std::size_t size) { std::memcpy(&to[at], data, size); });
      const std::size_t size = std::min(kSlot, bytes - at);
      at = at + size == bytes ? 0 : at + size;
      if (at != 0) continue;
      const auto now = Clock::now();
      if (now >= end) break;
      if (now >= begin) total += bytes;
    }
    fmt::print("{{\"gb_per_s\": {:.3f}}}\n",
               static_cast<double>(total) / 1e9 / static_cast<double>(seconds));
    std::fflush(stdout);
    kill(getppid(), SIGTERM);
  });
  pause();
  return 0;
}

int ping_pong(std::size_t bytes, std::size_t count) {
  struct Rings {
    Ring from_first, to_second, from_second, to_first;
  };
  Rings& rings = shared<Rings>();
  const auto move = [](Ring& from, Ring& to) {
    if (from.written.load(std::memory_order_acquire) == from.read.load()) return false;
    from.take([&](const char* data, std::size_t size) { to.put(data, size); });
    return true;
  };
  start(kAnyCpu, [&] {
    for (;;) {
      const bool one_way = move(rings.from_first, rings.to_second);
      const bool other_way = move(rings.from_second, rings.to_first);
      if (!one_way && !other_way) sched_yield();
    }
  });
  const auto ignore = [](const char*, std::size_t) {};
  start(1, [&] {
    const std::vector<char> message(bytes, 'x');
    for (;;) {
      rings.to_second.take(ignore);
      rings.from_second.put(message.data(), bytes);
    }
  });
  start(0, [&] {
    const std::vector<char> message(bytes, 'x');
    std::vector<std::int64_t> times(count);
    for (std::size_t i = 0; i < count + count / 10; ++i) {
      const auto begin = Clock::now();
      rings.from_first.put(message.data(), bytes);
      rings.to_first.take(ignore);
      times[i % count] = (Clock::now() - begin).count();
    }
    std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(count / 2),
                     times.end());
    fmt::print("{{\"round_trip_ns\": {}}}\n", times[count / 2]);
    std::fflush(stdout);
    kill(getppid(), SIGTERM);
  });
  pause();
  return 0;
}

std::size_t number(std::string_view text) {
  std::size_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && stop == text.data() + text.size() && value > 0) return value;
  fmt::print(stderr, "shared_memory: '{}' is no number above 0\n", text);
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  // One of the processes says that it is over.
  std::signal(SIGTERM, [](int) { _exit(0); });
  const std::string_view what = argc == 4 ? argv[1] : "";
  if (what == "ring") return ring(number(argv[2]), number(argv[3]));
  if (what == "ping-pong" && number(argv[2]) <= kSlot) {
    return ping_pong(number(argv[2]), number(argv[3]));
  }
  fmt::print(stderr,
             "usage: shared_memory ring BYTES SECONDS\n"
             "       shared_memory ping-pong BYTES COUNT      (at most 4096 bytes)\n");
  return 2;
}
