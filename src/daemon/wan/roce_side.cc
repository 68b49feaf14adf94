// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/roce_side.h"

#include <fmt/format.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <netinet/icmp6.h>
#include <netinet/in.h>
#include <sys/epoll.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "daemon/counters_json.h"
#include "io/clock.h"
#include "io/packet_socket.h"
#include "io/tap_device.h"
#include "wire/ip.h"

namespace weft::daemon {
namespace {

constexpr std::string_view kRoceSideTap = "tap:";
constexpr std::uint32_t kIp = 14;

// The frames that a bridge for RoCE may carry: so all other traffic costs nothing here. Jumps count
// instructions; the last two are what becomes of a frame.
constexpr std::array<sock_filter, 20> kFilter{{
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
             static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT)),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 16),  // of another VLAN
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_ARP, 15, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IP, 0, 5),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kIp + 9),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 11),
    BPF_STMT(BPF_LDX | BPF_B | BPF_MSH, kIp),
    BPF_STMT(BPF_LD | BPF_H | BPF_IND, kIp + 2),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wire::kRocePort, 9, 8),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ETH_P_IPV6, 0, 7),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kIp + 6),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_ICMPV6, 3, 0),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IPPROTO_UDP, 0, 4),
    BPF_STMT(BPF_LD | BPF_H | BPF_ABS, kIp + 40 + 2),
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, wire::kRocePort, 3, 2),
    BPF_STMT(BPF_LD | BPF_B | BPF_ABS, kIp + 40),
    BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, ND_NEIGHBOR_SOLICIT, 1, 0),  // the bridge looks closer
    BPF_STMT(BPF_RET | BPF_K, 0),
    BPF_STMT(BPF_RET | BPF_K, 0xFFFF'FFFF),
}};

Expected<std::unique_ptr<io::EthernetDevice>> open_device(const std::string& interface) {
  if (interface.starts_with(kRoceSideTap)) {
    return io::TapDevice::open(interface.substr(kRoceSideTap.size()), kFilter);
  }
  return io::PacketSocket::open(interface, kFilter, {});
}

}  // namespace

RoceSide::RoceSide(std::unique_ptr<io::EthernetDevice> device, std::string interface,
                   const link::PortOptions& port, link::PacketPool& pool, io::Reactor& reactor,
                   std::function<void()> wake)
    : device_(std::move(device)),
      reactor_(reactor),
      wake_(std::move(wake)),
      memory_(io::kBatch),
      absence_(std::move(interface), "hosts"),
      bridge_({.port = port}, pool, *this) {
  frames_.reserve(io::kBatch);
}

Expected<std::unique_ptr<RoceSide>> RoceSide::open(const std::string& interface,
                                                   const link::PortOptions& port,
                                                   link::PacketPool& pool, io::Reactor& reactor,
                                                   std::function<void()> wake) {
  auto device = open_device(interface);
  if (!device) {
    const bool denied = device.error().code == std::errc::operation_not_permitted;
    const bool tap = interface.starts_with(kRoceSideTap);
    return fail(device.error().code,
                fmt::format("hosts: {}{}", device.error().message,
                            !denied ? ""
                            : tap   ? ": a TAP interface needs CAP_NET_ADMIN"
                                    : ": frames of an interface need CAP_NET_RAW"));
  }
  std::unique_ptr<RoceSide> side(
      new RoceSide(std::move(*device), interface, port, pool, reactor, std::move(wake)));
  auto watch = reactor.watch(side->device_->fd(), EPOLLIN,
                             [raw = side.get()](std::uint32_t events) { raw->on_ready(events); });
  if (!watch) return tl::unexpected(watch.error());
  side->watch_ = std::move(*watch);
  return side;
}

void RoceSide::on_ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    flush();
    wake_();
  }
  // An interface that goes down says so as an error, until somebody receives.
  if ((events & ~std::uint32_t{EPOLLOUT}) != 0) {
    receive(io::now());
    absence_.look(*device_, io::now());
  }
  if (!device_->gone()) return;
  watch_.reset();
  absence_.give_up();
}

void RoceSide::receive(Time now) {
  for (std::size_t i = 0; i < kTurn; ++i) {
    const auto frames = device_->receive();
    if (frames.empty()) return;
    for (const Bytes frame : frames)
      bridge_.from_hosts(frame, now);
  }
}

MutableBytes RoceSide::room() {
  if (frames_.size() == memory_.size()) flush();
  if (frames_.size() == memory_.size()) return {};
  return memory_[frames_.size()];
}

void RoceSide::put(Bytes frame) {
  frames_.push_back(frame);
}

// What it does not take now stays in order, and moves to the front of the memory.
void RoceSide::flush() {
  std::array<std::span<const Bytes>, io::kBatch> batch;
  std::size_t done = 0;
  while (done < frames_.size()) {
    const std::size_t count = frames_.size() - done;
    for (std::size_t i = 0; i < count; ++i)
      batch[i] = std::span(frames_).subspan(done + i, 1);
    const io::BatchSent sent = device_->send(std::span(batch).first(count));
    done += sent.count;
    if (sent.error != std::errc{}) {
      ++refused_;
      ++done;
    } else if (sent.count < count) {
      break;
    }
  }
  const std::size_t left = frames_.size() - done;
  for (std::size_t i = 0; i < left; ++i) {
    const Bytes frame = frames_[done + i];
    std::ranges::copy(frame, memory_[i].begin());
    frames_[i] = Bytes(memory_[i]).first(frame.size());
  }
  frames_.resize(left);
  const bool blocked = left != 0;
  if (blocked == std::exchange(watching_for_room_, blocked)) return;
  const std::uint32_t events = blocked ? EPOLLIN | EPOLLOUT : EPOLLIN;
  static_cast<void>(reactor_.change_events(watch_, events));
}

std::optional<Time> RoceSide::deadline() const {
  const auto look = absence_.deadline();
  const auto age = bridge_.deadline();
  return look && age ? std::min(*look, *age) : look ? look : age;
}

void RoceSide::run(Time now) {
  absence_.look(*device_, now);
  bridge_.run(now);
  flush();
}

nlohmann::json RoceSide::report() const {
  auto counters = bridge_.counters().snapshot();
  counters.push_back({"interface_refused", "frames that the interface refused", refused_});
  counters.push_back({"interface_overflow", "frames lost because they were fetched too late",
                      device_->overflows()});
  return {{"interface", absence_.interface()},
          {"hosts", bridge_.stations().size()},
          {"counters", counters_json(counters)}};
}

}  // namespace weft::daemon
