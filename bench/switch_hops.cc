// SPDX-License-Identifier: Apache-2.0
// How many packets one worker's switches forward in a second: a row of switches as a lab has them,
// from an adapter at one end to one at the other. At each switch the VCRC is checked, the port is
// looked up in the linear forwarding table, the lane in the table of SL to VL, which names another
// one than the packet came on, so that the LRH and its VCRC are rewritten; arbitration chooses, and
// credits are kept. Beside it, what checking the VCRC alone takes, over as many packets.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/lab_generate.h"
#include "wire/bth.h"
#include "wire/link_crc.h"
#include "wire/packet.h"

namespace {

using namespace weft;
using Clock = std::chrono::steady_clock;
using Nanoseconds = std::chrono::duration<double, std::nano>;

constexpr unsigned kSwitches = 8;
constexpr std::size_t kPayload = 256;
constexpr int kTurns = 51;
constexpr std::size_t kPacketsInTurn = 4'032;
// As many as wait on a lane of an adapter whose switch takes 64 KiB of each.
constexpr std::size_t kBurst = 64;
constexpr Lid kFrom{1};
constexpr Lid kTo{2};
constexpr unsigned kLanes = 4;

Time now() {
  return Time(Clock::now().time_since_epoch());
}

class Row {
 public:
  Row() : fabric_(*fabric::generate_line({kSwitches}, 1, "bench")) {
    for (std::size_t i = 0; i < fabric_.node_count(); ++i) {
      fabric::Node& node = fabric_.node(i);
      (node.kind() == fabric::NodeKind::kSwitch ? switches_ : adapters_).push_back(&node);
    }
    fabric_.start(now());
    settle();
    for (const auto state : {wire::PortState::kArmed, wire::PortState::kActive}) {
      for (std::size_t i = 0; i < fabric_.link_count(); ++i) {
        for (const std::size_t side : {0u, 1u})
          fabric_.end(i, side).link().set_state(state, now());
      }
      settle();
    }
    name(*adapters_.front(), kFrom);
    name(*adapters_.back(), kTo);
    for (unsigned i = 0; i < kSwitches; ++i)
      route(i);
  }

  // Sends so many packets from one end to the other; returns the nanoseconds of a hop.
  double run(std::size_t packets, Bytes bytes) {
    const std::uint64_t before = forwarded();
    const auto start = Clock::now();
    for (std::size_t sent = 0; sent < packets; sent += kBurst) {
      const Time time = now();
      for (std::size_t i = 0; i < kBurst; ++i)
        adapters_.front()->port(1).link().transmit(fabric_.pool().copy(bytes), Vl{0}, time);
      fabric_.run(time);
    }
    const Nanoseconds took = Clock::now() - start;
    const std::uint64_t hops = forwarded() - before;
    if (hops != packets * kSwitches) {
      fmt::print(stderr, "switch_hops: {} hops, not {}\n", hops, packets * kSwitches);
      std::exit(1);
    }
    return took.count() / static_cast<double>(hops);
  }
  [[nodiscard]] link::PacketPool& pool() { return fabric_.pool(); }

 private:
  void settle() {
    const Time time = now();
    while (fabric_.deadline() && *fabric_.deadline() <= time)
      fabric_.run(time);
  }
  static void name(fabric::Node& adapter, Lid lid) {
    wire::PortInfo info = adapter.port_info(1);
    info.lid = lid;
    adapter.set_port_info(1, info, now());
  }
  // The port of a switch where the link to that node is.
  [[nodiscard]] std::uint8_t port_to(const fabric::Node& node, const fabric::Node& other) {
    for (const fabric::LabLink& link : fabric_.lab().links) {
      for (const std::size_t side : {0u, 1u}) {
        if (&fabric_.node(link.ends[side].node) == &node &&
            &fabric_.node(link.ends[1 - side].node) == &other) {
          return link.ends[side].port;
        }
      }
    }
    fmt::print(stderr, "switch_hops: the row is broken\n");
    std::exit(1);
  }
  // To the adapter at the end of the row, on the next lane.
  void route(unsigned i) {
    const fabric::Node& before = i == 0 ? *adapters_.front() : *switches_[i - 1];
    const fabric::Node& behind = i + 1 == kSwitches ? *adapters_.back() : *switches_[i + 1];
    fabric::Node& own = *switches_[i];
    const std::uint8_t in = port_to(own, before);
    const std::uint8_t out = port_to(own, behind);
    wire::LinearBlock block = own.linear(0);
    block.ports[kTo.value()] = out;
    own.set_linear(0, block);
    wire::SwitchInfo info = own.switch_info();
    info.linear_top = kTo;
    own.set_switch_info(info);
    wire::SlToVl lanes = own.sl_to_vl(in, out);
    lanes.vls.fill(Vl{static_cast<std::uint8_t>((i + 1) % kLanes)});
    own.set_sl_to_vl(in, out, lanes);
  }
  [[nodiscard]] std::uint64_t forwarded() const {
    std::uint64_t sum = 0;
    for (fabric::Node* const each : switches_) {
      for (unsigned port = 1; port <= each->port_count(); ++port) {
        sum += each->port(static_cast<mgmt::PortNumber>(port))
                   .counters()
                   .get(fabric::NodeCounter::kForwarded);
      }
    }
    return sum;
  }

  fabric::Fabric fabric_;
  std::vector<fabric::Node*> switches_;
  std::vector<fabric::Node*> adapters_;
};

// What no hop can do without, on packets of the same make.
double check_vcrcs(link::PacketPool& pool, Bytes bytes) {
  std::vector<link::PacketPtr> packets;
  for (std::size_t i = 0; i < kBurst; ++i)
    packets.push_back(pool.copy(bytes));
  std::uint64_t good = 0;
  const auto start = Clock::now();
  for (std::size_t sent = 0; sent < kPacketsInTurn; sent += kBurst) {
    for (const link::PacketPtr& packet : packets)
      good += packet->vcrc_good() ? 1 : 0;
  }
  const Nanoseconds took = Clock::now() - start;
  return took.count() / static_cast<double>(good);
}

double median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

int main() {
  constexpr std::size_t kCovered = wire::Lrh::kSize + wire::Bth::kSize + kPayload + wire::kIcrcSize;
  std::vector<std::byte> bytes(kCovered + wire::kVcrcSize);
  constexpr std::uint16_t kWords = kCovered / 4;
  wire::Lrh{.dlid = kTo, .packet_words = kWords, .slid = kFrom}.write(bytes);
  wire::Bth{.opcode = wire::Opcode::uc_send_only, .pkey = kDefaultPKey, .dest_qp = Qpn{0x123456}}
      .write(MutableBytes(bytes).subspan(wire::Lrh::kSize));
  wire::seal_link_packet(bytes);

  Row row;
  std::vector<double> hop;
  std::vector<double> check;
  for (int turn = 0; turn < kTurns; ++turn) {
    hop.push_back(row.run(kPacketsInTurn, bytes));
    check.push_back(check_vcrcs(row.pool(), bytes));
  }
  const double hop_ns = median(hop);
  const double check_ns = median(check);
  fmt::print("a row of {} switches, packets of {} bytes\n", kSwitches, bytes.size());
  fmt::print(
      "a switch takes {:.0f} ns, {:.1f} ns of them for the VCRC; at least 6 million packets "
      "a second: {}\n",
      hop_ns, check_ns, 1000 / hop_ns >= 6 ? "met" : "MISSED");
  fmt::print("result: million packets a second through a switch = {:.2f}\n", 1000 / hop_ns);
  fmt::print("result: switch / VCRC = {:.2f}\n", hop_ns / check_ns);
  return 0;
}
