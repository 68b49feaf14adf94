// SPDX-License-Identifier: Apache-2.0
#include "port/ring/node_attachment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>

#include <cerrno>
#include <cstring>

#include "base/plain_bytes.h"
#include "base/time.h"
#include "io/await.h"
#include "io/pass_descriptor.h"
#include "io/unix_socket.h"
#include "port/ring/raw_rule_code.h"

namespace weft::port {
namespace {

using namespace attach;

// The daemon answers at once; one that does not is stopped or worse.
constexpr Duration kPatience = 10s;

constexpr std::size_t kLongestNews =
    sizeof(Facts) + kMostGids * sizeof(Gid) + kMostPkeys * sizeof(std::uint16_t);

tl::unexpected<Error> strange() {
  return fail(std::errc::bad_message, "the lab's daemon is of another version of Weft");
}

tl::unexpected<Error> gone() {
  return fail(std::errc::connection_reset, "the lab's daemon has ended the connection");
}

template <std::size_t kSize>
std::string text_of(const char (&field)[kSize]) {
  return {field, strnlen(field, kSize)};
}

// The next message, which is a Message.
template <class Message>
Expected<Message> receive(int fd, std::span<io::UniqueFd> files) {
  if (auto ready = io::await(fd, POLLIN, kPatience); !ready) {
    if (ready.error().code != std::errc::timed_out) return tl::unexpected(ready.error());
    return fail(std::errc::timed_out, "the lab's daemon does not answer");
  }
  std::array<std::byte, sizeof(Message)> buffer;
  const auto got = io::receive_message(fd, buffer, files);
  if (!got) return tl::unexpected(got.error());
  if (!*got || (*got)->size == 0) return gone();
  const auto message = plain::read<Message>(Bytes(buffer).first((*got)->size));
  if (!message) return strange();
  return *message;
}

struct Greeted {
  io::UniqueFd connection;
  Welcome welcome;
};

enum class Wish : std::uint32_t { kDescription = 0, kPlace = 1 };

Expected<Greeted> greet(const NodePlace& place, Wish wish, std::span<io::UniqueFd> files) {
  Hello hello{.magic = kMagic,
              .version = kVersion,
              .attach = static_cast<std::uint32_t>(wish),
              .reserved = 0,
              .node = {}};
  if (place.node.size() > kMostName) {
    return fail(std::errc::no_such_device, fmt::format("'{}' is no node's name", place.node));
  }
  std::memcpy(hello.node, place.node.data(), place.node.size());
  auto connection = io::connect_unix(place.lab + "/attach", io::UnixKind::kSeqPacket, kPatience);
  if (!connection) return tl::unexpected(connection.error());
  if (auto sent = io::send_message(connection->get(), plain::bytes_of(hello)); !sent) {
    return tl::unexpected(sent.error());
  }
  const auto welcome = receive<Welcome>(connection->get(), files);
  if (!welcome) return tl::unexpected(welcome.error());
  if (welcome->error != 0) {
    return fail(static_cast<std::errc>(welcome->error), text_of(welcome->message));
  }
  return Greeted{.connection = std::move(*connection), .welcome = *welcome};
}

}  // namespace

Expected<Welcome> describe_adapter(const NodePlace& place) {
  NodeAttachment::Files none;
  auto greeted = greet(place, Wish::kDescription, none);
  if (!greeted) return tl::unexpected(greeted.error());
  return greeted->welcome;
}

Expected<std::unique_ptr<NodeAttachment>> NodeAttachment::open(const NodePlace& place,
                                                               Files& files) {
  auto greeted = greet(place, Wish::kPlace, files);
  if (!greeted) return tl::unexpected(greeted.error());
  for (const io::UniqueFd& file : files) {
    if (!file) return strange();
  }
  if (greeted->welcome.ports < 1 || greeted->welcome.ports > kMostPorts) return strange();
  io::UniqueFd& news = files[kNews];
  const int flags = fcntl(news.get(), F_GETFL);
  if (flags < 0 || fcntl(news.get(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return fail_errno(errno, "fcntl");
  }
  return std::unique_ptr<NodeAttachment>(
      new NodeAttachment(std::move(greeted->connection), std::move(news), greeted->welcome));
}

Expected<Answer> NodeAttachment::ask(const Request& request) {
  const std::lock_guard guard(asking_);
  if (!connection_) return gone();
  auto sent = io::send_message(connection_.get(), plain::bytes_of(request));
  // One request at a time finds room, unless the daemon does not read at all.
  if (!sent) return tl::unexpected(sent.error());
  std::array<io::UniqueFd, 1> none;
  auto answer = receive<Answer>(connection_.get(), none);
  // A late answer would be taken for the next request's.
  if (!answer) connection_.reset();
  if (answer && answer->error != 0) {
    return fail(static_cast<std::errc>(answer->error), text_of(answer->message));
  }
  return answer;
}

Expected<void> NodeAttachment::ask_for(Action action, Qpn qpn, const Gid& group) {
  Request request{.action = action, .qpn = qpn.value(), .arena = 0, .port = 0, .group = {}};
  std::memcpy(request.group, group.bytes().data(), sizeof request.group);
  if (auto answer = ask(request); !answer) return tl::unexpected(answer.error());
  return {};
}

Expected<Qpn> NodeAttachment::allocate() {
  const auto answer = ask({.action = kAllocate, .qpn = 0, .arena = 0, .port = 0, .group = {}});
  if (!answer) return tl::unexpected(answer.error());
  return Qpn{answer->qpn};
}

Expected<void> NodeAttachment::release(Qpn qpn) {
  return ask_for(kRelease, qpn, Gid{});
}

Expected<void> NodeAttachment::join(Qpn qpn, const Gid& group) {
  return ask_for(kJoin, qpn, group);
}

Expected<void> NodeAttachment::leave(Qpn qpn, const Gid& group) {
  return ask_for(kLeave, qpn, group);
}

Expected<void> NodeAttachment::move(Qpn qpn, std::uint8_t port) {
  auto answer = ask({.action = kMove, .qpn = qpn.value(), .arena = 0, .port = port, .group = {}});
  if (!answer) return tl::unexpected(answer.error());
  return {};
}

Expected<void> NodeAttachment::ask_for(Action action, Qpn qpn, const hca::RawRule& rule) {
  Request request{.action = action, .qpn = qpn.value(), .arena = 0, .port = 0, .group = {}};
  write_rule(rule, request);
  if (auto answer = ask(request); !answer) return tl::unexpected(answer.error());
  return {};
}

Expected<void> NodeAttachment::make_raw(Qpn qpn) {
  return ask_for(kMakeRaw, qpn, Gid{});
}

Expected<void> NodeAttachment::divert(Qpn qpn, const hca::RawRule& rule) {
  return ask_for(kDivert, qpn, rule);
}

Expected<void> NodeAttachment::restore(Qpn qpn, const hca::RawRule& rule) {
  return ask_for(kRestore, qpn, rule);
}

Expected<void> NodeAttachment::mapped(std::uint32_t arena) {
  auto answer = ask({.action = kMapped, .qpn = 0, .arena = arena, .port = 0, .group = {}});
  if (!answer) return tl::unexpected(answer.error());
  return {};
}

Expected<std::optional<NodeAttachment::News>> NodeAttachment::next_news() {
  std::array<std::byte, kLongestNews> buffer;
  auto got = io::receive_message(news_.get(), buffer);
  if (!got) return tl::unexpected(got.error());
  if (!*got) return std::nullopt;
  if ((*got)->size == 0) return gone();
  const Bytes message = Bytes(buffer).first((*got)->size);
  const auto arena = plain::read<Arena>(message);
  if (!arena) return strange();
  if (arena->kind == kFacts) {
    auto facts = parse_facts(message);
    if (!facts) return tl::unexpected(facts.error());
    const bool reregister = (plain::read<Facts>(message)->events & kClientReregister) != 0;
    return News(FactsNews{std::move(*facts), reregister});
  }
  if (arena->kind == kArena && (*got)->descriptor) {
    return News(ArenaNews{arena->arena, std::move((*got)->descriptor)});
  }
  if (arena->kind == kArenaGone) return News(ArenaNews{arena->arena, {}});
  return strange();
}

Expected<NodeAttachment::News> NodeAttachment::await_news() {
  for (;;) {
    auto news = next_news();
    if (!news) return tl::unexpected(news.error());
    if (*news) return std::move(**news);
    if (auto ready = io::await(news_.get(), POLLIN, kPatience); !ready) {
      return tl::unexpected(ready.error());
    }
  }
}

}  // namespace weft::port
