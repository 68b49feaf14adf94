// SPDX-License-Identifier: Apache-2.0
#include "phy/ddr_link/ddr_link.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "phy/take_due.h"

namespace weft::phy {

// One of the two ports: its negotiation, and what that commands.
class DdrLink::End final : public SerdesControl, public NegotiationOutput {
 public:
  End(DdrLink& link, unsigned side)
      : negotiation(link.options_.ends[side], *this, *this),
        link_(link),
        side_(side),
        received_since_(link.cable_.lanes()) {}

  void set_line(LinkSpeed speed, LineUse use) override {
    link_.lines_[side_].speed = speed;
    link_.lines_[side_].use = use;
    sent_since_ = link_.now_;
    link_.line_set(side_);
  }
  void set_transmit(unsigned configuration) override {
    link_.lines_[side_].transmit = configuration;
    sent_since_ = link_.now_;
  }
  void set_receive(unsigned lane, unsigned configuration) override {
    link_.lines_[side_].receive[lane] = configuration;
    received_since_[lane] = link_.now_;
  }
  // Counts only what was sent in one way all the while.
  LaneMeasurement measure(unsigned lane) override {
    const SerdesLine& own = link_.lines_[side_];
    const SerdesLine& far = link_.lines_[1 - side_];
    const Time since = received_since_[lane];
    if (!far.on || far.use != LineUse::kIdle || far.speed != own.speed ||
        link_.ends_[1 - side_]->sent_since_ > since) {
      return {};
    }
    return link_.cable_.measure(side_, lane, far.transmit, own.receive[lane], link_.now_ - since,
                                link_.random_);
  }

  void send(wire::MadBytes mad, Time now) override {
    if (link_.tap_ != nullptr) link_.tap_->sent(side_, mad, now);
    if (!link_.training_.port(side_).may_send_packets()) return;
    if (link_.random_.chance(link_.options_.loss)) return;
    Flight flight{.at = now + link_.options_.delay, .to = 1 - side_, .mad = {}};
    std::copy(mad.begin(), mad.end(), flight.mad.begin());
    flight.step = link_.flow_.empty() ? 0 : link_.flow_.size() - 1;
    link_.flights_.push_back(flight);
  }
  void record(const TimelineEvent& event) override {
    using Kind = TimelineEvent::Kind;
    if (event.kind == Kind::kState) {
      link_.record({.kind = FlowStep::Kind::kState,
                    .time = event.time,
                    .node = side_,
                    .state = event.state,
                    .reason = event.reason});
    } else if (event.kind == Kind::kSent) {
      link_.record({.kind = FlowStep::Kind::kMessage,
                    .time = event.time,
                    .node = side_,
                    .message = event.message,
                    .copies = event.copies});
    }
  }

  DdrNegotiation negotiation;

