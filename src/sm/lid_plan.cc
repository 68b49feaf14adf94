// SPDX-License-Identifier: Apache-2.0
#include "sm/lid_plan.h"

#include <array>

namespace weft::sm {
namespace {

constexpr unsigned kFirst = 1;
constexpr unsigned kLidPlanEnd = 0xC000;  // of unicast LIDs, IBA 4.1.3

// The LIDs that are taken.
class Taken {
 public:
  Taken() : taken_(kLidPlanEnd) {}
  [[nodiscard]] bool free(unsigned first, unsigned count) const {
    if (first < kFirst || first % count != 0 || first + count > kLidPlanEnd) return false;
    for (unsigned lid = first; lid < first + count; ++lid) {
      if (taken_[lid]) return false;
    }
    return true;
  }
  void take(unsigned first, unsigned count) {
    for (unsigned lid = first; lid < first + count && lid < kLidPlanEnd; ++lid)
      taken_[lid] = true;
  }

 private:
  std::vector<bool> taken_;
};

}  // namespace

std::vector<Lid> LidPlan::assign(std::span<const Port> ports, std::uint8_t lmc,
                                 const std::set<Lid>& reserved) {
  std::vector<Lid> lids(ports.size());
  const auto count = [&](const Port& port) { return port.is_switch ? 1u : 1u << lmc; };
  Taken taken;
  for (const Lid lid : reserved)
    taken.take(lid.value(), 1);
  const auto keep = [&](std::size_t i, Lid lid) {
    if (lids[i] != Lid{} || !taken.free(lid.value(), count(ports[i]))) return;
    taken.take(lid.value(), count(ports[i]));
    lids[i] = lid;
  };
  const auto given = [&](const Port& port) {
    const auto found = given_.find(port.guid);
    return found == given_.end() ? Lid{} : found->second.first;
  };
  std::set<Guid> here;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    here.insert(ports[i].guid);
    if (ports[i].active && ports[i].current == given(ports[i])) keep(i, ports[i].current);
  }
  // Another manager may have given them meanwhile.
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (ports[i].active) keep(i, ports[i].current);
  }
  // Else what was given counts for more than what a port says, which may be another subnet's.
  for (std::size_t i = 0; i < ports.size(); ++i)
    keep(i, given(ports[i]));
  for (std::size_t i = 0; i < ports.size(); ++i)
    keep(i, ports[i].current);
  // Then what nobody else will come back for, and that too when nothing else is left.
  Taken spared = taken;
  for (const auto& [guid, range] : given_) {
    if (!here.contains(guid)) spared.take(range.first.value(), 1u << range.lmc);
  }
  for (const bool sparing : {true, false}) {
    std::array<unsigned, 2> next{kFirst, kFirst};  // below it nothing is free: adapters, switches
    for (std::size_t i = 0; i < ports.size(); ++i) {
      if (lids[i] != Lid{}) continue;
      const unsigned step = count(ports[i]);
      unsigned& lid = next[ports[i].is_switch ? 1 : 0];
      lid = (lid + step - 1) / step * step;
      while (lid < kLidPlanEnd && !(taken.free(lid, step) && (!sparing || spared.free(lid, step))))
        lid += step;
      if (lid + step > kLidPlanEnd) continue;
      taken.take(lid, step);
      lids[i] = Lid{static_cast<std::uint16_t>(lid)};
    }
  }
  for (std::size_t i = 0; i < ports.size(); ++i) {
    if (lids[i] == Lid{}) continue;
    remember(ports[i].guid, {lids[i], ports[i].is_switch ? std::uint8_t{0} : lmc});
  }
  // What others have by now is nobody's to come back for.
  std::erase_if(given_, [&](const auto& each) {
    const auto& [guid, range] = each;
    if (here.contains(guid) || taken.free(range.first.value(), 1u << range.lmc)) return false;
    changed_.insert(guid);
    return true;
  });
  return lids;
}

void LidPlan::remember(Guid port, const LidRange& range) {
  const auto [at, is_new] = given_.try_emplace(port, range);
  if (!is_new && at->second == range) return;
  at->second = range;
  changed_.insert(port);
}

}  // namespace weft::sm
