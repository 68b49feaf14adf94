// SPDX-License-Identifier: Apache-2.0
// What plain UDP sockets can do between two processes of this machine: the limit that Weft's
// figures are ratios of. Nothing of Weft is used here.
//
//   udp_baseline                                       the figures below as result lines
//   udp_baseline bw  gso|plain SIZE SECONDS [BUFFER]   payload GB/s received, loss-free by a window
//   udp_baseline bw6 gso|plain SIZE SECONDS [BUFFER [MEMORY [FROM]]]   the same over IPv6; what
//                                                      comes goes into so many bytes, and is sent
//                                                      out of so many, one behind the other
//   udp_baseline lat SIZE COUNT                        median round trip, both sides spinning, ns
//   udp_baseline serve ADDRESS PORT / lat-to ADDRESS PORT SIZE COUNT   the same between hosts
//   udp_baseline bw-serve ADDRESS PORT / bw-to ADDRESS PORT gso|plain SIZE SECONDS
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/udp.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr const char* kLoopback = "127.0.0.1";
constexpr std::size_t kBuffer = 65536;
constexpr std::size_t kMaxPayload = 65507;
constexpr int kMaxSegments = 64;
constexpr int kSocketBuffer = 4 << 20;
constexpr std::uint64_t kAckEvery = 64 * 1024;
constexpr std::uint64_t kLargestWindow = 1 << 20;

std::int64_t now_ns() {
  timespec spec{};
  clock_gettime(CLOCK_MONOTONIC, &spec);
  return spec.tv_sec * 1'000'000'000LL + spec.tv_nsec;
}

void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  sched_setaffinity(0, sizeof set, &set);
}

// A second process, which does not outlive this one, however that ends.
pid_t fork_end() {
  const pid_t child = fork();
  if (child == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
  return child;
}

[[noreturn]] void die(const char* what) {
  perror(what);
  std::exit(1);
}

// With a colon in it, of IPv6.
sockaddr_storage address_of(std::string_view ip, std::uint16_t port) {
  sockaddr_storage address{};
  if (ip.find(':') != std::string_view::npos) {
    auto& v6 = reinterpret_cast<sockaddr_in6&>(address);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    inet_pton(AF_INET6, ip.data(), &v6.sin6_addr);
  } else {
    auto& v4 = reinterpret_cast<sockaddr_in&>(address);
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    inet_pton(AF_INET, ip.data(), &v4.sin_addr);
  }
  return address;
}

const sockaddr* general(const sockaddr_storage& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

struct Socket {
  sockaddr_storage address;
  int fd;

  explicit Socket(const char* ip, std::uint16_t port, int buffer)
      : address(address_of(ip, port)), fd(socket(address.ss_family, SOCK_DGRAM, 0)) {
    if (fd < 0) die("socket");
    if (bind(fd, general(address), sizeof address) != 0) die("bind");
    socklen_t length = sizeof address;
    getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length);
    if (buffer > 0 && setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer, sizeof buffer) != 0) {
      setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
    }
  }
  void connect_to(const sockaddr_storage& peer) const {
    if (connect(fd, general(peer), sizeof peer) != 0) die("connect");
  }
};

// Receives until the sender's end mark (one byte), acknowledging bytes as they come; a first time
// when it is ready.
void receive_side(const Socket& socket, bool gro, std::uint64_t window, std::size_t memory) {
  const int on = 1;
  if (gro && setsockopt(socket.fd, SOL_UDP, UDP_GRO, &on, sizeof on) != 0) die("UDP_GRO");
  std::vector<char> buffer(std::max(memory, kBuffer));
  std::size_t at = 0;
  std::uint64_t total = 0;
  std::uint64_t acknowledged = 0;
  if (send(socket.fd, &total, sizeof total, 0) < 0) die("ack");
  for (;;) {
    if (buffer.size() - at < kBuffer) at = 0;
    const ssize_t got = recv(socket.fd, buffer.data() + at, kBuffer, MSG_DONTWAIT);
    if (got < 0) continue;
    if (got == 1) return;
    total += static_cast<std::uint64_t>(got);
    if (memory > kBuffer) at += static_cast<std::size_t>(got);
    if (total - acknowledged >= std::min(kAckEvery, window / 4)) {
      acknowledged = total;
      if (send(socket.fd, &total, sizeof total, 0) < 0) die("ack");
    }
  }
}

