// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/ids.h"

namespace weft::mgmt {

// Of an I/O unit, as device management shows it (IBA 16.3.3.4).
struct IoController {
  Guid guid;
  std::string id;  // what it is, for a person: UTF-8, of which 64 bytes are shown
};

}  // namespace weft::mgmt
