// SPDX-License-Identifier: Apache-2.0
// PortSamplesControl and PortSamplesResult, IBA 16.1.3.2 and 16.1.3.4: counts what passes a port
// from one moment to another, for whoever asked last. One sampling at a time for each port.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>

#include "base/bytes.h"
#include "base/time.h"
#include "mgmt/managed_node.h"
#include "wire/mad.h"

namespace weft::mgmt {

class PortSampler {
 public:
  static constexpr std::size_t kCounters = 5;  // of the 15 that there can be
  // Tick 0: ten bits at 2.5 Gb/s, in which SampleStart and SampleInterval are told.
  static constexpr Duration kTick{4};

  explicit PortSampler(ManagedNode& node) : node_(node) {}

  // The port is one of the node's. A Set while a sampling runs changes nothing, and its answer
  // shows the one that runs.
  wire::MadStatus control(bool set, PortNumber port, MutableBytes data, Time now);
  wire::MadStatus result(bool set, PortNumber port, MutableBytes data) const;

  // Begins and ends samplings whose time has come.
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

 private:
  enum class Status : std::uint8_t { kDone = 0, kStarted = 1, kSampling = 2 };
  struct Sampling {
    Status status = Status::kDone;
    std::uint32_t start = 0;     // ticks
    std::uint32_t interval = 0;  // ticks
    std::uint16_t tag = 0;
    std::array<std::uint16_t, kCounters> selects{};
    Time next{};  // when it begins or ends
    PortCounts origin{};
    std::array<std::uint32_t, kCounters> counts{};
  };
  void advance(PortNumber port, Sampling& sampling, Time now);

  ManagedNode& node_;
  std::map<PortNumber, Sampling> samplings_;
};

}  // namespace weft::mgmt
