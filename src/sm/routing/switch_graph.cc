// SPDX-License-Identifier: Apache-2.0
#include "sm/routing/switch_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <numeric>

namespace weft::sm {
namespace {

constexpr unsigned kFirstMulticast = 0xC000;  // IBA 4.1.3
constexpr std::uint8_t kMostLmc = 7;          // 3 bits

}  // namespace

SwitchIndex SwitchGraph::add_switch(Guid guid, std::uint8_t ports) {
  guids_.push_back(guid);
  ports_.push_back(ports);
  in_use_.emplace_back(std::size_t{ports} + 1);
  hosts_.push_back(0);
  return static_cast<SwitchIndex>(guids_.size() - 1);
}

Expected<void> SwitchGraph::take_port(SwitchIndex at, std::uint8_t port) {
  assert(at < switches());
  if (port > ports_[at]) {
    return fail(std::errc::invalid_argument,
                fmt::format("port {} of switch {:#018x}: it has {} ports", port, guids_[at].value(),
                            ports_[at]));
  }
  if (in_use_[at][port]) {
    return fail(std::errc::invalid_argument,
                fmt::format("port {} of switch {:#018x} is used twice", port, guids_[at].value()));
  }
  in_use_[at][port] = true;
  return {};
}

Expected<void> SwitchGraph::connect(SwitchIndex a, std::uint8_t port_a, SwitchIndex b,
                                    std::uint8_t port_b) {
  assert(port_a != 0 && port_b != 0);
  if (auto taken = take_port(a, port_a); !taken) return taken;
  if (auto taken = take_port(b, port_b); !taken) return taken;
  if (a == b) return {};
  hops_.push_back({.from = a, .to = b, .port = port_a, .peer_port = port_b});
  hops_.push_back({.from = b, .to = a, .port = port_b, .peer_port = port_a});
  return {};
}

Expected<void> SwitchGraph::attach(const EndPort& end) {
  if (auto taken = take_port(end.at, end.port); !taken) return taken;
  const unsigned first = end.lid.value();
  if (first == 0 || end.lmc > kMostLmc || first % end.lids() != 0 ||
      first + end.lids() > kFirstMulticast) {
    return fail(std::errc::invalid_argument,
                fmt::format("LID {} with LMC {} cannot be a port's", first, end.lmc));
  }
  const auto number = static_cast<std::uint32_t>(ends_.size());
  owner_of_lid_.resize(std::max<std::size_t>(owner_of_lid_.size(), first + end.lids()), kNobody);
  for (unsigned lid = first; lid < first + end.lids(); ++lid) {
    if (owner_of_lid_[lid] != kNobody) {
      return fail(std::errc::invalid_argument, fmt::format("LID {} has two owners", lid));
    }
    owner_of_lid_[lid] = number;
  }
  ends_.push_back(end);
  if (end.port != 0) ++hosts_[end.at];
  return {};
}

void SwitchGraph::finish() {
  std::sort(hops_.begin(), hops_.end(), [](const Hop& a, const Hop& b) {
    return a.from != b.from ? a.from < b.from : a.port < b.port;
  });
  first_hop_.assign(switches() + 1, 0);
  for (const Hop& hop : hops_)
    ++first_hop_[hop.from + 1];
  std::partial_sum(first_hop_.begin(), first_hop_.end(), first_hop_.begin());
  for (Hop& hop : hops_) {
    const auto others = hops_of(hop.to);
    const auto back =
        std::lower_bound(others.begin(), others.end(), hop.peer_port,
                         [](const Hop& other, std::uint8_t port) { return other.port < port; });
    hop.back = first_hop_[hop.to] + static_cast<HopIndex>(back - others.begin());
  }
  first_end_.assign(switches() + 1, 0);
  for (const EndPort& end : ends_)
    ++first_end_[end.at + 1];
  std::partial_sum(first_end_.begin(), first_end_.end(), first_end_.begin());
  ends_by_switch_.resize(ends_.size());
  std::vector<std::uint32_t> next = first_end_;
  for (std::uint32_t i = 0; i < ends_.size(); ++i)
    ends_by_switch_[next[ends_[i].at]++] = i;
}

std::span<const Hop> SwitchGraph::hops_of(SwitchIndex at) const {
  return std::span(hops_).subspan(first_hop_[at], first_hop_[at + 1] - first_hop_[at]);
}

std::span<const std::uint32_t> SwitchGraph::ends_at(SwitchIndex at) const {
  return std::span(ends_by_switch_).subspan(first_end_[at], first_end_[at + 1] - first_end_[at]);
}

}  // namespace weft::sm
