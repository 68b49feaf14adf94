// SPDX-License-Identifier: Apache-2.0
// How much of what a lab has, for those who are told.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fabric/lab.h"

namespace weft::fabric {

struct LabCensus {
  std::size_t switches = 0;  // with extenders that bridge
  std::size_t adapters = 0;
  std::size_t routers = 0;         // with extenders that route
  std::size_t roce_extenders = 0;  // which are no part of the fabric, whatever their nodes are

  // Nothing but RoCE extenders: there is no fabric to look at or to manage.
  [[nodiscard]] bool is_roce_alone() const {
    return roce_extenders != 0 && switches + adapters + routers == 0;
  }
  // "2 switches, 3 channel adapters, 1 routers": routers and RoCE extenders where there are any.
  // `adapters_are`: what adapters are called.
  [[nodiscard]] std::string to_string(std::string_view adapters_are = "channel adapters") const;
};

// Of all of a lab, or of that one of its parts: an index in Lab::parts.
[[nodiscard]] LabCensus census_of(const Lab& lab, std::optional<std::uint16_t> part = {});

}  // namespace weft::fabric