 private:
  DdrLink& link_;
  const unsigned side_;
  Time sent_since_{};                 // in the way of now
  std::vector<Time> received_since_;  // of each lane, with the configuration of now
};

Expected<std::unique_ptr<DdrLink>> DdrLink::make(DdrLinkOptions options) {
  for (unsigned side = 0; side < 2; ++side) {
    NegotiationOptions& end = options.ends[side];
    end.lanes = options.channel.lanes;
    end.transmit_configurations =
        static_cast<std::uint32_t>(options.settings[side].transmit.size());
    end.receive_configurations = static_cast<std::uint32_t>(options.settings[side].receive.size());
    if (auto good = end.check(); !good) {
      return fail(std::errc::invalid_argument,
                  fmt::format("end {}: {}", side, good.error().message));
    }
  }
  if (!(options.loss >= 0 && options.loss <= 1)) {
    return fail(std::errc::invalid_argument,
                fmt::format("loss is from 0 to 1, not {}", options.loss));
  }
  if (options.delay < 0ns) return fail(std::errc::invalid_argument, "delay is negative");
  auto cable = ModelledCable::make(options.channel, options.settings);
  if (!cable) return tl::unexpected(cable.error());
  return std::unique_ptr<DdrLink>(new DdrLink(std::move(options), *std::move(cable)));
}

DdrLink::DdrLink(DdrLinkOptions options, ModelledCable cable)
    : options_(std::move(options)),
      cable_(std::move(cable)),
      random_(options_.seed),
      training_(cable_.lanes(), options_.delay, *this),
      error_seeds_(~options_.seed) {
  for (unsigned side = 0; side < 2; ++side) {
    lines_[side].receive.resize(cable_.lanes());
    ends_[side] = std::make_unique<End>(*this, side);
  }
}

DdrLink::~DdrLink() = default;

const DdrNegotiation& DdrLink::end(unsigned side) const {
  return ends_[side]->negotiation;
}

// Its messages are told from those of before, as after a start().
void DdrLink::set_mode(unsigned side, SpeedMode mode) {
  assert(!started_);
  NegotiationOptions& options = options_.ends[side];
  if (options.mode == mode) return;
  options.mode = mode;
  options.first_id = end(side).variables().own_id + 1;
  ends_[side] = std::make_unique<End>(*this, side);
}

void DdrLink::set_widths(unsigned side, std::uint8_t widths) {
  if (training_.set_widths(side, widths)) widths_enabled_[side] = widths;
}

void DdrLink::start(Time now) {
  stop(now);
  started_ = true;
  started_at_ = now;
  flow_.clear();
  flow_lost_ = 0;
  sdr_width_ = {};
  for (SerdesLine& line : lines_)
    line.on = true;
  for (const auto& end : ends_)
    end->negotiation.start(now);
}

void DdrLink::stop(Time now) {
  now_ = std::max(now_, now);
  started_ = false;
  for (const unsigned side : {0U, 1U}) {
    lines_[side].on = false;
    training_.disable(side, now_);
  }
  flights_.clear();
  notices_.clear();
  note_up();
}

// Both ports have ended their negotiation, and neither has news for it.
bool DdrLink::ended() const {
  return started_ && notices_.empty() && !end(0).negotiating() && !end(1).negotiating();
}

std::optional<LinkSpeed> DdrLink::up() const {
  const LinkTraining& first = training_.port(0);
  const LinkTraining& second = training_.port(1);
  if (!ended() || !first.may_send_packets() || !second.may_send_packets() ||
      first.speed() != second.speed()) {
    return std::nullopt;
  }
  return first.speed();
}

bool DdrLink::recovering() const {
  if (!ended() || up()) return false;
  return has_link(training_.port(0).state()) && has_link(training_.port(1).state());
}

wire::PortPhysicalState DdrLink::physical_state(unsigned side) const {
  const bool negotiates = end(side).options().mode == SpeedMode::kAuto && end(side).negotiating();
  return negotiates ? wire::PortPhysicalState::kPolling : training_.port(side).physical_state();
}

void DdrLink::line_set(unsigned by) {
  const SerdesLine& line = lines_[by];
  if (!line.on) return;
  if (line.use == LineUse::kIdle) return training_.send_idle(by, line.speed, now_);
  // A link that is faster and narrower would be none the better.
  const bool keeps_width = line.speed == LinkSpeed::kDdr && sdr_width_[by];
  training_.set_widths(
      by, keeps_width ? static_cast<std::uint8_t>(*sdr_width_[by]) : widths_enabled_[by]);
  training_.poll(by, line.speed, now_);
}

// A negotiation is told later, as all that comes from the link. It hears nothing of a recovery, but
// of one that fails.
void DdrLink::trained(unsigned side, const TrainingStep& step, Time now) {
  if (takes_down(step)) {
    notices_.push_back({now, side, std::nullopt});
  } else if (brings_up(step) && !has_link(step.from)) {
    const LinkTraining& port = training_.port(side);
    if (port.speed() == LinkSpeed::kSdr) sdr_width_[side] = port.width();
    notices_.push_back({now, side, port.speed()});
  }
}

void DdrLink::retrain(unsigned side, Time now) {
  run(now);
  now_ = std::max(now_, now);
  if (!up()) return;
  training_.retrain(side, now_);
  note_up();
}

// Errors count from when packets can pass.
void DdrLink::note_up() {
  const auto speed = up();
  if (speed.has_value() == errors_run_) return;
  errors_run_ = speed.has_value();
  for (unsigned to = 0; to < errors_.size(); ++to) {
    if (speed) {
      const std::size_t lanes = lanes_of(*width());
      errors_[to].begin(*speed, lanes, cable_.symbol_error_rate(to, lanes, lines_),
                        error_seeds_.next(), now_);
    } else {
      errors_[to].end(now_);
    }
  }
}

std::optional<Time> DdrLink::deadline() const {
  if (!started_) return std::nullopt;
  std::optional<Time> first = training_.deadline();
  const auto sooner = [&first](std::optional<Time> time) {
    if (time && (!first || *time < *first)) first = time;
  };
  for (const Notice& notice : notices_)
    sooner(notice.at);
  for (const Flight& flight : flights_)
    sooner(flight.at);
  for (const auto& end : ends_)
    sooner(end->negotiation.deadline());
  return first;
}

void DdrLink::run(Time now) {
  for (auto due = deadline(); due && *due <= now; due = deadline()) {
    now_ = std::max(now_, *due);
    step();
  }
}

void DdrLink::step() {
  do_step();
  note_up();
}

// One thing that is due. Of one moment: the link, what is noticed of it, what arrives, what waits.
void DdrLink::do_step() {
  if (const auto due = training_.deadline(); due && *due <= now_) return training_.run(now_);
  if (const auto told = take_due(notices_, now_)) {
    DdrNegotiation& to = ends_[told->to]->negotiation;
    return told->up ? to.link_up(*told->up, now_) : to.link_down(now_);
  }
  if (const auto arrived = take_due(flights_, now_)) {
    if (!training_.port(arrived->to).may_send_packets()) return;  // lost with the link
    if (arrived->step < flow_.size()) ++flow_[arrived->step].arrived;
    ends_[arrived->to]->negotiation.receive(arrived->mad, now_);
    return;
  }
  for (const auto& end : ends_) {
    const auto due = end->negotiation.deadline();
    if (due && *due <= now_) return end->negotiation.expire(now_);
  }
}

void DdrLink::record(const FlowStep& step) {
  if (flow_.size() < kMostFlowSteps) {
    flow_.push_back(step);
  } else {
    ++flow_lost_;
  }
}

}  // namespace weft::phy
