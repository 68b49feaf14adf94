// SPDX-License-Identifier: Apache-2.0
// A lab that runs in virtual time, and a bare subnet manager that asks and sets by management
// packets alone, sent from one of the lab's adapters.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/lab_file.h"
#include "mgmt/mad_packet.h"
#include "wire/bth.h"
#include "wire/deth.h"
#include "wire/link_crc.h"
#include "wire/sm/smp.h"

namespace weft::fabric {

// Two switches with two nodes each.
inline constexpr const char* kFourNodes = R"(
[switch]
s1 = { ports = 4 }
s2 = { ports = 4 }
[node]
a = {}
b = {}
c = {}
d = {}
[[link]]
ends = ["a:1", "s1:1"]
[[link]]
ends = ["b:1", "s1:2"]
[[link]]
ends = ["c:1", "s2:1"]
[[link]]
ends = ["d:1", "s2:2"]
[[link]]
name = "trunk"
ends = ["s1:4", "s2:4"]
)";

inline Lab lab_of(const std::string& text) {
  const auto lab = parse_lab(text, "lab.toml");
  if (!lab) {
    ADD_FAILURE() << lab.error().message;
    std::abort();
  }
  return *lab;
}

using Mad = std::array<std::byte, wire::kMadSize>;
using Path = std::vector<std::uint8_t>;  // ports by which to leave, hop by hop

class RunningLab : private mgmt::MadClient {
 public:
  explicit RunningLab(Lab lab, const FabricLimits& limits = {}) : fabric(std::move(lab), limits) {
    fabric.start(now);
    settle();
  }

  // Everything that happens without time passing.
  void settle() {
    for (int round = 0; round < 1000; ++round) {
      const auto deadline = fabric.deadline();
      if (!deadline || *deadline > now) return;
      fabric.run(now);
    }
    FAIL() << "never comes to rest";
  }
  void run_for(Duration time) {
    const Time end = now + time;
    for (settle();; settle()) {
      const auto deadline = fabric.deadline();
      if (!deadline || *deadline > end) break;
      now = std::max(now, *deadline);
    }
    now = end;
    settle();
  }

