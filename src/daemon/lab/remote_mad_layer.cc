// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/remote_mad_layer.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/plain_bytes.h"
#include "daemon/lab/mad_address.h"
#include "io/pass_descriptor.h"
#include "io/sealed_file.h"
#include "mgmt/mad_answer.h"
#include "wire/endian.h"

namespace weft::daemon {
namespace {

using namespace umad::protocol;

// So many messages before whoever waits for something else in the same thread gets a turn.
constexpr int kRemoteMadLayerTurn = 64;
constexpr std::size_t kTransactionOffset = 8;  // in the header of a MAD

Register message_for(const mgmt::AgentRequest& request) {
  Register out{};
  out.kind = kRegister;
  out.mgmt_class = static_cast<std::uint8_t>(request.mgmt_class);
  out.class_version = request.class_version;
  out.rmpp = request.rmpp ? 1 : 0;
  std::copy(request.oui.begin(), request.oui.end(), std::begin(out.oui));
  for (std::size_t method = 0; method < mgmt::AgentRequest::kMethods; ++method) {
    if (request.methods[method]) out.methods[method / 64] |= std::uint64_t{1} << method % 64;
  }
  return out;
}

std::uint32_t whole_milliseconds(Duration duration) {
  return static_cast<std::uint32_t>((duration + 1ms - 1ns) / 1ms);
}

wire::MadMethod method_of(Bytes mad) {
  return static_cast<wire::MadMethod>(wire::load_u8(mad.data() + 3));
}
std::uint32_t low_transaction(Bytes mad) {
  return static_cast<std::uint32_t>(wire::load_be64(mad.data() + kTransactionOffset));
}

// What came in says no Q_Key: it had the one that all of general management has.
mgmt::MadAddress sender_of(const Mad& header) {
  mgmt::MadAddress from = address_from(header.address);
  if (from.qpn != kQp0) from.qkey = kGsiQKey;
  return from;
}

}  // namespace

RemoteMadLayer::RemoteMadLayer(io::UniqueFd connection)
    : connection_(std::move(connection)), buffer_(sizeof(Mad) + kMostInline) {
}

RemoteMadLayer::~RemoteMadLayer() = default;

Expected<std::unique_ptr<RemoteMadLayer>> RemoteMadLayer::open(const umad::Place& place,
                                                               std::uint32_t port,
                                                               io::Reactor& reactor) {
  auto connection = umad::open_port(place, port);
  if (!connection) return tl::unexpected(connection.error());
  if (fcntl(connection->get(), F_SETFL, O_NONBLOCK) != 0) return fail_errno(errno, "fcntl");
  std::unique_ptr<RemoteMadLayer> layer(new RemoteMadLayer(std::move(*connection)));
  if (auto watching = layer->watch(reactor); !watching) return tl::unexpected(watching.error());
  return layer;
}

Expected<void> RemoteMadLayer::watch(io::Reactor& reactor) {
  auto watch = reactor.watch(connection_.get(), EPOLLIN, [this](std::uint32_t) { read_all(); });
  if (!watch) return tl::unexpected(watch.error());
  watch_ = std::move(*watch);
  return {};
}

void RemoteMadLayer::end(Error why) {
  ended_ = std::move(why);
  watch_.reset();
}

Expected<mgmt::AgentId> RemoteMadLayer::add_agent(const mgmt::AgentRequest& request,
                                                  mgmt::MadClient& client) {
  if (request.own_transactions) {
    return fail(std::errc::not_supported, "TransactionIDs of one's own: only beside the port");
  }
  const auto answer = umad::ask(connection_.get(), plain::bytes_of(message_for(request)));
  if (!answer) return tl::unexpected(answer.error());
  const mgmt::AgentId id{++last_agent_};
  agents_[id] = {.number = answer->agent, .client = &client};
  return id;
}

bool RemoteMadLayer::remove_agent(mgmt::AgentId agent) {
  const auto found = agents_.find(agent);
  if (found == agents_.end()) return false;
  const Unregister request{.kind = kUnregister, .agent = found->second.number};
  agents_.erase(found);
  // A daemon that is gone has no agents either.
  if (!ended_) static_cast<void>(umad::ask(connection_.get(), plain::bytes_of(request)));
  return true;
}

Expected<void> RemoteMadLayer::send(mgmt::AgentId agent, const mgmt::MadRequest& request, Time) {
  const auto found = agents_.find(agent);
  if (found == agents_.end()) return fail(std::errc::invalid_argument, "no such agent");
  if (request.mad.size() < wire::MadHeader::kSize || request.mad.size() > kMostMad) {
    return fail(std::errc::message_size, "no datagram is that long");
  }
  if (ended_) return tl::unexpected(*ended_);
  const Mad header{.kind = kMad,
                   .agent = found->second.number,
                   .status = 0,
                   .timeout_ms = whole_milliseconds(request.timeout),
                   .retries = request.retries,
                   .length = static_cast<std::uint32_t>(request.mad.size()),
                   .address = address_to(request.to)};
  // Known before it is sent: the answer may be there at once.
  if (!mgmt::answers(method_of(request.mad)) && header.timeout_ms > 0) {
    found->second.waiting[low_transaction(request.mad)] = request.cookie;
  }
  auto sent = umad::send_mad(connection_.get(), header, request.mad);
  if (!sent) found->second.waiting.erase(low_transaction(request.mad));
  return sent;
}

void RemoteMadLayer::read_all() {
  for (int i = 0; i < kRemoteMadLayerTurn && !ended_; ++i) {
    auto message = io::receive_message(connection_.get(), buffer_);
    if (!message) return end(message.error());
    if (!*message) return;
    if ((*message)->size == 0) {
      return end({std::errc::connection_reset, "the lab has ended"});
    }
    on_message(Bytes(buffer_).first((*message)->size), (*message)->descriptor.get());
  }
}

void RemoteMadLayer::on_message(Bytes message, int file) {
  const Error nonsense{std::errc::bad_message, "the lab's daemon says what makes no sense"};
  const auto header = plain::read<Mad>(message);
  if (!header || header->kind != kMad || header->length < wire::MadHeader::kSize ||
      header->length > kMostMad) {
    return end(nonsense);
  }
  const Bytes rest = message.subspan(sizeof *header);
  if (header->length <= kMostInline) {
    return rest.size() == header->length ? hand_out(*header, rest) : end(nonsense);
  }
  const auto size = io::sealed_file_size(file);
  if (!size || *size != header->length) return end(nonsense);
  std::vector<std::byte> whole(*size);
  if (!io::read_sealed_file(file, whole)) return end(nonsense);
  const Taken taken{.kind = kTaken, .length = header->length};
  if (auto sent = umad::send_waiting(connection_.get(), plain::bytes_of(taken)); !sent) {
    return end(sent.error());
  }
  hand_out(*header, whole);
}

void RemoteMadLayer::hand_out(const Mad& header, Bytes datagram) {
  const auto found = std::find_if(agents_.begin(), agents_.end(), [&](const auto& each) {
    return each.second.number == header.agent;
  });
  if (found == agents_.end()) return;  // removed meanwhile
  const mgmt::AgentId id = found->first;
  Agent& agent = found->second;
  const bool is_answer = mgmt::answers(method_of(datagram));
  // An answer to a request of ours, or a request that comes back; not an answer that does.
  std::optional<std::uint64_t> cookie;
  if (is_answer == (header.status == 0)) {
    const auto waiting = agent.waiting.extract(low_transaction(datagram));
    if (!waiting.empty()) cookie = waiting.mapped();
  }
  if (header.status == 0) {
    return agent.client->received(id,
                                  {.from = sender_of(header), .mad = datagram, .cookie = cookie});
  }
  const bool aborted = header.status == ECONNABORTED;
  agent.client->finished(id, cookie.value_or(0), datagram,
                         aborted ? mgmt::MadResult::kAborted : mgmt::MadResult::kTimedOut);
}

}  // namespace weft::daemon