double send_side(const Socket& socket, bool gso, std::size_t size, double seconds,
                 std::uint64_t window, std::size_t memory) {
  const std::size_t segments = gso ? std::min<std::size_t>(kMaxSegments, kMaxPayload / size) : 1;
  const int segment = static_cast<int>(size);
  if (gso && setsockopt(socket.fd, SOL_UDP, UDP_SEGMENT, &segment, sizeof segment) != 0) {
    die("UDP_SEGMENT");
  }
  const std::size_t length = size * segments;
  const std::vector<char> data(std::max(memory, length), 'w');
  std::size_t at = 0;
  std::uint64_t sent = 0;
  std::uint64_t acknowledged = 0;
  const std::int64_t start = now_ns();
  const auto end = start + static_cast<std::int64_t>(seconds * 1e9);
  std::int64_t last_progress = start;
  while (now_ns() < end) {
    std::uint64_t ack = 0;
    while (recv(socket.fd, &ack, sizeof ack, MSG_DONTWAIT) == sizeof ack) {
      acknowledged = std::max(acknowledged, ack);
      last_progress = now_ns();
    }
    if (sent - acknowledged + length > window) {
      // Something was lost after all: write it off rather than hang.
      if (now_ns() - last_progress > 100'000'000) acknowledged = sent;
      continue;
    }
    if (send(socket.fd, data.data() + at, length, 0) <= 0) continue;
    sent += length;
    at += length;
    if (data.size() - at < length) at = 0;
  }
  const double elapsed = static_cast<double>(now_ns() - start) / 1e9;
  const int none = 0;
  setsockopt(socket.fd, SOL_UDP, UDP_SEGMENT, &none, sizeof none);
  for (int i = 0; i < 10; ++i) {
    if (send(socket.fd, "x", 1, 0) < 0) break;
    usleep(1000);
  }
  return static_cast<double>(acknowledged) / elapsed / 1e9;
}

// What the sender may have in flight, given a receiver with as large a buffer as this socket's.
std::uint64_t window_of(const Socket& socket, bool gso, std::size_t size) {
  int granted = 0;
  socklen_t length = sizeof granted;
  getsockopt(socket.fd, SOL_SOCKET, SO_RCVBUF, &granted, &length);
  const std::uint64_t room = static_cast<std::uint64_t>(granted) * 3 / 4;
  // A small datagram is charged about a kilobyte beyond its bytes.
  return std::min(kLargestWindow, gso ? room : room * size / (size + 1024));
}

// Bytes that are walked through at each end; less than a message: one place, which the cache keeps.
struct Memory {
  std::size_t to = 0;
  std::size_t from = 0;
};

double measure_bandwidth(const char* ip, bool gso, std::size_t size, double seconds, int buffer,
                         const Memory& memory = {}) {
  const Socket receiver(ip, 0, buffer);
  const Socket sender(ip, 0, buffer);
  receiver.connect_to(sender.address);
  sender.connect_to(receiver.address);
  const std::uint64_t window = window_of(receiver, gso, size);
  const pid_t child = fork_end();
  if (child == 0) {
    pin(1);
    receive_side(receiver, gso, window, memory.to);
    _exit(0);
  }
  pin(0);
  std::uint64_t ready = 0;
  if (recv(sender.fd, &ready, sizeof ready, 0) < 0) die("recv");
  const double rate = send_side(sender, gso, size, seconds, window, memory.from);
  kill(child, SIGTERM);
  waitpid(child, nullptr, 0);
  return rate;
}

void print_bandwidth(bool gso, std::size_t size, double rate) {
  fmt::print(
      "{{\"mode\": \"{}\", \"bytes\": {}, \"gb_per_s\": {:.3f}, \"messages_per_s\": {:.0f}}}\n",
      gso ? "gso" : "plain", size, rate, rate * 1e9 / static_cast<double>(size));
}

// The receiver of one bandwidth measurement by bw-to.
int serve_bandwidth(const char* ip, std::uint16_t port) {
  const Socket server(ip, port, kSocketBuffer);
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  char byte = 0;
  if (recvfrom(server.fd, &byte, 1, MSG_PEEK, reinterpret_cast<sockaddr*>(&peer), &length) < 0) {
    die("recvfrom");
  }
  server.connect_to(peer);
  receive_side(server, true, kLargestWindow, 0);
  return 0;
}

int send_bandwidth(const sockaddr_storage& peer, bool gso, std::size_t size, double seconds) {
  const Socket client("0.0.0.0", 0, kSocketBuffer);
  client.connect_to(peer);
  print_bandwidth(gso, size,
                  send_side(client, gso, size, seconds, window_of(client, gso, size), 0));
  return 0;
}

void echo(int fd, std::size_t size) {
  std::vector<char> buffer(kBuffer);
  sockaddr_storage peer{};
  for (;;) {
    socklen_t length = sizeof peer;
    const ssize_t got = recvfrom(fd, buffer.data(), buffer.size(), MSG_DONTWAIT,
                                 reinterpret_cast<sockaddr*>(&peer), &length);
    if (got < 0) continue;
    sendto(fd, buffer.data(), static_cast<std::size_t>(got), 0, reinterpret_cast<sockaddr*>(&peer),
           length);
    if (got == 1 && size != 1) return;
  }
}

