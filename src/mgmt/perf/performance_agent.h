// SPDX-License-Identifier: Apache-2.0
// The performance management agent of a node, IBA 16.1: shows what its ports have counted, in
// fields that stick at their highest value, and counts anew from where a Set says. The two
// attributes count apart from each other: resetting one leaves the other alone.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "mgmt/managed_node.h"
#include "mgmt/perf/counter_layout.h"
#include "mgmt/perf/port_sampler.h"
#include "wire/mad.h"

namespace weft::mgmt {

class PerformanceAgent {
 public:
  explicit PerformanceAgent(ManagedNode& node) : node_(node), sampler_(node) {}

  // Reads the attribute that `mad` names into it; of a Set, after changing it. What is not kOk
  // changed nothing.
  wire::MadStatus handle(bool set, PortNumber arrival, wire::MutableMadBytes mad, Time now);

  void run(Time now) { sampler_.run(now); }
  [[nodiscard]] std::optional<Time> deadline() const { return sampler_.deadline(); }

 private:
  // What each port had counted when its counters were 0 for those who ask.
  using Origins = std::map<PortNumber, PortCounts>;

  wire::MadStatus samples(bool set, bool control, PortNumber arrival, MutableBytes data, Time now);
  wire::MadStatus class_port_info(bool set, MutableBytes data) const;
  wire::MadStatus counters(bool set, PortNumber arrival, std::span<const CounterField> layout,
                           std::size_t select2_at, std::size_t select2_bytes, Origins& origins,
                           MutableBytes data);
  void write_counts(PortNumber port, std::span<const CounterField> layout, std::uint64_t selected,
                    Origins& origins, Bytes data);

  ManagedNode& node_;
  Origins short_origins_;
  Origins extended_origins_;
  PortSampler sampler_;
  PortNumber sampled_ = 0;  // the port of the last PortSamplesControl: what a result is of
};

}  // namespace weft::mgmt
