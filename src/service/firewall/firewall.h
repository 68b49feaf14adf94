// SPDX-License-Identifier: Apache-2.0
// The firewall: a data service that lets packets go on or not by rules, and remembers which
// connections it has let come about. docs/firewall.md tells how it is used and what it withstands.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/allowance.h"
#include "base/counters.h"
#include "service/firewall/connections.h"
#include "service/firewall/flows.h"
#include "service/firewall/program.h"
#include "service/firewall/state_record.h"
#include "service/service.h"

namespace weft::service::firewall {

// What becomes of a packet, and why.
struct Decision {
  Action action = Action::drop;  // accept, drop or reject
  std::uint32_t rule = Program::kPolicy;
  ConnectionState state = ConnectionState::none;
  FlowDirection direction = FlowDirection::original;
  Traffic traffic = Traffic::opaque;
  Doubt doubt = Doubt::none;
  std::uint32_t connection = Connections::kNone;
  // Which end of that has sent it; `direction` is that of the flow, where it has IP inside.
  FlowDirection end = FlowDirection::original;
  // What its fields say is all that was asked: the next packet with the same FlowKey fares alike.
  bool for_flow = false;
};

// Of Verdict::drop().
enum class DropReason : std::uint16_t {
  kRule,
  kRejected,
  kPolicy,
  kState,
  kCount,
};

// Who is told of packets that rules log.
class LogSink {
 public:
  virtual ~LogSink() = default;
  struct Line {
    const Rule& rule;
    std::string_view chain;
    const Fields& fields;
    const Decision& decision;
    std::uint32_t decided_at = 0;  // line of the rule that decided; 0: the policy
    bool dry_run = false;          // what is not accepted goes on all the same
    // Lines that were swallowed since the last one, for the log's rate or by this.
    std::uint64_t swallowed = 0;
  };
  // False: there is no room for it, and it counts as swallowed.
  [[nodiscard]] virtual bool log(const Line& line, Time now) = 0;
};

struct FirewallOptions {
  Connections::Limits connections{};
  Flows::Limits flows{};
  // Says and counts what would become of packets, and forwards them all.
  bool dry_run = false;
  unsigned log_lines_per_second = 10;
  // Copies of what it drops, and of what rules that log match, go to the mirror.
  bool mirrors = false;
};

class Firewall final : public Service, private Connections::Owner {
 public:
  // `log` outlives it; nullptr: nobody is told.
  Firewall(Program program, const FirewallOptions& options, LogSink* log = nullptr);

  [[nodiscard]] std::string_view name() const override { return "firewall"; }
  void attach(Host& host) override {
    Service::attach(host);
    attached_ = true;
  }
  [[nodiscard]] std::span<const CounterInfo> drop_reasons() const override;
  [[nodiscard]] Verdict handle(Packet& packet, Time now) override;
  void run(Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override { return deadline_; }
  [[nodiscard]] std::vector<CounterValue> counters() const override;
  // A message of the communication manager that another instance has let through: this one decides
  // about it by its own rules, and so knows the connection too. Likewise a flow, or a connection as
  // the other has it, by what that began with.
  void apply(Bytes record, Time now) override;
  void snapshot(RecordSink& sink) const override;

  // What handle() does but for carrying it out: for packets that come from elsewhere, as from a
  // file.
  [[nodiscard]] Decision decide(const Fields& fields, Bytes packet, Time now);

  // Other rules, at once for every packet. Connections and flows whose beginning the new rules
  // would accept go on, the others are forgotten. Counters of rules begin at zero. How many
  // connections were forgotten.
  std::size_t reload(Program program, Time now);

  [[nodiscard]] const Program& program() const { return program_; }
  // Packets and bytes that a rule has matched, or the policy (Program::kPolicy) decided.
  [[nodiscard]] Tally matched(std::uint32_t rule);
  [[nodiscard]] std::uint64_t doubted(Doubt doubt) const {
    return doubted_[static_cast<std::size_t>(doubt)];
  }
  // Packets that were forwarded in a dry run and would not have been.
  [[nodiscard]] std::uint64_t would_drop() const { return would_drop_; }
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  [[nodiscard]] std::size_t half_open() const { return connections_.half_open(); }
  [[nodiscard]] std::size_t flows() const { return flows_.size(); }

 private:
  class Recorder;
  // What goes by of a connection under one verdict.
  struct FlowTally {
    Tally tally{};    // the runtime counts here
    Tally harvested;  // what was taken from it
    std::vector<std::uint32_t> rules;
  };

  void gone(Connection& connection) override;
  bool busy(Connection& connection) override;

  void find_state(const Fields& fields, Decision& decision, Connections::Found& found, Time now);
  void find_datagram(const Fields& fields, Decision& decision, Connections::Found& found, Time now);
  void find_flow(const Flows::Id& id, Decision& decision, Time now);
  void find_inside(const Fields& fields, Decision& decision, Time now);
  void learn(const Fields& fields, Bytes packet, const Decision& decision,
             const Connections::Found& found, const MatchKey& key, Time now);
  [[nodiscard]] wire::ServiceId service_of(const Connections::Found& found);
  [[nodiscard]] ConnectionEnd& sender_in(const Decision& decision);
  [[nodiscard]] bool find_frame(const Fields& fields, Decision& decision);
  void follow_frame(const Fields& fields, const Decision& decision);
  void count_message(const Fields& fields, const Decision& decision, MatchKey& key);
  [[nodiscard]] Verdict carry_out(const Decision& decision, Packet& packet);
  [[nodiscard]] bool wants_copy(const Decision& decision) const;
  [[nodiscard]] bool depends_on_flow_only(const Fields& fields, const Decision& decision) const;
  [[nodiscard]] bool would_accept(const MatchKey& request, Time now);
  // Of a connection's beginning: what the rules look at in its private data.
  void read_private_data(Connection& connection) const;
  void restore(StateRecord record, Time now);
  void count(std::span<const std::uint32_t> rules, std::uint64_t bytes);
  // Whether the packet in hand has matched a rule that logs.
  [[nodiscard]] bool is_logged() const;
  void write_log(const Fields& fields, const Decision& decision, Time now);
  void answer(Packet& packet);
  Tally* tally_for(const Decision& decision);
  bool harvest(FlowTally& tally);

  Program program_;
  const FirewallOptions options_;
  LogSink* const log_;
  Connections connections_;
  Flows flows_;
  std::vector<Tally> rules_;  // and at the end the policy's
  std::deque<FlowTally> tallies_;
  std::vector<std::uint32_t> free_tallies_;
  std::vector<std::uint32_t> path_;  // of the packet in hand
  std::optional<Flows::News> news_;  // that it has made
  Allowance log_rate_;
  std::uint64_t swallowed_ = 0;  // since the last line
  std::uint64_t lines_ = 0;
  std::uint64_t lines_swallowed_ = 0;
  std::uint64_t would_drop_ = 0;
  std::uint64_t applied_ = 0;
  std::uint64_t bad_records_ = 0;
  std::uint64_t refusals_ = 0;
  std::array<std::uint64_t, static_cast<std::size_t>(Doubt::kCount)> doubted_{};
  std::optional<Time> deadline_;
  bool attached_ = false;
  bool is_told_ = false;  // of the packet in hand, by another instance
};

// How it is called, and what it means.
[[nodiscard]] const CounterInfo& counter_of(Doubt doubt);

}  // namespace weft::service::firewall
