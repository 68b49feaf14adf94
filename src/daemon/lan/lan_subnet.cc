// SPDX-License-Identifier: Apache-2.0
#include "daemon/lan/lan_subnet.h"

#include <fmt/format.h>

namespace weft::daemon {

LanSubnet::LanSubnet(NodeConnections& connections, mgmt::PortNumber port, io::Reactor& reactor,
                     LanSubnetOwner& owner)
    : place_{.hosts = connections.hosts(), .at = {connections.index(), port}},
      questions_(place_, counters_, owner),
      connections_(connections, place_, counters_, owner),
      membership_(place_, counters_, reactor, owner),
      group_(place_, counters_, reactor, owner) {
  place_.node().add_observer(*this);
}

LanSubnet::~LanSubnet() {
  place_.node().remove_observer(*this);
}

Expected<std::unique_ptr<LanSubnet>> LanSubnet::open(NodeConnections& connections,
                                                     mgmt::PortNumber port, io::Reactor& reactor,
                                                     LanSubnetOwner& owner) {
  if (port == 0 || port > connections.node().port_count()) {
    return fail(std::errc::invalid_argument,
                fmt::format("node {} has no port {}", connections.node().name(), port));
  }
  std::unique_ptr<LanSubnet> out(new LanSubnet(connections, port, reactor, owner));
  if (auto opened = out->connections_.open(); !opened) return tl::unexpected(opened.error());
  if (auto opened = out->questions_.open(); !opened) return tl::unexpected(opened.error());
  if (auto opened = out->membership_.open(); !opened) return tl::unexpected(opened.error());
  return out;
}

Expected<void> LanSubnet::offer(const lan::DatagramEnd& end) {
  connections_.offer(end);
  return membership_.offer();
}

bool LanSubnet::ask(std::uint64_t number, const lan::Question& question) {
  return question.kind == lan::Question::Kind::kEnd ? connections_.ask(number, question)
                                                    : questions_.ask(number, question);
}

void LanSubnet::port_changed(mgmt::PortNumber port, bool) {
  if (port == place_.at.port) connections_.port_changed();
}

}  // namespace weft::daemon
