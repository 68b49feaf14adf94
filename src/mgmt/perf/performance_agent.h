// SPDX-License-Identifier: Apache-2.0
// The performance management agent of a node, IBA 16.1: shows what its ports have counted, in
// fields that stick at their highest value, and counts anew from where a Set says. The two
// attributes count apart from each other: resetting one leaves the other alone.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "base/bytes.h"
#include "mgmt/managed_node.h"
#include "mgmt/perf/counter_layout.h"
#include "wire/mad.h"

namespace weft::mgmt {

class PerformanceAgent {
 public:
  explicit PerformanceAgent(ManagedNode& node) : node_(node) {}

  // Reads the attribute that `mad` names into it; of a Set, after changing it. What is not kOk
  // changed nothing.
  wire::MadStatus handle(bool set, PortNumber arrival, wire::MutableMadBytes mad);

 private:
  // What each port had counted when its counters were 0 for those who ask.
  using Origins = std::map<PortNumber, PortCounts>;

  wire::MadStatus class_port_info(bool set, MutableBytes data) const;
  wire::MadStatus counters(bool set, PortNumber arrival, std::span<const CounterField> layout,
                           std::size_t select2_at, std::size_t select2_bytes, Origins& origins,
                           MutableBytes data);
  void write_counts(PortNumber port, std::span<const CounterField> layout, std::uint64_t selected,
                    Origins& origins, Bytes data);

  ManagedNode& node_;
  Origins short_origins_;
  Origins extended_origins_;
};

}  // namespace weft::mgmt
