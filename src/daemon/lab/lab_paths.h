// SPDX-License-Identifier: Apache-2.0
// Where a running lab is found: a directory of its own in the user's runtime directory, with one
// socket for each thing that may be asked of it, so that each can have permissions of its own.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/unique_fd.h"

namespace weft::daemon {

struct LabPaths {
  std::string name;       // of the lab
  std::string part;       // of a lab in parts, which of them; else empty
  std::string directory;  // <runtime directory>/labs/<name>, or <name>@<part>
  std::string lock;       // held while the lab runs
  std::string attach;     // SEQPACKET: a program attaches to a node as an application
  std::string mads;     // SEQPACKET: management packets of a node; who may open it owns the fabric
  std::string rdma_cm;  // SEQPACKET: a program on a node makes connections by IP address
  std::string admin;    // stream: one JSON request each: state, links, captures, the end
  std::string parts;    // SEQPACKET: other parts of the lab, for links between them
  // What the lab's own subnet manager remembers by, wherever it is; empty: it does not. Not of the
  // running lab alone, so nothing that lab_paths() knows.
  std::string database{};
  // Of another user's lab, whose it is; else empty.
  std::string owner{};

  // What commands call it: "pair", "pair@left", "alice/pair".
  [[nodiscard]] std::string title() const {
    return (owner.empty() ? "" : owner + "/") + (part.empty() ? name : name + "@" + part);
  }
};

// invalid_argument unless both names are 1 to 64 letters, digits, '.', '_' and '-', and do not
// begin with '.': they become a file name. `part` may be empty.
Expected<LabPaths> lab_paths(const std::string& runtime_directory, std::string_view name,
                             std::string_view part = {});
// The same in a directory of labs; both names are ones that lab_paths() takes.
LabPaths paths_below(const std::string& labs, std::string_view name, std::string_view part);
// The same of a directory's name, "pair@left". Nothing: no lab's is called so.
std::optional<LabPaths> paths_from(const std::string& labs, const std::string& directory);
// Of another part of the same lab, in the same place.
LabPaths paths_of_part(const LabPaths& paths, const std::string& part);

// The labs, and parts of labs, that run now, in the order of their names: those whose lock is held.
std::vector<LabPaths> running_labs(const std::vector<std::string>& runtime_directories);

// The lab that a command means: `name`, or, when that is empty, the only one that runs; of a lab in
// parts all that run here, or the one of "LAB@PART". no_such_file_or_directory when it, or any,
// does not run; invalid_argument when several do. The message says what to do.
Expected<std::vector<LabPaths>> choose_lab(const std::vector<LabPaths>& running,
                                           std::string_view name);

// Creates the lab's directory and takes its lock. device_or_resource_busy: a lab of that name runs,
// or that part of it.
Expected<io::UniqueFd> claim_lab(const LabPaths& paths);

}  // namespace weft::daemon
