// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/attach_session.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <utility>

#include "base/plain_bytes.h"
#include "daemon/hello.h"
#include "daemon/lab/attach_facts.h"
#include "daemon/lab/attach_server.h"
#include "daemon/lab/lab_node.h"
#include "daemon/lab/mad_node.h"
#include "io/pass_descriptor.h"
#include "port/ring/raw_rule_code.h"
#include "umad/protocol.h"

namespace weft::daemon {
namespace {

using namespace port::attach;
using port::ring::ProgramBlocks;

constexpr std::size_t kAttachSessionLongestMessage =
    std::max({sizeof(Hello), sizeof(Request), sizeof(umad::protocol::Hello)});
// So many messages of one program before others get their turn.
constexpr int kAttachSessionTurn = 64;

constexpr Greeting kAttachSessionGreeting{kMagic, kVersion, offsetof(Hello, attach),
                                          "the lab's daemon"};
constexpr Greeting kQuestion{umad::protocol::kMagic, umad::protocol::kVersion,
                             offsetof(umad::protocol::Hello, purpose), "the lab's daemon"};

Expected<Qpn> without_qpn(const Expected<void>& done) {
  return done ? Expected<Qpn>(Qpn{}) : Expected<Qpn>(tl::unexpected(done.error()));
}

}  // namespace

AttachSession::AttachSession(AttachServer& server, std::uint64_t id, io::UniqueFd socket,
                             const io::PeerCredentials& peer, OtherUsers::Place place)
    : server_(server),
      id_(id),
      socket_(std::move(socket)),
      peer_(peer),
      place_(std::move(place)),
      buffer_(kAttachSessionLongestMessage) {
}

AttachSession::~AttachSession() = default;

Expected<void> AttachSession::start() {
  auto watch = server_.reactor_.watch(socket_.get(), EPOLLIN,
                                      [this](std::uint32_t events) { on_ready(events); });
  if (!watch) return tl::unexpected(watch.error());
  watch_ = std::move(*watch);
  return {};
}

void AttachSession::on_ready(std::uint32_t events) {
  // A request that waits is of nobody when the program is gone.
  const bool gone = releasing_ && (events & (EPOLLHUP | EPOLLERR)) != 0;
  if (gone || !read_all()) server_.end(*this);
}

bool AttachSession::read_all() {
  for (int i = 0; i < kAttachSessionTurn && !releasing_; ++i) {
    auto message = io::receive_message(socket_.get(), buffer_);
    if (!message) return message.error().code == std::errc::message_size && nonsense();
    if (!*message) return true;
    if ((*message)->size == 0) return false;
    if (!on_message(Bytes(buffer_).first((*message)->size))) return false;
  }
  return true;
}

bool AttachSession::on_message(Bytes message) {
  if (!has_said_hello_) return on_hello(message);
  return program_ != nullptr ? on_request(message) : nonsense();
}

bool AttachSession::nonsense() {
  server_.counters_.add(AttachCounter::kNonsense);
  return false;
}

// What a node shows of itself to those who may run there (umad/protocol.h), a switch too.
bool AttachSession::on_question(Bytes message) {
  const auto hello = read_hello<umad::protocol::Hello>(message, kQuestion);
  const bool is_one = hello && hello->purpose == umad::protocol::kDescribe;
  if (!is_one && (hello || is_nonsense(hello.error()))) return nonsense();
  const auto refuse = [this](const Error& why) {
    return io::send_message(socket_.get(), plain::bytes_of(refusal<umad::protocol::Welcome>(why)))
        .has_value();
  };
  if (!hello) return refuse(hello.error());
  const std::string name(hello->node, strnlen(hello->node, sizeof hello->node));
  fabric::Node* const node = server_.fabric_.find_node(name);
  if (node == nullptr) return refuse(no_such_node(server_.fabric_, name).value());
  const auto messages = description_of({&node->management(), node, {}});
  return std::all_of(messages.begin(), messages.end(), [this](const auto& each) {
    return io::send_message(socket_.get(), each).has_value();
  });
}

bool AttachSession::on_hello(Bytes message) {
  const auto magic = plain::read<std::uint32_t>(message);
  if (magic == umad::protocol::kMagic) {
    has_said_hello_ = true;
    return on_question(message);
  }
  const auto hello = read_hello<Hello>(message, kAttachSessionGreeting);
  has_said_hello_ = true;
  if (!hello) {
    if (is_nonsense(hello.error())) return nonsense();
    static_cast<void>(turn_away(hello.error()));
    return false;
  }
  if (hello->attach > 1) return nonsense();
  node_.assign(hello->node, strnlen(hello->node, sizeof hello->node));
  fabric::ChannelAdapter* const adapter = server_.fabric_.find_adapter(node_);
  if (adapter == nullptr) {
    const fabric::Node* const node = server_.fabric_.find_node(node_);
    return turn_away(node == nullptr ? no_such_node(server_.fabric_, node_).value()
                                     : Error{std::errc::no_such_device,
                                             fmt::format("{} is a {}, which has no queue pairs",
                                                         node_, fabric::to_string(node->kind()))});
  }
  return hello->attach == 0 ? welcome(program_welcome(*adapter)) : attach(*adapter);
}

bool AttachSession::attach(fabric::ChannelAdapter& adapter) {
  if (server_.programs() >= server_.config_.max_programs) {
    server_.counters_.add(AttachCounter::kTurnedAway);
    return turn_away({std::errc::resource_unavailable_try_again,
                      fmt::format("{} programs are on nodes of this lab, and no more may be",
                                  server_.config_.max_programs)});
  }
  auto end = port::ring::DaemonEnd::create(server_.new_arena());
  if (!end) return turn_away(end.error());
  adapter_ = &adapter;
  RingOwner& owner = *this;
  auto program = std::make_unique<RingProgram>(std::move(*end), server_.fabric_.pool(),
                                               server_.counters_, owner);
  if (const auto placed = program->attach(adapter); !placed) return turn_away(placed.error());
  std::array<int, 2> news{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, news.data()) != 0) {
    return turn_away(fail_errno(errno, "socketpair").value());
  }
  news_.reset(news[0]);
  const io::UniqueFd theirs(news[1]);
  // The edge is enough, so that the doorbell need not be read: a program can make that wait.
  auto watch = server_.reactor_.watch(program->end().doorbell(), EPOLLIN | EPOLLET,
                                      [this](std::uint32_t) { touched(); });
  if (!watch) return turn_away(watch.error());
  doorbell_watch_ = std::move(*watch);
  program_ = std::move(program);
  server_.placed(*this);
  Welcome out = program_welcome(adapter);
  out.arena = program_->end().program().arena();
  std::array<int, kFiles> files{};
  const auto rings = program_->end().files();
  std::copy(rings.begin(), rings.end(), files.begin());
  files[kNews] = theirs.get();
  for (unsigned port = 1; port <= adapter.port_count(); ++port)
    owed_facts_[static_cast<mgmt::PortNumber>(port)] = 0;
  touched();
  return welcome(out, files);
}

