// SPDX-License-Identifier: Apache-2.0
#include "phy/training/link_training.h"

#include <algorithm>
#include <cassert>

namespace weft::phy {
namespace {

// A port that has tried the other speed in vain is at its first speed for so many polls: more than
// one, so that two such ports do not pass each other for ever.
constexpr std::uint8_t kPollsBetweenTries = 4;

constexpr std::uint8_t speed_bit(LinkSpeed speed) {
  return static_cast<std::uint8_t>(speed);
}

}  // namespace

bool has_link(TrainingState state) {
  return state == TrainingState::kLinkUp ||
         info(state).physical == wire::PortPhysicalState::kLinkErrorRecovery;
}

bool brings_up(const TrainingStep& step) {
  return step.to == TrainingState::kLinkUp && step.from != TrainingState::kLinkUp;
}

bool takes_down(const TrainingStep& step) {
  return has_link(step.from) && !has_link(step.to);
}

LinkTraining::LinkTraining(const TrainingOptions& options, TrainingOwner& owner)
    : options_(options),
      owner_(owner),
      widths_enabled_(options.widths),
      speeds_enabled_(options.speeds),
      speed_(first_speed()),
      widths_(options.widths) {
  assert(check(options));
}

bool LinkTraining::command(wire::PortPhysicalState state, Time now) {
  switch (state) {
    case wire::PortPhysicalState::kDisabled:
      happen(TrainingEvent::kDisableCommand, now);
      return true;
    case wire::PortPhysicalState::kSleep:
      happen(TrainingEvent::kSleepCommand, now);
      return true;
    case wire::PortPhysicalState::kPolling:
      happen(TrainingEvent::kPollingCommand, now);
      return true;
    default:
      return false;
  }
}

bool LinkTraining::set_link_down_default(wire::PortPhysicalState state) {
  const bool sleeps = state == wire::PortPhysicalState::kSleep;
  if (!sleeps && state != wire::PortPhysicalState::kPolling) return false;
  sleeps_when_down_ = sleeps;
  return true;
}

bool LinkTraining::set_widths(std::uint8_t widths) {
  if ((widths & options_.widths) == 0) return false;
  widths_enabled_ = widths & options_.widths;
  return true;
}

bool LinkTraining::set_speeds(std::uint8_t speeds) {
  if ((speeds & options_.speeds) == 0) return false;
  speeds_enabled_ = speeds & options_.speeds;
  return true;
}

bool LinkTraining::set_speed(LinkSpeed speed, Time now) {
  if ((speeds_enabled_ & speed_bit(speed)) == 0) return false;
  run(now);
  commanded_ = speed;
  if (speed == speed_) return true;
  tune(speed, now);
  happen(TrainingEvent::kSpeedCommand, now);
  return true;
}

void LinkTraining::retrain(Time now) {
  happen(TrainingEvent::kRetrainCommand, now);
}

void LinkTraining::receive(std::size_t lane, const LaneInput& input, Time now) {
  if (lane >= options_.lanes) return;
  run(now);  // what was due before
  set_input(lane, input, now);
  if (input.signal == LaneSignal::kNoise) noise_heard_ = true;
  run(now);
}

void LinkTraining::set_input(std::size_t lane, const LaneInput& input, Time now) {
  LaneInput& known = inputs_[lane];
  if (input == known) return;
  // Silence that becomes noise, or noise silence, does not make a lost lane less lost.
  if (has_symbols(input.signal) || has_symbols(known.signal)) heard_at_[lane] = now;
  const bool only_on = is_training(input.signal) && is_training(known.signal) &&
                       input.lane == known.lane && input.inverted == known.inverted;
  if (!only_on) settled_at_ = now;
  changed_at_ = now;
  known = input;
}

void LinkTraining::symbol_errors(std::size_t lane, std::uint32_t count, Time now) {
  run(now);
  if (count == 0 || state_ != TrainingState::kLinkUp || !map_->lane_at(lane)) return;
  counters_.add(TrainingCounter::kSymbolErrors, count);
  if (window_errors_ == 0 || now - window_from_ >= options_.times.error_window) {
    window_from_ = now;
    window_errors_ = 0;
  }
  window_errors_ += std::min(count, options_.error_threshold);
  run(now);
}

LaneTransmit LinkTraining::transmit(std::size_t lane) const {
  const LaneSend send = info(state_).sends;
  const auto map = transmit_map();
  std::optional<std::size_t> which;
  if (map) {
    which = map->lane_at(lane);
  } else {
    for (const LinkWidth width : kWidestFirst) {
      if (!has(widths_, width)) continue;
      which = LaneMap{.width = width}.lane_at(lane);
      break;
    }
  }
  if (send == LaneSend::kSilence || !which) return {};
  const bool is_numbered = send == LaneSend::kTs1 || send == LaneSend::kTs2;
  return {.send = send, .lane = static_cast<std::uint8_t>(is_numbered ? *which : 0)};
}

LaneReceive LinkTraining::receiver(std::size_t lane) const {
  if (lane >= options_.lanes) return {};
  const bool deaf = state_ == TrainingState::kDisabled || state_ == TrainingState::kSleepDelay;
  return {.listens = !deaf, .inverts = inverts_[lane]};
}

std::optional<LaneMap> LinkTraining::transmit_map() const {
  if (!map_) return std::nullopt;
  const std::size_t mirror = reversed_ ? map_->lanes() : 0;
  return LaneMap{.width = map_->width, .mirror = static_cast<std::uint8_t>(mirror)};
}

std::optional<LinkWidth> LinkTraining::width() const {
  if (!map_) return std::nullopt;
  return map_->width;
}

// Of rows that are due at one moment, the first of the table.
std::optional<LinkTraining::Due> LinkTraining::next_due() const {
  std::optional<Due> first;
  for (const TrainingRow& row : training_table()) {
    if ((row.states & bit(state_)) == 0 || row.event < kFirstSign || !row.next) continue;
    const auto when = since(row.event);
    if (!when || !holds(row.guard)) continue;
    if (!first || *when < first->when) first = {.row = &row, .when = *when};
  }
  return first;
}

std::optional<Time> LinkTraining::deadline() const {
  const auto next = next_due();
  if (!next) return std::nullopt;
  return next->when;
}

bool LinkTraining::holds(TrainingGuard guard) const {
  switch (guard) {
    case TrainingGuard::kSleepsWhenDown:
      return sleeps_when_down_;
    case TrainingGuard::kMayReverse:
      return options_.reverses_transmit && map_ && map_->width != LinkWidth::k1x;
    default:
      return true;
  }
}

void LinkTraining::run(Time now) {
  for (auto next = next_due(); next && next->when <= now; next = next_due())
    take(*next->row, now);
}

void LinkTraining::happen(TrainingEvent command, Time now) {
  run(now);
  for (const TrainingRow& row : training_table()) {
    if ((row.states & bit(state_)) == 0 || row.event != command) continue;
    if (row.next) take(row, now);
    break;
  }
  run(now);
}

void LinkTraining::take(const TrainingRow& row, Time now) {
  const TrainingStep step{.from = state_, .event = row.event, .to = *row.next};
  state_ = step.to;
  entered_ = now;
  window_errors_ = 0;
  act(row.actions, now);
  owner_.trained(step, now);
}

void LinkTraining::act(std::uint16_t actions, Time now) {
  if (actions & kForgetLanes) forget_lanes(now);
  if (actions & kOtherSpeed) try_other_speed(now);
  if (actions & kBeginConfiguration) configuring_since_ = now;
  if (actions & kTurnPolarity) turn_polarity(now);
  if (actions & kTakeWidth) map_ = widest_map(inputs(), widths_, options_.reverses_receive);
  if (actions & kNarrow) map_->width = *narrower_width(inputs(), widths_, *map_);
  if (actions & kReverseTransmit) reversed_ = true;
  if (actions & kForgetOrder) forget_order();
  if (actions & kCountUp) counters_.add(TrainingCounter::kLinkUps);
  if (actions & kCountFailed) counters_.add(TrainingCounter::kTrainingFailed);
  if (actions & kCountBurst) counters_.add(TrainingCounter::kErrorBursts);
  if (actions & kCountRecovery) counters_.add(TrainingCounter::kLinkErrorRecoveries);
  if (actions & kCountDowned) counters_.add(TrainingCounter::kLinkDowned);
}

LinkSpeed LinkTraining::first_speed() const {
  if (commanded_) return *commanded_;
  return (speeds_enabled_ & speed_bit(LinkSpeed::kSdr)) != 0 ? LinkSpeed::kSdr : LinkSpeed::kDdr;
}

void LinkTraining::forget_order() {
  map_.reset();
  reversed_ = false;
}

void LinkTraining::forget_lanes(Time now) {
  forget_order();
  widths_ = widths_enabled_;
  noise_heard_ = false;
  polls_at_first_speed_ = 0;
  for (std::size_t i = 0; i < options_.lanes; ++i) {
    if (inverts_[i]) set_input(i, {}, now);
    inverts_[i] = false;
  }
  tune(first_speed(), now);
}

// Training sequences do not say of what speed they are; but a port that calls at the other one is
// heard as noise. Only then is it worth a poll at that speed.
void LinkTraining::try_other_speed(Time now) {
  const bool heard = noise_heard_ || std::ranges::any_of(inputs(), [](const LaneInput& input) {
                       return input.signal == LaneSignal::kNoise;
                     });
  noise_heard_ = false;
  if (speed_ != first_speed()) {
    polls_at_first_speed_ = kPollsBetweenTries;
    return tune(first_speed(), now);
  }
  if (polls_at_first_speed_ > 0) {
    --polls_at_first_speed_;
    return;
  }
  const bool has_both =
      speeds_enabled_ == (speed_bit(LinkSpeed::kSdr) | speed_bit(LinkSpeed::kDdr));
  if (heard && has_both && !commanded_) tune(LinkSpeed::kDdr, now);
}

void LinkTraining::turn_polarity(Time now) {
  for (std::size_t i = 0; i < options_.lanes; ++i) {
    if (!is_training(inputs_[i].signal) || !inputs_[i].inverted) continue;
    inverts_[i] = !inverts_[i];
    set_input(i, {}, now);
  }
}

void LinkTraining::tune(LinkSpeed speed, Time now) {
  if (speed == speed_) return;
  speed_ = speed;
  for (std::size_t i = 0; i < options_.lanes; ++i)
    set_input(i, {}, now);
}

}  // namespace weft::phy
