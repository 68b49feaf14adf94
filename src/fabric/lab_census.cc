// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_census.h"

#include <fmt/format.h>

namespace weft::fabric {

LabCensus census_of(const Lab& lab, std::optional<std::uint16_t> part) {
  LabCensus out;
  for (std::uint32_t i = 0; i < lab.nodes.size(); ++i) {
    const LabNode& node = lab.nodes[i];
    if (part && node.part != *part) continue;
    const LabExtender* const extender = lab.find_extender(i);
    if (extender != nullptr && extender->mode == ExtenderMode::kRoce) {
      ++out.roce_extenders;
    } else if (node.kind == NodeKind::kSwitch) {
      ++out.switches;
    } else if (node.kind == NodeKind::kRouter) {
      ++out.routers;
    } else {
      ++out.adapters;
    }
  }
  return out;
}

std::string LabCensus::to_string(std::string_view adapters_are) const {
  if (is_roce_alone()) return fmt::format("{} RoCE extenders", roce_extenders);
  std::string out = fmt::format("{} switches, {} {}", switches, adapters, adapters_are);
  if (routers != 0) out += fmt::format(", {} routers", routers);
  if (roce_extenders != 0) out += fmt::format(", {} RoCE extenders", roce_extenders);
  return out;
}

}  // namespace weft::fabric
