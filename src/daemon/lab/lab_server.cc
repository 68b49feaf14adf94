// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_server.h"

#include <algorithm>
#include <utility>

#include "io/clock.h"

namespace weft::daemon {
namespace {

constexpr std::size_t kMostSessions = 256;
// A lab that is worked with answers sooner when it does not sleep at once.
constexpr Duration kPatience = 50us;

}  // namespace

LabServer::LabServer(fabric::Lab lab, LabPaths paths)
    : paths_(std::move(paths)), fabric_(std::move(lab)), since_(io::wall_clock()) {
}

LabServer::~LabServer() = default;

Expected<std::unique_ptr<LabServer>> LabServer::open(fabric::Lab lab, const LabPaths& paths) {
  auto lock = claim_lab(paths);
  if (!lock) return tl::unexpected(lock.error());
  std::unique_ptr<LabServer> server(new LabServer(std::move(lab), paths));
  server->lock_ = std::move(*lock);
  if (const auto started = server->start(); !started) return tl::unexpected(started.error());
  return server;
}

Expected<void> LabServer::start() {
  auto reactor = io::Reactor::create(kPatience);
  if (!reactor) return tl::unexpected(reactor.error());
  reactor_ = std::move(*reactor);
  auto mads = MadServer::open(
      {.socket = paths_.mads, .directory = paths_.directory},
      [this](std::string_view name) { return find_mad_node(name); }, *reactor_);
  if (!mads) return tl::unexpected(mads.error());
  mads_ = std::move(*mads);
  auto admin = Listener::open(
      paths_.admin, *reactor_,
      [this](io::UniqueFd socket, const io::PeerCredentials&) { take(std::move(socket)); },
      [this](Listener::Refused why) {
        counters_.add(why == Listener::Refused::kForeign ? LabCounter::kForeign
                                                         : LabCounter::kTurnedAway);
      });
  if (!admin) return tl::unexpected(admin.error());
  admin_ = std::move(*admin);
  return {};
}

std::optional<MadNode> LabServer::find_mad_node(std::string_view name) {
  fabric::Node* const node = fabric_.find_node(name);
  if (node == nullptr) return std::nullopt;
  return MadNode{&node->management(), node, [node] { node->management_used(); }};
}

Expected<void> LabServer::run() {
  fabric_.start(io::now());
  while (!stopping_.load()) {
    const Time now = io::now();
    const bool done = fabric_.run(now);
    const auto deadline = fabric_.deadline();
    Duration wait = -1ns;  // for ever
    if (!done) {
      wait = 0ns;
    } else if (deadline) {
      wait = std::max(*deadline - now, Duration::zero());
    }
    if (auto turn = reactor_->run_once(wait); !turn) return tl::unexpected(turn.error());
  }
  return {};
}

void LabServer::stop() {
  stopping_.store(true);
  if (reactor_) reactor_->wake();
}

void LabServer::take(io::UniqueFd socket) {
  if (sessions_.size() >= kMostSessions) return counters_.add(LabCounter::kTurnedAway);
  const std::uint64_t id = ++last_session_;
  auto session = std::make_unique<AdminSession>(*this, id, std::move(socket));
  if (!session->start()) return counters_.add(LabCounter::kTurnedAway);
  sessions_[id] = std::move(session);
  counters_.add(LabCounter::kAdminSessions);
}

void LabServer::end(std::uint64_t session) {
  sessions_.erase(session);
}

}  // namespace weft::daemon
