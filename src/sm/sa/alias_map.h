// SPDX-License-Identifier: Apache-2.0
// Which GUIDs ports have beside their own: each stands for one port, at one index of its table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/ids.h"

namespace weft::sm {

class AliasMap {
 public:
  // Nothing: it is none.
  [[nodiscard]] std::optional<Guid> port_of(Guid alias) const {
    const auto found = port_of_.find(alias.value());
    return found == port_of_.end() ? std::nullopt : std::optional(found->second);
  }
  // 0: the port has none there.
  [[nodiscard]] Guid at(Guid port, std::size_t index) const {
    const auto found = ports_.find(port);
    return found != ports_.end() && index < found->second.size() ? found->second[index] : Guid{};
  }
  // By port, and by index. No port has zeros alone.
  [[nodiscard]] const std::map<Guid, std::vector<Guid>>& ports() const { return ports_; }
  [[nodiscard]] std::size_t size() const { return port_of_.size(); }

  // In place of what was there. `alias`: 0, or no alias of any port.
  void put(Guid port, std::size_t index, Guid alias);

 private:
  std::unordered_map<std::uint64_t, Guid> port_of_;
  std::map<Guid, std::vector<Guid>> ports_;
};

}  // namespace weft::sm
