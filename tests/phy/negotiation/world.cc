// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <algorithm>
#include <variant>

namespace weft::phy::test {
namespace {

bool is_at_ddr(NegotiationState state) {
  return state == NegotiationState::kGoingDdr || state == NegotiationState::kDdr;
}

// Two hashes that have nothing to do with each other.
class Digest {
 public:
  void add(std::uint64_t value) {
    a_ = (a_ ^ value) * 0x100'0000'01B3;
    a_ ^= a_ >> 29;
    b_ = Random(b_ + value).next();
  }
  template <class T>
  void add(const std::optional<T>& value, std::uint64_t what) {
    add(value.has_value());
    if (value) add(what);
  }
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> value() const { return {a_, b_}; }

 private:
  std::uint64_t a_ = 0xCBF2'9CE4'8422'2325;
  std::uint64_t b_ = 1;
};

void add_message(Digest& digest, const std::optional<Advertisement>& message) {
  digest.add(message.has_value());
  if (!message) return;
  digest.add(message->ddr);
  digest.add(message->no_sweep);
  digest.add(message->iterations);
  digest.add(message->iteration_ms);
}

void add_choice(Digest& digest, const std::optional<SweepChoice>& choice) {
  digest.add(choice.has_value());
  if (!choice) return;
  digest.add(choice->iteration);
  for (const std::uint32_t receive : choice->receive)
    digest.add(receive);
}

std::uint64_t since(Time now, const std::optional<Time>& then) {
  return then ? static_cast<std::uint64_t>((*then - now).count()) : 0;
}

void add_variables(Digest& digest, const NegotiationVariables& v, Time now) {
  digest.add(static_cast<std::uint64_t>(v.state));
  digest.add(static_cast<std::uint64_t>(v.reason));
  digest.add(static_cast<std::uint64_t>(v.speed));
  digest.add(v.attempts);
  digest.add(v.retry_cnt_0);
  digest.add(v.retry_cnt_ack);
  digest.add(v.own_id);
  digest.add(v.peer_id, v.peer_id.value_or(0));
  for (const std::uint32_t id : v.past_peer_ids)
    digest.add(id);
  add_message(digest, v.peer);
  add_message(digest, v.peer_result);
  add_choice(digest, v.choice);
  digest.add(v.deadline, since(now, v.deadline));
  digest.add(v.hold_off > now ? since(now, v.hold_off) : 0);
}

}  // namespace

LaneMeasurement clean_channel(unsigned, unsigned transmit, unsigned receive, unsigned) {
  return {.matched = true, .symbol_errors = 0, .eye = 1.0 + transmit + 0.1 * receive};
}
LaneMeasurement broken_channel(unsigned, unsigned, unsigned, unsigned) {
  return {.matched = false, .symbol_errors = 1000, .eye = 0};
}

World::World(WorldOptions options, Random random) : options_(std::move(options)), random_(random) {
  for (unsigned n = 0; n < 2; ++n) {
    if (options_.nodes[n].first_id == 1) options_.nodes[n].first_id = 0x100 * (n + 1);
    next_first_id_[n] = options_.nodes[n].first_id;
    nodes_[n] = std::make_unique<Node>(*this, n);
    state_.lines[n].receive.resize(options_.nodes[n].lanes);
    nodes_[n]->negotiation =
        std::make_unique<DdrNegotiation>(options_.nodes[n], *nodes_[n], *nodes_[n]);
  }
}

void World::start(unsigned node) {
  state_.lines[node].on = true;
  nodes_[node]->negotiation->start(state_.now);
  watch();
}

void World::restart(unsigned node) {
  next_first_id_[node] += 0x10000;
  NegotiationOptions options = options_.nodes[node];
  options.first_id = next_first_id_[node];
  nodes_[node]->negotiation =
      std::make_unique<DdrNegotiation>(options, *nodes_[node], *nodes_[node]);
  std::erase_if(state_.notices, [&](const Notice& notice) { return notice.to == node; });
  start(node);
}

void World::pull() {
  state_.plugged = false;
  state_.comes_up.reset();
  go_down(std::nullopt);
}

void World::plug() {
  state_.plugged = true;
  if (!state_.up && can_be_up()) state_.comes_up = state_.now + options_.train;
}

bool World::settings_work() const {
  for (unsigned n = 0; n < 2; ++n) {
    for (unsigned lane = 0; lane < options_.nodes[n].lanes; ++lane) {
      const LaneMeasurement there =
          options_.channel(n, state_.lines[1 - n].transmit, state_.lines[n].receive[lane], lane);
      if (!there.matched || there.symbol_errors != 0) return false;
    }
  }
  return options_.trains_at_ddr;
}

bool World::can_be_up() const {
  const Line& a = state_.lines[0];
  const Line& b = state_.lines[1];
  return state_.plugged && a.on && b.on && a.use == LineUse::kTrain && b.use == LineUse::kTrain &&
         a.speed == b.speed && (a.speed == LinkSpeed::kSdr || settings_work());
}

void World::retrain(unsigned by) {
  go_down(by);
  state_.comes_up.reset();
  if (can_be_up()) state_.comes_up = state_.now + options_.train;
}

// What is on its way is lost with the link. Who has taken it down knows.
void World::go_down(std::optional<unsigned> by) {
  if (!state_.up) return;
  state_.up = false;
  state_.flights.clear();
  std::erase_if(state_.notices, [](const Notice& notice) { return notice.up.has_value(); });
  for (unsigned n = 0; n < 2; ++n)
    if (n != by) state_.notices.push_back({state_.now + options_.notice, n, std::nullopt});
}

void World::come_up() {
  state_.comes_up.reset();
  state_.up = true;
  for (unsigned n = 0; n < 2; ++n)
    state_.notices.push_back({state_.now + options_.late[n], n, state_.lines[n].speed});
}

std::optional<Time> World::next() const {
  std::optional<Time> first = state_.comes_up;
  const auto sooner = [&](std::optional<Time> time) {
    if (time && (!first || *time < *first)) first = time;
  };
  for (const Notice& notice : state_.notices)
    sooner(notice.at);
  for (const Flight& flight : state_.flights)
    sooner(flight.at);
  for (const auto& node : nodes_)
    sooner(node->negotiation->deadline());
  return first;
}

namespace {

template <class T>
auto first_of(std::vector<T>& things) {
  return std::min_element(things.begin(), things.end(),
                          [](const T& a, const T& b) { return a.at < b.at; });
}

}  // namespace

// Of one moment: the link, what is noticed of it, what arrives, what is due.
void World::step() {
  const Time at = std::max(state_.now, *next());
  state_.now = at;
  watch();
  const auto is_due = [&](const std::optional<Time>& time) { return time && *time <= at; };
  if (is_due(state_.comes_up)) {
    come_up();
  } else if (const auto notice = first_of(state_.notices);
             notice != state_.notices.end() && notice->at <= at) {
    const Notice told = *notice;
    state_.notices.erase(notice);
    DdrNegotiation& node = *nodes_[told.to]->negotiation;
    told.up ? node.link_up(*told.up, at) : node.link_down(at);
  } else if (const auto flight = first_of(state_.flights);
             flight != state_.flights.end() && flight->at <= at) {
    const Flight arrived = *flight;
    state_.flights.erase(flight);
    if (arrived.step < flow_.size()) ++flow_[arrived.step].arrived;
    nodes_[arrived.to]->negotiation->receive(arrived.mad, at);
  } else {
    for (const auto& node : nodes_) {
      if (!is_due(node->negotiation->deadline())) continue;
      node->negotiation->expire(at);
      break;
    }
  }
  watch();
}

bool World::arrival_is_next() const {
  const auto at = next();
  if (!at || state_.flights.empty()) return false;
  const auto is_due = [&](const Notice& notice) { return notice.at <= *at; };
  return !(state_.comes_up && *state_.comes_up <= *at) &&
         std::none_of(state_.notices.begin(), state_.notices.end(), is_due) &&
         std::any_of(state_.flights.begin(), state_.flights.end(),
                     [&](const Flight& flight) { return flight.at <= *at; });
}

void World::lose_next() {
  state_.now = *next();
  watch();
  state_.flights.erase(first_of(state_.flights));
}

bool World::run_until(Time end) {
  for (auto at = next(); at; at = next()) {
    if (*at > end) {
      state_.now = end;
      watch();
      return false;
    }
    step();
  }
  return true;
}

void World::inject(unsigned to, const wire::MadBuffer& mad) {
  nodes_[to]->negotiation->receive(mad, state_.now);
  watch();
}

void World::fly(unsigned to, const wire::MadBuffer& mad, std::size_t step) {
  Duration delay = options_.delay;
  if (options_.jitter > 0ns)
    delay += Duration(random_.below(static_cast<std::uint64_t>(options_.jitter.count())));
  state_.flights.push_back({state_.now + delay, to, mad, step});
}

void World::watch() {
  const NegotiationState a = nodes_[0]->negotiation->state();
  const NegotiationState b = nodes_[1]->negotiation->state();
  const auto lasts = [&](bool holds, std::optional<Time>& began, Duration& longest) {
    if (began) longest = std::max(longest, state_.now - *began);
    if (!holds) began.reset();
    if (holds && !began) began = state_.now;
  };
  const auto sweeps = [](NegotiationState state) { return state == NegotiationState::kSweeping; };
  lasts(is_at_ddr(a) != is_at_ddr(b), state_.apart_since, longest_apart_);
  lasts(sweeps(a) != sweeps(b), state_.alone_since, longest_alone_);
}

bool World::settled() const {
  return state_.up && state_.flights.empty() && state_.notices.empty() &&
         !nodes_[0]->negotiation->negotiating() && !nodes_[1]->negotiation->negotiating();
}

World::State World::save() const {
  State state = state_;
  for (unsigned n = 0; n < 2; ++n) {
    state.variables[n] = nodes_[n]->negotiation->variables();
    state.sweeps[n] = nodes_[n]->negotiation->sweep();
  }
  return state;
}

void World::load(const State& state) {
  state_ = state;
  for (unsigned n = 0; n < 2; ++n)
    nodes_[n]->negotiation->restore(state.variables[n], state.sweeps[n]);
}

std::pair<std::uint64_t, std::uint64_t> World::digest() const {
  Digest digest;
  for (unsigned n = 0; n < 2; ++n) {
    const DdrNegotiation& node = *nodes_[n]->negotiation;
    add_variables(digest, node.variables(), state_.now);
    if (node.state() == NegotiationState::kSweeping) {
      digest.add(node.sweep().iteration());
      digest.add(since(state_.now, node.sweep().deadline()));
    }
    digest.add(static_cast<std::uint64_t>(state_.lines[n].speed));
    digest.add(static_cast<std::uint64_t>(state_.lines[n].use));
  }
  digest.add(state_.flights.size());
  for (const Flight& flight : state_.flights) {
    const auto mad = std::get<AdvertisementMad>(parse_advertisement_mad(flight.mad));
    digest.add(since(state_.now, flight.at));
    digest.add(flight.to);
    digest.add(mad.transaction_id >> 32);  // nobody looks at the rest
    add_message(digest, mad.advertisement);
    digest.add(mad.advertisement.acknowledge * 2U + mad.advertisement.serdes_configured);
  }
  digest.add(state_.notices.size());
  for (const Notice& notice : state_.notices) {
    digest.add(since(state_.now, notice.at));
    digest.add(notice.to);
    digest.add(notice.up ? static_cast<std::uint64_t>(*notice.up) : 0);
  }
  digest.add(state_.comes_up, since(state_.now, state_.comes_up));
  digest.add(state_.up);
  digest.add(state_.apart_since, since(state_.now, state_.apart_since));
  digest.add(state_.alone_since, since(state_.now, state_.alone_since));
  return digest.value();
}

void World::Node::set_line(LinkSpeed speed, LineUse use) {
  Line& line = world.state_.lines[number];
  line.speed = speed;
  line.use = use;
  world.retrain(number);
}
void World::Node::set_transmit(unsigned configuration) {
  world.state_.lines[number].transmit = configuration;
}
void World::Node::set_receive(unsigned lane, unsigned configuration) {
  world.state_.lines[number].receive[lane] = configuration;
}
LaneMeasurement World::Node::measure(unsigned lane) {
  const Line& own = world.state_.lines[number];
  const Line& peer = world.state_.lines[1 - number];
  if (!world.state_.plugged || !peer.on || peer.speed != own.speed) return {};
  return world.options_.channel(number, peer.transmit, own.receive[lane], lane);
}

void World::Node::send(wire::MadBytes mad, Time) {
  wire::MadBuffer copy;
  std::copy(mad.begin(), mad.end(), copy.begin());
  if (world.keeps_sent_) sent.push_back(copy);
  if (!world.state_.up) return;
  const auto parsed = std::get<AdvertisementMad>(parse_advertisement_mad(copy));
  const auto& drops = world.dropped_[number];
  if (drops && drops(parsed.advertisement)) return;
  if (world.random_.chance(world.options_.loss)) return;
  const std::size_t step = world.flow_.empty() ? 0 : world.flow_.size() - 1;
  world.fly(1 - number, copy, step);
  if (world.random_.chance(world.options_.repetition)) world.fly(1 - number, copy, step);
}

void World::Node::record(const TimelineEvent& event) {
  if (!world.keeps_flow_) return;
  if (event.kind == TimelineEvent::Kind::kState) {
    world.flow_.push_back({.kind = FlowStep::Kind::kState,
                           .time = event.time,
                           .node = number,
                           .state = event.state,
                           .reason = event.reason});
  }
  if (event.kind == TimelineEvent::Kind::kSent) {
    world.flow_.push_back({.kind = FlowStep::Kind::kMessage,
                           .time = event.time,
                           .node = number,
                           .message = event.message,
                           .copies = event.copies});
  }
}

}  // namespace weft::phy::test
