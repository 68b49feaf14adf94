// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/node_connections.h"

#include "io/clock.h"

namespace weft::daemon {
namespace {

mgmt::CmConfig config_of_node() {
  mgmt::CmConfig config;
  // As on the wires of IP: perftest's server listens after it has told its client to come.
  config.early_patience = 1s;
  return config;
}

}  // namespace

NodeConnections::NodeConnections(const LabHosts& hosts, std::size_t node, io::Reactor& reactor,
                                 Entropy& entropy)
    : hosts_(hosts),
      index_(node),
      ends_(hosts, node, {}),  // nobody looks up neighbours here
      mads_(hosts, node, *this),
      manager_(config_of_node(), ends_, entropy, mads_),
      timer_(reactor.timers(), [this](Time now) {
        manager_.expire(now);
        set_timer();
      }) {
}

Expected<std::unique_ptr<NodeConnections>> NodeConnections::open(const LabHosts& hosts,
                                                                 std::size_t node,
                                                                 io::Reactor& reactor,
                                                                 Entropy& entropy) {
  std::unique_ptr<NodeConnections> out(new NodeConnections(hosts, node, reactor, entropy));
  if (const auto opened = out->mads_.open(); !opened) return tl::unexpected(opened.error());
  return out;
}

std::vector<CounterValue> NodeConnections::counters() const {
  std::vector<CounterValue> out = manager_.counters().snapshot();
  const std::vector<CounterValue> more = mads_.counters();
  out.insert(out.end(), more.begin(), more.end());
  return out;
}

void NodeConnections::received(Bytes mad, const hca::Path& from, PKey pkey) {
  manager_.receive(mad, from, pkey, io::now());
  set_timer();
}

void NodeConnections::set_timer() {
  const auto deadline = manager_.deadline();
  if (deadline) {
    timer_.set(*deadline);
  } else {
    timer_.cancel();
  }
}

}  // namespace weft::daemon
