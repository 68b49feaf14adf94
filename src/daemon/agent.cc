// SPDX-License-Identifier: Apache-2.0
#include "daemon/agent.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "io/clock.h"
#include "io/unix_socket.h"

namespace weft::daemon {
Agent::Agent(const AgentConfig& config, Entropy& entropy)
    : config_(config), entropy_(entropy), interfaces_(entropy), since_(io::wall_clock()) {
}

Agent::~Agent() {
  sessions_.clear();
  listener_.reset();
}

Expected<std::unique_ptr<Agent>> Agent::open(const AgentConfig& config, Entropy& entropy) {
  std::unique_ptr<Agent> agent(new Agent(config, entropy));
  if (const auto started = agent->start(); !started) return tl::unexpected(started.error());
  return agent;
}

Expected<void> Agent::start() {
  auto reactor = io::Reactor::create(0us);  // programs wait for it; it does not wait for them
  if (!reactor) return tl::unexpected(reactor.error());
  reactor_ = std::move(*reactor);
  if (auto known = interfaces_.refresh(); !known) return known;

  // Without news of interfaces, changes are found when a look-up fails.
  if (auto links = io::LinkMonitor::open()) {
    links_.emplace(std::move(*links));
    auto watch = reactor_->watch(links_->fd(), EPOLLIN, [this](std::uint32_t) {
      static_cast<void>(links_->drain(0));
      refresh_interfaces();
    });
    if (!watch) return tl::unexpected(watch.error());
    watching_links_ = std::move(*watch);
  }
  auto listener = Listener::open(
      config_.socket, *reactor_,
      [this](io::UniqueFd socket, const io::PeerCredentials& peer) {
        take(std::move(socket), peer);
      },
      [this](Listener::Refused why) {
        counters_.add(why == Listener::Refused::kForeign ? AgentCounter::kForeign
                                                         : AgentCounter::kTurnedAway);
      });
  if (!listener) return tl::unexpected(listener.error());
  listener_ = std::move(*listener);
  return {};
}

void Agent::refresh_interfaces() {
  if (!interfaces_.refresh()) return;
  for (auto& [choice, wire] : wires_)
    wire->interfaces_changed();
}

void Agent::take(io::UniqueFd socket, const io::PeerCredentials& peer) {
  if (sessions_.size() >= config_.max_sessions) return counters_.add(AgentCounter::kTurnedAway);
  const std::uint64_t id = ++last_session_;
  auto session = std::make_unique<Session>(*this, id, std::move(socket), peer);
  if (!session->start(*reactor_)) return counters_.add(AgentCounter::kTurnedAway);
  sessions_[id] = std::move(session);
  counters_.add(AgentCounter::kSessions);
}

void Agent::end(std::uint64_t session) {
  sessions_.erase(session);
  counters_.add(AgentCounter::kEnded);
}

Expected<WireAgent*> Agent::wire(const WireChoice& choice) {
  const auto found = wires_.find(choice);
  if (found != wires_.end()) return found->second.get();
  // Slots hang on `roce`, which is one; of `udp` there can be as many as there are ports.
  std::erase_if(wires_, [](const auto& each) { return !each.first.roce && each.second->idle(); });
  if (wires_.size() >= config_.max_wires) {
    return fail(
        std::errc::too_many_files_open,
        fmt::format("the host agent serves {} wires, and no more at a time", config_.max_wires));
  }
  auto opened = WireAgent::open(choice, config_.roce_port, interfaces_, *reactor_, entropy_);
  if (!opened) return tl::unexpected(opened.error());
  if (choice.roce) {
    (*opened)->set_agreement_sink([this](std::uint8_t slot, const hca::Agreement& agreement) {
      tell_owner(slot, agreement);
    });
  }
  return (wires_[choice] = std::move(*opened)).get();
}

// Slots are of wire `roce` only, and that is one.
void Agent::tell_owner(std::uint8_t slot, const hca::Agreement& agreement) {
  for (const auto& [id, session] : sessions_) {
    if (session->slot() == slot) session->tell(agreement);
  }
}

Expected<std::uint64_t> Agent::open_file(const WireChoice& choice, const TapChoice& tap) {
  const auto on = wire(choice);
  if (!on) return tl::unexpected(on.error());
  const auto opened = (*on)->open_file(tap);
  if (!opened) return tl::unexpected(opened.error());
  const std::uint64_t id = ++last_file_;
  files_[id] = {*on, opened->id, opened->events, entropy_.draw(), 1};
  return id;
}

Expected<void> Agent::join_file(std::uint64_t file, std::uint64_t secret) {
  const auto found = files_.find(file);
  if (found == files_.end() || found->second.secret != secret) {
    return fail(std::errc::permission_denied, "there is no such rdma_cm file");
  }
  ++found->second.sessions;
  return {};
}

void Agent::leave_file(std::uint64_t file) {
  const auto found = files_.find(file);
  if (found == files_.end() || --found->second.sessions > 0) return;
  found->second.wire->close_file(found->second.id);
  files_.erase(found);
}

bool Agent::in_use() const {
  const auto holds = [](const auto& each) { return each.second->holds_something(); };
  const auto busy = [](const auto& each) { return !each.second->idle(); };
  return std::any_of(sessions_.begin(), sessions_.end(), holds) ||
         std::any_of(wires_.begin(), wires_.end(), busy);
}

Expected<void> Agent::run() {
  Time last_used = io::now();
  Duration patience = config_.idle;
  while (!stopping_.load(std::memory_order_relaxed)) {
    const auto turn = reactor_->run_once(patience);
    if (!turn) return tl::unexpected(turn.error());
    const Time now = io::now();
    if (in_use()) last_used = now;
    patience = std::max<Duration>(last_used + config_.idle - now, 0ns);
    if (patience > Duration::zero()) continue;
    const auto silent = [](const auto& each) { return !each.second->has_said_hello(); };
    if (std::none_of(sessions_.begin(), sessions_.end(), silent)) break;
    patience = config_.idle;
  }
  return {};
}

void Agent::stop() {
  stopping_.store(true, std::memory_order_relaxed);
  reactor_->wake();
}

}  // namespace weft::daemon
