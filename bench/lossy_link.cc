// SPDX-License-Identifier: Apache-2.0
// A network of two ends that is slow to arrive and loses packets: a TUN device in each of two
// network namespaces and this process between, which hands every IP packet on after a delay or, by
// chance, not at all.
//
//   lossy_link PID-A PID-B NAME DELAY-US LOSS SEED
//
// The devices are called NAME, in the namespaces of these two processes; the caller gives them
// addresses. LOSS is a probability, of each packet by itself, in both directions. It prints a line
// when the devices are there, and another with what it carried and lost when it is told to stop.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostBytes = 65'536;
constexpr int kMostAtOnce = 256;  // packets read from one end before the other has its turn

volatile std::sig_atomic_t stopping = 0;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::exit(1);
}

int open_device(const std::string& process, const char* name) {
  const int space = open(("/proc/" + process + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC);
  if (space < 0 || setns(space, CLONE_NEWNET) != 0) die("setns");
  close(space);
  const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) die("/dev/net/tun");
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  std::strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
  if (ioctl(fd, TUNSETIFF, &request) != 0) die("TUNSETIFF");
  return fd;
}

struct Packet {
  Clock::time_point due;
  std::vector<char> bytes;
};

// One direction.
class Path {
 public:
  Path(int from, int to, Clock::duration delay) : from_(from), to_(to), delay_(delay) {}

  template <class Lose>
  void take_in(Lose&& lose) {
    for (int n = 0; n < kMostAtOnce; ++n) {
      const ssize_t size = read(from_, scratch_.data(), scratch_.size());
      if (size <= 0) return;
      if (lose()) {
        ++lost_;
        continue;
      }
      queue_.push_back({Clock::now() + delay_, {scratch_.begin(), scratch_.begin() + size}});
    }
  }
  void hand_on() {
    const auto now = Clock::now();
    while (!queue_.empty() && queue_.front().due <= now) {
      const Packet& packet = queue_.front();
      if (write(to_, packet.bytes.data(), packet.bytes.size()) < 0) ++refused_;
      ++carried_;
      queue_.pop_front();
    }
  }
  [[nodiscard]] Clock::time_point due() const {
    return queue_.empty() ? Clock::time_point::max() : queue_.front().due;
  }
  void report(const char* which) const {
    std::printf("%s: carried %llu, lost %llu, refused %llu\n", which, carried_, lost_, refused_);
  }

 private:
  int from_;
  int to_;
  Clock::duration delay_;
  std::deque<Packet> queue_;
  std::array<char, kMostBytes> scratch_{};
  unsigned long long carried_ = 0;
  unsigned long long lost_ = 0;
  unsigned long long refused_ = 0;  // by the kernel: the device is down, or no such protocol
};

void run(Path& there, Path& back, std::array<pollfd, 2> ends, double loss, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::bernoulli_distribution chance(loss);
  const auto lose = [&] { return chance(random); };
  while (stopping == 0) {
    const auto now = Clock::now();
    const auto due = std::min(there.due(), back.due());
    timespec wait{.tv_sec = 1, .tv_nsec = 0};
    if (due != Clock::time_point::max()) {
      const auto left = std::max<std::int64_t>(
          0, std::chrono::duration_cast<std::chrono::nanoseconds>(due - now).count());
      wait = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
    }
    if (ppoll(ends.data(), ends.size(), &wait, nullptr) < 0 && errno != EINTR) die("ppoll");
    there.take_in(lose);
    back.take_in(lose);
    there.hand_on();
    back.hand_on();
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: lossy_link PID-A PID-B NAME DELAY-US LOSS SEED\n");
    return 2;
  }
  const auto delay = std::chrono::microseconds(std::strtoll(argv[4], nullptr, 10));
  const double loss = std::strtod(argv[5], nullptr);
  if (!(loss >= 0 && loss < 1) || delay.count() < 0) {
    std::fprintf(stderr, "lossy_link: a delay of at least 0 us, a loss from 0 to below 1\n");
    return 2;
  }
  const int a = open_device(argv[1], argv[3]);
  const int b = open_device(argv[2], argv[3]);
  struct sigaction action {};
  action.sa_handler = [](int) { stopping = 1; };
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
  std::puts("ready");
  std::fflush(stdout);
  static Path there(a, b, delay);
  static Path back(b, a, delay);
  run(there, back, {pollfd{a, POLLIN, 0}, pollfd{b, POLLIN, 0}}, loss,
      std::strtoull(argv[6], nullptr, 10));
  there.report("there");
  back.report("back");
  return 0;
}
