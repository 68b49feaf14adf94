// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/firewall.h"

#include <algorithm>
#include <utility>

#include "service/firewall/packet_key.h"
#include "wire/ip_protocol.h"

namespace weft::service::firewall {
namespace {

using wire::Transport;

constexpr Duration kFirewallSweepEvery = 100ms;
constexpr std::uint16_t kLargestMtu = 4096;  // IBA 7.7.1

// In the order of DropReason.
constexpr std::array<CounterInfo, static_cast<std::size_t>(DropReason::kCount)> kReasons{{
    {"rule", "a rule says drop"},
    {"rejected", "a rule or the policy says reject"},
    {"policy", "no rule says accept, and the policy is drop"},
    {"state", "of state invalid or untracked, which no rule accepts"},
}};

// In the order of Doubt.
constexpr std::array<CounterInfo, static_cast<std::size_t>(Doubt::kCount)> kDoubts{{
    {"sound", "packets of which nothing is in doubt"},
    {"malformed", "bytes that are no packet"},
    {"oversize", "packets with more payload than the largest MTU"},
    {"ambiguous_content", "what is inside could be read in two ways, or not to its end"},
    {"no_connection", "of a connection whose making was not seen or not permitted"},
    {"wrong_source_lid", "not from the LID that the connection's end has"},
    {"wrong_partition", "not of the connection's partition"},
    {"wrong_transport", "not of the transport that the connection was made for"},
    {"wrong_qkey", "not with the Q_Key that was told for the service"},
    {"cm_forged", "of the connection manager, and not from who it says it is from"},
    {"cm_unknown", "of the connection manager, of an exchange that is not known"},
    {"tcp_flags", "TCP with flags that exclude each other"},
    {"later_fragment", "part of something whose beginning was not let through"},
    {"table_full", "another connection or flow than there is room for"},
}};

bool is_connected(Transport transport) {
  return transport == Transport::rc || transport == Transport::uc || transport == Transport::xrc;
}

// RFC 793 knows no segment that both begins and ends, or neither begins, ends nor acknowledges.
bool has_impossible_flags(const IpFields& ip, ConnectionState state) {
  constexpr std::uint8_t kFin = 1, kSyn = 2, kRst = 4, kAck = 16;
  const std::uint8_t flags = ip.tcp_flags & (kFin | kSyn | kRst | kAck);
  if (flags == 0 || flags == kFin) return true;
  if ((flags & kSyn) != 0 && (flags & (kFin | kRst)) != 0) return true;
  // An answer to a beginning that nobody has seen.
  return state == ConnectionState::fresh && (flags & (kSyn | kAck)) == (kSyn | kAck);
}

Flows::Id flow_of_ip(const Fields& fields) {
  const IpFields& ip = fields.ip;
  return {.from = Wide(ip.source),
          .to = Wide(ip.destination),
          .from_port = ip.ports ? ip.source_port : 0u,
          .to_port = ip.ports ? ip.destination_port : 0u,
          .partition = partition_of(fields.pkey),
          .kind = ip.protocol,
          .global = true};
}

// All fragments of one packet.
Flows::Id fragments_of(const Fields& fields) {
  const IpFields& ip = fields.ip;
  return {.from = Wide(ip.source),
          .to = Wide(ip.destination),
          .from_port = ip.identification,
          .to_port = ip.protocol,
          .partition = partition_of(fields.pkey),
          .kind = Flows::kFragments,
          .global = true};
}

// All parts of one frame of the LAN.
Flows::Id parts_of(const Fields& fields) {
  return {.from = sender_of(fields).address,
          .to = receiver_of(fields).address,
          .from_port = fields.source_qp.value(),
          .to_port = fields.lan.number,
          .partition = partition_of(fields.pkey),
          .kind = Flows::kParts,
          .global = fields.global};
}

Flows::Id flow_of_datagrams(const Fields& fields) {
  return {.from = sender_of(fields).address,
          .to = receiver_of(fields).address,
          .from_port = fields.source_qp.value(),
          .to_port = fields.dest_qp.value(),
          .partition = partition_of(fields.pkey),
          .kind = Flows::kDatagrams,
          .global = fields.global};
}

bool begins_fragments(const Fields& fields) {
  return fields.ip.version != 0 && fields.ip.fragment && !fields.ip.later_fragment;
}

}  // namespace

const CounterInfo& counter_of(Doubt doubt) {
  return kDoubts[static_cast<std::size_t>(doubt)];
}

class Firewall::Recorder final : public Program::Matches {
 public:
  explicit Recorder(std::vector<std::uint32_t>& path) : path_(path) { path_.clear(); }
  void matched(std::uint32_t rule) override { path_.push_back(rule); }

