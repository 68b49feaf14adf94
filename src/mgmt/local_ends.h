// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"

namespace weft::mgmt {

// What an address of ours stands for.
struct LocalEnd {
  Guid ca_guid{};               // node GUID of the device that has it
  std::uint8_t port = 1;        // port number, for queue pair attributes
  std::uint8_t sgid_index = 0;  // in that port's GID table
  std::uint32_t scope_id = 0;   // interface index, for link-local addresses
  bool on_fabric = false;       // LIDs lead to it and from it
  Lid lid{};                    // fabrics: the port's first; 0: it has none now
  std::uint8_t lmc = 0;         // fabrics: it has 2^lmc
};

// Which of the port's LIDs this one is, counted from the first; nothing when it is none of them.
[[nodiscard]] inline std::optional<std::uint8_t> path_bits(const LocalEnd& end, Lid lid) {
  const int bits = lid.value() - end.lid.value();
  if (bits < 0 || bits >= 1 << end.lmc) return std::nullopt;
  return static_cast<std::uint8_t>(bits);
}

// Knows the addresses of this end. They may come and go. Must not call the manager back.
class LocalEnds {
 public:
  virtual ~LocalEnds() = default;
  // Nothing when `address` is not ours.
  [[nodiscard]] virtual std::optional<LocalEnd> find(const Gid& address) const = 0;
  // Where the port's table has a P_Key of this one's partition; nothing: nowhere.
  [[nodiscard]] virtual std::optional<std::uint16_t> pkey_index(const LocalEnd& end,
                                                                PKey pkey) const {
    static_cast<void>(end);
    static_cast<void>(pkey);
    return std::uint16_t{0};
  }
};

}  // namespace weft::mgmt
