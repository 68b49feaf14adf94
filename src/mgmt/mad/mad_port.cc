// SPDX-License-Identifier: Apache-2.0
#include "mgmt/mad/mad_port.h"

#include <fmt/format.h>

#include <algorithm>

#include "mgmt/mad/mad_port_state.h"
#include "mgmt/mad_answer.h"
#include "wire/endian.h"

namespace weft::mgmt {
namespace {

constexpr std::size_t kTransactionOffset = 8;

std::uint64_t transaction_id(Bytes mad) {
  return wire::load_be64(mad.data() + kTransactionOffset);
}
std::uint8_t class_of(Bytes mad) {
  return wire::load_u8(mad.data() + 1);
}
wire::MadMethod method_of(Bytes mad) {
  return static_cast<wire::MadMethod>(wire::load_u8(mad.data() + 3));
}

// A message that RMPP is to carry: the agent has it so, and the datagram says so by the Active flag
// alone. OpenSM leaves the rest of that header as it was in a request without RMPP, version 0
// included; Linux looks at nothing else either.
bool is_long(const AgentRequest& agent, Bytes mad) {
  const auto mgmt_class = static_cast<wire::MgmtClass>(class_of(mad));
  if (!agent.rmpp || !wire::rmpp_data_offset(mgmt_class)) return false;
  const auto header = wire::RmppHeader::parse(mad);
  return header && header->active();
}

}  // namespace

MadPort::MadPort(ManagedNode& node, PortNumber port, MadOutlet& outlet, const MadLimits& limits)
    : state_(std::make_unique<State>(node, port, outlet, limits)) {
}
MadPort::~MadPort() = default;

Expected<AgentId> MadPort::add_agent(const AgentRequest& request, MadClient& client) {
  return state_->agents.add(request, client);
}

bool MadPort::remove_agent(AgentId agent) {
  state_->forget(agent);
  return state_->agents.remove(agent);
}

Expected<void> MadPort::send(AgentId agent, const MadRequest& request, Time now) {
  return state_->send(agent, request, now);
}

bool MadPort::cancel(AgentId agent, std::uint64_t cookie) {
  for (const auto& [key, exchange] : state_->exchanges) {
    if (exchange.agent != agent || exchange.cookie != cookie) continue;
    state_->close(ExchangeKey(key));
    return true;
  }
  return false;
}

bool MadPort::receive(const MadEnvelope& envelope, wire::MadBytes mad, Time now) {
  return state_->receive(envelope, mad, now);
}

void MadPort::run(Time now) {
  state_->run(now);
}

std::optional<Time> MadPort::deadline() const {
  const std::optional<Time> exchange = state_->deadlines.first();
  const std::optional<Time> reassembly = state_->reassembly_deadlines.first();
  if (exchange && reassembly) return std::min(*exchange, *reassembly);
  return exchange ? exchange : reassembly;
}

Expected<void> MadPort::State::check(const AgentTable::Agent& agent, const MadRequest& request,
                                     bool rmpp) const {
  const auto mgmt_class = static_cast<wire::MgmtClass>(class_of(request.mad));
  // OpenSM sends both kinds of subnet management packets through one agent, and ibsrpdm questions
  // of device management through one of subnet administration, as Linux lets them.
  if (is_smp(mgmt_class) != is_smp(agent.request.mgmt_class)) {
    return fail(std::errc::invalid_argument,
                fmt::format("management class {:#04x}: the agent has registered {:#04x}",
                            static_cast<unsigned>(mgmt_class),
                            static_cast<unsigned>(agent.request.mgmt_class)));
  }
  const std::size_t most = rmpp ? limits.message : wire::kMadSize;
  if (request.mad.size() > most) {
    return fail(std::errc::message_size,
                fmt::format("a datagram of {} bytes, at most {}", request.mad.size(), most));
  }
  if (rmpp && request.mad.size() < *wire::rmpp_data_offset(mgmt_class)) {
    return fail(std::errc::invalid_argument,
                fmt::format("a message of {} bytes ends in its headers", request.mad.size()));
  }
  return {};
}

Expected<void> MadPort::State::send(AgentId id, const MadRequest& request, Time now) {
  AgentTable::Agent* agent = agents.find(id);
  if (agent == nullptr) {
    return fail(std::errc::invalid_argument, fmt::format("agent {} is not there", id.value()));
  }
  if (request.mad.size() < wire::MadHeader::kSize) {
    return fail(std::errc::invalid_argument,
                fmt::format("a datagram of {} bytes has no header", request.mad.size()));
  }
  const bool rmpp = is_long(agent->request, request.mad);
  if (Expected<void> good = check(*agent, request, rmpp); !good) return good;
  Expected<MadEnvelope> envelope = envelope_to(request.to, agent->request.mgmt_class);
  if (!envelope) return tl::unexpected(envelope.error());

  std::vector<std::byte> mad(request.mad.begin(), request.mad.end());
  const bool ours = !answers(method_of(mad));
  if (ours && !agent->request.own_transactions) {
    const std::uint64_t low = transaction_id(mad) & 0xFFFF'FFFF;
    wire::store_be64(mad.data() + kTransactionOffset, std::uint64_t{id.value()} << 32 | low);
  }
  const bool awaits_answer = ours && request.timeout > Duration::zero();
  if (!rmpp) {
    mad.resize(wire::kMadSize);
    if (!awaits_answer) {
      transmit(*envelope, mad);
      return {};
    }
  }
  const ExchangeKey key{.ours = ours,
                        .mgmt_class = class_of(mad),
                        .transaction_id = transaction_id(mad),
                        .lid = ours ? std::uint16_t{0} : request.to.lid.value(),
                        .qpn = ours ? 0 : request.to.qpn.value()};
  Exchange exchange{.agent = id,
                    .cookie = request.cookie,
                    .to = request.to,
                    .envelope = *envelope,
                    .mad = {},
                    .awaits_answer = awaits_answer,
                    .timeout = request.timeout,
                    .retries = request.retries,
                    .retries_left = request.retries};
  if (rmpp) {
    const auto mgmt_class = static_cast<wire::MgmtClass>(key.mgmt_class);
    exchange.sender.emplace(std::move(mad), *wire::rmpp_data_offset(mgmt_class));
  } else {
    exchange.mad = std::move(mad);
  }
  return track(key, std::move(exchange), now);
}

Expected<void> MadPort::State::track(const ExchangeKey& key, Exchange&& exchange, Time now) {
  AgentTable::Agent& agent = *agents.find(exchange.agent);
  if (agent.waiting >= limits.requests) {
    return fail(std::errc::no_buffer_space,
                fmt::format("{} requests wait already, which is the most", agent.waiting));
  }
  const auto [it, is_new] = exchanges.try_emplace(key, std::move(exchange));
  if (!is_new) {
    return fail(std::errc::invalid_argument,
                fmt::format("TransactionID {:#x} still waits", key.transaction_id));
  }
  ++agent.waiting;
  Exchange& placed = it->second;
  if (key.ours) {
    // A TransactionID that is used again begins anew, even if the last answer to it lingers.
    ExchangeKey answer = key;
    answer.ours = false;
    answer.lid = placed.to.lid.value();
    answer.qpn = placed.to.qpn.value();
    if (reassemblies.contains(answer)) end_reassembly(answer);
  }
  if (placed.sender) {
    transmit_window(placed);
    await_acknowledgement(key, placed, now);
  } else {
    transmit(placed.envelope, placed.mad);
    deadlines.move(key, placed.deadline, now + placed.timeout);
  }
  return {};
}

void MadPort::State::transmit(const MadEnvelope& envelope, Bytes mad) {
  outlet.send(envelope, mad.first<wire::kMadSize>());
}

bool MadPort::State::receive(const MadEnvelope& envelope, wire::MadBytes mad, Time now) {
  if (wire::rmpp_data_offset(mad_class(mad))) {
    const auto header = *wire::RmppHeader::parse(mad);
    if (header.version != 0 && header.active()) {
      if (receive_rmpp(envelope, mad, header, now)) return true;
      // Of a message that is over: nothing that an agent should see, unless it does RMPP by itself.
      const bool answer = (wire::load_u8(mad.data() + 3) & wire::kResponseBit) != 0;
      const AgentTable::Agent* agent =
          agents.find(answer ? AgentId{static_cast<std::uint32_t>(transaction_id(mad) >> 32)}
                             : agents.unsolicited(mad));
      if (agent != nullptr && agent->request.rmpp) return true;
    }
  }
  if (answers(mad_method(mad)) && receive_answer(envelope, mad)) return true;
  if ((wire::load_u8(mad.data() + 3) & wire::kResponseBit) != 0) return false;
  const AgentId id = agents.unsolicited(mad);
  if (id == AgentId{}) return false;
  deliver(id, envelope, mad, std::nullopt);
  return true;
}

std::optional<ExchangeKey> MadPort::State::answered_by(const MadEnvelope& envelope,
                                                       wire::MadBytes mad) const {
  const ExchangeKey key{
      .ours = true, .mgmt_class = class_of(mad), .transaction_id = transaction_id(mad)};
  const auto exchange = exchanges.find(key);
  if (exchange == exchanges.end() || !exchange->second.awaits_answer) return std::nullopt;
  const MadAddress& to = exchange->second.to;
  // Whoever was asked answers; who that is, a directed route does not say.
  if (mad_class(mad) != wire::MgmtClass::kSubnDirected && to.lid != envelope.slid &&
      to.lid.value() < 0xC000) {
    return std::nullopt;
  }
  return key;
}

bool MadPort::State::receive_answer(const MadEnvelope& envelope, wire::MadBytes mad) {
  const std::optional<ExchangeKey> key = answered_by(envelope, mad);
  if (key) {
    const Exchange exchange = close(*key);
    deliver(exchange.agent, envelope, mad, exchange.cookie);
    return true;
  }
  // An agent that does RMPP by itself gets all the segments of an answer.
  const AgentId id{static_cast<std::uint32_t>(transaction_id(mad) >> 32)};
  const AgentTable::Agent* agent = agents.find(id);
  if (agent == nullptr || agent->request.rmpp || agent->request.mgmt_class != mad_class(mad) ||
      !wire::rmpp_data_offset(mad_class(mad)) || !wire::RmppHeader::parse(mad)->active()) {
    return false;
  }
  deliver(id, envelope, mad, std::nullopt);
  return true;
}

void MadPort::State::deliver(AgentId id, const MadEnvelope& envelope, Bytes mad,
                             std::optional<std::uint64_t> cookie) {
  const AgentTable::Agent* agent = agents.find(id);
  if (agent == nullptr) return;
  agent->client->received(id, {.from = address_of(envelope), .mad = mad, .cookie = cookie});
}

MadPort::State::Exchange MadPort::State::close(const ExchangeKey& key) {
  const auto it = exchanges.find(key);
  deadlines.move(key, it->second.deadline, std::nullopt);
  Exchange exchange = std::move(it->second);
  exchanges.erase(it);
  if (AgentTable::Agent* agent = agents.find(exchange.agent)) --agent->waiting;
  return exchange;
}

void MadPort::State::finish(const ExchangeKey& key, MadResult result) {
  const Exchange exchange = close(key);
  const AgentTable::Agent* agent = agents.find(exchange.agent);
  if (agent == nullptr) return;
  agent->client->finished(exchange.agent, exchange.cookie, exchange.bytes(), result);
}

void MadPort::State::forget(AgentId id) {
  for (auto it = exchanges.begin(); it != exchanges.end();) {
    const auto next = std::next(it);
    if (it->second.agent == id) close(ExchangeKey(it->first));
    it = next;
  }
  for (auto it = reassemblies.begin(); it != reassemblies.end();) {
    const auto next = std::next(it);
    if (it->second.agent == id) end_reassembly(ExchangeKey(it->first));
    it = next;
  }
}

void MadPort::State::run(Time now) {
  while (deadlines.first() && *deadlines.first() <= now) {
    expire(ExchangeKey(deadlines.first_key()), now);
  }
  while (reassembly_deadlines.first() && *reassembly_deadlines.first() <= now) {
    end_reassembly(ExchangeKey(reassembly_deadlines.first_key()));
  }
}

void MadPort::State::expire(const ExchangeKey& key, Time now) {
  Exchange& exchange = exchanges.find(key)->second;
  if (exchange.sender) return expire_rmpp(key, exchange, now);
  if (exchange.retries_left == 0) return finish(key, MadResult::kTimedOut);
  --exchange.retries_left;
  // At least a moment later, or a time-out of nothing would never end.
  deadlines.move(key, exchange.deadline, now + std::max(exchange.timeout, Duration{1ms}));
  transmit(exchange.envelope, exchange.mad);
}

}  // namespace weft::mgmt
