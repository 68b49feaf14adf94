// SPDX-License-Identifier: Apache-2.0
// Where a running lab is found: a directory of its own in the user's runtime directory, with one
// socket for each thing that may be asked of it, so that each can have permissions of its own.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/unique_fd.h"

namespace weft::daemon {

struct LabPaths {
  std::string name;       // of the lab
  std::string directory;  // <runtime directory>/labs/<name>
  std::string lock;       // held while the lab runs
  std::string attach;     // SEQPACKET: a program attaches to a node as an application
  std::string mads;     // SEQPACKET: management packets of a node; who may open it owns the fabric
  std::string rdma_cm;  // SEQPACKET: a program on a node makes connections by IP address
  std::string admin;    // stream: one JSON request each: state, links, captures, the end
  // What the lab's own subnet manager remembers by, wherever it is; empty: it does not. Not of the
  // running lab alone, so nothing that lab_paths() knows.
  std::string database{};
};

// invalid_argument unless the name is 1 to 64 letters, digits, '.', '_' and '-', and does not begin
// with '.': it becomes a file name.
Expected<LabPaths> lab_paths(const std::string& runtime_directory, std::string_view name);

// The labs that run now, in the order of their names: those whose lock is held.
std::vector<LabPaths> running_labs(const std::vector<std::string>& runtime_directories);

// The lab that a command means: `name`, or, when that is empty, the only one that runs.
// no_such_file_or_directory when it, or any, does not run; invalid_argument when several do. The
// message says what to do.
Expected<LabPaths> choose_lab(const std::vector<LabPaths>& running, std::string_view name);

// Creates the lab's directory and takes its lock. device_or_resource_busy: a lab of that name runs.
Expected<io::UniqueFd> claim_lab(const LabPaths& paths);

}  // namespace weft::daemon
