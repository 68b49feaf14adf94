// SPDX-License-Identifier: Apache-2.0
// A port's training under whatever its lanes may carry and its managers may want, at any time.
// What it says that it sends and hears fits its state, it is up only when its lanes are, it always
// has a way on, and without a medium it comes to rest.
#include "phy/training/link_training.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>

#include "input.h"
#include "steps.h"

namespace {

using namespace weft;
using namespace weft::phy;
using fuzz::Input;
using fuzz::require;
using Physical = wire::PortPhysicalState;

class Fuzzer final : public TrainingOwner {
 public:
  explicit Fuzzer(Input& input) : input_(input), port_(draw_options(), *this) {}
  ~Fuzzer() override = default;

  void step() {
    steps_ = 0;
    switch (input_.one_of(10)) {
      case 0:
        port_.command(static_cast<Physical>(input_.one_of(9)), now_);
        break;
      case 1:
        manage();
        break;
      case 2:
        for (std::size_t lane = input_.one_of(4); lane < port_.options().lanes; ++lane)
          hear(lane, as_sent(lane));
        break;
      case 3:
        pass(input_.word() * Duration(1us));
        break;
      case 4:
      case 5:
        if (const auto deadline = port_.deadline()) pass(*deadline - now_);
        break;
      case 6:
        run();
        port_.symbol_errors(input_.one_of(14), input_.byte(), now_);
        break;
      default:
        hear(input_.one_of(14), some_input());
    }
    check_all();
  }

  // Nothing is heard any more: sooner or later it polls, sleeps, or is disabled as it was.
  void finish() {
    for (std::size_t lane = 0; lane < kMaxLanes; ++lane)
      hear(lane, {});
    const bool was_disabled = port_.state() == TrainingState::kDisabled;
    for (int rounds = 0;; ++rounds) {
      require(rounds < 40);
      const Physical physical = port_.physical_state();
      if (physical == Physical::kPolling || port_.state() == TrainingState::kSleepQuiet) break;
      if (port_.state() == TrainingState::kDisabled) break;
      const auto deadline = port_.deadline();
      require(deadline.has_value());
      steps_ = 0;
      pass(*deadline - now_);
      check_all();
    }
    require(was_disabled == (port_.state() == TrainingState::kDisabled));
    require(port_.physical_state() != Physical::kLinkUp);
  }

  void trained(const TrainingStep& step, Time) override {
    require(++steps_ < 40);
    require(step.to == port_.state());
    if (step.to == TrainingState::kLinkUp) check_up();
    if (step.to == TrainingState::kConfigWaitRmt && step.from == TrainingState::kConfigRcvrCfg)
      check_configured();
    note_receivers();
  }

 private:
  TrainingOptions draw_options() {
    TrainingOptions options;
    options.lanes = std::array<std::size_t, 4>{1, 4, 8, 12}[input_.one_of(4)];
    options.widths = static_cast<std::uint8_t>(input_.one_of(16));
    for (const LinkWidth width : kWidestFirst) {
      if (lanes_of(width) > options.lanes)
        options.widths = static_cast<std::uint8_t>(options.widths & ~static_cast<unsigned>(width));
    }
    if (options.widths == 0) options.widths = 1;
    options.speeds = static_cast<std::uint8_t>(1 + input_.one_of(3));
    options.reverses_receive = input_.one_of(2) == 0;
    options.reverses_transmit = input_.one_of(2) == 0;
    require(check(options).has_value());
    return options;
  }

  void manage() {
    run();
    switch (input_.one_of(7)) {
      case 0:
        port_.set_widths(input_.byte());
        break;
      case 1:
        port_.set_speeds(input_.byte());
        break;
      case 2:
        port_.set_link_down_default(static_cast<Physical>(input_.one_of(4)));
        break;
      case 3:
        port_.set_speed(input_.one_of(2) == 0 ? LinkSpeed::kSdr : LinkSpeed::kDdr, now_);
        break;
      case 4:
        port_.release_speed();
        break;
      default:
        port_.retrain(now_);
    }
  }

