// SPDX-License-Identifier: Apache-2.0
// Talking to a running lab's administration, or to that of a subnet manager that is a process of
// its own; daemon/lab/admin_session.h has what is said.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "daemon/lab/lab_paths.h"
#include "io/unique_fd.h"

namespace weft::cli {

class LabClient {
 public:
  // timed_out, connection_refused: the lab is going; permission_denied: it is another user's, who
  // does not let this one administer it.
  static Expected<LabClient> connect(const daemon::LabPaths& lab);
  // The same at any such socket; errors call who is there `who`.
  static Expected<LabClient> connect(const std::string& socket, std::string who);

  // The report that came with the answer; null when none did. The error is the lab's own where it
  // refused.
  Expected<nlohmann::json> ask(const nlohmann::json& request);
  // Of the last error, in a lab in parts: the part that could have done it; empty: none.
  [[nodiscard]] const std::string& other_part() const { return other_part_; }

  // After a capture was asked for: the next message in `buffer`. Nothing when the lab has ended;
  // interrupted: none came for a moment, or a signal did.
  Expected<std::optional<std::size_t>> next(MutableBytes buffer);

  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  LabClient(io::UniqueFd socket, std::string who)
      : socket_(std::move(socket)), who_(std::move(who)) {}
  io::UniqueFd socket_;
  std::string other_part_;
  std::string who_;
};

// The lab that a command means (daemon::choose_lab), of those in this user's directories, or
// "OWNER/LAB" (daemon::find_shared_lab); of a lab in parts, those that run here.
Expected<std::vector<daemon::LabPaths>> choose_running_lab(const std::string& name);
// Null: that part does not run here, or is not meant.
[[nodiscard]] const daemon::LabPaths* find_part(const std::vector<daemon::LabPaths>& lab,
                                                std::string_view part);

struct LabAnswer {
  daemon::LabPaths lab;  // who gave it
  LabClient client;
  nlohmann::json report;
};
// One question to the lab, or to that part of it that has the answer.
Expected<LabAnswer> ask_parts(const std::vector<daemon::LabPaths>& lab,
                              const nlohmann::json& request);

// One question to the lab that is meant.
Expected<nlohmann::json> ask_lab(const std::string& name, const nlohmann::json& request);

}  // namespace weft::cli
