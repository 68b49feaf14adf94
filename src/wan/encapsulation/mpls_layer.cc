// SPDX-License-Identifier: Apache-2.0
#include "wan/encapsulation/mpls_layer.h"

#include <algorithm>

#include "wan/encapsulation/ipv4_layer.h"
#include "wan/encapsulation/ipv6_layer.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

// More than those of any stack of ours, for who looks for its end: explicit nulls come on top.
constexpr std::size_t kMostMplsEntries = 2 * MplsLayer::kMostLabels;

struct MplsEntry {
  std::uint32_t label;
  bool last;
  std::uint8_t time_to_live;
};

std::optional<MplsEntry> take_mpls_entry(Bytes& stack) {
  if (stack.size() < MplsLayer::kEntry) return std::nullopt;
  const std::uint32_t word = wire::load_be32(stack.data());
  stack = stack.subspan(MplsLayer::kEntry);
  return MplsEntry{.label = word >> 12,
                   .last = (word >> 8 & 1) != 0,
                   .time_to_live = static_cast<std::uint8_t>(word)};
}

// What follows an explicit null that is the innermost label.
std::optional<std::uint16_t> follows_null(std::uint32_t label) {
  constexpr std::uint32_t kIpv4ExplicitNull = 0;
  constexpr std::uint32_t kIpv6ExplicitNull = 2;
  if (label == kIpv4ExplicitNull) return Ipv4Layer::kEtherType;
  if (label == kIpv6ExplicitNull) return Ipv6Layer::kEtherType;
  return std::nullopt;
}

}  // namespace

bool MplsLayer::is_stack(std::span<const std::uint32_t> labels) {
  return !labels.empty() && labels.size() <= kMostLabels &&
         std::ranges::all_of(labels, [](std::uint32_t label) {
           return label >= kLeastLabel && label <= kGreatestLabel;
         });
}

std::optional<std::uint32_t> MplsLayer::innermost(Bytes stack) {
  for (std::size_t i = 0; i < kMostMplsEntries; ++i) {
    const auto entry = take_mpls_entry(stack);
    if (!entry) return std::nullopt;
    if (entry->last) return entry->label;
  }
  return std::nullopt;
}

void MplsLayer::wrap(OutPacket& packet) const {
  const std::uint32_t traffic_class = packet.traffic_class >> 5;
  std::uint32_t last = 1;
  for (auto label = ends_.labels.rbegin(); label != ends_.labels.rend(); ++label) {
    const std::uint32_t entry = *label << 12 | traffic_class << 9 | last << 8 | ends_.hop_limit;
    wire::store_be32(packet.prepend(kEntry).data(), entry);
    last = 0;
  }
  packet.carried = identity();
}

std::optional<PacketRefusal> MplsLayer::unwrap(InPacket& packet) const {
  std::size_t taken = 0;
  packet.says = {};
  for (std::size_t i = 0; i < kMostMplsEntries; ++i) {
    const auto entry = take_mpls_entry(packet.bytes);
    if (!entry) return PacketRefusal::kShort;
    if (i == 0 && entry->time_to_live == 0) return PacketRefusal::kTimeToLive;
    const auto null = follows_null(entry->label);
    if (null && !entry->last && taken == 0) continue;
    if (null && entry->last && taken + 1 == ends_.own_labels.size()) {
      packet.says.ether_type = *null;
      return std::nullopt;
    }
    if (taken == ends_.own_labels.size() || entry->label != ends_.own_labels[taken]) {
      return PacketRefusal::kLabel;
    }
    ++taken;
    if (entry->last != (taken == ends_.own_labels.size())) return PacketRefusal::kLabelStack;
    if (entry->last) return std::nullopt;
  }
  return PacketRefusal::kLabelStack;
}

}  // namespace weft::wan
