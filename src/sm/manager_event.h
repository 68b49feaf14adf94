// SPDX-License-Identifier: Apache-2.0
// What a subnet manager has to say while it works, in the words of its field. It does not log: its
// owner decides what becomes of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace weft::sm {

struct ManagerEvent {
  enum class Kind : std::uint8_t {
    kState,     // of the manager: it entered MASTER, STANDBY, …
    kHandover,  // mastership was given away, taken, or is waited for
    kSubnetUp,  // a sweep has ended, and all is as it should be
    kNode,      // one has appeared, or gone
    kLink,      // one came up, or went down
    kLid,       // a port was given one
    kProblem,   // something is left out, or could not be done
  };
  Kind kind{};
  std::string text;  // one line
};

using EventHandler = std::function<void(const ManagerEvent&)>;

}  // namespace weft::sm
