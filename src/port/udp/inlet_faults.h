// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "base/error.h"
#include "io/unique_fd.h"
#include "port/faults.h"
#include "port/udp/udp_counters.h"

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
  // After the others: sets the timer and counts.
  void settle(UdpCounters& counters);

 private:
  InletFaults(const FaultConfig& config, Random random, io::UniqueFd timer)
      : line_(config, random), timer_(std::move(timer)) {}

  FaultyLine line_;
  io::UniqueFd timer_;
  Time timer_at_ = Time::max();  // max: not set
};

}  // namespace weft::port
