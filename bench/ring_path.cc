// SPDX-License-Identifier: Apache-2.0
// What a packet of a program on a node costs on its whole way, in one thread, without locks and
// without waiting: two connected queue pairs, their ends of the rings, the daemon's ends, two
// adapters and a switch.
//
//   ring_path BYTES MESSAGES DEPTH      RDMA writes of a reliable connection, so many at a time
//
// Prints nanoseconds. The same instructions are executed each time, so valgrind can count them:
//
//   valgrind --tool=callgrind --toggle-collect='*daemon_turn*' ring_path 65536 400 8
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <vector>

#include "daemon/lab/ring_program.h"
#include "fabric/fabric.h"
#include "fabric/lab_file.h"
#include "hca/connected_queue_pair.h"
#include "host/guarded_copy.h"
#include "io/system_entropy.h"
#include "port/ring/fabric_endpoint.h"
#include "port/ring/fabric_inlet.h"

namespace {

using namespace weft;
using Clock = std::chrono::steady_clock;

Time now() {
  return Time(Clock::now().time_since_epoch());
}

constexpr double kMtu = 4096;  // bytes

constexpr std::string_view kLab = R"(
[switch]
middle = { ports = 4 }
[node]
left = {}
right = {}
[[link]]
ends = ["left", "middle:1"]
[[link]]
ends = ["right", "middle:2"]
)";

template <class T>
T must(Expected<T> value) {
  if (!value) {
    fmt::print(stderr, "ring_path: {}\n", value.error().message);
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*value);
}

class Lab {
 public:
  Lab() : fabric(must(fabric::parse_lab(std::string(kLab), "lab"))) {
    fabric.start(now());
    settle();
    for (const auto state : {wire::PortState::kArmed, wire::PortState::kActive}) {
      for (std::size_t i = 0; i < fabric.link_count(); ++i) {
        for (const std::size_t side : {0u, 1u})
          fabric.end(i, side).link().set_state(state, now());
      }
      settle();
    }
    name("left", Lid{1});
    name("right", Lid{2});
    fabric::Node& middle = *fabric.find_node("middle");
    wire::LinearBlock block = middle.linear(0);
    block.ports[1] = 1;
    block.ports[2] = 2;
    middle.set_linear(0, block);
    wire::SwitchInfo info = middle.switch_info();
    info.linear_top = Lid{2};
    middle.set_switch_info(info);
    settle();
  }
  void settle() {
    const Time time = now();
    while (fabric.deadline() && *fabric.deadline() <= time)
      fabric.run(time);
  }
  fabric::Fabric fabric;

 private:
  void name(const char* node, Lid lid) {
    fabric::Node& adapter = *fabric.find_node(node);
    wire::PortInfo info = adapter.port_info(1);
    info.lid = lid;
    adapter.set_port_info(1, info, now());
  }
};