  // One exchange by directed route from port `source_port` of adapter `from`; nothing: no answer.
  std::optional<Mad> directed(wire::MadMethod method, wire::SmAttribute attribute,
                              std::uint32_t modifier, const Path& path, Bytes data = {}) {
    Mad mad{};
    wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnDirected,
                    .class_version = wire::kSmClassVersion,
                    .method = method,
                    .class_specific = static_cast<std::uint16_t>(path.size()),
                    .transaction_id = ++transaction_,
                    .attribute_id = static_cast<std::uint16_t>(attribute),
                    .attribute_modifier = modifier}
        .write(mad);
    wire::store_be16(mad.data() + wire::smp::kDrSlidOffset, 0xFFFF);
    wire::store_be16(mad.data() + wire::smp::kDrDlidOffset, 0xFFFF);
    for (std::size_t hop = 0; hop < path.size(); ++hop)
      mad[wire::smp::kInitialPathOffset + hop + 1] = std::byte{path[hop]};
    std::copy(data.begin(), data.end(), mad.begin() + wire::smp::kDataOffset);
    return exchange(mad, wire::kPermissiveLid);
  }
  // The same to a LID.
  std::optional<Mad> routed(wire::MadMethod method, wire::SmAttribute attribute,
                            std::uint32_t modifier, Lid to, Bytes data = {}) {
    Mad mad{};
    wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnLid,
                    .class_version = wire::kSmClassVersion,
                    .method = method,
                    .transaction_id = ++transaction_,
                    .attribute_id = static_cast<std::uint16_t>(attribute),
                    .attribute_modifier = modifier}
        .write(mad);
    std::copy(data.begin(), data.end(), mad.begin() + wire::smp::kDataOffset);
    return exchange(mad, to);
  }

  template <class Attribute>
  std::optional<Attribute> get(wire::SmAttribute attribute, std::uint32_t modifier,
                               const Path& path) {
    const auto answer = directed(wire::MadMethod::kGet, attribute, modifier, path);
    if (!answer) return std::nullopt;
    EXPECT_EQ(status(*answer), 0);
    return Attribute::parse(wire::smp::data(wire::MadBytes(*answer)));
  }
  template <class Attribute>
  void set(wire::SmAttribute attribute, std::uint32_t modifier, const Path& path,
           const Attribute& value) {
    std::array<std::byte, wire::smp::kDataSize> data{};
    value.write(data);
    const auto answer = directed(wire::MadMethod::kSet, attribute, modifier, path, data);
    ASSERT_TRUE(answer);
    EXPECT_EQ(status(*answer), 0) << "attribute " << static_cast<int>(attribute);
  }
  static std::uint16_t status(const Mad& mad) {
    return static_cast<std::uint16_t>(wire::MadHeader::parse(mad)->status & 0x7FFF);
  }

  // What a subnet manager finds: a switch or a port of an adapter, the way to it, and the links of
  // its node's ports.
  struct Found {
    wire::NodeInfo info;
    std::string description;
    Path path;
    std::map<std::uint8_t, std::pair<std::uint64_t, std::uint8_t>> neighbours;  // GUID, port
    Lid lid{};  // of a switch; of an adapter, of the port where the path comes in
  };

  // By port GUID.
  std::map<std::uint64_t, Found> discover() {
    std::map<std::uint64_t, Found> found;
    std::deque<Path> queue{{}};
    while (!queue.empty()) {
      const Path path = queue.front();
      queue.pop_front();
      const auto info = get<wire::NodeInfo>(wire::SmAttribute::kNodeInfo, 0, path);
      if (!info) {
        ADD_FAILURE() << "no answer";
        continue;
      }
      if (found.contains(info->port_guid.value())) continue;
      Found node{.info = *info, .description = {}, .path = path, .neighbours = {}, .lid = {}};
      node.description =
          get<wire::NodeDescription>(wire::SmAttribute::kNodeDescription, 0, path)->to_string();
      for (unsigned port = 1; port <= info->ports; ++port) {
        const auto number = static_cast<std::uint8_t>(port);
        const auto state = get<wire::PortInfo>(wire::SmAttribute::kPortInfo, port, path);
        if (!state || state->state == wire::PortState::kDown) continue;
        // An adapter passes nothing on: only from where the route begins can one go on.
        if (info->type == wire::NodeType::kChannelAdapter && !path.empty()) continue;
        Path further = path;
        further.push_back(number);
        const auto neighbour = get<wire::NodeInfo>(wire::SmAttribute::kNodeInfo, 0, further);
        if (!neighbour) continue;
        node.neighbours[number] = {neighbour->port_guid.value(), neighbour->local_port};
        queue.push_back(further);
      }
      found.emplace(info->port_guid.value(), std::move(node));
    }
    return found;
  }

  // LIDs, shortest paths and active links for everything that discover() finds.
  void bring_up() {
    auto found = discover();
    std::uint16_t next = 0;
    for (auto& [guid, node] : found) {
      node.lid = Lid{++next};
      const bool of_switch = node.info.type == wire::NodeType::kSwitch;
      const std::uint32_t port = of_switch ? 0 : node.info.local_port;
      auto info = *get<wire::PortInfo>(wire::SmAttribute::kPortInfo, port, node.path);
      info.lid = node.lid;
      info.master_sm_lid = Lid{1};
      info.state = wire::PortState::kNoChange;
      info.physical_state = wire::PortPhysicalState::kNoChange;
      set(wire::SmAttribute::kPortInfo, port, node.path, info);
    }
    for (auto& [guid, node] : found) {
      if (node.info.type == wire::NodeType::kSwitch) route(found, guid);
    }
    for (const auto state : {wire::PortState::kArmed, wire::PortState::kActive}) {
      for (auto& [guid, node] : found)
        command(node, state);
    }
    nodes = std::move(found);
  }

  const Found& node(const std::string& name) const {
    for (const auto& [guid, node] : nodes) {
      if (node.description == name) return node;
    }
    ADD_FAILURE() << name;
    std::abort();
  }

  // A UD packet of 64 bytes, put onto the link of an adapter's port as its engine would.
  struct Spec {
    Lid slid{1}, dlid{2};
    Sl sl{};
    PKey pkey = kDefaultPKey;
    Qpn dest_qp{0x123456};
    bool raw = false;
  };
  void inject(const std::string& from, const Spec& spec, std::uint8_t port = 1) {
    std::vector<std::byte> bytes(8 + 12 + 8 + 64 + 4 + 2);
    wire::Lrh{.sl = spec.sl,
              .next_header = spec.raw ? wire::Lnh::raw : wire::Lnh::iba_local,
              .dlid = spec.dlid,
              .packet_words = static_cast<std::uint16_t>((bytes.size() - 2) / 4),
              .slid = spec.slid}
        .write(bytes);
    if (!spec.raw) {
      wire::Bth{.opcode = wire::Opcode::ud_send_only, .pkey = spec.pkey, .dest_qp = spec.dest_qp}
          .write(MutableBytes(bytes).subspan(8));
      wire::Deth{.qkey = QKey{7}, .src_qp = Qpn{9}}.write(MutableBytes(bytes).subspan(20));
    }
    wire::seal_link_packet(bytes);
    fabric.find_node(from)->port(port).link().transmit(fabric.pool().copy(bytes), Vl{0}, now);
    settle();
  }
  std::uint64_t count(const std::string& name, NodeCounter counter, std::uint8_t port = 1) {
    return fabric.find_node(name)->port(port).counters().get(counter);
  }

  Time now{1s};
  Fabric fabric;
  std::map<std::uint64_t, Found> nodes;
  std::string from;  // the adapter that asks; empty: the lab's first

 private:
  Node& asking() {
    if (!from.empty()) return *fabric.find_node(from);
    for (std::size_t i = 0; i < fabric.node_count(); ++i) {
      if (fabric.node(i).kind() == NodeKind::kChannelAdapter) return fabric.node(i);
    }
    std::abort();
  }

  std::optional<Mad> exchange(const Mad& mad, Lid to) {
    Node& node = asking();
    const bool is_directed = to == wire::kPermissiveLid;
    mgmt::MadPort& port = node.management().mad_port(1);
    const auto agent = port.add_agent(
        {.mgmt_class = is_directed ? wire::MgmtClass::kSubnDirected : wire::MgmtClass::kSubnLid},
        *this);
    EXPECT_TRUE(agent);
    answer_.reset();
    const mgmt::MadRequest request{.to = {.lid = to}, .mad = mad, .timeout = 100ms};
    const auto sent = port.send(*agent, request, now);
    EXPECT_TRUE(sent) << sent.error().message;
    node.management_used();
    settle();
    port.remove_agent(*agent);
    return answer_;
  }
  void received(mgmt::AgentId, const mgmt::ReceivedMad& mad) override {
    ASSERT_EQ(mad.mad.size(), wire::kMadSize);
    std::copy(mad.mad.begin(), mad.mad.end(), answer_.emplace().begin());
  }
  void finished(mgmt::AgentId, std::uint64_t, Bytes, mgmt::MadResult) override {}

  // The first port of a shortest path to each LID.
  void route(const std::map<std::uint64_t, Found>& found, std::uint64_t from_guid) {
    std::map<std::uint64_t, std::uint8_t> first_port{{from_guid, 0}};
    std::deque<std::uint64_t> queue{from_guid};
    while (!queue.empty()) {
      const std::uint64_t at = queue.front();
      queue.pop_front();
      const Found& node = found.at(at);
      if (node.info.type != wire::NodeType::kSwitch) continue;
      for (const auto& [port, neighbour] : node.neighbours) {
        const std::uint8_t first = at == from_guid ? port : first_port.at(at);
        if (first_port.emplace(neighbour.first, first).second) queue.push_back(neighbour.first);
      }
    }
    const Found& self = found.at(from_guid);
    wire::LinearBlock block;
    block.ports.fill(wire::LinearBlock::kNoPort);
    for (const auto& [guid, port] : first_port)
      block.ports.at(found.at(guid).lid.value()) = port;
    set(wire::SmAttribute::kLinearForwarding, 0, self.path, block);
    auto info = *get<wire::SwitchInfo>(wire::SmAttribute::kSwitchInfo, 0, self.path);
    info.linear_top = Lid{static_cast<std::uint16_t>(found.size())};
    info.port_state_change = true;  // clears it
    set(wire::SmAttribute::kSwitchInfo, 0, self.path, info);
  }

  void command(const Found& node, wire::PortState state) {
    const bool of_switch = node.info.type == wire::NodeType::kSwitch;
    for (unsigned port = 1; port <= node.info.ports; ++port) {
      if (!of_switch && port != node.info.local_port) continue;
      auto info = *get<wire::PortInfo>(wire::SmAttribute::kPortInfo, port, node.path);
      if (info.state == wire::PortState::kDown) continue;
      info.state = state;
      info.physical_state = wire::PortPhysicalState::kNoChange;
      set(wire::SmAttribute::kPortInfo, port, node.path, info);
    }
  }

  std::uint64_t transaction_ = 0;
  std::optional<Mad> answer_;
};

}  // namespace weft::fabric
