// SPDX-License-Identifier: Apache-2.0
// Round trips of ICMP echoes, of 64 bytes and each sent when the one before has come, in
// nanoseconds: those that `ping -A` prints in microseconds. As there, one ends when the kernel has
// the reply, so that what it takes to wake this program is not among them.
//
//   echo_trips ADDRESS COUNT
//
// Prints one line of JSON: the median, the shortest of the longest hundredth, and how many have not
// come within a second.
#include <fmt/format.h>
#include <linux/icmp.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "io/clock.h"
#include "io/socket_address.h"
#include "io/unique_fd.h"
#include "wire/ip.h"

namespace {

using weft::Duration;

constexpr std::size_t kEcho = 64;  // with its header, as ping sends them
constexpr std::size_t kWarmUp = 100;
constexpr timeval kPatience{1, 0};

struct Echo {
  icmphdr header{};
  std::array<std::byte, kEcho - sizeof(icmphdr)> data{};
};
static_assert(sizeof(Echo) == kEcho);

[[noreturn]] void give_up(const char* what) {
  fmt::print(stderr, "echo_trips: {}: {}\n", what, std::strerror(errno));
  std::exit(1);
}

template <class Value>
void set(int fd, int level, int name, const Value& value, const char* what) {
  if (setsockopt(fd, level, name, &value, sizeof value) != 0) give_up(what);
}

weft::io::UniqueFd open_socket(const char* address) {
  const auto parsed = weft::io::SocketAddress::parse(address);
  sockaddr_storage raw{};
  const socklen_t length = parsed ? parsed->to_sockaddr(AF_INET, raw) : 0;
  if (length == 0) {
    fmt::print(stderr, "echo_trips: {} is no IPv4 address\n", address);
    std::exit(2);
  }
  weft::io::UniqueFd fd(socket(AF_INET, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_ICMP));
  if (!fd) give_up("raw socket");
  const icmp_filter replies{~(1u << ICMP_ECHOREPLY)};
  set(fd.get(), SOL_RAW, ICMP_FILTER, replies, "filter");
  set(fd.get(), SOL_SOCKET, SO_TIMESTAMPNS, 1, "time stamps");
  set(fd.get(), SOL_SOCKET, SO_RCVTIMEO, kPatience, "time limit");
  if (connect(fd.get(), reinterpret_cast<const sockaddr*>(&raw), length) != 0) give_up(address);
  return fd;
}

// On the wall's clock, of which the kernel's time stamps are.
Duration arrival_of(msghdr& message) {
  for (cmsghdr* at = CMSG_FIRSTHDR(&message); at != nullptr; at = CMSG_NXTHDR(&message, at)) {
    if (at->cmsg_level != SOL_SOCKET || at->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec stamp;
    std::memcpy(&stamp, CMSG_DATA(at), sizeof stamp);
    return std::chrono::seconds{stamp.tv_sec} + Duration{stamp.tv_nsec};
  }
  fmt::print(stderr, "echo_trips: a packet without a time stamp\n");
  std::exit(1);
}

// When the reply to `sent` came; nothing: it has not. Replies to others are passed over.
std::optional<Duration> wait_for_reply(int fd, const Echo& sent) {
  std::array<std::byte, 256> packet;
  alignas(cmsghdr) std::array<char, 64> control;
  while (true) {
    iovec place{packet.data(), packet.size()};
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const ssize_t size = recvmsg(fd, &message, 0);
    if (size < 0 && errno == EAGAIN) return std::nullopt;
    if (size < 0 && errno != EINTR) give_up("receive");
    // The kernel has no options in its replies to packets that have none.
    icmphdr got{};
    if (size < static_cast<ssize_t>(sizeof(iphdr) + sizeof got)) continue;
    std::memcpy(&got, packet.data() + sizeof(iphdr), sizeof got);
    const auto& mine = sent.header.un.echo;
    if (got.un.echo.id == mine.id && got.un.echo.sequence == mine.sequence)
      return arrival_of(message);
  }
}

std::optional<Duration> trip(int fd, std::uint16_t number) {
  Echo echo;
  echo.header.type = ICMP_ECHO;
  echo.header.un.echo.id = htons(static_cast<std::uint16_t>(getpid()));
  echo.header.un.echo.sequence = htons(number);
  const weft::Bytes bytes = std::as_bytes(std::span(&echo, 1));
  echo.header.checksum = htons(weft::wire::internet_checksum(bytes));
  const Duration begin = weft::io::wall_clock();
  if (send(fd, bytes.data(), bytes.size(), 0) < 0) give_up("send");
  const auto end = wait_for_reply(fd, echo);
  if (!end) return std::nullopt;
  return *end - begin;
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t count = argc == 3 ? std::strtoul(argv[2], nullptr, 10) : 0;
  if (count == 0) {
    fmt::print(stderr, "usage: echo_trips ADDRESS COUNT\n");
    return 2;
  }
  const weft::io::UniqueFd fd = open_socket(argv[1]);
  std::vector<Duration> trips;
  std::size_t lost = 0;
  for (std::size_t i = 0; i < kWarmUp + count; ++i) {
    const auto took = trip(fd.get(), static_cast<std::uint16_t>(i));
    if (i < kWarmUp) continue;
    if (took) {
      trips.push_back(*took);
    } else {
      ++lost;
    }
  }
  if (trips.empty()) {
    fmt::print(stderr, "echo_trips: {} does not answer\n", argv[1]);
    return 1;
  }
  std::ranges::sort(trips);
  fmt::print("{{\"median_ns\": {}, \"p99_ns\": {}, \"lost\": {}}}\n",
             trips[trips.size() / 2].count(), trips[trips.size() * 99 / 100].count(), lost);
}
