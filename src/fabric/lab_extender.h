// SPDX-License-Identifier: Apache-2.0
// The extenders of a lab: switches of which some links lead over a WAN to other sites, which are
// labs of their own (docs/range-extension.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fabric/lab_parts.h"

namespace weft::fabric {

struct LabRemote {
  std::string name;
  // Where its extender listens. Nothing: it is not known, and that one comes here, from wherever.
  std::optional<PartAddress> address;
  friend bool operator==(const LabRemote&, const LabRemote&) = default;
};

struct LabExtender {
  std::uint32_t node = 0;       // index in Lab::nodes: a switch
  std::uint8_t first_port = 0;  // that leads to the first of `remotes`; the others follow
  PartAddress listen;           // where frames of other sites arrive
  std::uint64_t buffer_bytes = std::uint64_t{512} << 20;  // of each lane of each remote
  std::vector<LabRemote> remotes;
  friend bool operator==(const LabExtender&, const LabExtender&) = default;

  [[nodiscard]] std::uint8_t port_of(std::size_t remote) const {
    return static_cast<std::uint8_t>(first_port + remote);
  }
};

}  // namespace weft::fabric