bool AttachSession::welcome(const Welcome& welcome, std::span<const int> files) {
  return io::send_message(socket_.get(), plain::bytes_of(welcome), files).has_value();
}

// The connection stays for the program to end, so that it is sure to read why.
bool AttachSession::turn_away(const Error& why) {
  return welcome(refusal<Welcome>(why));
}

bool AttachSession::on_request(Bytes message) {
  const auto request = plain::read<Request>(message);
  if (!request || message.size() != sizeof *request) return nonsense();
  std::array<std::uint8_t, 16> group{};
  std::copy(std::begin(request->group), std::end(request->group), group.begin());
  const Qpn qpn{request->qpn};
  if (qpn.value() != request->qpn) return nonsense();
  switch (request->action) {
    case kAllocate: {
      const auto allocated = program_->attachment(1).allocate();
      if (allocated) ++queue_pairs_;
      return answer(allocated);
    }
    case kRelease:
      return on_release(qpn);
    case kJoin:
      return answer(without_qpn(program_->attachment_of(qpn).join(qpn, Gid(group))));
    case kLeave:
      return answer(without_qpn(program_->attachment_of(qpn).leave(qpn, Gid(group))));
    case kMapped:
      return on_mapped(request->arena);
    case kMove:
      return on_move(qpn, request->port);
    case kMakeRaw:
      return on_make_raw(qpn);
    case kDivert:
    case kRestore:
      return on_rule(*request, qpn);
    default:
      return nonsense();
  }
}

