// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/cm_session.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "base/plain_bytes.h"
#include "daemon/door_messages.h"
#include "daemon/hello.h"
#include "daemon/lab/cm_server.h"
#include "io/pass_descriptor.h"

namespace weft::daemon {
namespace {

namespace door = host::door;

// So many messages of one program before others get their turn.
constexpr int kCmSessionTurn = 64;

}  // namespace

CmSession::CmSession(CmServer& server, std::uint64_t id, io::UniqueFd socket, uid_t user,
                     OtherUsers::Place place)
    : server_(server),
      id_(id),
      socket_(std::move(socket)),
      user_(user),
      place_(std::move(place)),
      buffer_(kLongestDoorMessage) {
}

// The last one that knows a file ends it: its peers are told that the program is gone.
CmSession::~CmSession() {
  if (file_) server_.leave_file(*file_);
}

Expected<void> CmSession::start(io::Reactor& reactor) {
  auto watch = reactor.watch(socket_.get(), EPOLLIN, [this](std::uint32_t) {
    if (!read_all()) server_.end(id_);
  });
  if (!watch) return tl::unexpected(watch.error());
  watch_ = std::move(*watch);
  return {};
}

bool CmSession::read_all() {
  for (int i = 0; i < kCmSessionTurn; ++i) {
    const auto message = io::receive_message(socket_.get(), buffer_);
    if (!message) return message.error().code == std::errc::message_size && nonsense();
    if (!*message) return true;
    if ((*message)->size == 0) return false;
    const Bytes bytes = Bytes(buffer_).first((*message)->size);
    if (!(file_ ? on_request(bytes) : on_hello(bytes))) return false;
  }
  return true;
}

bool CmSession::on_hello(Bytes message) {
  const auto hello = read_hello<door::Hello>(message, door_greeting("the lab's daemon"), true);
  if (!hello) {
    if (is_nonsense(hello.error())) return nonsense();
    static_cast<void>(turn_away(hello.error()));
    return false;
  }
  const std::string_view name(hello->node, strnlen(hello->node, sizeof hello->node));
  if (name.size() == sizeof hello->node) return nonsense();
  if (hello->purpose == door::kOpen) {
    const auto opened = server_.open_file(name, user_);
    if (!opened) return turn_away(opened.error());
    file_ = *opened;
  } else if (hello->purpose == door::kJoin) {
    const auto joined = server_.join_file(hello->file, hello->secret);
    if (!joined) return turn_away(joined.error());
    file_ = hello->file;
  } else {
    return nonsense();
  }
  const CmServer::File& file = server_.files_.at(*file_);
  door::Welcome welcome{};
  welcome.file = *file_;
  welcome.secret = file.secret;
  return answer(welcome, file.events);
}

bool CmSession::on_request(Bytes message) {
  const auto command = parse_door_command(message);
  if (!command) return nonsense();
  const CmServer::File& file = server_.files_.at(*file_);
  // Another file of the same node and user, or nothing that it would know: files are numbered, and
  // whoever names one can take identifiers out of it.
  const auto other = server_.files_.find(command->other);
  const bool known = other != server_.files_.end() && other->second.node == file.node &&
                     other->second.user == file.user;
  const rdmacm::Reply reply =
      file.node->execute(file.id, command->command, command->extra, known ? other->second.id : 0);
  return keep(send_door_answer(socket_.get(), reply));
}

bool CmSession::answer(const door::Welcome& welcome, int descriptor) {
  return keep(io::send_message(socket_.get(), plain::bytes_of(welcome), descriptor));
}

bool CmSession::keep(const Expected<void>& sent) {
  if (!sent && sent.error().code == std::errc::no_buffer_space) {
    server_.counters_.add(CmServerCounter::kUnread);
  }
  return sent.has_value();
}

// The connection stays for the program to end, so that it is sure to read why.
bool CmSession::turn_away(const Error& why) {
  return answer(refusal<door::Welcome>(why), -1);
}

bool CmSession::nonsense() {
  server_.counters_.add(CmServerCounter::kNonsense);
  return false;
}

}  // namespace weft::daemon