  LaneInput some_input() {
    return {.signal = static_cast<LaneSignal>(input_.one_of(6)),
            .lane = input_.one_of(14),
            .inverted = input_.rarely()};
  }
  // What a port at the other end would send, were it in the same state or the one behind it.
  LaneInput as_sent(std::size_t lane) {
    const auto signal = static_cast<LaneSignal>(2 + input_.one_of(4));
    const auto& map = port_.receive_map();
    if (map && !map->lane_at(lane)) return {};
    const std::size_t numbered = map ? *map->lane_at(lane) : lane;
    const bool is_numbered = is_training(signal);
    return {.signal = signal, .lane = static_cast<std::uint8_t>(is_numbered ? numbered : 0)};
  }

  void run() {
    port_.run(now_);
    note_receivers();
  }
  void pass(Duration time) {
    now_ += time;
    run();
  }
  void hear(std::size_t lane, const LaneInput& input) {
    run();
    if (lane < port_.options().lanes) heard_[lane] = input;
    port_.receive(lane, input, now_);
    note_receivers();
  }
  // A lane is silent until it is heard the new way.
  void note_receivers() {
    for (std::size_t lane = 0; lane < kMaxLanes; ++lane) {
      const bool inverts = port_.receiver(lane).inverts;
      if (inverts != inverts_[lane] || port_.speed() != speed_) heard_[lane] = {};
      inverts_[lane] = inverts;
    }
    speed_ = port_.speed();
  }

  void check_up() {
    const auto& map = port_.receive_map();
    require(map.has_value());
    for (std::size_t i = 0; i < port_.options().lanes; ++i)
      require(map->lane_at(i) ? is_past_training(heard_[i].signal)
                              : !has_symbols(heard_[i].signal));
  }
  void check_configured() {
    const auto& map = port_.receive_map();
    require(map.has_value());
    for (std::size_t lane = 0; lane < map->lanes(); ++lane)
      require(is_training_of(heard_[map->physical(lane)], lane));
  }

  void check_all() {
    const TrainingState state = port_.state();
    const auto& map = port_.receive_map();
    const TrainingOptions& options = port_.options();
    require((options.speeds & static_cast<std::uint8_t>(port_.speed())) != 0);
    if (map) {
      require(has(options.widths, map->width) && map->lanes() <= options.lanes);
      require(map->mirror == 0 || (options.reverses_receive && map->mirror <= options.lanes));
    }
    std::set<std::uint8_t> numbers;
    std::size_t sounding = 0;
    for (std::size_t i = 0; i < kMaxLanes + 2; ++i) {
      const LaneTransmit sent = port_.transmit(i);
      if (sent.send == LaneSend::kSilence) continue;
      require(i < options.lanes && sent.send == info(state).sends);
      ++sounding;
      numbers.insert(sent.lane);
    }
    const bool is_numbered =
        info(state).sends == LaneSend::kTs1 || info(state).sends == LaneSend::kTs2;
    if (is_numbered) require(numbers.size() == sounding && *numbers.rbegin() == sounding - 1);
    require((sounding > 0) == (info(state).sends != LaneSend::kSilence));
    if (map) require(sounding == map->lanes());
    const auto deadline = port_.deadline();
    require(!deadline || *deadline > now_);
    const bool rests = state == TrainingState::kDisabled || state == TrainingState::kSleepQuiet ||
                       state == TrainingState::kLinkUp;
    require(rests || deadline.has_value());
  }

  Input& input_;
  Time now_{1s};
  std::array<LaneInput, kMaxLanes> heard_{};
  std::array<bool, kMaxLanes> inverts_{};
  LinkSpeed speed_ = LinkSpeed::kSdr;
  int steps_ = 0;
  LinkTraining port_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  Fuzzer fuzzer(input);
  return fuzz::run(fuzzer, input);
}
