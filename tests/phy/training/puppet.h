// SPDX-License-Identifier: Apache-2.0
// A port whose lanes carry what the test says.
#pragma once

#include <cstdint>
#include <vector>

#include "phy/training/link_training.h"

namespace weft::phy {

class Puppet final : public TrainingOwner {
 public:
  explicit Puppet(const TrainingOptions& options = {}) : training(options, *this) {}

  void trained(const TrainingStep& step, Time) override { steps.push_back(step); }

  void poll() { training.command(wire::PortPhysicalState::kPolling, now); }
  void pass(Duration time) {
    for (const Time end = now + time; now < end;) {
      const auto deadline = training.deadline();
      now = deadline && *deadline < end ? *deadline : end;
      training.run(now);
    }
  }
  void hear(std::size_t lane, const LaneInput& input) { training.receive(lane, input, now); }
  // On the first `lanes` lanes, in order; silence on the others.
  void hear_all(LaneSignal signal, std::size_t lanes = 4) {
    for (std::size_t i = 0; i < training.options().lanes; ++i) {
      const bool is_numbered = is_training(signal);
      hear(i, i < lanes ? LaneInput{.signal = signal,
                                    .lane = static_cast<std::uint8_t>(is_numbered ? i : 0)}
                        : LaneInput{});
    }
  }
  // Config.RcvrCfg, with what is heard by then.
  void configure() {
    poll();
    hear_all(LaneSignal::kTs1);
    pass(training.options().times.config_debounce);
  }
  void wait_remote() {
    configure();
    pass(training.options().times.lane_settle);
  }
  void bring_up(std::size_t lanes = 4) {
    wait_remote();
    hear_all(LaneSignal::kTs2, lanes);
    pass(50us);
    hear_all(LaneSignal::kIdle, lanes);
    pass(50us);
  }
  [[nodiscard]] TrainingState state() const { return training.state(); }
  [[nodiscard]] std::uint64_t count(TrainingCounter counter) const {
    return training.counters().get(counter);
  }
  // What the first four lanes send.
  [[nodiscard]] std::vector<LaneTransmit> sends(std::size_t lanes = 4) const {
    std::vector<LaneTransmit> all;
    for (std::size_t i = 0; i < lanes; ++i)
      all.push_back(training.transmit(i));
    return all;
  }

  std::vector<TrainingStep> steps;
  Time now{1s};
  LinkTraining training;
};

}  // namespace weft::phy
