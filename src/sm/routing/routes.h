// SPDX-License-Identifier: Apache-2.0
// What a routing engine finds: forwarding tables, and for each path the service level whose lanes
// keep it free of deadlock.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/ids.h"
#include "sm/routing/switch_graph.h"

namespace weft::sm {

// The lanes of a hop depend on the service level in one of these ways.
enum class LanePlan : std::uint8_t {
  kSame,       // SL n travels on VL n, modulo the lanes that routing was given
  kDimension,  // of each hop: bit `dimension` of the SL, so that two lanes serve any grid
};

class Routes {
 public:
  Routes() = default;
  Routes(std::size_t switches, std::size_t lid_end)
      : switches_(switches), lid_end_(lid_end), ports_(switches * lid_end, kNoPort) {}

  [[nodiscard]] std::size_t lid_end() const { return lid_end_; }
  // Where a switch sends what is for a LID: a port, 0 for itself, or kNoPort.
  [[nodiscard]] std::uint8_t port(SwitchIndex at, Lid lid) const {
    return lid.value() < lid_end_ ? ports_[at * lid_end_ + lid.value()] : kNoPort;
  }
  void set_port(SwitchIndex at, Lid lid, std::uint8_t port) {
    ports_[at * lid_end_ + lid.value()] = port;
  }
  // The linear forwarding table of a switch, from LID 0 on.
  [[nodiscard]] std::span<const std::uint8_t> table(SwitchIndex at) const {
    return std::span(ports_).subspan(at * lid_end_, lid_end_);
  }

  // A LID that no port has, and the one that it leads like.
  struct Additional {
    Lid lid{};
    Lid like{};
  };
  // From now on `lid`, which is no port's, leads where `like` does, by the same ways and on the
  // same levels: nothing new can wait for anything. `like` 0: it leads nowhere.
  void lead(Lid lid, Lid like);
  [[nodiscard]] const std::vector<Additional>& additional() const { return additional_; }

  // Of packets that enter the fabric at a switch. 0 where the engine needs one level only.
  [[nodiscard]] Sl sl(SwitchIndex from, Lid lid) const {
    if (levels_.empty() || lid.value() >= lid_end_) return Sl{};
    return Sl{levels_[from * lid_end_ + lid.value()]};
  }
  void set_sl(SwitchIndex from, Lid lid, Sl sl) {
    if (levels_.empty()) {
      if (sl == Sl{}) return;
      levels_.resize(ports_.size());
    }
    levels_[from * lid_end_ + lid.value()] = sl.value();
  }
  [[nodiscard]] bool uses_levels() const { return !levels_.empty(); }

  // The lane of packets of a service level on a hop; `lanes` are operational everywhere.
  [[nodiscard]] Vl lane(HopIndex hop, Sl sl) const {
    if (plan == LanePlan::kSame) return Vl{static_cast<std::uint8_t>(sl.value() % lanes)};
    return Vl{static_cast<std::uint8_t>(sl.value() >> dimension[hop] & 1)};
  }

  LanePlan plan = LanePlan::kSame;
  std::uint8_t lanes = 1;               // that the plan uses
  std::vector<std::uint8_t> dimension;  // of each hop, with kDimension

 private:
  void reserve_lids(std::size_t lid_end);

  std::size_t switches_ = 0;
  std::size_t lid_end_ = 0;
  std::vector<std::uint8_t> ports_;
  std::vector<std::uint8_t> levels_;
  std::vector<Additional> additional_;
};

}  // namespace weft::sm
