// SPDX-License-Identifier: Apache-2.0
#include "sm/routing/routes.h"

#include <algorithm>

namespace weft::sm {

void Routes::reserve_lids(std::size_t lid_end) {
  if (lid_end <= lid_end_) return;
  const auto widen = [&](std::vector<std::uint8_t>& table, std::uint8_t filler) {
    std::vector<std::uint8_t> wide(switches_ * lid_end, filler);
    for (std::size_t at = 0; at < switches_; ++at) {
      std::copy_n(table.begin() + static_cast<std::ptrdiff_t>(at * lid_end_), lid_end_,
                  wide.begin() + static_cast<std::ptrdiff_t>(at * lid_end));
    }
    table = std::move(wide);
  };
  widen(ports_, kNoPort);
  if (!levels_.empty()) widen(levels_, 0);
  lid_end_ = lid_end;
}

void Routes::lead(Lid lid, Lid like) {
  reserve_lids(std::size_t{lid.value()} + 1);
  for (SwitchIndex at = 0; at < switches_; ++at) {
    ports_[at * lid_end_ + lid.value()] = port(at, like);
    if (!levels_.empty()) levels_[at * lid_end_ + lid.value()] = sl(at, like).value();
  }
  std::erase_if(additional_, [lid](const Additional& each) { return each.lid == lid; });
  if (like != Lid{}) additional_.push_back({.lid = lid, .like = like});
}

}  // namespace weft::sm
