// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/counters.h"
#include "base/error.h"
#include "io/unique_fd.h"
#include "port/faults.h"

namespace weft::port {

// The faulty line before an inlet, with the timer that tells when it holds something due. By the
// receiving thread only.
class InletFaults {
 public:
  // `ordinal`: which inlet of its port it is; each draws numbers of its own from the seed.
  static Expected<std::unique_ptr<InletFaults>> create(const FaultConfig& config,
                                                       std::uint64_t ordinal);

  // Readable when something is due.
  [[nodiscard]] int descriptor() const { return timer_.get(); }
  // What one receive brought: `run`, which it may change, is taken apart into its datagrams.
  void arrive(MutableBytes run, const io::ReceivedDatagram& about, std::uint16_t local_port,
              Time now, FaultyLine::Sink& sink);
  void release(Time now, FaultyLine::Sink& sink) { line_.release(now, sink); }
  [[nodiscard]] bool holds_something() const { return line_.deadline().has_value(); }
  // After the others: sets the timer. Returns what happened since the last call.
  [[nodiscard]] FaultTally settle();

 private:
  InletFaults(const FaultConfig& config, Random random, io::UniqueFd timer)
      : line_(config, random), timer_(std::move(timer)) {}

  FaultyLine line_;
  io::UniqueFd timer_;
  Time timer_at_ = Time::max();  // max: not set
};

// For counters that have one for each kind of fault.
template <class Enum, const std::array<CounterInfo, static_cast<std::size_t>(Enum::kCount)>& kInfo>
void count(const FaultTally& tally, CounterSet<Enum, kInfo>& counters) {
  counters.add(Enum::kFaultLost, tally.lost);
  counters.add(Enum::kFaultDuplicated, tally.duplicated);
  counters.add(Enum::kFaultReordered, tally.reordered);
  counters.add(Enum::kFaultCorrupted, tally.corrupted);
  counters.add(Enum::kFaultOverflowed, tally.overflowed);
}

}  // namespace weft::port
