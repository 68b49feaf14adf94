// SPDX-License-Identifier: Apache-2.0
// The LAN ports of a lab, or of one part of it: those that its file asks for, from the lab's begin
// on, and those that somebody asks for while it runs. One whose interface cannot be made harms
// nobody else: it is reported as failed, with the reason.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "daemon/lan/lan_driver.h"
#include "fabric/lab_lan.h"
#include "mgmt/managed_node.h"

namespace weft::daemon {

class LanServer {
 public:
  LanServer(fabric::Fabric& fabric, io::Reactor& reactor, Entropy& entropy,
            ConnectionManagers& connections);
  ~LanServer();

  // What somebody who begins the lab should know: what its LAN ports lack. Sentences.
  [[nodiscard]] std::vector<std::string> notes() const;
  // Begins those of the lab file. Once the fabric has been started.
  void start();

  // Before Fabric::run() and after it; with `look` also what the reactor has not told, where
  // can_look(). True: there was something.
  bool work(Time now, bool look) { return turns_.work(now, look); }
  // For what has come since. True: there was something.
  bool go_on(Time now) { return turns_.go_on(now); }
  // When to call work() again, though neither the fabric nor the reactor has run; in the past: at
  // once.
  [[nodiscard]] Time deadline() const { return turns_.deadline(); }
  // As LanTurns has it.
  [[nodiscard]] bool can_look() const { return turns_.can_look(); }

  // {"what": "show", "node": "a", "port": 1, "peers": true}   all without a node; of a node, all
  //                                                           its ports without a port
  // {"what": "up", "node", "port", "options": {"netns", "name", "mtu", "queues", "offloads",
  //   "channels", "bridge"}}                                  in place of those of the lab file
  // {"what": "down", "node", "port"}
  // Each is answered with what show says of these ports. The node is a channel adapter that is
  // here. Not from inside of the fabric's run(), nor of a driver's calls.
  Expected<nlohmann::json> answer(const nlohmann::json& request);

  // How many there are in each state, and which have failed; with `all`, what show says of each.
  [[nodiscard]] nlohmann::json report(bool all) const;
  [[nodiscard]] bool empty() const { return ports_.empty(); }

 private:
  using Key = std::pair<std::size_t, mgmt::PortNumber>;  // as Lab::nodes counts nodes
  struct Port {
    fabric::LabLan options;
    std::unique_ptr<LanDriver> driver;  // null: it could not begin
    std::string why;                    // then
  };
  struct Meant {
    std::size_t node = 0;
    std::vector<mgmt::PortNumber> ports;
  };

  Expected<void> begin(const Key& key, const fabric::LabLan& options);
  Expected<Meant> meant(const nlohmann::json& request) const;
  Expected<void> up(const Meant& meant, const nlohmann::json& request);
  Expected<void> down(const Meant& meant, bool all);
  [[nodiscard]] LanReport report_of(const Key& key, const Port& port) const;
  [[nodiscard]] nlohmann::json interface_json(const Key& key, const Port& port, bool peers) const;
  [[nodiscard]] nlohmann::json peer_json(const LanPeerReport& peer) const;

  LanTurns turns_;
  const LanDriver::Surroundings surroundings_;
  std::map<Key, Port> ports_;
  std::map<Guid, Key> by_guid_;  // of all the lab's adapters, to name peers
};

}  // namespace weft::daemon
