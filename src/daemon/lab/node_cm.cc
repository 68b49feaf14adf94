// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/node_cm.h"

#include <cassert>
#include <utility>

#include "io/clock.h"

namespace weft::daemon {

NodeCm::NodeCm(NodeConnections& connections, NodeInterfaces::Wanted wanted, Entropy& entropy)
    : connections_(connections),
      interfaces_(connections.hosts(), connections.index(), std::move(wanted)),
      questions_(connections.node(), *this),
      core_(new rdmacm::CommandCore({}, interfaces_, entropy, connections.manager(), *this,
                                    &questions_)),
      watch_(connections.node(), *this) {
}

NodeCm::~NodeCm() {
  assert(core_->channels() == 0 && "the connection manager goes on without it");
}

Expected<std::unique_ptr<NodeCm>> NodeCm::open(NodeConnections& connections,
                                               NodeInterfaces::Wanted wanted, io::Reactor& reactor,
                                               Entropy& entropy) {
  std::unique_ptr<NodeCm> out(new NodeCm(connections, std::move(wanted), entropy));
  if (const auto opened = out->questions_.open(); !opened) return tl::unexpected(opened.error());
  const LabHosts& hosts = connections.hosts();
  if (hosts.fabric().lab().is_bridged()) out->offers_.emplace(hosts, connections.index(), reactor);
  return out;
}

Expected<NodeCm::File> NodeCm::open_file() {
  auto events = events_.make();
  if (!events) return tl::unexpected(events.error());
  const rdmacm::ChannelId id = core_->open_channel();
  return File{id, events_.add(id, std::move(*events))};
}

void NodeCm::close_file(std::uint64_t file) {
  core_->close_channel(file, io::now());
  events_.remove(file);
  connections_.manager_used();
}

rdmacm::Reply NodeCm::execute(std::uint64_t file, Bytes command, Bytes extra, std::uint64_t other) {
  auto reply = core_->execute(file, command, extra, other, io::now());
  events_.answered(file, command, reply);
  connections_.manager_used();
  return reply;
}

std::vector<CounterValue> NodeCm::counters() const {
  std::vector<CounterValue> out = core_->counters();
  for (const auto& more : {connections_.counters(), questions_.counters()})
    out.insert(out.end(), more.begin(), more.end());
  return out;
}

void NodeCm::route_found(std::uint32_t identifier, const rdmacm::PathRecord& path) {
  core_->route_found(identifier, path);
}

void NodeCm::route_failed(std::uint32_t identifier, std::errc why) {
  core_->route_failed(identifier, why);
}

void NodeCm::group_joined(std::uint32_t membership, const rdmacm::GroupRecord& group) {
  core_->group_joined(membership, group);
}

void NodeCm::group_failed(std::uint32_t membership, std::errc why) {
  core_->group_failed(membership, why);
}

}  // namespace weft::daemon
