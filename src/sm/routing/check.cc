// SPDX-License-Identifier: Apache-2.0
#include "sm/routing/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "sm/routing/next_hops.h"

namespace weft::sm {
namespace {

constexpr std::size_t kLanes = 16;

class Checker {
 public:
  Checker(const SwitchGraph& graph, const Routes& routes)
      : graph_(graph), routes_(routes), by_port_(graph.switches()) {
    for (SwitchIndex at = 0; at < graph.switches(); ++at) {
      by_port_[at].assign(std::size_t{graph.ports(at)} + 1, kNone);
      for (HopIndex i = graph.first_hop(at); i < graph.first_hop(at + 1); ++i)
        by_port_[at][graph.hops()[i].port] = i;
    }
    waits_for_.resize(graph.hops().size() * kLanes);
  }

  RoutingCheck run() {
    std::vector<std::uint32_t> away;
    for (SwitchIndex to = 0; to < graph_.switches(); ++to) {
      if (graph_.ends_at(to).empty()) continue;
      measure(graph_, to, away);
      for (const std::uint32_t number : graph_.ends_at(to)) {
        const EndPort& end = graph_.ends()[number];
        for (unsigned i = 0; i < end.lids(); ++i) {
          const Lid lid{static_cast<std::uint16_t>(end.lid.value() + i)};
          for (SwitchIndex from = 0; from < graph_.switches(); ++from) {
            if (graph_.has_hosts(from) && away[from] != kFar) follow(from, lid, end, away[from]);
          }
        }
      }
    }
    for (const Routes::Additional& each : routes_.additional())
      follow_additional(each, away);
    find_loop();
    return result_;
  }

 private:
  static constexpr HopIndex kNone = ~HopIndex{0};

  void follow_additional(const Routes::Additional& each, std::vector<std::uint32_t>& away) {
    const std::uint32_t owner = graph_.owner(each.like);
    if (owner == SwitchGraph::kNobody || graph_.owner(each.lid) != SwitchGraph::kNobody) {
      return lost(0, each.lid, 0);
    }
    const EndPort& end = graph_.ends()[owner];
    measure(graph_, end.at, away);
    for (SwitchIndex from = 0; from < graph_.switches(); ++from) {
      if (graph_.has_hosts(from) && away[from] != kFar) follow(from, each.lid, end, away[from]);
    }
  }

  void follow(SwitchIndex from, Lid lid, const EndPort& end, std::uint32_t shortest) {
    ++result_.ways;
    const Sl sl = routes_.sl(from, lid);
    SwitchIndex at = from;
    std::uint64_t hops = 0;
    std::size_t before = kNowhere;
    while (at != end.at) {
      const std::uint8_t port = routes_.port(at, lid);
      const HopIndex hop = port < by_port_[at].size() ? by_port_[at][port] : kNone;
      if (hop == kNone || hops > graph_.switches()) return lost(from, lid, at);
      const std::size_t channel = hop * kLanes + routes_.lane(hop, sl).value();
      if (before != kNowhere) note(before, channel);
      before = channel;
      at = graph_.hops()[hop].to;
      ++hops;
    }
    if (routes_.port(at, lid) != end.port) return lost(from, lid, at);
    result_.longest = std::max(result_.longest, hops);
    if (hops > shortest) ++result_.detours;
  }

  void lost(SwitchIndex from, Lid lid, SwitchIndex at) {
    if (++result_.unreachable > 1) return;
    result_.first_unreachable =
        fmt::format("what goes from switch {:#018x} to LID {} is lost at switch {:#018x}",
                    graph_.guid(from).value(), lid.value(), graph_.guid(at).value());
  }

  // Few hops follow one another, so a list is as quick as anything.
  void note(std::size_t channel, std::size_t next) {
    auto& list = waits_for_[channel];
    const auto number = static_cast<std::uint32_t>(next);
    if (std::find(list.begin(), list.end(), number) == list.end()) list.push_back(number);
  }

  // Depth first, without recursion: a way back to a channel that is still open is a loop.
  void find_loop() {
    enum class Mark : std::uint8_t { kNew, kOpen, kDone };
    std::vector<Mark> marks(waits_for_.size(), Mark::kNew);
    struct Step {
      std::size_t channel;
      std::size_t next;
    };
    std::vector<Step> stack;
    for (std::size_t first = 0; first < waits_for_.size(); ++first) {
      if (marks[first] != Mark::kNew) continue;
      stack.push_back({first, 0});
      marks[first] = Mark::kOpen;
      while (!stack.empty()) {
        Step& top = stack.back();
        if (top.next == waits_for_[top.channel].size()) {
          marks[top.channel] = Mark::kDone;
          stack.pop_back();
          continue;
        }
        const std::size_t next = waits_for_[top.channel][top.next++];
        if (marks[next] == Mark::kDone) continue;
        if (marks[next] == Mark::kOpen) {
          auto step = std::find_if(stack.begin(), stack.end(),
                                   [next](const Step& each) { return each.channel == next; });
          for (; step != stack.end(); ++step)
            result_.credit_loop.push_back(name(step->channel));
          return;
        }
        marks[next] = Mark::kOpen;
        stack.push_back({next, 0});
      }
    }
  }

  [[nodiscard]] std::string name(std::size_t channel) const {
    const Hop& hop = graph_.hops()[channel / kLanes];
    return fmt::format("{:#018x}:{} VL{}", graph_.guid(hop.from).value(), hop.port,
                       channel % kLanes);
  }

  static constexpr std::size_t kNowhere = ~std::size_t{0};
  const SwitchGraph& graph_;
  const Routes& routes_;
  std::vector<std::vector<HopIndex>> by_port_;
  std::vector<std::vector<std::uint32_t>> waits_for_;
  RoutingCheck result_;
};

}  // namespace

RoutingCheck check(const SwitchGraph& graph, const Routes& routes) {
  return Checker(graph, routes).run();
}

}  // namespace weft::sm
