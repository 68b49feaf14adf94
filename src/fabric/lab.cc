// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/random.h"

namespace weft::fabric {

std::string_view to_string(NodeKind kind) {
  constexpr std::array<std::string_view, 3> kKinds{"switch", "node", "router"};
  return kKinds[static_cast<std::size_t>(kind)];
}

const LabNode* Lab::find_node(std::string_view wanted) const {
  const auto found = std::find_if(nodes.begin(), nodes.end(),
                                  [&](const LabNode& node) { return node.name == wanted; });
  return found == nodes.end() ? nullptr : &*found;
}

const LabLink* Lab::find_link(std::string_view wanted) const {
  const auto found = std::find_if(links.begin(), links.end(), [&](const LabLink& link) {
    return link.name == wanted || end_name(link.ends[0]) == wanted ||
           end_name(link.ends[1]) == wanted;
  });
  return found == links.end() ? nullptr : &*found;
}

const LabExtender* Lab::find_extender(std::uint32_t node) const {
  const auto found = std::find_if(extenders.begin(), extenders.end(),
                                  [node](const auto& extender) { return extender.node == node; });
  return found == extenders.end() ? nullptr : &*found;
}

bool Lab::is_bridged() const {
  return std::ranges::any_of(
      extenders, [](const auto& extender) { return extender.mode == ExtenderMode::kBridge; });
}

std::string Lab::end_name(const LabEnd& end) const {
  return fmt::format("{}:{}", nodes[end.node].name, end.port);
}

std::string Lab::link_name(const LabLink& link) const {
  return link.name.empty() ? end_name(link.ends[0]) : link.name;
}

std::optional<std::uint16_t> Lab::find_part(std::string_view wanted) const {
  const auto found = std::find_if(parts.begin(), parts.end(),
                                  [&](const LabPart& part) { return part.name == wanted; });
  if (found == parts.end()) return std::nullopt;
  return static_cast<std::uint16_t>(found - parts.begin());
}

const LabNode* Lab::managing_node(std::size_t subnet) const {
  const LabManagement& of_subnet = management_of(subnet);
  if (of_subnet.manager == LabManagement::Manager::kNone) return nullptr;
  if (!of_subnet.node.empty()) return find_node(of_subnet.node);
  // The first switch, which is the first node where there is one: programs on nodes may have
  // managers of their own beside it. OpenSM is such a program.
  const bool on_any = management.manager == LabManagement::Manager::kWeft;
  const auto found = std::find_if(nodes.begin(), nodes.end(), [on_any](const LabNode& node) {
    return on_any || node.kind == NodeKind::kChannelAdapter;
  });
  return found == nodes.end() ? nullptr : &*found;
}

namespace {

constexpr std::array<std::string_view, 3> kManagers{"weft", "opensm", "none"};

}  // namespace

std::string_view to_string(LabManagement::Manager manager) {
  return kManagers[static_cast<std::size_t>(manager)];
}

std::optional<LabManagement::Manager> parse_manager(std::string_view text) {
  const auto* const found = std::find(kManagers.begin(), kManagers.end(), text);
  if (found == kManagers.end()) return std::nullopt;
  return static_cast<LabManagement::Manager>(found - kManagers.begin());
}

Guid derived_guid(std::string_view lab, std::string_view node) {
  // FNV-1a, of which the generator's step then spreads every bit.
  std::uint64_t hash = 0xCBF2'9CE4'8422'2325;
  const auto add = [&](unsigned char byte) { hash = (hash ^ byte) * 0x100'0000'01B3; };
  for (const char byte : lab)
    add(static_cast<unsigned char>(byte));
  add('/');
  for (const char byte : node)
    add(static_cast<unsigned char>(byte));
  // 02: locally administered, one station; the last byte is for ports.
  return Guid{0x0257'0000'0000'0000 | (Random(hash).next() >> 24 << 8)};
}

std::string to_string(Guid guid) {
  return fmt::format("0x{:016x}", guid.value());
}

LinkWidth Lab::width_of(const LabLink& link) const {
  const LinkWidth both =
      std::min(nodes[link.ends[0].node].limits.width, nodes[link.ends[1].node].limits.width);
  return std::min(both, link.width.value_or(both));
}

}  // namespace weft::fabric