 private:
  std::vector<std::uint32_t>& path_;
};

Firewall::Firewall(Program program, const FirewallOptions& options, LogSink* log)
    : program_(std::move(program)),
      options_(options),
      log_(log),
      connections_(options.connections, *this),
      flows_(options.flows),
      rules_(program_.size() + 1),
      log_rate_(Allowance::per_second(std::max(1u, options.log_lines_per_second))) {
}

std::span<const CounterInfo> Firewall::drop_reasons() const {
  return kReasons;
}

wire::ServiceId Firewall::service_of(const Connections::Found& found) {
  if (found.connection == Connections::kNone) return {};
  const MatchKey& request = connections_.at(found.connection).request;
  return request.has(Field::service) ? wire::ServiceId{request.narrow(Field::service)}
                                     : wire::ServiceId{};
}

void Firewall::find_state(const Fields& fields, Decision& decision, Connections::Found& found,
                          Time now) {
  decision.doubt = Doubt::none;
  if (fields.form == Form::kTransport && is_connected(fields.transport)) {
    found = connections_.find_data(fields, now);
  } else if (fields.cm.present && fields.problem == Problem::kNone) {
    found = connections_.find_message(fields, now);
  } else if (fields.form == Form::kTransport && fields.transport == Transport::ud &&
             fields.content != Content::kMad) {
    found = connections_.find_data(fields, now);
    // Datagrams need no connection.
    if (found.connection == Connections::kNone) found.doubt = Doubt::none;
  } else {
    found.doubt = Doubt::none;
    found.state = ConnectionState::none;
  }
  decision.traffic = traffic_of(fields, service_of(found));
  decision.state = found.state;
  decision.direction = found.direction;
  decision.doubt = found.doubt;
  decision.connection = found.connection;
  decision.end = found.direction;
  if (fields.payload_size > kLargestMtu) {
    decision.state = ConnectionState::invalid;
    decision.doubt = Doubt::oversize;
    return;
  }
  if (is_doubtful(fields, decision.traffic)) {
    decision.state = ConnectionState::invalid;
    decision.doubt = fields.form == Form::kMalformed ? Doubt::malformed : Doubt::content;
    return;
  }
  if (decision.doubt != Doubt::none) return;
  if (fields.form == Form::kTransport && fields.transport == Transport::ud) {
    find_datagram(fields, decision, found, now);
  } else if (decision.traffic == Traffic::raw || decision.traffic == Traffic::lan) {
    find_inside(fields, decision, now);
  }
}

void Firewall::find_datagram(const Fields& fields, Decision& decision, Connections::Found& found,
                             Time now) {
  if (fields.content == Content::kMad) return;
  if (decision.traffic == Traffic::ipoib || decision.traffic == Traffic::lan) {
    return find_inside(fields, decision, now);
  }
  if (found.connection != Connections::kNone) return;
  find_flow(flow_of_datagrams(fields), decision, now);
}

ConnectionEnd& Firewall::sender_in(const Decision& decision) {
  Connection& connection = connections_.at(decision.connection);
  return decision.end == FlowDirection::original ? connection.active : connection.passive;
}

// What is of a LAN port's connection and has no headers of Ethernet. What its ports tell each other
// of groups is of the exchange that rules have permitted; later packets of a frame go the way of
// the first one. False: it is nothing such.
bool Firewall::find_frame(const Fields& fields, Decision& decision) {
  if (decision.traffic != Traffic::lan || decision.connection == Connections::kNone) return false;
  if (fields.content == Content::kLanGroups) return true;
  const bool later = fields.transport == Transport::uc &&
                     fields.operation == wire::Operation::send && !fields.starts_message;
  if (later && !sender_in(decision).in_frame) {
    decision.state = ConnectionState::invalid;
    decision.doubt = Doubt::later_fragment;
  }
  return later;
}

// After it was decided.
void Firewall::follow_frame(const Fields& fields, const Decision& decision) {
  if (decision.traffic != Traffic::lan || fields.transport != Transport::uc) return;
  if (decision.connection == Connections::kNone) return;
  ConnectionEnd& from = sender_in(decision);
  const bool goes_on = decision.action == Action::accept && decision.doubt == Doubt::none;
  from.in_frame = goes_on && !fields.ends_message && (fields.starts_message || from.in_frame);
}

// By what IPoIB, the LAN or a raw packet carries, whatever queue pairs it goes between.
void Firewall::find_inside(const Fields& fields, Decision& decision, Time now) {
  if (find_frame(fields, decision)) return;
  const bool later_part = fields.problem == Problem::kPartFrame;
  if (later_part || (fields.ip.version != 0 && fields.ip.later_fragment)) {
    const bool begun = flows_.has_begun(later_part ? parts_of(fields) : fragments_of(fields), now);
    decision.state = begun ? ConnectionState::established : ConnectionState::invalid;
    if (!begun) decision.doubt = Doubt::later_fragment;
    return;
  }
  if (fields.ip.version == 0) {
    decision.state = ConnectionState::none;  // ARP and other protocols
    return;
  }
  find_flow(flow_of_ip(fields), decision, now);
  if (fields.ip.protocol == wire::ip_protocol::kTcp && fields.ip.ports &&
      has_impossible_flags(fields.ip, decision.state)) {
    decision.state = ConnectionState::invalid;
    decision.doubt = Doubt::tcp_flags;
  }
}

void Firewall::find_flow(const Flows::Id& id, Decision& decision, Time now) {
  const Flows::Found found = flows_.find(id, now);
  decision.state = found.state;
  decision.direction = found.direction;
  decision.doubt = found.doubt;
}

// A SEND of several packets is as long as what has come of it; RDMA says it at its beginning.
void Firewall::count_message(const Fields& fields, const Decision& decision, MatchKey& key) {
  if (fields.operation != wire::Operation::send || decision.connection == Connections::kNone)
    return;
  if (fields.starts_message && fields.ends_message) return;
  ConnectionEnd& from = sender_in(decision);
  if (fields.starts_message) from.message_bytes = 0;
  // What goes by under a verdict for the whole flow is not seen: there is none where this is asked.
  const std::uint64_t bytes = std::uint64_t{from.message_bytes} + fields.payload_size;
  from.message_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, 0xFFFF'FFFF));
  key.set(Field::message, from.message_bytes);
}

Decision Firewall::decide(const Fields& fields, Bytes packet, Time now) {
  Decision decision;
  Connections::Found found;
  news_.reset();
  find_state(fields, decision, found, now);
  ++doubted_[static_cast<std::size_t>(decision.doubt)];
  MatchKey key = key_of(fields, decision.traffic);
  if (decision.connection != Connections::kNone) {
    const Connection& connection = connections_.at(decision.connection);
    add_request(key, connection.request);
    const bool original = decision.end == FlowDirection::original;
    const ConnectionEnd& from = original ? connection.active : connection.passive;
    const ConnectionEnd& to = original ? connection.passive : connection.active;
    if (!fields.global && !from.gid.is_zero()) key.set(Field::sgid, Wide(from.gid));
    if (!fields.global && !to.gid.is_zero()) key.set(Field::dgid, Wide(to.gid));
  } else {
    const Bytes private_data = private_data_of(fields, packet);
    if (!private_data.empty()) add_private_data(key, private_data, program_.rules().private_fields);
  }
  if (program_.uses(Field::message)) count_message(fields, decision, key);
  key.set(Field::state, static_cast<std::uint64_t>(decision.state));
  const bool has_direction =
      decision.state == ConnectionState::fresh || decision.state == ConnectionState::established;
  if (has_direction) key.set(Field::direction, static_cast<std::uint64_t>(decision.direction));

  Recorder recorder(path_);
  const Program::Outcome outcome = program_.evaluate(key, now, recorder);
  decision.action = outcome.action;
  decision.rule = outcome.rule;
  if (outcome.rule == Program::kPolicy) path_.push_back(program_.size());
  count(path_, fields.size);
  write_log(fields, decision, now);
  follow_frame(fields, decision);
  if (decision.action == Action::accept) {
    learn(fields, packet, decision, found, key, now);
    // Of what is logged, each packet is.
    const bool for_each = outcome.by_time || (log_ != nullptr && is_logged());
    decision.for_flow = !for_each && depends_on_flow_only(fields, decision);
  }
  return decision;
}

void Firewall::learn(const Fields& fields, Bytes packet, const Decision& decision,
                     const Connections::Found& found, const MatchKey& key, Time now) {
  const bool doubtful =
      decision.state == ConnectionState::invalid || decision.state == ConnectionState::untracked;
  if (doubtful) return;  // a rule lets it through as it is: nothing is believed of it
  if (decision.traffic == Traffic::cm) {
    connections_.pass_message(fields, found, key, private_data_of(fields, packet), now);
  } else if (found.connection != Connections::kNone) {
    connections_.pass_data(found, now);
  }
  if (decision.traffic == Traffic::lan && fields.lan.total != 0 && fields.lan.offset == 0 &&
      fields.transport == Transport::ud) {
    static_cast<void>(flows_.pass(parts_of(fields), nullptr, now));
  }
  const bool inside = decision.traffic == Traffic::ipoib || decision.traffic == Traffic::lan ||
                      decision.traffic == Traffic::raw;
  if (inside && fields.ip.version != 0) {
    if (begins_fragments(fields)) {
      static_cast<void>(flows_.pass(fragments_of(fields), nullptr, now));
    }
    if (!fields.ip.later_fragment) news_ = flows_.pass(flow_of_ip(fields), &key, now);
  } else if (decision.traffic == Traffic::datagram && found.connection == Connections::kNone &&
             !fields.multicast()) {
    news_ = flows_.pass(flow_of_datagrams(fields), &key, now);
  }
  if (!deadline_) deadline_ = now + kFirewallSweepEvery;
}

// The runtime's flow key has what stands in the headers: LIDs, SL, GIDs, P_Key, opcode, queue
// pairs.
bool Firewall::depends_on_flow_only(const Fields& fields, const Decision& decision) const {
  if (decision.connection == Connections::kNone) return false;
  const bool settled = decision.state == ConnectionState::established &&
                       (decision.traffic == Traffic::connected || decision.traffic == Traffic::sdp);
  if (!settled || program_.uses(Field::size) || program_.uses(Field::vl)) return false;
  if (program_.uses(Field::message)) {
    const bool told = fields.has_reth || fields.operation == wire::Operation::send;
    if (told || (fields.starts_message && fields.ends_message)) return false;
  }
  return true;
}

}  // namespace weft::service::firewall
