// SPDX-License-Identifier: Apache-2.0
// The trial of SerDes settings at DDR: both ends send idle data at once, each with one transmit
// configuration after the other, and try their receive configurations on what they get (DDR
// auto-negotiation specification, clause 2.2 and table 4).
//
//   iteration   | soak | receive 0 | receive 1 | ... | soak | until the longer of both durations |
//                       <- delta ->
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/time.h"
#include "phy/negotiation/options.h"
#include "phy/negotiation/serdes_control.h"

namespace weft::phy {

// What both ends agreed on, and what this one does with it.
struct SweepPlan {
  std::uint32_t iterations = 0;  // the larger of both
  Duration iteration{};          // the longer of both
  std::uint32_t transmit_configurations = 1;
  std::uint32_t receive_configurations = 1;
  std::uint32_t lanes = 1;
  Duration delta{};
  Duration soak{};

  friend bool operator==(const SweepPlan&, const SweepPlan&) = default;

  // A side that has fewer configurations than there are iterations sends them over again.
  [[nodiscard]] std::uint32_t transmit_of(std::uint32_t number) const {
    return number % transmit_configurations;
  }
};

// Of what a port offers and what its peer said: the larger of both, of each.
[[nodiscard]] SweepPlan agree_sweep(const NegotiationOptions& own, std::uint32_t peer_iterations,
                                    std::uint32_t peer_iteration_ms);

// What a port chose of its sweep. One field tells the peer the iteration, so it is of all lanes;
// with what a lane receives is its own matter.
struct SweepChoice {
  std::uint32_t iteration = 0;
  std::vector<std::uint32_t> receive{};  // of each lane
  double eye = 0;                        // of the worst lane

  friend bool operator==(const SweepChoice&, const SweepChoice&) = default;
};

class Sweep {
 public:
  Sweep() = default;
  void start(const SweepPlan& plan, Time now, SerdesControl& serdes);
  // Does what is due.
  void expire(Time now, SerdesControl& serdes);
  // Nothing: it is over, or was never started.
  [[nodiscard]] std::optional<Time> deadline() const;
  [[nodiscard]] bool running() const { return deadline().has_value(); }
  void stop() { iteration_ = plan_.iterations; }

  [[nodiscard]] const SweepPlan& plan() const { return plan_; }
  [[nodiscard]] std::uint32_t iteration() const { return iteration_; }
  // What was measured, if it was yet.
  [[nodiscard]] const std::optional<LaneMeasurement>& at(std::uint32_t iteration,
                                                         std::uint32_t receive,
                                                         std::uint32_t lane) const {
    return measured_[index(iteration, receive, lane)];
  }
  // The best iteration in which each lane has a receive configuration that counts: the one whose
  // worst lane has the largest eye, the first of equals. Nothing: there is none.
  [[nodiscard]] std::optional<SweepChoice> choice() const;

 private:
  [[nodiscard]] std::size_t index(std::uint32_t iteration, std::uint32_t receive,
                                  std::uint32_t lane) const {
    return (std::size_t{iteration} * plan_.receive_configurations + receive) * plan_.lanes + lane;
  }
  void begin_iteration(SerdesControl& serdes);
  void set_receive(std::uint32_t receive, SerdesControl& serdes);
  void measure(SerdesControl& serdes);

  SweepPlan plan_;
  Time began_{};  // the iteration
  std::uint32_t iteration_ = 0;
  // Of the iteration: 0 soaks, j + 1 tries receive configuration j, the last one waits.
  std::uint32_t step_ = 0;
  std::vector<std::optional<LaneMeasurement>> measured_;
};

}  // namespace weft::phy
