// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/node_cm.h"

#include <utility>

#include "io/clock.h"

namespace weft::daemon {
namespace {

rdmacm::CoreConfig config_of_node() {
  rdmacm::CoreConfig config;
  // As on the wires of IP: perftest's server listens after it has told its client to come.
  config.cm.early_patience = 1s;
  return config;
}

}  // namespace

NodeCm::NodeCm(const LabHosts& hosts, std::size_t node, NodeInterfaces::Wanted wanted,
               io::Reactor& reactor, Entropy& entropy)
    : interfaces_(hosts, node, std::move(wanted)),
      mads_(hosts, node, *this),
      core_(new rdmacm::CommandCore(config_of_node(), interfaces_, entropy, mads_, *this, &mads_)),
      watch_(hosts.fabric().node(node), *this),
      timer_(reactor.timers(), [this](Time now) {
        core_->expire(now);
        set_timer();
      }) {
}

Expected<std::unique_ptr<NodeCm>> NodeCm::open(const LabHosts& hosts, std::size_t node,
                                               NodeInterfaces::Wanted wanted, io::Reactor& reactor,
                                               Entropy& entropy) {
  std::unique_ptr<NodeCm> out(new NodeCm(hosts, node, std::move(wanted), reactor, entropy));
  if (const auto opened = out->mads_.open(); !opened) return tl::unexpected(opened.error());
  if (hosts.fabric().lab().is_bridged()) out->offers_.emplace(hosts, node, reactor);
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
  set_timer();
}

rdmacm::Reply NodeCm::execute(std::uint64_t file, Bytes command, Bytes extra, std::uint64_t other) {
  auto reply = core_->execute(file, command, extra, other, io::now());
  events_.answered(file, command, reply);
  set_timer();
  return reply;
}

std::vector<CounterValue> NodeCm::counters() const {
  std::vector<CounterValue> out = core_->counters();
  for (const auto& more : {core_->manager().counters().snapshot(), mads_.counters()})
    out.insert(out.end(), more.begin(), more.end());
  return out;
}

void NodeCm::received(Bytes mad, const hca::Path& from, PKey pkey) {
  core_->receive(mad, from, pkey, io::now());
  set_timer();
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

void NodeCm::set_timer() {
  const auto deadline = core_->deadline();
  if (deadline) {
    timer_.set(*deadline);
  } else {
    timer_.cancel();
  }
}

}  // namespace weft::daemon
