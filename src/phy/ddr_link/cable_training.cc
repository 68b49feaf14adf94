// SPDX-License-Identifier: Apache-2.0
#include "phy/ddr_link/cable_training.h"

#include <algorithm>

namespace weft::phy {
namespace {

// A receiver knows what it hears when so many ordered sets in a row say so.
Duration time_to_know(LinkSpeed speed) {
  constexpr std::int64_t kBits = 8 * 16 * 10;
  return Duration(kBits * 1'000'000'000 / static_cast<std::int64_t>(lane_bits_per_s(speed)));
}

// The usual times are for cables, not for what an emulation may put into their place.
TrainingTimes times_for(Duration delay) {
  TrainingTimes times;
  const Duration there_and_back = 2 * delay + 4 * time_to_know(LinkSpeed::kSdr);
  if (there_and_back < times.retrain_least) return times;
  times.retrain_least = there_and_back + 500us;
  const Duration wait = 4 * times.retrain_least;
  for (Duration* const time :
       {&times.config_wait_rmt, &times.config_tx_rev_lanes, &times.config_idle,
        &times.recovery_retrain, &times.recovery_wait_rmt, &times.recovery_idle})
    *time = std::max(*time, wait);
  times.narrower_after = std::max(times.narrower_after, wait);
  times.config_rcvr_cfg = std::max(times.config_rcvr_cfg, 10 * wait);
  return times;
}

TrainingOptions options_for(std::size_t lanes, Duration delay) {
  TrainingOptions options;
  options.lanes = lanes;
  options.widths = 0;
  for (const LinkWidth width : kWidestFirst) {
    if (lanes_of(width) <= lanes) options.widths |= static_cast<std::uint8_t>(width);
  }
  options.speeds =
      static_cast<std::uint8_t>(LinkSpeed::kSdr) | static_cast<std::uint8_t>(LinkSpeed::kDdr);
  options.times = times_for(delay);
  return options;
}

}  // namespace

void CableTraining::End::trained(const TrainingStep& step, Time now) {
  ++cable.steps_;
  if (!cable.commanding_) cable.owner_.trained(side, step, now);
}

CableTraining::CableTraining(std::size_t lanes, Duration delay, CableOwner& owner)
    : lanes_(lanes),
      delay_(delay),
      owner_(owner),
      ends_{{{*this, 0, options_for(lanes, delay)}, {*this, 1, options_for(lanes, delay)}}} {
}

bool CableTraining::set_widths(unsigned side, std::uint8_t widths) {
  return ends_[side].training.set_widths(widths);
}

template <class What>
void CableTraining::command(unsigned side, What&& what, Time now) {
  run(now);
  commanding_ = true;
  what(ends_[side].training);
  commanding_ = false;
  carries_changed(now);
}

void CableTraining::poll(unsigned side, LinkSpeed speed, Time now) {
  ends_[side].idle.reset();
  command(
      side,
      [&](LinkTraining& training) {
        training.set_speed(speed, now);
        training.command(wire::PortPhysicalState::kPolling, now);
      },
      now);
}

void CableTraining::send_idle(unsigned side, LinkSpeed speed, Time now) {
  ends_[side].idle = speed;
  command(
      side,
      [&](LinkTraining& training) { training.command(wire::PortPhysicalState::kDisabled, now); },
      now);
}

void CableTraining::disable(unsigned side, Time now) {
  ends_[side].idle.reset();
  command(
      side,
      [&](LinkTraining& training) { training.command(wire::PortPhysicalState::kDisabled, now); },
      now);
}

void CableTraining::retrain(unsigned side, Time now) {
  command(
      side, [&](LinkTraining& training) { training.retrain(now); }, now);
}

void CableTraining::carries_changed(Time now) {
  const auto polls = [](const End& end) {
    return !end.idle && end.training.state() != TrainingState::kDisabled;
  };
  hopeless_ = polls(ends_[0]) && polls(ends_[1]) &&
              ends_[0].training.speed() == ends_[1].training.speed() &&
              !(owner_.carries(0, 0) && owner_.carries(1, 0));
  refresh(now);
}

void CableTraining::run(Time now) {
  if (!deadline() || *deadline() > now) return;
  for (End& end : ends_) {
    while (!end.coming.empty() && end.coming.front().at <= now) {
      end.arrived = end.coming.front().sent;
      end.coming.pop_front();
    }
  }
  for (End& end : ends_)
    end.training.run(now);
  refresh(now);
}

// Until neither port sends or hears anything else than before.
void CableTraining::refresh(Time now) {
  for (bool again = true; again;) {
    again = false;
    for (End& end : ends_) {
      send(end, now);
      again = hear(end, now) || again;
    }
  }
  note_deadline();
}

void CableTraining::send(End& end, Time now) {
  Sent sent{.speed = end.idle.value_or(end.training.speed())};
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    sent.lanes[lane] =
        end.idle ? LaneTransmit{.send = LaneSend::kIdle} : end.training.transmit(lane);
  }
  if (sent == end.sent) return;
  end.sent = sent;
  Time at = now + delay_ + time_to_know(sent.speed);
  if (!end.coming.empty()) at = std::max(at, end.coming.back().at);
  end.coming.push_back({at, sent});
}

// Tells its training what its lanes carry, as far as that is new.
bool CableTraining::hear(End& end, Time now) {
  const std::uint64_t before = steps_;
  for (std::size_t lane = 0; lane < lanes_; ++lane) {
    // When its speed changes it takes its lanes for silent.
    if (end.told_at != end.training.speed()) {
      end.told_at = end.training.speed();
      end.told = {};
    }
    const LaneInput input = heard(end, lane);
    if (input == end.told[lane]) continue;
    end.told[lane] = input;
    end.training.receive(lane, input, now);
  }
  return steps_ != before;
}

LaneInput CableTraining::heard(const End& end, std::size_t lane) {
  if (!end.training.receiver(lane).listens) return {};
  const Sent& sent = ends_[1 - end.side].arrived;
  const LaneTransmit& what = sent.lanes[lane];
  if (what.send == LaneSend::kSilence) return {};
  if (sent.speed != end.training.speed() || !owner_.carries(end.side, lane)) {
    return {.signal = LaneSignal::kNoise};
  }
  switch (what.send) {
    case LaneSend::kTs1:
      return {.signal = LaneSignal::kTs1, .lane = what.lane};
    case LaneSend::kTs2:
      return {.signal = LaneSignal::kTs2, .lane = what.lane};
    case LaneSend::kIdle:
      return {.signal = LaneSignal::kIdle};
    default:
      return {.signal = LaneSignal::kPackets};
  }
}

void CableTraining::note_deadline() {
  deadline_.reset();
  const auto sooner = [&](std::optional<Time> when) {
    if (when && (!deadline_ || *when < *deadline_)) deadline_ = when;
  };
  for (const End& end : ends_) {
    sooner(end.training.deadline());
    if (!end.coming.empty()) sooner(end.coming.front().at);
  }
}

}  // namespace weft::phy
