// SPDX-License-Identifier: Apache-2.0
#include "fabric/fabric.h"

#include <bitset>
#include <cassert>
#include <utility>

#include "fabric/channel_adapter.h"
#include "fabric/negotiated_link.h"
#include "fabric/switch.h"
#include "link/direct_link.h"

namespace weft::fabric {
namespace {

// An extender is an I/O unit, with a controller for each of its remotes. Controllers of a switch
// have the GUIDs that its ports to them would have if they were an adapter's.
std::vector<mgmt::IoController> io_controllers_of(const Lab& lab, std::size_t node) {
  const LabExtender* const extender = lab.find_extender(static_cast<std::uint32_t>(node));
  std::vector<mgmt::IoController> out;
  if (extender == nullptr) return out;
  const bool bridge = extender->mode == ExtenderMode::kBridge;
  const std::uint64_t first = bridge ? extender->first_port : lab.nodes[node].ports + 1u;
  for (std::size_t i = 0; i < extender->remotes.size(); ++i) {
    out.push_back({.guid = Guid{lab.nodes[node].guid.value() + first + i},
                   .id = "Weft range extender: WAN to " + extender->remotes[i].name});
  }
  return out;
}

}  // namespace

Fabric::Fabric(Lab lab, const FabricLimits& limits, std::optional<std::uint16_t> part)
    : lab_(std::move(lab)),
      part_(part),
      payloads_(link::PacketPool::kPayloadBlock, limits.payload_blocks),
      pool_(limits.packets, payloads_) {
  nodes_.reserve(lab_.nodes.size());
  by_name_.reserve(lab_.nodes.size());
  std::vector<std::bitset<256>> timed(lab_.nodes.size());
  for (const LabLink& link : lab_.links) {
    if (link.emulation.rate_bytes_per_s == 0) continue;
    for (const LabEnd& end : link.ends)
      timed[end.node].set(end.port);
  }
  for (const LabNode& node : lab_.nodes) {
    const NodeParts parts{.worker = worker_,
                          .pool = pool_,
                          .timed_ports = timed[nodes_.size()],
                          .first_qpn = limits.first_qpn,
                          .io_controllers = io_controllers_of(lab_, nodes_.size())};
    if (part_ && node.part != *part_) {
      nodes_.push_back(nullptr);
      continue;
    }
    if (node.kind == NodeKind::kSwitch) {
      nodes_.push_back(std::make_unique<Switch>(node, parts));
    } else {
      nodes_.push_back(std::make_unique<ChannelAdapter>(node, parts));
    }
    by_name_.emplace(node.name, nodes_.back().get());
  }
}

// What is on its way belongs to links, ports and their buffers: first they let go of each other.
Fabric::~Fabric() {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    for (const std::size_t side : {0U, 1U}) {
      if (has_end(i, side)) end(i, side).link().connect(nullptr, now_);
    }
  }
}

bool Fabric::has_end(std::size_t link, std::size_t side) const {
  return has_node(lab_.links[link].ends[side].node);
}

NodePort& Fabric::end(std::size_t link, std::size_t side) {
  const LabEnd& end = lab_.links[link].ends[side];
  return nodes_[end.node]->port(end.port);
}

void Fabric::start(Time now) {
  now_ = now;
  links_.reserve(lab_.links.size());
  for (std::size_t index = 0; index < lab_.links.size(); ++index) {
    const bool first = has_end(index, 0);
    if (first && has_end(index, 1)) {
      links_.push_back(join_here(index, now));
    } else if (first || has_end(index, 1)) {
      links_.push_back(join_half(index, first ? 0 : 1, now));
    } else {
      links_.push_back(nullptr);
    }
  }
}

namespace {

void prepare(link::Link& link, const LabLink& cable, Time now) {
  if (!cable.up) link.set_plugged(false, now);
  if (cable.emulation.any()) link.set_emulation(cable.emulation, now);
}

}  // namespace

std::unique_ptr<link::Link> Fabric::join_here(std::size_t index, Time now) {
  const LabLink& cable = lab_.links[index];
  auto link = std::make_unique<link::DirectLink>(pool_);
  NodePort& first = end(index, 0);
  NodePort& second = end(index, 1);
  first.set_partner(&second, cable.width, cable.speed);
  second.set_partner(&first, cable.width, cable.speed);
  if (cable.negotiation) {
    const auto lanes = static_cast<std::uint32_t>(lab_.width_of(cable));
    auto ddr = phy::DdrLink::make(cable.negotiation->options(lanes, cable.emulation.delay));
    assert(ddr);  // as the lab was built
    first.limit_speed(LinkSpeed::kDdr);
    second.limit_speed(LinkSpeed::kDdr);
    auto& trainer = negotiations_[index];
    trainer = std::make_unique<NegotiatedLink>(*std::move(ddr), std::array{&first, &second}, pool_);
    link->set_trainer(trainer.get());
  }
  prepare(*link, cable, now);
  link->join(first.link(), second.link(), now);
  return link;
}

std::unique_ptr<link::Link> Fabric::join_half(std::size_t index, std::size_t side, Time now) {
  const LabLink& cable = lab_.links[index];
  auto link = std::make_unique<link::HalfLink>(pool_, side);
  NodePort& port = end(index, side);
  port.set_far_partner(lab_.nodes[cable.ends[1 - side].node].limits, cable.width, cable.speed);
  prepare(*link, cable, now);
  link->join(port.link(), now, &port);
  return link;
}

link::HalfLink* Fabric::half_link(std::size_t index) {
  if (has_end(index, 0) == has_end(index, 1)) return nullptr;
  return static_cast<link::HalfLink*>(links_[index].get());
}

NegotiatedLink* Fabric::negotiated_link(std::size_t index) {
  const auto found = negotiations_.find(index);
  return found == negotiations_.end() ? nullptr : found->second.get();
}

bool Fabric::run(Time now, std::size_t budget) {
  now_ = now;
  return worker_.run(now, budget);
}

Node* Fabric::find_node(std::string_view name) {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

ChannelAdapter& Fabric::router(std::size_t index) {
  assert(nodes_[index]->kind() == NodeKind::kRouter);
  return static_cast<ChannelAdapter&>(*nodes_[index]);
}

ChannelAdapter* Fabric::find_adapter(std::string_view name) {
  Node* const node = find_node(name);
  if (node == nullptr || node->kind() != NodeKind::kChannelAdapter) return nullptr;
  return static_cast<ChannelAdapter*>(node);
}

std::optional<std::size_t> Fabric::find_link(std::string_view name) const {
  const LabLink* link = lab_.find_link(name);
  if (link == nullptr) return std::nullopt;
  return static_cast<std::size_t>(link - lab_.links.data());
}

}  // namespace weft::fabric
