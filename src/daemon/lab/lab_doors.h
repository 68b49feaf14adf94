// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/error.h"
#include "daemon/lab/lab_paths.h"
#include "daemon/listener.h"
#include "fabric/lab_access.h"
#include "io/unique_fd.h"

namespace weft::daemon {

// What a lab that lets in other users has for them, in a directory of its own that they can enter
// (io::shared_directory()). What it does not let them do is not there.
struct LabDoors {
  std::string directory;  // empty: nobody else is let in
  io::UniqueFd lock;      // held as long as the lab runs
  std::optional<Entrance> attach, rdma_cm, mads, admin;
  Admission manage;  // who may open what a subnet manager opens, in `directory`

  // Where files are that a subnet manager opens.
  [[nodiscard]] const std::string& management_directory(const LabPaths& paths) const {
    return mads ? directory : paths.directory;
  }
};

// Makes the directory, where anybody is to be let in, and clears away what a lab that was killed
// has left there; makes no socket. no_such_file_or_directory: this machine has no such group;
// device_or_resource_busy: another lab of that name and user lets others in.
Expected<LabDoors> open_doors(const LabPaths& paths, const fabric::LabAccess& access);

}  // namespace weft::daemon