class Program final : public daemon::RingOwner,
                      public port::DatagramSink,
                      public hca::CompletionSink {
 public:
  Program(Lab& lab, const char* node, std::uint32_t arena, daemon::AttachCounters& counters)
      : table_(entropy_), memory_(std::size_t{1} << 20) {
    auto end = must(port::ring::DaemonEnd::create(arena));
    const auto files = end->files();
    auto ours = must(port::ProgramEnd::map(files[0], files[1], io::UniqueFd(dup(files[2])),
                                           io::UniqueFd(dup(files[3]))));
    program_file = files[0];
    ring =
        std::make_unique<daemon::RingProgram>(std::move(end), lab.fabric.pool(), counters, *this);
    must(ring->attach(*lab.fabric.find_adapter(node)));
    qpn = must(ring->attachment(1).allocate());
    lid = lab.fabric.find_node(node)->port(1).lid();
    shared = std::make_shared<port::FabricShared>(std::unique_ptr<port::NodeAttachment>(),
                                                  std::uint8_t{1}, arena, std::move(ours),
                                                  port::Guard{host::guarded});
    port::PortFacts facts;
    facts.epoch = ring->attachment(1).epoch();
    facts.neighbor_mtu = 4096;
    facts.attributes.state = port::LinkState::kActive;
    facts.attributes.lid = lid;
    facts.attributes.pkeys = {kDefaultPKey};
    shared->set_facts(facts);
    inlet = std::make_shared<port::FabricInlet>(shared, nullptr);
    endpoint = new port::FabricEndpoint(shared, inlet, qpn);  // see the end of main()
    hca::ConnectedConfig config;
    config.qpn = qpn;
    config.pd = 1;
    config.max_sends = 128;
    config.max_receives = 128;
    config.extensions = false;
    config.receive_budget = 1u << 22;
    config.copy = host::guarded_copy;
    config.guard = host::guarded;
    core = std::make_unique<hca::ConnectedQueuePair>(config, table_, *this, *this);
    region = must(table_.add({.base = memory_.data(),
                              .iova = reinterpret_cast<std::uint64_t>(memory_.data()),
                              .length = memory_.size(),
                              .access = hca::kLocalWrite | hca::kRemoteWrite,
                              .pd = 1}));
  }
  void connect(Program& other, std::uint32_t other_arena) {
    must(shared->arenas.add(other_arena, other.program_file));
    ring->end().mapped(other_arena);
    using namespace hca;
    must(core->modify({.state = QpState::kInit, .port = 1, .access = kLocalWrite | kRemoteWrite},
                      kAttrState | kAttrPKeyIndex | kAttrPort | kAttrAccess));
    QpAttributes attributes{.state = QpState::kRtr, .peer = other.qpn, .path_mtu = 4096};
    attributes.path.dlid = other.lid;
    attributes.path.global = false;
    attributes.ack_timeout = 14;
    attributes.retry_count = 7;
    attributes.rnr_retry = 7;
    attributes.max_reads_in = attributes.max_reads_out = 4;
    must(core->modify(attributes, kAttrState | kAttrPath | kAttrPathMtu | kAttrPeer | kAttrRqPsn |
                                      kAttrMaxReadsIn | kAttrRnrTimer));
    attributes.state = QpState::kRts;
    must(core->modify(attributes, kAttrState | kAttrSqPsn | kAttrAckTimeout | kAttrRetryCount |
                                      kAttrRnrRetry | kAttrMaxReadsOut));
  }
  void write(Program& to, std::uint32_t bytes) {
    const hca::Sge piece{region.iova, bytes, LKey{region.key}};
    const hca::SendRequest request{.opcode = hca::SendOpcode::kRdmaWrite,
                                   .signaled = true,
                                   .pieces = {&piece, 1},
                                   .remote_address = to.region.iova,
                                   .rkey = RKey{to.region.key}};
    if (core->post_send(request) != std::errc{}) std::exit(1);
  }
  void send_all() {
    const Time time = now();
    while (core->next_burst(burst_, time))
      core->sent(burst_, endpoint->send(burst_), time);
  }
  std::size_t receive(std::size_t budget) {
    time_ = now();
    return inlet->receive(*this, budget);
  }
  void deliver(const hca::InDatagram& datagram) override { core->receive(datagram, time_); }
  void end_run() override { core->end_run(time_); }
  void complete(const hca::Completion& completion) override {
    ++completed;
    if (completion.status != hca::CompletionStatus::kSuccess) {
      fmt::print(stderr, "ring_path: status {}\n", static_cast<int>(completion.status));
      std::exit(1);
    }
  }
  void touched() override {}
  void not_mapped(port::ring::ProgramBlocks&) override { std::exit(1); }
  void port_changed(mgmt::PortNumber, bool) override {}

  std::unique_ptr<daemon::RingProgram> ring;
  std::shared_ptr<port::FabricShared> shared;
  std::shared_ptr<port::FabricInlet> inlet;
  port::FabricEndpoint* endpoint = nullptr;
  std::unique_ptr<hca::ConnectedQueuePair> core;
  hca::MemoryRegion region;
  Qpn qpn{};
  Lid lid{};
  int program_file = -1;
  std::uint64_t completed = 0;

 private:
  io::SystemEntropy entropy_;
  hca::MemoryTable table_;
  std::vector<std::byte> memory_;
  hca::Burst burst_;
  Time time_{};
};

[[gnu::noinline]] void daemon_turn(Lab& lab, Program& left, Program& right) {
  const Time time = now();
  left.ring->poll(time);
  right.ring->poll(time);
  const auto deadline = lab.fabric.deadline();
  if (deadline && *deadline <= time) lab.fabric.run(time);
  left.ring->flush();
  right.ring->flush();
}
[[gnu::noinline]] void sender_turn(Program& left) {
  left.receive(4);
  left.send_all();
}
[[gnu::noinline]] void receiver_turn(Program& right) {
  while (right.receive(4) > 0)
    right.send_all();
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, unsigned otherwise) {
    return argc > i ? static_cast<unsigned>(std::atoi(argv[i])) : otherwise;
  };
  const std::uint32_t bytes = argument(1, 65'536);
  const std::uint64_t messages = argument(2, 2'000);
  const std::uint64_t depth = argument(3, 8);
  Lab lab;
  daemon::AttachCounters counters;
  Program left(lab, "left", 1, counters);
  Program right(lab, "right", 2, counters);
  left.connect(right, 2);
  right.connect(left, 1);
  struct Spent {
    std::chrono::nanoseconds sender{}, daemon{}, receiver{};
  } spent;
  const auto timed = [](std::chrono::nanoseconds& sum, const auto& turn) {
    const auto begin = Clock::now();
    turn();
    sum += Clock::now() - begin;
  };
  const std::uint64_t warm = messages / 5;
  bool is_warm = false;
  for (std::uint64_t posted = 0; left.completed < messages + warm;) {
    if (!is_warm && left.completed >= warm) {
      is_warm = true;
      spent = {};
    }
    for (; posted < messages + warm && posted - left.completed < depth; ++posted)
      left.write(right, bytes);
    timed(spent.sender, [&] { sender_turn(left); });
    timed(spent.daemon, [&] { daemon_turn(lab, left, right); });
    timed(spent.receiver, [&] { receiver_turn(right); });
    timed(spent.daemon, [&] { daemon_turn(lab, left, right); });
  }
  const double packets =
      static_cast<double>(messages) * std::max(1.0, std::ceil(static_cast<double>(bytes) / kMtu));
  const auto each = [&](std::chrono::nanoseconds sum) {
    return static_cast<double>(sum.count()) / packets;
  };
  fmt::print("ns a packet: sender {:.0f}, daemon {:.0f}, receiver {:.0f}\n", each(spent.sender),
             each(spent.daemon), each(spent.receiver));
  std::fflush(stdout);
  std::_Exit(0);  // an endpoint's end would ask a daemon
}
