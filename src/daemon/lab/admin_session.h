// SPDX-License-Identifier: Apache-2.0
// One connection to a lab's administration (admin_connection.h), where "do" says what. An error
// that another part of the lab would not have has "part": that one.
//
//   {"do": "status", "all": false}      the lab, with "all" each node and link of it
//   {"do": "link", "link": "leaf1:3"}   one link, by its name or one of its ends
//   {"do": "set", "link": "leaf1:3", "plugged": false}
//   {"do": "set", "link": "leaf1:3", "emulation": "loss=1%,seed=7"}      "" ends all of it
//   {"do": "capture", "link": "leaf1:3"}     CapturedHead and packet follow, until one side closes
//   {"do": "sm", "what": "status" | "history" | "topology" | "metrics"}
//   {"do": "sm", "what": "path", "from": "a", "to": "d:2"}
//   {"do": "sm", "what": "policy", "action": "list" | "log"}
//   {"do": "sm", "what": "policy", "action": "add", "text": "through = \"firewall\"", "before": 1}
//   {"do": "sm", "what": "policy", "action": "delete", "rule": 1 | "name"}
//   {"do": "sm", "what": "policy", "action": "drain" | "restore", "at": "fw:2"}
//      "guid": of that port, optional: for managers of subnets that it is not in
//   {"do": "sm", "what": "policy", "action": "explain", "from": "a", "to": "b", "requester": "fw",
//    "slid", "service_id", "pkey", "sl", "qos_class": numbers, all but "from" and "to" optional}
//   {"do": "lan", "what": …}            as LanServer::answer() has it
//   {"do": "service", "name": "firewall", "details": true}   all of them without a name
//   {"do": "service", "action": "reload", "name": "firewall"}   its rules are read anew
//   {"do": "stop"}                      the lab ends, after the answer
//
// A manager that is a process of its own understands "sm" alone (manager_admin.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/error.h"
#include "daemon/lab/admin_connection.h"
#include "daemon/lab/other_users.h"
#include "io/unique_fd.h"

namespace weft::daemon {

class LabServer;

class AdminSession final : private AdminConnection::Owner {
 public:
  AdminSession(LabServer& lab, std::uint64_t id, io::UniqueFd socket, OtherUsers::Place place);
  AdminSession(const AdminSession&) = delete;
  AdminSession& operator=(const AdminSession&) = delete;
  ~AdminSession() override;

  Expected<void> start();

 private:
  Expected<nlohmann::json> carry_out(const nlohmann::json& request) override;
  [[nodiscard]] nlohmann::json beside_error() const override;
  void on_nonsense() override;
  void on_end() override;
  Expected<nlohmann::json> status(const nlohmann::json& request);
  Expected<nlohmann::json> show_link(const nlohmann::json& request);
  Expected<nlohmann::json> set_link(const nlohmann::json& request);
  Expected<nlohmann::json> capture(const nlohmann::json& request);
  Expected<nlohmann::json> manager(const nlohmann::json& request);
  Expected<nlohmann::json> lan(const nlohmann::json& request);
  Expected<nlohmann::json> service(const nlohmann::json& request);
  Expected<nlohmann::json> stop(const nlohmann::json& request);
  // To each of the lab's nodes that has an rdma_cm, what it does.
  void add_connections(nlohmann::json& nodes) const;
  [[nodiscard]] Expected<std::size_t> find_link(const nlohmann::json& request);
  [[nodiscard]] nlohmann::json report_of(std::size_t link) const;
  // An error, and which part of the lab is to be asked instead.
  tl::unexpected<Error> elsewhere(std::uint16_t part, const std::string& what);

  LabServer& lab_;
  std::uint64_t id_;
  std::optional<std::size_t> captured_;  // the link
  std::string other_part_;               // of the answer, if it is an error: who can do it
  const OtherUsers::Place place_;
  AdminConnection connection_;
};

}  // namespace weft::daemon
