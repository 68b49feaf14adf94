// SPDX-License-Identifier: Apache-2.0
// Which LIDs each port has. A port keeps what it had, as long as nobody else has it: addresses that
// programs know stay good across sweeps, managers and restarts. Of two that have the same, because
// two parts of a subnet were apart, the one keeps it that this manager gave it to.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "sm/lid_moves.h"

namespace weft::sm {

class LidPlan {
 public:
  struct Port {
    Guid guid{};
    Lid current{};           // what it says it has; 0: none
    bool is_switch = false;  // has one LID, whatever the LMC
    bool active = false;     // programs use `current`
  };

  // LIDs that were given before, by port GUID; they are kept for their ports as long as there are
  // others to give.
  explicit LidPlan(std::map<Guid, LidRange> given = {}) : given_(std::move(given)) {}

  // LIDs for all of the ports: the first of 2^lmc each, aligned (IBA 7.11.1). A LID of 0: there are
  // no more.
  // No port gets one of `reserved`, or keeps it.
  [[nodiscard]] std::vector<Lid> assign(std::span<const Port> ports, std::uint8_t lmc,
                                        const std::set<Lid>& reserved = {});

  // All that were ever given, and not to another port since.
  [[nodiscard]] const std::map<Guid, LidRange>& given() const { return given_; }
  // Ports for which that has changed since the last call; some of them may be in it no more.
  [[nodiscard]] std::set<Guid> take_changed() { return std::exchange(changed_, {}); }

 private:
  void remember(Guid port, const LidRange& range);

  std::map<Guid, LidRange> given_;
  std::set<Guid> changed_;
};

}  // namespace weft::sm
