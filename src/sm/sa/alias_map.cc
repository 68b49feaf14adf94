// SPDX-License-Identifier: Apache-2.0
#include "sm/sa/alias_map.h"

#include <algorithm>
#include <cassert>

namespace weft::sm {

void AliasMap::put(Guid port, std::size_t index, Guid alias) {
  assert(alias == Guid{} || !port_of_.contains(alias.value()));
  std::vector<Guid>& guids = ports_[port];
  guids.resize(std::max(guids.size(), index + 1));
  if (guids[index] != Guid{}) port_of_.erase(guids[index].value());
  guids[index] = alias;
  if (alias != Guid{}) port_of_.emplace(alias.value(), port);
  const bool is_empty =
      std::all_of(guids.begin(), guids.end(), [](Guid each) { return each == Guid{}; });
  if (is_empty) ports_.erase(port);
}

}  // namespace weft::sm
