// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_pairs.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

#include "fabric/lab_parts.h"
#include "fabric/lab_service_text.h"

namespace weft::fabric {
namespace {

// That a link joins the port with; empty: there is none.
std::string_view switch_of(const Lab& lab, const LabPort& port) {
  for (const LabLink& link : lab.links) {
    for (const std::size_t side : {0U, 1U}) {
      const LabEnd& end = link.ends.at(side);
      if (end.port != port.port || lab.nodes[end.node].name != port.node) continue;
      const LabNode& other = lab.nodes[link.ends.at(1 - side).node];
      if (other.kind == NodeKind::kSwitch) return other.name;
    }
  }
  return {};
}

// What both go with; empty: nothing.
std::string shared_by(const Lab& lab, const LabPort& one, const LabPort& other) {
  if (one.node == other.node) return fmt::format("node {}", one.node);
  const std::string_view at = switch_of(lab, one);
  if (at.empty() || at != switch_of(lab, other)) return {};
  return fmt::format("switch {}", at);
}

// The part that runs the node of a port; null: one process runs all.
const LabPart* part_of(const Lab& lab, const LabPort& port) {
  return lab.parts.empty() ? nullptr : &lab.parts[lab.find_node(port.node)->part];
}

// Whether what works in both parts tells itself what is connected: parts on one machine do, of what
// works in their daemons' own threads.
bool tell_each_other(const LabService& service, const LabPart& one, const LabPart& other) {
  const bool in_daemons =
      service.type != "process" && !service.is_external() && !service.has_threads();
  return in_daemons && carrier_between(one, other) == PartCarrier::kRings;
}

}  // namespace

std::vector<std::string> pair_notes(const Lab& lab) {
  std::vector<std::string> notes;
  for (const LabService& service : lab.data.services) {
    for (const LabServiceInstance& pair : service.instances) {
      if (pair.size() != 2) continue;
      const LabPart* const one = part_of(lab, pair[0].at);
      const LabPart* const other = part_of(lab, pair[1].at);
      if (one != other && !tell_each_other(service, *one, *other)) {
        notes.push_back(fmt::format(
            "service {}: {} is in part {} and {} in part {}: neither tells the other one "
            "what is connected, and who takes over knows no connection",
            service.name, to_string(pair[0].at), one->name, to_string(pair[1].at), other->name));
      }
      const std::string shared = shared_by(lab, pair[0].at, pair[1].at);
      if (shared.empty()) continue;
      notes.push_back(fmt::format("service {}: the pair of {} and {} shares {}, and goes with it",
                                  service.name, to_string(pair[0].at), to_string(pair[1].at),
                                  shared));
    }
  }
  return notes;
}

}  // namespace weft::fabric
