// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/mad_session.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <utility>

#include "base/plain_bytes.h"
#include "daemon/hello.h"
#include "daemon/lab/mad_address.h"
#include "daemon/lab/mad_server.h"
#include "io/pass_descriptor.h"
#include "io/sealed_file.h"

namespace weft::daemon {
namespace {

using namespace umad::protocol;

constexpr std::size_t kMadSessionLongestMessage =
    std::max({sizeof(Hello), sizeof(Register), sizeof(Mad) + kMostInline});
// So many messages of one program before others get their turn.
constexpr int kMadSessionTurn = 64;
constexpr Greeting kMadSessionGreeting{kMagic, kVersion, offsetof(Hello, purpose),
                                       "the lab's daemon"};
// A program waits for its answer as long as it told us to, and begins to before we do: what nobody
// answers comes back a little earlier, or it would find nothing.
constexpr Duration kHeadStart = 10ms;
constexpr int kHeadStartShare = 8;  // of shorter times

Duration timeout_from(const Mad& header) {
  const Duration asked = std::chrono::milliseconds{header.timeout_ms};
  return asked - std::min(kHeadStart, asked / kHeadStartShare);
}

bool answer(const io::UniqueFd& socket, const Registered& what) {
  // A program that does not wait for its answer does without.
  static_cast<void>(io::send_message(socket.get(), plain::bytes_of(what)));
  return true;
}

bool refuse(const io::UniqueFd& socket, const Error& why) {
  return answer(socket, refusal<Registered>(why));
}

}  // namespace

MadSession::MadSession(MadServer& server, std::uint64_t id, io::UniqueFd socket,
                       OtherUsers::Place place)
    : server_(server),
      id_(id),
      socket_(std::move(socket)),
      place_(std::move(place)),
      outbox_(socket_.get(), server.config_.outbox),
      buffer_(kMadSessionLongestMessage) {
}

MadSession::~MadSession() {
  bool had_agents = false;
  for (const std::optional<mgmt::AgentId>& agent : agents_) {
    if (agent) had_agents = port().remove_agent(*agent);
  }
  if (had_agents) node_->used();
}

Expected<void> MadSession::start() {
  auto watch = server_.reactor_.watch(socket_.get(), EPOLLIN,
                                      [this](std::uint32_t events) { on_ready(events); });
  if (!watch) return tl::unexpected(watch.error());
  watch_ = std::move(*watch);
  return {};
}

void MadSession::on_ready(std::uint32_t events) {
  if ((events & EPOLLOUT) != 0) {
    outbox_.flush();
    watch_for_room();
  }
  if ((events & ~std::uint32_t{EPOLLOUT}) != 0 && !read_all()) server_.end(id_);
}

void MadSession::watch_for_room() {
  if (outbox_.wants_room() == watching_for_room_) return;
  watching_for_room_ = outbox_.wants_room();
  const std::uint32_t events = watching_for_room_ ? EPOLLIN | EPOLLOUT : EPOLLIN;
  static_cast<void>(server_.reactor_.change_events(watch_, events));
}

bool MadSession::read_all() {
  for (int i = 0; i < kMadSessionTurn; ++i) {
    auto message = io::receive_message(socket_.get(), buffer_);
    if (!message) return message.error().code == std::errc::message_size && nonsense();
    if (!*message) return true;
    if ((*message)->size == 0) return false;
    const Bytes bytes = Bytes(buffer_).first((*message)->size);
    if (!on_message(bytes, std::move((*message)->descriptor))) return false;
  }
  return true;
}

bool MadSession::on_message(Bytes message, io::UniqueFd descriptor) {
  if (!has_said_hello_) return on_hello(message);
  const auto kind = plain::read<std::uint32_t>(message);
  if (!node_ || !kind) return nonsense();
  switch (*kind) {
    case kRegister:
      return on_register(message, descriptor);
    case kUnregister:
      return on_unregister(message, descriptor);
    case kMad:
      return on_mad(message, descriptor);
    case kTaken:
      return on_taken(message);
    default:
      return nonsense();
  }
}

bool MadSession::on_hello(Bytes message) {
  const auto hello = read_hello<Hello>(message, kMadSessionGreeting);
  has_said_hello_ = true;
  if (!hello) {
    if (is_nonsense(hello.error())) return nonsense();
    static_cast<void>(turn_away(hello.error()));
    return false;
  }
  const std::string name(hello->node, strnlen(hello->node, sizeof hello->node));
  auto node = server_.find_(name);
  if (!node) return turn_away(node.error());
  const auto port = check_mad_port(*node, name, hello->port);
  if (!port) return turn_away(port.error());
  Welcome out{};
  if (hello->purpose == kOpen) {
    node_ = std::move(*node);
    port_ = *port;
    return welcome(out);
  }
  if (hello->purpose != kSubnetManager) return nonsense();
  const auto path = server_.files_.path_of(name, *node, *port);
  if (!path) return turn_away(path.error());
  if (path->size() >= sizeof out.message) {
    return turn_away({std::errc::filename_too_long, "the lab's directory has too long a name"});
  }
  std::memcpy(out.message, path->data(), path->size());
  return welcome(out);
}

bool MadSession::welcome(const Welcome& answer) {
  return io::send_message(socket_.get(), plain::bytes_of(answer)).has_value();
}

// The connection stays for the program to end, so that it is sure to read why.
bool MadSession::turn_away(const Error& why) {
  return welcome(refusal<Welcome>(why));
}

bool MadSession::nonsense() {
  server_.counters_.add(MadCounter::kNonsense);
  return false;
}

bool MadSession::on_register(Bytes message, const io::UniqueFd& socket) {
  const auto request = plain::read<Register>(message);
  if (!request || message.size() != sizeof *request || !socket) return nonsense();
  const auto place = std::find(agents_.begin(), agents_.end(), std::nullopt);
  if (place == agents_.end()) {
    return refuse(socket, {std::errc::not_enough_memory, "an open port has at most 32 agents"});
  }
  mgmt::AgentRequest wanted;
  wanted.mgmt_class = static_cast<wire::MgmtClass>(request->mgmt_class);
  wanted.class_version = request->class_version;
  wanted.rmpp = request->rmpp != 0;
  std::copy(std::begin(request->oui), std::end(request->oui), wanted.oui.begin());
  for (std::size_t method = 0; method < mgmt::AgentRequest::kMethods; ++method) {
    wanted.methods[method] = (request->methods[method / 64] >> method % 64 & 1) != 0;
  }
  const auto agent = port().add_agent(wanted, *this);
  if (!agent) return refuse(socket, agent.error());
  *place = *agent;
  return answer(socket, {.error = 0,
                         .agent = static_cast<std::uint32_t>(std::distance(agents_.begin(), place)),
                         .message = {}});
}

bool MadSession::on_unregister(Bytes message, const io::UniqueFd& socket) {
  const auto request = plain::read<Unregister>(message);
  if (!request || message.size() != sizeof *request || !socket) return nonsense();
  if (request->agent >= agents_.size() || !agents_[request->agent]) {
    return refuse(socket, {std::errc::invalid_argument, "there is no such agent"});
  }
  port().remove_agent(*agents_[request->agent]);
  agents_[request->agent].reset();
  node_->used();
  return answer(socket, {});
}

bool MadSession::on_mad(Bytes message, const io::UniqueFd& file) {
  const auto header = plain::read<Mad>(message);
  if (!header || header->length > kMostMad) return nonsense();
  const Bytes rest = message.subspan(sizeof *header);
  if (header->length <= kMostInline) {
    if (rest.size() != header->length) return nonsense();
    send(*header, rest);
    return true;
  }
  const auto size = io::sealed_file_size(file.get());
  if (!size || *size != header->length) return nonsense();
  if (sending_bytes_ + *size > kMostSending) {
    give_back(header->agent, rest, ENOMEM);
    return true;
  }
  std::vector<std::byte> whole(*size);
  if (!io::read_sealed_file(file.get(), whole)) return nonsense();
  send(*header, whole);
  return true;
}

void MadSession::send(const Mad& header, Bytes datagram) {
  if (header.agent >= agents_.size() || !agents_[header.agent]) {
    return give_back(header.agent, datagram, EINVAL);
  }
  mgmt::MadRequest request{.to = address_from(header.address),
                           .mad = datagram,
                           .timeout = timeout_from(header),
                           .retries = header.retries};
  if (datagram.size() > wire::kMadSize) {
    request.cookie = ++last_cookie_;
    sending_[request.cookie] = datagram.size();
    sending_bytes_ += datagram.size();
  }
  const auto sent = port().send(*agents_[header.agent], request, server_.config_.now());
  if (!sent) {
    ended(request.cookie);
    give_back(header.agent, datagram, static_cast<int>(sent.error().code));
    server_.counters_.add(MadCounter::kRefused);
  }
  node_->used();
}

void MadSession::ended(std::uint64_t cookie) {
  const auto found = sending_.find(cookie);
  if (found == sending_.end()) return;
  sending_bytes_ -= found->second;
  sending_.erase(found);
}

bool MadSession::on_taken(Bytes message) {
  const auto taken = plain::read<Taken>(message);
  if (!taken || message.size() != sizeof *taken) return nonsense();
  outbox_.taken(taken->length);
  watch_for_room();
  return true;
}

std::optional<std::uint32_t> MadSession::index_of(mgmt::AgentId agent) const {
  const auto found = std::find(agents_.begin(), agents_.end(), std::optional(agent));
  if (found == agents_.end()) return std::nullopt;
  return static_cast<std::uint32_t>(std::distance(agents_.begin(), found));
}

void MadSession::received(mgmt::AgentId agent, const mgmt::ReceivedMad& mad) {
  if (mad.cookie) ended(*mad.cookie);
  const auto index = index_of(agent);
  if (!index) return;
  Mad header{};
  header.agent = *index;
  header.address = address_to(mad.from);
  header.address.qkey = 0;  // as Linux has it: what came in had the right one
  put(header, mad.mad);
}

void MadSession::finished(mgmt::AgentId agent, std::uint64_t cookie, Bytes mad,
                          mgmt::MadResult result) {
  ended(cookie);
  const auto index = index_of(agent);
  if (!index || result == mgmt::MadResult::kSent) return;
  give_back(*index, mad, result == mgmt::MadResult::kTimedOut ? ETIMEDOUT : ECONNABORTED);
}

void MadSession::give_back(std::uint32_t agent, Bytes datagram, int error) {
  Mad header{};
  header.agent = agent;
  header.status = static_cast<std::uint32_t>(error);
  // Linux too gives back the header only.
  put(header, datagram.first(std::min(datagram.size(), wire::MadHeader::kSize)));
}

void MadSession::put(const Mad& header, Bytes datagram) {
  Mad whole = header;
  whole.kind = kMad;
  whole.length = static_cast<std::uint32_t>(datagram.size());
  if (!outbox_.put(whole, datagram)) server_.counters_.add(MadCounter::kUnread);
  watch_for_room();
}

}  // namespace weft::daemon
