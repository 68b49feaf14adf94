// SPDX-License-Identifier: Apache-2.0
// The firewall as a service: verdicts, counters, log and the exchange of its rules.
#include <algorithm>
#include <utility>

#include "service/firewall/firewall.h"
#include "service/firewall/packet_key.h"
#include "service/firewall/refusal.h"

namespace weft::service::firewall {
namespace {

constexpr Duration kFirewallServiceSweepEvery = 100ms;
// Ways through the rules that packets of one connection take: each opcode may have its own.
constexpr std::size_t kMostTallies = 8;

DropReason reason_of(const Decision& decision) {
  const bool usual = decision.state <= ConnectionState::established;
  if (decision.rule == Program::kPolicy && !usual) return DropReason::kState;
  if (decision.action == Action::reject) return DropReason::kRejected;
  return decision.rule == Program::kPolicy ? DropReason::kPolicy : DropReason::kRule;
}

void add(Tally& into, std::uint64_t packets, std::uint64_t bytes) {
  into.packets += packets;
  into.bytes += bytes;
}

}  // namespace

Verdict Firewall::handle(Packet& packet, Time now) {
  const Decision decision = decide(packet.fields(), packet.bytes(), now);
  const Verdict verdict = carry_out(decision, packet);
  return options_.mirrors && wants_copy(decision) ? verdict.mirrored() : verdict;
}

// Of the packet in hand.
bool Firewall::wants_copy(const Decision& decision) const {
  return decision.action != Action::accept || is_logged();
}

bool Firewall::is_logged() const {
  return std::ranges::any_of(path_, [this](std::uint32_t number) {
    return number < program_.size() && program_.rule(number).log;
  });
}

Verdict Firewall::carry_out(const Decision& decision, Packet& packet) {
  if (decision.action != Action::accept) {
    if (!options_.dry_run && decision.action == Action::reject) answer(packet);
    if (!options_.dry_run) return Verdict::drop(static_cast<std::uint16_t>(reason_of(decision)));
    ++would_drop_;
    return Verdict::forward();
  }
  if (!attached_) return Verdict::forward();
  // Whoever takes over must know what connections and flows there are.
  if (news_ && !packet.arrival().tapped) {
    host().publish(record_of(news_->id, news_->answered, *news_->request));
  }
  const bool tells = decision.traffic == Traffic::cm && !packet.arrival().tapped;
  if (tells && packet.bytes().size() <= Host::kMostRecord) host().publish(packet.bytes());
  if (!decision.for_flow) return Verdict::forward();
  Tally* const tally = tally_for(decision);
  if (tally == nullptr) return Verdict::forward();
  return Verdict::forward().for_flow(connections_.at(decision.connection).tag, tally);
}

void Firewall::snapshot(RecordSink& sink) const {
  connections_.for_each([&](const Connection& connection) { sink.take(record_of(connection)); });
  flows_.for_each([&](const Flows::News& flow) {
    sink.take(record_of(flow.id, flow.answered, *flow.request));
  });
}

bool Firewall::would_accept(const MatchKey& request, Time now) {
  class Nobody final : public Program::Matches {
    void matched(std::uint32_t) override {}
  } nobody;
  return program_.evaluate(request, now, nobody).action == Action::accept;
}

void Firewall::read_private_data(Connection& connection) const {
  for (std::size_t i = 0; i < kPrivateFields; ++i)
    connection.request.remove(static_cast<Field>(index(Field::private0) + i));
  add_private_data(connection.request, connection.private_data, program_.rules().private_fields);
}

void Firewall::restore(StateRecord record, Time now) {
  if (auto* const flow = std::get_if<FlowState>(&record)) {
    if (would_accept(flow->request, now)) {
      flows_.restore(flow->id, flow->answered, flow->request, now);
    }
  } else {
    auto& connection = std::get<Connection>(record);
    read_private_data(connection);
    if (would_accept(connection.request, now)) connections_.restore(std::move(connection), now);
  }
  if (!deadline_) deadline_ = now + kFirewallServiceSweepEvery;
}

void Firewall::apply(Bytes record, Time now) {
  if (is_state_record(record)) {
    auto read = read_state_record(record);
    ++(read ? applied_ : bad_records_);
    if (read) restore(std::move(*read), now);
    return;
  }
  const Fields fields = Fields::parse(record);
  if (!fields.cm.present) {
    ++bad_records_;
    return;
  }
  ++applied_;
  is_told_ = true;
  static_cast<void>(decide(fields, record, now));
  is_told_ = false;
}

// Says no to whoever asked. The host bounds how many packets a service makes.
void Firewall::answer(Packet& packet) {
  if (!attached_ || packet.arrival().tapped) return;
  std::array<std::byte, kMostRefusal> room;
  const auto refusal = refusal_of(packet.fields(), room);
  if (refusal && host().send(*refusal, packet.arrival().port)) ++refusals_;
}

void Firewall::count(std::span<const std::uint32_t> rules, std::uint64_t bytes) {
  for (const std::uint32_t rule : rules)
    add(rules_[rule], 1, bytes);
}

Tally Firewall::matched(std::uint32_t rule) {
  connections_.for_each([this](std::uint32_t, Connection& connection) {
    for (const std::uint32_t tally : connection.tallies)
      harvest(tallies_[tally]);
  });
  return rules_[rule == Program::kPolicy ? program_.size() : rule];
}

// Takes what has gone by since it was asked last. False: nothing has.
bool Firewall::harvest(FlowTally& tally) {
  const std::uint64_t packets = tally.tally.packets - tally.harvested.packets;
  const std::uint64_t bytes = tally.tally.bytes - tally.harvested.bytes;
  tally.harvested = tally.tally;
  for (const std::uint32_t rule : tally.rules)
    add(rules_[rule], packets, bytes);
  return packets != 0;
}

// The tally for packets of the connection in hand that take the same way through the rules.
Tally* Firewall::tally_for(const Decision& decision) {
  Connection& connection = connections_.at(decision.connection);
  for (const std::uint32_t known : connection.tallies) {
    if (tallies_[known].rules == path_) return &tallies_[known].tally;
  }
  if (connection.tallies.size() >= kMostTallies) return nullptr;
  std::uint32_t place = 0;
  if (free_tallies_.empty()) {
    place = static_cast<std::uint32_t>(tallies_.size());
    tallies_.emplace_back();
  } else {
    place = free_tallies_.back();
    free_tallies_.pop_back();
  }
  tallies_[place] = FlowTally{.tally = {}, .harvested = {}, .rules = path_};
  connection.tallies.push_back(place);
  return &tallies_[place].tally;
}

void Firewall::gone(Connection& connection) {
  if (attached_) host().revoke(connection.tag);
  for (const std::uint32_t tally : connection.tallies) {
    harvest(tallies_[tally]);
    free_tallies_.push_back(tally);
  }
  connection.tallies.clear();
}

bool Firewall::busy(Connection& connection) {
  bool any = false;
  for (const std::uint32_t tally : connection.tallies)
    any = harvest(tallies_[tally]) || any;
  return any;
}

void Firewall::write_log(const Fields& fields, const Decision& decision, Time now) {
  // What another instance has let through it has logged, too.
  if (log_ == nullptr || is_told_) return;
  const bool by_policy = decision.rule == Program::kPolicy;
  const std::uint32_t decided_at = by_policy ? 0 : program_.rule(decision.rule).line;
  for (const std::uint32_t number : path_) {
    if (number >= program_.size() || !program_.rule(number).log) continue;
    const LogSink::Line line{.rule = program_.rule(number),
                             .chain = program_.chain_of(number).name,
                             .fields = fields,
                             .decision = decision,
                             .decided_at = decided_at,
                             .dry_run = options_.dry_run,
                             .swallowed = swallowed_};
    if (log_rate_.take(now) && log_->log(line, now)) {
      ++lines_;
      swallowed_ = 0;
    } else {
      ++lines_swallowed_;
      ++swallowed_;
    }
  }
}

void Firewall::run(Time now) {
  if (!deadline_ || *deadline_ > now) return;
  connections_.expire(now);
  flows_.expire(now);
  const bool any = connections_.size() != 0 || flows_.size() != 0;
  deadline_ = any ? std::optional(now + kFirewallServiceSweepEvery) : std::nullopt;
}

std::size_t Firewall::reload(Program program, Time now) {
  // Whatever was decided for whole flows was decided by the old rules.
  if (attached_) host().revoke_all();
  connections_.for_each([this](std::uint32_t, Connection& connection) {
    for (const std::uint32_t tally : connection.tallies)
      free_tallies_.push_back(tally);
    connection.tallies.clear();
  });
  program_ = std::move(program);
  rules_.assign(program_.size() + 1, {});
  std::vector<std::uint32_t> forbidden;
  connections_.for_each([&](std::uint32_t place, Connection& connection) {
    // As when it was asked for, but that bytes of the private data may be looked at elsewhere.
    read_private_data(connection);
    if (!would_accept(connection.request, now)) forbidden.push_back(place);
  });
  for (const std::uint32_t place : forbidden)
    connections_.forget(place);
  flows_.review([&](const MatchKey& key) { return would_accept(key, now); });
  return forbidden.size();
}

std::vector<CounterValue> Firewall::counters() const {
  std::vector<CounterValue> out{
      {"connections", "that are known now", connections_.size()},
      {"half_open_connections", "of these, asked for and not established",
       connections_.half_open()},
      {"evicted_connections", "half-open ones that made room for others", connections_.evicted()},
      {"flows", "of datagrams and of IP inside that are known now", flows_.size()},
      {"evicted_flows", "unanswered ones that made room for others", flows_.evicted()},
      {"refusals", "that were sent for what rules reject", refusals_},
      {"would_drop", "forwarded in a dry run, which rules would drop", would_drop_},
      {"applied", "messages, flows and connections that another instance has told of", applied_},
      {"bad_records", "what another instance told that is none of these", bad_records_},
      {"log_lines", "that were written for rules that log", lines_},
      {"log_lines_swallowed", "that were not, for the log's rate", lines_swallowed_}};
  for (std::size_t doubt = 1; doubt < doubted_.size(); ++doubt) {
    const CounterInfo& info = counter_of(static_cast<Doubt>(doubt));
    out.push_back({info.name, info.help, doubted_[doubt]});
  }
  return out;
}

}  // namespace weft::service::firewall
