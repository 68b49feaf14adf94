// SPDX-License-Identifier: Apache-2.0
// OpenSM as the subnet manager of a lab: begins with it, and ends with it.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/error.h"
#include "daemon/lab/lab_paths.h"
#include "fabric/lab.h"

namespace weft::cli {

class OpenSm {
 public:
  OpenSm() = default;
  ~OpenSm();
  OpenSm(const OpenSm&) = delete;
  OpenSm& operator=(const OpenSm&) = delete;

  // Its path. no_such_file_or_directory says how to come by it.
  static Expected<std::string> find();
  // As `weft run --node … -- opensm`; what it says and logs goes to files in the lab's directory.
  // Its sockets are there already.
  Expected<void> start(const fabric::Lab& lab, const daemon::LabPaths& paths);

 private:
  pid_t process_ = -1;
};

}  // namespace weft::cli
