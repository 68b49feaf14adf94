// SPDX-License-Identifier: Apache-2.0
// Talking to a running lab's administration; daemon/lab/admin_session.h has what is said.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "daemon/lab/lab_paths.h"
#include "io/unique_fd.h"

namespace weft::cli {

class LabClient {
 public:
  // timed_out, connection_refused: the lab is going, or another user's.
  static Expected<LabClient> connect(const daemon::LabPaths& lab);

  // The report that came with the answer; null when none did. The error is the lab's own where it
  // refused.
  Expected<nlohmann::json> ask(const nlohmann::json& request);

  // After a capture was asked for: the next message in `buffer`. Nothing when the lab has ended;
  // interrupted: none came for a moment, or a signal did.
  Expected<std::optional<std::size_t>> next(MutableBytes buffer);

  [[nodiscard]] int fd() const { return socket_.get(); }

 private:
  explicit LabClient(io::UniqueFd socket) : socket_(std::move(socket)) {}
  io::UniqueFd socket_;
};

// The lab that a command means (daemon::choose_lab), of those in this user's directories.
Expected<daemon::LabPaths> choose_running_lab(const std::string& name);

// One question to the lab that is meant.
Expected<nlohmann::json> ask_lab(const std::string& name, const nlohmann::json& request);

}  // namespace weft::cli