// What the program handed over before it gave the number back is still sent, such as a last
// acknowledgement.
bool AttachSession::on_release(Qpn qpn) {
  releasing_ = {
      .qpn = qpn, .last = program_->last_in_ring(), .until = server_.now_ + RingProgram::kFarewell};
  if (program_->has_sent(releasing_->last)) return go_on();
  server_.waiting_.push_back(this);
  touched();
  return server_.reactor_.change_events(watch_, 0).has_value();
}

bool AttachSession::go_on() {
  if (!releasing_ || program_->offence()) return true;
  if (!program_->has_sent(releasing_->last) && server_.now_ < releasing_->until) return true;
  const auto released = program_->attachment_of(releasing_->qpn).release(releasing_->qpn);
  if (released) --queue_pairs_;
  releasing_.reset();
  return answer(without_qpn(released)) &&
         server_.reactor_.change_events(watch_, EPOLLIN).has_value();
}

std::optional<Time> AttachSession::deadline() const {
  if (!releasing_) return std::nullopt;
  return releasing_->until;
}

bool AttachSession::on_move(Qpn qpn, std::uint32_t port) {
  if (port < 1 || port > adapter_->port_count()) return nonsense();
  fabric::Attachment& from = program_->attachment_of(qpn);
  fabric::Attachment& to = program_->attachment(static_cast<mgmt::PortNumber>(port));
  const bool stays = &from == &to && from.owns(qpn);
  return answer(without_qpn(stays ? Expected<void>() : from.hand_over(qpn, to)));
}

bool AttachSession::on_mapped(std::uint32_t arena) {
  if (unanswered_ != arena) return nonsense();
  unanswered_.reset();
  if (offered_.contains(arena)) program_->end().mapped(arena);
  touched();  // the next offer
  return answer(Qpn{});
}

// Who sends as whomever he likes has the node as its owner has it: as with a kernel, which asks for
// CAP_NET_RAW, whoever may run programs here may not do that.
bool AttachSession::on_make_raw(Qpn qpn) {
  if (peer_.uid != geteuid() && peer_.uid != 0) {
    return answer(fail(std::errc::operation_not_permitted,
                       "raw queue pairs are for the user who runs the lab, and for root"));
  }
  return answer(without_qpn(program_->attachment_of(qpn).make_raw(qpn)));
}

bool AttachSession::on_rule(const Request& request, Qpn qpn) {
  const auto rule = port::read_rule(request);
  if (!rule) return nonsense();
  fabric::Attachment& place = program_->attachment_of(qpn);
  return answer(without_qpn(request.action == kDivert ? place.divert(qpn, *rule)
                                                      : place.restore(qpn, *rule)));
}

bool AttachSession::answer(const Expected<Qpn>& result) {
  Answer out{};
  if (result) {
    out.qpn = result->value();
  } else {
    out = refusal<Answer>(result.error());
  }
  if (io::send_message(socket_.get(), plain::bytes_of(out))) return true;
  server_.counters_.add(AttachCounter::kUnread);
  return false;
}

void AttachSession::leave(Time now) {
  watch_.reset();
  doorbell_watch_.reset();
  news_watch_.reset();
  releasing_.reset();
  socket_.reset();
  news_.reset();
  if (program_) program_->leave(now);
}

}  // namespace weft::daemon
