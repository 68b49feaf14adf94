// SPDX-License-Identifier: Apache-2.0
// Long messages: RMPP between the port and its agents, IBA 13.6.
#include <algorithm>

#include "mgmt/mad/mad_port_state.h"
#include "mgmt/mad_answer.h"
#include "mgmt/own_pkey.h"
#include "wire/endian.h"

namespace weft::mgmt {
namespace {

using wire::RmppHeader;
using wire::RmppType;

// For an acknowledgement, where the agent does not say: no path has told its lifetime yet.
constexpr Duration kAcknowledgementTime = 2s;
// How often a window is sent, whatever the agent says of retries: they are of requests.
constexpr unsigned kFewestRetries = 3;
// How long a message may pause that comes in; and for how long it is remembered when it is
// complete, to acknowledge again what is repeated.
constexpr Duration kLongestPause = 20s;
constexpr Duration kMadPortRmppLinger = 10s;

std::uint64_t transaction_id(wire::MadBytes mad) {
  return wire::load_be64(mad.data() + 8);
}

// The direction of an acknowledgement is that of its message the other way round.
bool about_answer(wire::MadBytes mad) {
  return (wire::load_u8(mad.data() + 3) & wire::kResponseBit) == 0;
}

wire::MadBuffer copy_of(wire::MadBytes mad) {
  wire::MadBuffer copy;
  std::copy(mad.begin(), mad.end(), copy.begin());
  return copy;
}

}  // namespace

bool MadPort::State::receive_rmpp(const MadEnvelope& envelope, wire::MadBytes mad,
                                  const RmppHeader& header, Time now) {
  switch (header.type) {
    case RmppType::kData:
      return receive_data(envelope, mad, header, now);
    case RmppType::kAck:
      if (const auto key = acknowledged_by(envelope, mad)) {
        receive_ack(*key, mad, header, now);
        return true;
      }
      return false;
    case RmppType::kStop:
    case RmppType::kAbort: {
      const ExchangeKey coming{.ours = false,
                               .mgmt_class = static_cast<std::uint8_t>(mad_class(mad)),
                               .transaction_id = transaction_id(mad),
                               .lid = envelope.slid.value(),
                               .qpn = envelope.source_qp.value()};
      if (const auto key = acknowledged_by(envelope, mad)) {
        finish(*key, MadResult::kAborted);
        return true;
      }
      // From the sender of what comes in: it has the message's own direction.
      if (!reassemblies.contains(coming)) return false;
      end_reassembly(coming);
      return true;
    }
    default:
      return false;
  }
}

std::optional<ExchangeKey> MadPort::State::acknowledged_by(const MadEnvelope& envelope,
                                                           wire::MadBytes mad) const {
  ExchangeKey key{.ours = !about_answer(mad),
                  .mgmt_class = static_cast<std::uint8_t>(mad_class(mad)),
                  .transaction_id = transaction_id(mad)};
  if (!key.ours) {
    key.lid = envelope.slid.value();
    key.qpn = envelope.source_qp.value();
  }
  const auto exchange = exchanges.find(key);
  if (exchange == exchanges.end() || !exchange->second.sender) return std::nullopt;
  if (exchange->second.to.lid != envelope.slid) return std::nullopt;
  return key;
}

void MadPort::State::receive_ack(const ExchangeKey& key, wire::MadBytes mad,
                                 const RmppHeader& header, Time now) {
  Exchange& exchange = exchanges.find(key)->second;
  const RmppSender::Answer answer = exchange.sender->acknowledge(header);
  if (answer.outcome == RmppSender::Outcome::kOld) return;
  if (answer.outcome == RmppSender::Outcome::kAbort) {
    wire::MadBuffer end = copy_of(mad);
    write_rmpp_end(end, RmppType::kAbort, answer.status);
    transmit(exchange.envelope, end);
    return finish(key, MadResult::kAborted);
  }
  if (exchange.sender->done()) {
    if (!exchange.awaits_answer) return finish(key, MadResult::kSent);
    deadlines.move(key, exchange.deadline, now + exchange.timeout * (exchange.retries + 1));
    return;
  }
  exchange.retries_left = std::max(exchange.retries, kFewestRetries);
  await_acknowledgement(key, exchange, now);
  transmit_window(exchange);
}

void MadPort::State::transmit_window(Exchange& exchange) {
  wire::MadBuffer segment;
  while (exchange.sender->next(segment))
    transmit(exchange.envelope, segment);
}

void MadPort::State::await_acknowledgement(const ExchangeKey& key, Exchange& exchange, Time now) {
  if (!exchange.deadline) exchange.retries_left = std::max(exchange.retries, kFewestRetries);
  const bool told = exchange.timeout > Duration::zero();
  const Duration wait =
      told ? std::min(exchange.timeout, kAcknowledgementTime) : kAcknowledgementTime;
  deadlines.move(key, exchange.deadline, now + std::max(wait, Duration{1ms}));
}

void MadPort::State::expire_rmpp(const ExchangeKey& key, Exchange& exchange, Time now) {
  if (exchange.sender->done() || exchange.retries_left == 0) {
    if (!exchange.sender->done()) {
      // Whoever puts it together need not keep it any longer. It is a datagram of the message's own
      // direction, which write_rmpp_end turns round.
      wire::MadBuffer end{};
      const Bytes headers = exchange.sender->message().first(RmppHeader::kOffset);
      std::copy(headers.begin(), headers.end(), end.begin());
      wire::store_u8(end.data() + 3,
                     static_cast<std::uint8_t>(wire::load_u8(end.data() + 3) ^ wire::kResponseBit));
      write_rmpp_end(end, RmppType::kAbort, wire::RmppStatus::kTooManyRetries);
      transmit(exchange.envelope, end);
    }
    return finish(key, MadResult::kTimedOut);
  }
  --exchange.retries_left;
  exchange.sender->go_back();
  await_acknowledgement(key, exchange, now);
  transmit_window(exchange);
}

bool MadPort::State::begin_reassembly(const ExchangeKey& key, AgentId id,
                                      const MadEnvelope& envelope, wire::MadBytes mad,
                                      const RmppHeader& header) {
  // What follows a message that was given up, or overtakes its beginning, is sent again.
  if (header.segment != 1) return false;
  const bool room = reassemblies.size() < limits.reassemblies &&
                    reassembly_bytes + wire::kMadSize <= limits.reassembly;
  if (header.version != RmppHeader::kVersion || !room) {
    wire::MadBuffer end = copy_of(mad);
    write_rmpp_end(
        end, room ? RmppType::kAbort : RmppType::kStop,
        room ? wire::RmppStatus::kUnsupportedVersion : wire::RmppStatus::kResourcesExhausted);
    reply(envelope, end);
    return false;
  }
  const std::size_t data_offset = *wire::rmpp_data_offset(mad_class(mad));
  reassemblies.emplace(
      key, Reassembly{.agent = id, .receiver = RmppReceiver(data_offset, limits.message)});
  return true;
}

bool MadPort::State::receive_data(const MadEnvelope& envelope, wire::MadBytes mad,
                                  const RmppHeader& header, Time now) {
  const ExchangeKey key{.ours = false,
                        .mgmt_class = static_cast<std::uint8_t>(mad_class(mad)),
                        .transaction_id = transaction_id(mad),
                        .lid = envelope.slid.value(),
                        .qpn = envelope.source_qp.value()};
  auto it = reassemblies.find(key);
  const bool is_answer = answers(mad_method(mad));
  const std::optional<ExchangeKey> request =
      is_answer ? answered_by(envelope, mad) : std::optional<ExchangeKey>{};
  if (it == reassemblies.end()) {
    AgentId id = is_answer ? AgentId{} : agents.unsolicited(mad);
    if (request) id = exchanges.find(*request)->second.agent;
    const AgentTable::Agent* agent = agents.find(id);
    if (agent == nullptr || !agent->request.rmpp) return false;
    if (!begin_reassembly(key, id, envelope, mad, header)) return true;
    it = reassemblies.find(key);
  }
  Reassembly& reassembly = it->second;
  const bool lingers = reassembly.receiver.complete();
  RmppReceiver::Answer answer = reassembly.receiver.receive(header, mad);
  reassembly_bytes += reassembly.receiver.memory() - reassembly.counted;
  reassembly.counted = reassembly.receiver.memory();
  if (reassembly_bytes > limits.reassembly) {
    answer = {RmppReceiver::Outcome::kStop, wire::RmppStatus::kResourcesExhausted};
  }
  wire::MadBuffer back = copy_of(mad);
  using Outcome = RmppReceiver::Outcome;
  if (answer.outcome == Outcome::kAbort || answer.outcome == Outcome::kStop) {
    write_rmpp_end(back, answer.outcome == Outcome::kStop ? RmppType::kStop : RmppType::kAbort,
                   answer.status);
    end_reassembly(key);
    reply(envelope, back);
    return true;
  }
  if (answer.outcome == Outcome::kAcknowledge || answer.outcome == Outcome::kComplete) {
    reassembly.receiver.write_ack(back);
    reply(envelope, back);
  }
  if (lingers) return true;
  // The answer is coming: its request need not be sent again.
  if (request && answer.outcome != Outcome::kNothing) {
    Exchange& exchange = exchanges.find(*request)->second;
    deadlines.move(*request, exchange.deadline,
                   now + std::max(exchange.timeout, kAcknowledgementTime));
    exchange.retries_left = 0;
  }
  reassembly_deadlines.move(
      key, reassembly.deadline,
      now + (reassembly.receiver.complete() ? kMadPortRmppLinger : kLongestPause));
  if (answer.outcome != Outcome::kComplete) return true;
  const std::vector<std::byte> message = reassembly.receiver.take();
  reassembly_bytes -= reassembly.counted;
  reassembly.counted = 0;
  const AgentId id = reassembly.agent;
  std::optional<std::uint64_t> cookie;
  if (request) cookie = close(*request).cookie;
  deliver(id, envelope, message, cookie);
  return true;
}

void MadPort::State::end_reassembly(const ExchangeKey& key) {
  const auto it = reassemblies.find(key);
  reassembly_deadlines.move(key, it->second.deadline, std::nullopt);
  reassembly_bytes -= it->second.counted;
  reassemblies.erase(it);
}

void MadPort::State::reply(const MadEnvelope& envelope, wire::MadBytes mad) {
  MadEnvelope back{.port = port,
                   .slid = envelope.dlid,
                   .dlid = envelope.slid,
                   .sl = envelope.sl,
                   .source_qp = envelope.dest_qp,
                   .dest_qp = envelope.source_qp,
                   .qkey = kGsiQKey,
                   .pkey = own_pkey(node, port, envelope.pkey).pkey};
  if (envelope.grh) {
    back.grh = wire::Grh{.traffic_class = envelope.grh->traffic_class,
                         .flow_label = envelope.grh->flow_label,
                         .hop_limit = 255,
                         .sgid = envelope.grh->dgid,
                         .dgid = envelope.grh->sgid};
  }
  outlet.send(back, mad);
}

}  // namespace weft::mgmt
