// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/mad_server.h"

#include <utility>

namespace weft::daemon {

MadServer::MadServer(const MadServerConfig& config, FindMadNode find, io::Reactor& reactor)
    : config_(config),
      find_(std::move(find)),
      reactor_(reactor),
      files_(config.directory, config.admission, reactor) {
}

MadServer::~MadServer() {
  listeners_.clear();
  sessions_.clear();
}

Expected<std::unique_ptr<MadServer>> MadServer::open(const MadServerConfig& config,
                                                     FindMadNode find, io::Reactor& reactor) {
  std::unique_ptr<MadServer> server(new MadServer(config, std::move(find), reactor));
  if (auto started = server->start(); !started) return tl::unexpected(started.error());
  return server;
}

Expected<void> MadServer::start() {
  auto listeners = Listener::open_all(
      config_.socket, config_.shared, reactor_,
      [this](io::UniqueFd socket, const io::PeerCredentials& peer) {
        take(std::move(socket), peer);
      },
      [this](Listener::Refused why) {
        counters_.add(why == Listener::Refused::kForeign ? MadCounter::kForeign
                                                         : MadCounter::kTurnedAway);
      });
  if (!listeners) return tl::unexpected(listeners.error());
  listeners_ = std::move(*listeners);
  return {};
}

void MadServer::take(io::UniqueFd socket, const io::PeerCredentials& peer) {
  auto place = enter(config_.others, peer.uid);
  if (!place || sessions_.size() >= config_.max_connections) {
    return counters_.add(MadCounter::kTurnedAway);
  }
  const std::uint64_t id = ++last_session_;
  auto session = std::make_unique<MadSession>(*this, id, std::move(socket), std::move(*place));
  if (!session->start()) return counters_.add(MadCounter::kTurnedAway);
  sessions_[id] = std::move(session);
  counters_.add(MadCounter::kConnections);
}

void MadServer::end(std::uint64_t session) {
  sessions_.erase(session);
  counters_.add(MadCounter::kEnded);
}

}  // namespace weft::daemon
