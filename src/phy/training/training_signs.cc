// SPDX-License-Identifier: Apache-2.0
// Signs that LinkTraining acts on. Each is a moment: since when it is so, or from when on it will
// be if lanes go on as they are, which gives the next deadline too.
#include <algorithm>
#include <bit>

#include "phy/training/link_training.h"

namespace weft::phy {

std::optional<Time> LinkTraining::since(TrainingEvent sign) const {
  switch (sign) {
    case TrainingEvent::kTimeOut:
      return timed_out();
    case TrainingEvent::kTs1Heard:
      return ts1_heard();
    case TrainingEvent::kInvertedHeard:
      return inverted_heard();
    case TrainingEvent::kReceiversConfigured:
      return receivers_configured();
    case TrainingEvent::kRemoteConfigured:
      return all_past(true);
    case TrainingEvent::kRemoteNarrower:
      return remote_narrower();
    case TrainingEvent::kLaneOrderWrong:
      return lane_order_wrong();
    case TrainingEvent::kLanesLost:
      return lanes_lost();
    case TrainingEvent::kIdleHeard:
      return all_past(false);
    case TrainingEvent::kExcessErrors:
      if (window_errors_ < options_.error_threshold) return std::nullopt;
      return entered_;
    default:
      return std::nullopt;
  }
}

std::optional<Time> LinkTraining::timed_out() const {
  const auto time_out = info(state_).time_out;
  if (time_out == nullptr) return std::nullopt;
  // Config.RcvrCfg is visited again and again until both ends are ready. Its time goes on over all
  // of these, so that a port whose other end never is goes back to polling.
  const bool counts_on = state_ == TrainingState::kConfigRcvrCfg;
  return (counts_on ? configuring_since_ : entered_) + options_.times.*time_out;
}

std::optional<Time> LinkTraining::ts1_heard() const {
  std::optional<Time> first;
  for (std::size_t i = 0; i < options_.lanes; ++i) {
    if (inputs_[i].signal != LaneSignal::kTs1 || (map_ && !map_->lane_at(i))) continue;
    const Time heard = std::max(heard_at_[i], entered_);
    first = first ? std::min(*first, heard) : heard;
  }
  return first;
}

std::optional<Time> LinkTraining::inverted_heard() const {
  std::optional<Time> first;
  for (std::size_t i = 0; i < options_.lanes; ++i) {
    if (!is_training(inputs_[i].signal) || !inputs_[i].inverted) continue;
    const Time heard = std::max(heard_at_[i], entered_);
    first = first ? std::min(*first, heard) : heard;
  }
  return first;
}

std::optional<Time> LinkTraining::receivers_configured() const {
  Time when =
      std::max(entered_ + options_.times.least_sent, settled_at_ + options_.times.lane_settle);
  if (state_ != TrainingState::kConfigRcvrCfg) {
    if (!map_ || !is_configured(inputs(), *map_)) return std::nullopt;
    return std::max(when, entered_ + options_.times.retrain_least);
  }
  const auto found = widest_map(inputs(), widths_, options_.reverses_receive);
  if (!found) return std::nullopt;
  const bool is_widest = static_cast<std::uint8_t>(found->width) == std::bit_floor(widths_);
  if (!is_widest) when = std::max(when, configuring_since_ + options_.times.narrower_after);
  return when;
}

// Every lane of the width, and no other, carries what a transmitter sends when its end has got on:
// idle data, or TS2 already. Both are taken for the latter, since an end that has waited long goes
// through its own waiting in no time.
std::optional<Time> LinkTraining::all_past(bool with_ts2) const {
  if (!map_) return std::nullopt;
  Time when = entered_ + options_.times.least_sent;
  for (std::size_t i = 0; i < options_.lanes; ++i) {
    const LaneInput& input = inputs_[i];
    const auto lane = map_->lane_at(i);
    const bool is_so =
        lane ? is_past_training(input.signal) ||
                   (with_ts2 && input.signal == LaneSignal::kTs2 && is_training_of(input, *lane))
             : !has_symbols(input.signal);
    if (!is_so) return std::nullopt;
    when = std::max(when, heard_at_[i]);
  }
  return when;
}

std::optional<Time> LinkTraining::remote_narrower() const {
  if (!map_ || !narrower_width(inputs(), widths_, *map_)) return std::nullopt;
  return std::max(entered_, changed_at_ + options_.times.lane_settle);
}

std::optional<Time> LinkTraining::lane_order_wrong() const {
  if (!map_) return std::nullopt;
  for (std::size_t lane = 0; lane < map_->lanes(); ++lane) {
    const std::size_t i = map_->physical(lane);
    if (is_training(inputs_[i].signal) && !is_training_of(inputs_[i], lane))
      return std::max(entered_, heard_at_[i]);
  }
  return std::nullopt;
}

bool LinkTraining::is_lost(const LaneInput& input, std::size_t lane) const {
  if (state_ == TrainingState::kLinkUp) return !has_symbols(input.signal);
  return !is_past_training(input.signal) && !is_training_of(input, lane);
}

std::optional<Time> LinkTraining::lanes_lost() const {
  if (!map_) return std::nullopt;
  std::optional<Time> first;
  for (std::size_t lane = 0; lane < map_->lanes(); ++lane) {
    const std::size_t i = map_->physical(lane);
    if (!is_lost(inputs_[i], lane)) continue;
    const Time lost = std::max(entered_, heard_at_[i]) + options_.times.lane_loss;
    first = first ? std::min(*first, lost) : lost;
  }
  return first;
}

}  // namespace weft::phy
