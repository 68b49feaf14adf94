// SPDX-License-Identifier: Apache-2.0
#include "daemon/session.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>
#include <utility>

#include "daemon/agent.h"
#include "daemon/door_messages.h"
#include "daemon/hello.h"
#include "io/pass_descriptor.h"
#include "io/sealed_file.h"
#include "rdmacm/abi.h"

namespace weft::daemon {
namespace {

namespace door = host::door;
using rdmacm::abi::bytes_of;

// So many messages of one program before others get their turn.
constexpr int kSessionTurn = 64;
constexpr std::uint32_t kLastUdpPort = 65535;

// What follows a greeting; nothing when it is not as long as that says.
std::optional<TapChoice> tap_in(const door::Hello& hello, Bytes message) {
  if (message.size() < sizeof hello) return std::nullopt;
  const Bytes rest = message.subspan(sizeof hello);
  if (hello.fault_size > door::kMostFault || hello.capture_size > door::kMostCapture ||
      rest.size() != std::size_t{hello.fault_size} + hello.capture_size) {
    return std::nullopt;
  }
  const auto text = [&](std::size_t at, std::size_t size) {
    return std::string(reinterpret_cast<const char*>(rest.data()) + at, size);
  };
  return TapChoice{.faults = text(0, hello.fault_size),
                   .capture = text(hello.fault_size, hello.capture_size),
                   .ordinal = hello.ordinal};
}

}  // namespace

Session::Session(Agent& agent, std::uint64_t id, io::UniqueFd socket,
                 const io::PeerCredentials& peer)
    : agent_(agent),
      id_(id),
      socket_(std::move(socket)),
      peer_(peer),
      buffer_(kLongestDoorMessage) {
}

Session::~Session() {
  if (file_) agent_.leave_file(*file_);
}

Expected<void> Session::start(io::Reactor& reactor) {
  auto watch = reactor.watch(socket_.get(), EPOLLIN, [this](std::uint32_t) {
    if (!read_all()) agent_.end(id_);
  });
  if (!watch) return tl::unexpected(watch.error());
  watch_ = std::move(*watch);
  return {};
}

std::optional<std::uint8_t> Session::slot() const {
  return slot_ ? std::optional(slot_->number) : std::nullopt;
}

void Session::tell(const hca::Agreement& agreement) {
  door::Agreement said{};
  said.local_qpn = agreement.local.value();
  said.remote_qpn = agreement.remote.value();
  const auto& gid = agreement.remote_address.bytes();
  std::copy(gid.begin(), gid.end(), std::begin(said.remote_gid));
  static_cast<void>(io::send_message(socket_.get(), bytes_of(said)));
}

bool Session::read_all() {
  for (int i = 0; i < kSessionTurn; ++i) {
    const auto message = io::receive_message(socket_.get(), buffer_);
    if (!message) return message.error().code == std::errc::message_size && nonsense();
    if (!*message) return true;
    if ((*message)->size == 0) return false;
    if (!on_message(Bytes(buffer_).first((*message)->size))) return false;
  }
  return true;
}

bool Session::on_message(Bytes message) {
  if (file_) return on_request(message);
  return slot_ ? nonsense() : on_hello(message);
}

bool Session::on_hello(Bytes message) {
  const auto hello = read_hello<door::Hello>(message, door_greeting("the host agent"), true);
  has_said_hello_ = true;
  if (!hello) {
    if (is_nonsense(hello.error())) return nonsense();
    static_cast<void>(turn_away(hello.error()));
    return false;
  }
  const auto tap = tap_in(*hello, message);
  if (!tap) return nonsense();
  if (hello->purpose == door::kReport) return send_report();
  if (peer_.uid != geteuid()) {
    return turn_away({std::errc::operation_not_permitted, "this is another user's host agent"});
  }
  if (hello->wire != door::kWireUdp && hello->wire != door::kWireRoce) {
    return turn_away({std::errc::operation_not_supported, "this wire has no connection manager"});
  }
  const bool roce = hello->wire == door::kWireRoce;
  if (!roce && (hello->cm_port == 0 || hello->cm_port > kLastUdpPort)) {
    return turn_away({std::errc::invalid_argument, "queue pair 1 wants a UDP port, 1 to 65535"});
  }
  const WireChoice choice{roce,
                          roce ? std::uint16_t{0} : static_cast<std::uint16_t>(hello->cm_port)};
  door::Welcome answer{};
  switch (hello->purpose) {
    case door::kOpen: {
      const auto file = agent_.open_file(choice, *tap);
      if (!file) return turn_away(file.error());
      file_ = *file;
      break;
    }
    case door::kJoin: {
      const auto joined = agent_.join_file(hello->file, hello->secret);
      if (!joined) return turn_away(joined.error());
      file_ = hello->file;
      break;
    }
    case door::kSlot: {
      const auto wire = agent_.wire(choice);
      if (!wire) return turn_away(wire.error());
      auto slot = (*wire)->take_slot();
      if (!slot) return turn_away(slot.error());
      slot_.emplace(std::move(*slot));
      answer.slot = slot_->number;
      return welcome(answer, slot_->socket.fd());
    }
    default:
      return nonsense();
  }
  const Agent::File& file = agent_.files_.at(*file_);
  answer.file = *file_;
  answer.secret = file.secret;
  return welcome(answer, file.events);
}

bool Session::welcome(const door::Welcome& welcome, int descriptor) {
  return answer(bytes_of(welcome), descriptor);
}

bool Session::answer(Bytes message, int descriptor) {
  return keep(io::send_message(socket_.get(), message, descriptor));
}

bool Session::keep(const Expected<void>& sent) {
  if (!sent && sent.error().code == std::errc::no_buffer_space) {
    agent_.counters_.add(AgentCounter::kUnread);
  }
  return sent.has_value();
}

bool Session::nonsense() {
  agent_.counters_.add(AgentCounter::kNonsense);
  return false;
}

// As a file: it may be longer than a message, and its reader may take its time.
bool Session::send_report() {
  const std::string text = agent_.report();
  const auto file = io::make_sealed_file("weft-agent-report", std::as_bytes(std::span(text)));
  if (!file) return turn_away(file.error());
  return welcome({}, file->get());
}

// The connection stays for the program to end, so that it is sure to read why.
bool Session::turn_away(const Error& why) {
  return welcome(refusal<door::Welcome>(why), -1);
}

bool Session::on_request(Bytes message) {
  const auto command = parse_door_command(message);
  if (!command) return nonsense();
  const Agent::File& file = agent_.files_.at(*file_);
  // Another file of the same wire, or nothing that the core would know.
  const auto other = agent_.files_.find(command->other);
  const bool known = other != agent_.files_.end() && other->second.wire == file.wire;
  const rdmacm::Reply reply =
      file.wire->execute(file.id, command->command, command->extra, known ? other->second.id : 0);
  return keep(send_door_answer(socket_.get(), reply));
}

}  // namespace weft::daemon
