// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/attach_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <utility>

#include "io/log.h"

namespace weft::daemon {
namespace {

// A program that was quiet for so long rings when it sends again.
constexpr Duration kLately = 10ms;
// So many are logged one by one; then, who attaches again and again does not fill a disk.
constexpr std::uint64_t kMostLogged = 64;
// What the kernel says of every user who has no number in the daemon's user namespace
// (user_namespaces(7), overflowuid): two of them may be two users.
constexpr uid_t kNobodyKnown = 65534;

}  // namespace

AttachServer::AttachServer(const AttachServerConfig& config, fabric::Fabric& fabric,
                           io::Reactor& reactor)
    : config_(config), fabric_(fabric), reactor_(reactor) {
}

AttachServer::~AttachServer() {
  listeners_.clear();
  // Packets of one are held by others, which say so when they go.
  for (const auto& [id, session] : sessions_)
    session->leave(now_);
  sessions_.clear();
}

Expected<std::unique_ptr<AttachServer>> AttachServer::open(const AttachServerConfig& config,
                                                           fabric::Fabric& fabric,
                                                           io::Reactor& reactor) {
  std::unique_ptr<AttachServer> server(new AttachServer(config, fabric, reactor));
  if (auto started = server->start(); !started) return tl::unexpected(started.error());
  return server;
}

Expected<void> AttachServer::start() {
  auto listeners = Listener::open_all(
      config_.socket, config_.shared, reactor_,
      [this](io::UniqueFd socket, const io::PeerCredentials& peer) {
        take(std::move(socket), peer);
      },
      [this](Listener::Refused why) {
        counters_.add(why == Listener::Refused::kForeign ? AttachCounter::kForeign
                                                         : AttachCounter::kTurnedAway);
      });
  if (!listeners) return tl::unexpected(listeners.error());
  listeners_ = std::move(*listeners);
  return {};
}

void AttachServer::take(io::UniqueFd socket, const io::PeerCredentials& peer) {
  auto place = enter(config_.others, peer.uid);
  if (!place || sessions_.size() >= config_.max_connections) {
    return counters_.add(AttachCounter::kTurnedAway);
  }
  const std::uint64_t id = ++last_session_;
  auto session =
      std::make_unique<AttachSession>(*this, id, std::move(socket), peer, std::move(*place));
  if (!session->start()) return counters_.add(AttachCounter::kTurnedAway);
  sessions_[id] = std::move(session);
  counters_.add(AttachCounter::kConnections);
}

void AttachServer::placed(AttachSession& session) {
  arenas_[session.program()->end().program().arena()] = {
      .session = &session, .user = session.peer().uid, .offered = {}};
}

void AttachServer::touched(AttachSession& session) {
  if (!session.to_flush) to_flush_.push_back(&session);
  session.to_flush = true;
  if (session.program() == nullptr || session.active) return;
  session.active = true;
  session.last_active = now_;
  session.program()->look();
  active_.push_back(&session);
}

void AttachServer::offered(const AttachSession& session, std::uint32_t arena) {
  if (const auto found = arenas_.find(arena); found != arenas_.end()) {
    found->second.offered.push_back(session.id());
    return;
  }
  const auto found = std::find_if(remains_.begin(), remains_.end(),
                                  [arena](const Remains& each) { return each.arena == arena; });
  if (found != remains_.end()) found->offered.push_back(session.id());
}

bool AttachServer::may_read(const AttachSession& session,
                            const port::ring::ProgramBlocks& sender) const {
  const auto found = arenas_.find(sender.arena());
  const uid_t user = session.peer().uid;
  return user != kNobodyKnown && found != arenas_.end() && found->second.user == user;
}

AttachSession* AttachServer::find(std::uint64_t id) const {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second.get();
}

bool AttachServer::poll(Time now) {
  now_ = now;
  bool moved = false;
  for (std::size_t i = 0; i < active_.size();) {
    AttachSession& session = *active_[i];
    RingProgram& program = *session.program();
    if (program.poll(now)) {
      moved = true;
      session.last_active = now;
    } else if (program.offence()) {
      touched(session);  // flush() sees to it
    } else if (now - session.last_active >= kLately && program.sleep()) {
      deactivate(i);
      continue;
    }
    if (program.end().stalled()) hurry(session, now);
    ++i;
  }
  std::erase_if(waiting_, [](const AttachSession* each) { return !each->deadline(); });
  for (AttachSession* const session : waiting_) {
    if (now >= *session->deadline()) touched(*session);
  }
  if (!leaving_.empty() || !remains_.empty()) bury(now);
  return moved;
}

bool AttachServer::awaits_answer(Time now) {
  return std::any_of(active_.begin(), active_.end(),
                     [now](AttachSession* session) { return session->program()->is_awaited(now); });
}

void AttachServer::deactivate(std::size_t index) {
  active_[index]->active = false;
  active_[index] = active_.back();
  active_.pop_back();
}

void AttachServer::hurry(AttachSession& stalled, Time now) {
  const port::ring::ProgramBlocks& blocks = stalled.program()->end().program();
  if (blocks.held() == 0) return;
  const auto found = arenas_.find(blocks.arena());
  if (found != arenas_.end()) watch_holders(found->second.offered, now);
}

void AttachServer::watch_holders(const std::vector<std::uint64_t>& holders, Time now) {
  for (const std::uint64_t id : holders) {
    AttachSession* const holder = find(id);
    if (holder == nullptr || !holder->program()->end().holds_blocks()) continue;
    holder->program()->end().watch_taking();
    holder->program()->collect(now);
  }
}

void AttachServer::flush(Time now) {
  now_ = now;
  std::vector<AttachSession*> ended;
  // By index: what is shown to one may touch another.
  for (std::size_t i = 0; i < to_flush_.size(); ++i) {
    AttachSession& session = *to_flush_[i];
    session.to_flush = false;
    const bool goes_on = session.flush();
    const bool offends = session.program() != nullptr && session.program()->offence();
    if (offends || !goes_on) ended.push_back(&session);
  }
  to_flush_.clear();
  for (AttachSession* const session : ended)
    session->program()->offence() ? cut_off(*session) : end(*session);
}

bool AttachServer::sleep() {
  if (!to_flush_.empty()) return false;
  for (AttachSession* const session : active_) {
    if (session->program()->sleep()) continue;
    awake();
    return false;
  }
  return true;
}

void AttachServer::awake() {
  for (AttachSession* const session : active_)
    session->program()->look();
}

std::optional<Time> AttachServer::deadline() const {
  std::optional<Time> out;
  for (const AttachSession* const session : leaving_) {
    const std::optional<Time> until = session->program()->leaving_until();
    if (until && (!out || *until < *out)) out = until;
  }
  for (const AttachSession* const session : waiting_) {
    const std::optional<Time> until = session->deadline();
    if (until && (!out || *until < *out)) out = until;
  }
  return out;
}

void AttachServer::end(AttachSession& session) {
  if (session.program() != nullptr && session.program()->leaving_until()) return;
  counters_.add(AttachCounter::kEnded);
  if (session.program() == nullptr) return remove(session);
  port::ring::ProgramBlocks& blocks = session.program()->end().program();
  const auto arena = arenas_.extract(blocks.arena());
  if (!arena.empty() && !arena.mapped().offered.empty()) {
    remains_.push_back({.arena = blocks.arena(),
                        .blocks = blocks.weak_from_this(),
                        .offered = arena.mapped().offered});
    watch_holders(remains_.back().offered, now_);
  }
  session.leave(now_);
  leaving_.push_back(&session);
  touched(session);
}

void AttachServer::bury(Time now) {
  for (std::size_t i = 0; i < leaving_.size();) {
    AttachSession& session = *leaving_[i];
    const RingProgram& program = *session.program();
    if (program.drained() || program.offence() || now >= *program.leaving_until()) {
      leaving_[i] = leaving_.back();
      leaving_.pop_back();
      remove(session);
    } else {
      ++i;
    }
  }
  for (std::size_t i = 0; i < remains_.size();) {
    if (!remains_[i].blocks.expired()) {
      ++i;
      continue;
    }
    for (const std::uint64_t id : remains_[i].offered) {
      if (AttachSession* const session = find(id)) session->arena_gone(remains_[i].arena);
    }
    std::swap(remains_[i], remains_.back());
    remains_.pop_back();
  }
}

void AttachServer::cut_off(AttachSession& session) {
  if (session.program()->leaving_until()) return;  // bury() sees to it
  const bool lied = session.program()->end().lie().has_value();
  counters_.add(lied ? AttachCounter::kLied : AttachCounter::kForged);
  const std::uint64_t times =
      counters_.get(AttachCounter::kLied) + counters_.get(AttachCounter::kForged);
  if (times <= kMostLogged || std::has_single_bit(times)) {
    io::log(io::LogLevel::kError,
            fmt::format("process {} of user {} on node {} was cut off: {} (cut off until now: {})",
                        session.peer().pid, session.peer().uid, session.node(),
                        *session.program()->offence(), times));
  }
  end(session);
}

void AttachServer::remove(AttachSession& session) {
  std::erase(active_, &session);
  std::erase(to_flush_, &session);
  std::erase(waiting_, &session);
  sessions_.erase(session.id());
}

nlohmann::json AttachServer::report() const {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& [id, session] : sessions_) {
    const RingProgram* const program = session->program();
    if (program == nullptr || program->leaving_until()) continue;
    out.push_back({{"pid", session->peer().pid},
                   {"uid", session->peer().uid},
                   {"node", session->node()},
                   {"qps", session->queue_pairs()},
                   {"sent", program->sent()},
                   {"arrived", program->arrived()}});
  }
  return out;
}

}  // namespace weft::daemon