int ping(const Socket& socket, const sockaddr_storage& peer, std::size_t size, int count) {
  std::vector<char> buffer(kBuffer);
  std::vector<std::int64_t> times;
  const sockaddr* const to = general(peer);
  for (int i = 0; i < count + 1000; ++i) {
    const std::int64_t start = now_ns();
    sendto(socket.fd, buffer.data(), size, 0, to, sizeof peer);
    while (recv(socket.fd, buffer.data(), buffer.size(), MSG_DONTWAIT) < 0) {
      if (now_ns() - start > 1'000'000'000) return 1;
    }
    if (i >= 1000) times.push_back(now_ns() - start);
  }
  sendto(socket.fd, "x", 1, 0, to, sizeof peer);
  std::sort(times.begin(), times.end());
  fmt::print("{{\"mode\": \"lat\", \"bytes\": {}, \"round_trip_ns\": {}, \"p99_ns\": {}}}\n", size,
             times[times.size() / 2], times[times.size() * 99 / 100]);
  return 0;
}

int latency(std::size_t size, int count) {
  const Socket server("127.0.0.1", 0, 0);
  const Socket client("127.0.0.1", 0, 0);
  const pid_t child = fork_end();
  if (child == 0) {
    pin(1);
    echo(server.fd, size);
    _exit(0);
  }
  pin(0);
  const int result = ping(client, server.address, size, count);
  kill(child, SIGTERM);
  waitpid(child, nullptr, 0);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  const auto number = [&](std::size_t i) { return std::atof(words[i].data()); };
  if (words.empty()) {
    for (const std::size_t size : {std::size_t{256}, std::size_t{4096}}) {
      for (const bool gso : {false, true}) {
        fmt::print("result: udp {} {} B = {:.2f} GB/s\n", gso ? "gso" : "plain", size,
                   measure_bandwidth(kLoopback, gso, size, 1.0, kSocketBuffer));
      }
    }
    return 0;
  }
  if (words.size() >= 4 && (words[0] == "bw" || words[0] == "bw6") &&
      (words[1] == "gso" || words[1] == "plain")) {
    const bool gso = words[1] == "gso";
    const auto size = static_cast<std::size_t>(number(2));
    const int buffer = words.size() > 4 ? static_cast<int>(number(4)) : kSocketBuffer;
    const auto bytes = [&](std::size_t i) {
      return words.size() > i ? static_cast<std::size_t>(number(i)) : 0;
    };
    const Memory memory{.to = bytes(5), .from = bytes(6)};
    const char* const ip = words[0] == "bw" ? kLoopback : "::1";
    print_bandwidth(gso, size, measure_bandwidth(ip, gso, size, number(3), buffer, memory));
    return 0;
  }
  if (words.size() == 3 && words[0] == "lat") {
    return latency(static_cast<std::size_t>(number(1)), static_cast<int>(number(2)));
  }
  if (words.size() == 3 && words[0] == "serve") {
    const Socket server(words[1].data(), static_cast<std::uint16_t>(number(2)), 0);
    echo(server.fd, 0);
    return 0;
  }
  if (words.size() == 5 && words[0] == "lat-to") {
    const Socket client("0.0.0.0", 0, 0);
    const auto peer = address_of(words[1].data(), static_cast<std::uint16_t>(number(2)));
    return ping(client, peer, static_cast<std::size_t>(number(3)), static_cast<int>(number(4)));
  }
  if (words.size() == 3 && words[0] == "bw-serve") {
    return serve_bandwidth(words[1].data(), static_cast<std::uint16_t>(number(2)));
  }
  if (words.size() == 6 && words[0] == "bw-to" && (words[3] == "gso" || words[3] == "plain")) {
    return send_bandwidth(address_of(words[1].data(), static_cast<std::uint16_t>(number(2))),
                          words[3] == "gso", static_cast<std::size_t>(number(4)), number(5));
  }
  fmt::print(stderr,
             "usage: udp_baseline bw|bw6 gso|plain SIZE SECONDS [BUFFER [MEMORY [FROM]]]\n"
             "       udp_baseline lat SIZE COUNT\n"
             "       udp_baseline serve ADDRESS PORT\n"
             "       udp_baseline lat-to ADDRESS PORT SIZE COUNT\n"
             "       udp_baseline bw-serve ADDRESS PORT\n"
             "       udp_baseline bw-to ADDRESS PORT gso|plain SIZE SECONDS\n");
  return 2;
}
