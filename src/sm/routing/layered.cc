// SPDX-License-Identifier: Apache-2.0
// Any fabric: shortest ways, each on the first layer of lanes where it closes no ring (as LASH
// does: Skeie, Lysne, Theiss, 2002; but for each LID, so that all links are used). What fits on
// none goes up and down on a layer of its own, so that the lanes there are always do.
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>
#include <vector>

#include "sm/routing/engines.h"
#include "sm/routing/next_hops.h"
#include "sm/routing/up_down.h"
#include "sm/routing/wait_order.h"

namespace weft::sm {
namespace {

// Which of several shortest ways.
enum class Prefer : std::uint8_t { kLeastUsed, kFirstPort };

struct LayersOptions {
  std::uint8_t lanes = 1;
  Prefer prefer = Prefer::kLeastUsed;
  bool escape = false;  // the last of the lanes is for ways up and down
};

class Layers {
 public:
  Layers(const SwitchGraph& graph, Ranking& ranking, const LayersOptions& options)
      : graph_(graph),
        ranking_(ranking),
        shortest_layers_(options.escape ? options.lanes - 1u : options.lanes),
        prefer_(options.prefer),
        escape_(options.escape),
        loads_(graph),
        taken_(graph.switches()),
        routes_(graph.switches(), graph.lid_end()) {
    routes_.lanes = options.lanes;
  }

  // Nothing: there are ways that fit nowhere.
  std::optional<Routes> run() {
    std::vector<std::uint32_t> away;
    for (SwitchIndex to = 0; to < graph_.switches(); ++to) {
      if (graph_.ends_at(to).empty()) continue;
      measure(graph_, to, away);
      nearer_hops(graph_, away, shortest_);
      if (escape_) ranking_.find(graph_, to, lawful_);
      for (const std::uint32_t number : graph_.ends_at(to)) {
        const EndPort& end = graph_.ends()[number];
        deliver(end, routes_);
        for (unsigned i = 0; i < end.lids(); ++i) {
          lid_ = Lid{static_cast<std::uint16_t>(end.lid.value() + i)};
          if (!route_to(to, end.port != 0)) return std::nullopt;
        }
      }
    }
    return std::move(routes_);
  }

 private:
  static constexpr HopIndex kNoHop = ~HopIndex{0};

  bool route_to(SwitchIndex to, bool counts) {
    if (shortest_layers_ > 0) {
      choose(shortest_, to);
      if (place_ways(to)) {
        write(counts);
        return true;
      }
    }
    if (!escape_) return false;
    choose(lawful_, to);
    write(counts);
    const Sl last{static_cast<std::uint8_t>(shortest_layers_)};
    for (SwitchIndex from = 0; from < graph_.switches(); ++from)
      routes_.set_sl(from, lid_, last);
    return true;
  }

  void choose(const NextHops& next, SwitchIndex to) {
    for (SwitchIndex at = 0; at < graph_.switches(); ++at) {
      const auto choice = next.of(at);
      taken_[at] = at == to || choice.empty() ? kNoHop : pick(choice);
    }
  }

  HopIndex pick(std::span<const HopIndex> choice) {
    if (prefer_ == Prefer::kLeastUsed) return loads_.least(choice);
    // Of parallel links still the least used.
    const SwitchIndex to = graph_.hops()[choice.front()].to;
    parallel_.clear();
    std::copy_if(choice.begin(), choice.end(), std::back_inserter(parallel_),
                 [&](HopIndex hop) { return graph_.hops()[hop].to == to; });
    return loads_.least(parallel_);
  }

  void write(bool counts) {
    for (SwitchIndex at = 0; at < graph_.switches(); ++at) {
      if (taken_[at] == kNoHop) continue;
      routes_.set_port(at, lid_, graph_.hops()[taken_[at]].port);
      if (counts) loads_.add(taken_[at]);
    }
  }

  // The way of each switch that has hosts; all or none.
  bool place_ways(SwitchIndex to) {
    placed_.clear();
    for (SwitchIndex from = 0; from < graph_.switches(); ++from) {
      if (from == to || !graph_.has_hosts(from) || taken_[from] == kNoHop) continue;
      follow(from);
      const auto layer = place_way();
      if (!layer) return take_back();
      routes_.set_sl(from, lid_, Sl{*layer});
      placed_.push_back({from, *layer});
    }
    return true;
  }

  void follow(SwitchIndex from) {
    way_.clear();
    for (SwitchIndex at = from; taken_[at] != kNoHop; at = graph_.hops()[taken_[at]].to)
      way_.push_back(taken_[at]);
  }

  std::optional<std::uint8_t> place_way() {
    for (std::uint8_t layer = 0; layer < shortest_layers_; ++layer) {
      if (layer == layers_.size()) layers_.emplace_back(graph_, ranking_);
      if (layers_[layer].add(way_)) return layer;
    }
    return std::nullopt;
  }

  bool take_back() {
    for (const Placed& placed : placed_) {
      follow(placed.from);
      layers_[placed.layer].remove(way_);
    }
    return false;
  }

  struct Placed {
    SwitchIndex from;
    std::uint8_t layer;
  };

  const SwitchGraph& graph_;
  Ranking& ranking_;
  const std::size_t shortest_layers_;
  const Prefer prefer_;
  const bool escape_;
  Loads loads_;
  std::vector<WaitOrder> layers_;
  NextHops shortest_;
  NextHops lawful_;
  // Of the LID at hand.
  Lid lid_{};
  std::vector<HopIndex> taken_;  // by each switch
  std::vector<HopIndex> way_;
  std::vector<HopIndex> parallel_;
  std::vector<Placed> placed_;
  Routes routes_;
};

}  // namespace

Expected<Routes> route_layered(const SwitchGraph& graph, const RoutingOptions& options) {
  auto ranking = Ranking::make(graph, options.roots);
  if (!ranking) return tl::unexpected(ranking.error());
  constexpr std::uint8_t kFew = 2;
  const std::uint8_t few = std::min(options.lanes, kFew);
  const std::array attempts{
      LayersOptions{.lanes = few},
      LayersOptions{.lanes = options.lanes, .prefer = Prefer::kFirstPort},
      LayersOptions{.lanes = options.lanes, .prefer = Prefer::kFirstPort, .escape = true},
  };
  for (const LayersOptions& attempt : attempts) {
    if (auto routes = Layers(graph, *ranking, attempt).run()) return std::move(*routes);
  }
  return fail(std::errc::state_not_recoverable, "layered: a way up and down did not fit");
}

}  // namespace weft::sm
