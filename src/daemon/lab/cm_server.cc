// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/cm_server.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace weft::daemon {

CmServer::CmServer(const CmServerConfig& config, ConnectionManagers& managers, io::Reactor& reactor,
                   Entropy& entropy)
    : config_(config), managers_(managers), reactor_(reactor), entropy_(entropy) {
}

CmServer::~CmServer() {
  listeners_.clear();
  sessions_.clear();
}

Expected<std::unique_ptr<CmServer>> CmServer::open(const CmServerConfig& config,
                                                   ConnectionManagers& managers,
                                                   io::Reactor& reactor, Entropy& entropy) {
  std::unique_ptr<CmServer> server(new CmServer(config, managers, reactor, entropy));
  if (auto started = server->start(); !started) return tl::unexpected(started.error());
  return server;
}

Expected<void> CmServer::start() {
  auto listeners = Listener::open_all(
      config_.socket, config_.shared, reactor_,
      [this](io::UniqueFd socket, const io::PeerCredentials& peer) {
        take(std::move(socket), peer);
      },
      [this](Listener::Refused why) {
        counters_.add(why == Listener::Refused::kForeign ? CmServerCounter::kForeign
                                                         : CmServerCounter::kTurnedAway);
      });
  if (!listeners) return tl::unexpected(listeners.error());
  listeners_ = std::move(*listeners);
  return {};
}

void CmServer::take(io::UniqueFd socket, const io::PeerCredentials& peer) {
  auto place = enter(config_.others, peer.uid);
  if (!place || sessions_.size() >= config_.max_connections) {
    return counters_.add(CmServerCounter::kTurnedAway);
  }
  const std::uint64_t id = ++last_session_;
  auto session =
      std::make_unique<CmSession>(*this, id, std::move(socket), peer.uid, std::move(*place));
  if (!session->start(reactor_)) return counters_.add(CmServerCounter::kTurnedAway);
  sessions_[id] = std::move(session);
  counters_.add(CmServerCounter::kConnections);
}

void CmServer::end(std::uint64_t session) {
  sessions_.erase(session);
  counters_.add(CmServerCounter::kEnded);
}

const NodeCm* CmServer::node(std::size_t index) const {
  const auto found = nodes_.find(index);
  return found == nodes_.end() ? nullptr : found->second.get();
}

// Whoever looks up a neighbour's address is about to write to it, and a host's connection manager
// is there before its programs are.
Expected<NodeCm*> CmServer::open_node(std::size_t index) {
  const auto found = nodes_.find(index);
  if (found != nodes_.end()) return found->second.get();
  const auto connections = managers_.open(index);
  if (!connections) return tl::unexpected(connections.error());
  auto opened = NodeCm::open(
      **connections, [this](std::size_t wanted) { static_cast<void>(open_node(wanted)); }, reactor_,
      entropy_);
  if (!opened) return tl::unexpected(opened.error());
  return (nodes_[index] = std::move(*opened)).get();
}

void CmServer::open_all_nodes() {
  const std::vector<fabric::LabNode>& nodes = fabric().lab().nodes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const bool has_cm = nodes[i].kind == fabric::NodeKind::kChannelAdapter && fabric().has_node(i);
    // What cannot be opened is tried again when a program asks for it, and hears why.
    if (has_cm) static_cast<void>(open_node(i));
  }
}

Expected<std::uint64_t> CmServer::open_file(std::string_view name, uid_t user) {
  const std::vector<fabric::LabNode>& nodes = fabric().lab().nodes;
  const auto found = std::find_if(nodes.begin(), nodes.end(), [name](const fabric::LabNode& node) {
    return node.name == name && node.kind == fabric::NodeKind::kChannelAdapter;
  });
  if (found == nodes.end()) {
    return fail(std::errc::no_such_device,
                fmt::format("this lab has no channel adapter '{}'", name));
  }
  const auto node = open_node(static_cast<std::size_t>(found - nodes.begin()));
  if (!node) return tl::unexpected(node.error());
  const auto opened = (*node)->open_file();
  if (!opened) return tl::unexpected(opened.error());
  const std::uint64_t id = ++last_file_;
  files_[id] = {*node, user, opened->id, opened->events, entropy_.draw(), 1};
  return id;
}

Expected<void> CmServer::join_file(std::uint64_t file, std::uint64_t secret) {
  const auto found = files_.find(file);
  if (found == files_.end() || found->second.secret != secret) {
    return fail(std::errc::permission_denied, "there is no such rdma_cm file");
  }
  ++found->second.sessions;
  return {};
}

void CmServer::leave_file(std::uint64_t file) {
  const auto found = files_.find(file);
  if (found == files_.end() || --found->second.sessions > 0) return;
  found->second.node->close_file(found->second.id);
  files_.erase(found);
}

}  // namespace weft::daemon
