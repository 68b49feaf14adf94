// SPDX-License-Identifier: Apache-2.0
#include "phy/conformance/bench.h"

#include <algorithm>
#include <utility>

#include "phy/take_due.h"

namespace weft::phy::conformance {

using Kind = Observation::Kind;

// The SerDes of a port and its way out.
class Bench::End final : public SerdesControl, public PortOutput {
 public:
  End(Bench& bench, unsigned node, const Make& make) : bench_(bench), node_(node) {
    port = make(*this, *this);
  }

  void set_line(LinkSpeed speed, LineUse use) override {
    Observation& seen = bench_.note(Kind::kLine, node_);
    seen.speed = speed;
    seen.use = use;
    bench_.lines_[node_].speed = speed;
    bench_.lines_[node_].use = use;
    bench_.line_set(node_);
  }
  void set_transmit(unsigned configuration) override {
    bench_.note(Kind::kTransmit, node_).configuration = configuration;
    bench_.lines_[node_].transmit = configuration;
  }
  void set_receive(unsigned lane, unsigned configuration) override {
    Observation& seen = bench_.note(Kind::kReceive, node_);
    seen.lane = lane;
    seen.configuration = configuration;
    bench_.lines_[node_].receive[lane] = configuration;
  }
  LaneMeasurement measure(unsigned lane) override {
    const LaneMeasurement measured = bench_.measure(node_, lane);
    Observation& seen = bench_.note(Kind::kMeasured, node_);
    seen.lane = lane;
    seen.measured = measured;
    return measured;
  }
  void send(wire::MadBytes mad, Time now) override {
    Observation& seen = bench_.note(Kind::kMessage, node_);
    seen.mad = read_mad(mad);
    if (!bench_.up_) return;
    if (bench_.options_.lost && bench_.options_.lost(node_, seen.mad)) return;
    const Time at = now + bench_.options_.delay;
    seen.arrived = at;
    Flight& flight = bench_.flights_.emplace_back();
    flight.at = at;
    flight.to = 1 - node_;
    std::copy(mad.begin(), mad.end(), flight.mad.begin());
    flight.index = bench_.exchange_.observations.size() - 1;
  }

  std::unique_ptr<Port> port;
  std::optional<std::pair<bool, PortSpeeds>> answer;  // the last one

 private:
  Bench& bench_;
  const unsigned node_;
};

Bench::Bench(BenchOptions options, const std::array<Make, 2>& ports)
    : options_(std::move(options)) {
  exchange_.lines = exchange_.configurations = exchange_.answers = true;
  for (unsigned node = 0; node < 2; ++node) {
    lines_[node].receive.resize(options_.lanes);
    ends_[node] = std::make_unique<End>(*this, node, ports[node]);
  }
  for (const auto& end : ends_)
    end->port->start(now_);
  ask();
}

Bench::~Bench() = default;

Observation& Bench::note(Kind kind, unsigned node) {
  Observation& made = exchange_.observations.emplace_back();
  made.kind = kind;
  made.time = now_;
  made.node = node;
  return made;
}

void Bench::ask() {
  for (unsigned node = 0; node < 2; ++node) {
    End& end = *ends_[node];
    const std::pair answer{end.port->polling(), end.port->speeds()};
    if (end.answer == answer) continue;
    end.answer = answer;
    Observation& seen = note(Kind::kAnswers, node);
    seen.polling = answer.first;
    seen.speeds = answer.second;
  }
}

LaneMeasurement Bench::measure(unsigned node, unsigned lane) const {
  const Line& own = lines_[node];
  const Line& far = lines_[1 - node];
  if (own.speed != far.speed || far.use != LineUse::kIdle) return {};
  if (options_.quality) return options_.quality(node, far.transmit, own.receive[lane]);
  return {.matched = true, .eye = 1.0 + far.transmit + 0.1 * own.receive[lane]};
}

void Bench::line_set(unsigned by) {
  if (up_) {
    up_ = false;
    // What is on its way is lost with the link. Who has left knows.
    for (const Flight& flight : flights_)
      exchange_.observations[flight.index].arrived.reset();
    flights_.clear();
    notices_.clear();
    notices_.push_back({now_ + options_.notice, 1 - by, std::nullopt});
  }
  comes_up_.reset();
  const bool train = lines_[0].use == LineUse::kTrain && lines_[1].use == LineUse::kTrain;
  const bool alike = lines_[0].speed == lines_[1].speed;
  const bool works = lines_[0].speed == LinkSpeed::kSdr || options_.trains_at_ddr;
  if (train && alike && works) comes_up_ = now_ + options_.train;
}

std::optional<Time> Bench::next() const {
  std::optional<Time> first = comes_up_;
  const auto sooner = [&first](std::optional<Time> time) {
    if (time && (!first || *time < *first)) first = time;
  };
  for (const Notice& notice : notices_)
    sooner(notice.at);
  for (const Flight& flight : flights_)
    sooner(flight.at);
  for (const auto& end : ends_)
    sooner(end->port->deadline());
  return first;
}

// Of one moment: the link, what is noticed of it, what arrives, what waits.
void Bench::step() {
  if (comes_up_ && *comes_up_ <= now_) {
    comes_up_.reset();
    up_ = true;
    for (unsigned node = 0; node < 2; ++node)
      notices_.push_back({now_, node, lines_[node].speed});
    return;
  }
  if (const auto told = take_due(notices_, now_)) {
    Observation& seen = note(told->up ? Kind::kLinkUp : Kind::kLinkDown, told->to);
    seen.speed = told->up.value_or(lines_[told->to].speed);
    Port& port = *ends_[told->to]->port;
    return told->up ? port.link_up(*told->up, now_) : port.link_down(now_);
  }
  if (const auto arrived = take_due(flights_, now_)) {
    return ends_[arrived->to]->port->receive(arrived->mad, now_);
  }
  for (const auto& end : ends_) {
    const auto due = end->port->deadline();
    if (due && *due <= now_) return end->port->expire(now_);
  }
}

void Bench::run_until(Time end) {
  // A port whose deadline does not move on would never let it end.
  constexpr std::uint64_t kMostSteps = 200'000;
  for (auto due = next(); due && *due <= end && steps_ < kMostSteps; due = next()) {
    ++steps_;
    now_ = std::max(now_, *due);
    step();
    ask();
  }
  now_ = end;
}

Exchange Bench::exchange() const {
  Exchange out = exchange_;
  out.end = now_;
  return out;
}

}  // namespace weft::phy::conformance
