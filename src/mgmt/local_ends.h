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
};

// Knows the addresses of this end. They may come and go. Must not call the manager back.
class LocalEnds {
 public:
  virtual ~LocalEnds() = default;
  // Nothing when `address` is not ours.
  [[nodiscard]] virtual std::optional<LocalEnd> find(const Gid& address) const = 0;
};

}  // namespace weft::mgmt
