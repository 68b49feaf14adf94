// SPDX-License-Identifier: Apache-2.0
// One connection to a lab's administration. A request is a message, a JSON object of at most
// kLongestRequest bytes whose "do" says what; the answer is {"ok": true} or {"error": "…"}, and
// what there is to report comes beside it as a file of JSON. An error that another part of the lab
// would not have has "part": that one.
//
//   {"do": "status", "all": false}      the lab, with "all" each node and link of it
//   {"do": "link", "link": "leaf1:3"}   one link, by its name or one of its ends
//   {"do": "set", "link": "leaf1:3", "plugged": false}
//   {"do": "set", "link": "leaf1:3", "emulation": "loss=1%,seed=7"}      "" ends all of it
//   {"do": "capture", "link": "leaf1:3"}     CapturedHead and packet follow, until one side closes
//   {"do": "sm", "what": "status" | "history" | "metrics"}
//   {"do": "sm", "what": "path", "from": "a", "to": "d:2"}
//   {"do": "stop"}                      the lab ends, after the answer
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "io/reactor.h"
#include "io/unique_fd.h"

namespace weft::daemon {

class LabServer;

class AdminSession {
 public:
  static constexpr std::size_t kLongestRequest = 4096;

  AdminSession(LabServer& lab, std::uint64_t id, io::UniqueFd socket);
  AdminSession(const AdminSession&) = delete;
  AdminSession& operator=(const AdminSession&) = delete;
  ~AdminSession();

  Expected<void> start();

 private:
  // False when the connection is over.
  bool read_all();
  bool on_request(Bytes message);
  // What to report; null: nothing.
  Expected<nlohmann::json> carry_out(const nlohmann::json& request);
  Expected<nlohmann::json> status(const nlohmann::json& request);
  Expected<nlohmann::json> show_link(const nlohmann::json& request);
  Expected<nlohmann::json> set_link(const nlohmann::json& request);
  Expected<nlohmann::json> capture(const nlohmann::json& request);
  Expected<nlohmann::json> manager(const nlohmann::json& request);
  Expected<nlohmann::json> stop(const nlohmann::json& request);
  // To each of the lab's nodes that has an rdma_cm, what it does.
  void add_connections(nlohmann::json& nodes) const;
  [[nodiscard]] Expected<std::size_t> find_link(const nlohmann::json& request);
  [[nodiscard]] nlohmann::json report_of(std::size_t link) const;
  bool answer(const Expected<nlohmann::json>& result);
  // An error, and which part of the lab is to be asked instead.
  tl::unexpected<Error> elsewhere(std::uint16_t part, const std::string& what);

  LabServer& lab_;
  std::uint64_t id_;
  io::UniqueFd socket_;
  std::optional<std::size_t> captured_;  // the link
  std::string other_part_;               // of the answer, if it is an error: who can do it
  io::Reactor::Registration watch_;
};

}  // namespace weft::daemon
