// SPDX-License-Identifier: Apache-2.0
// What a subnet manager has to say while it works, in the words of its field. It does not log: its
// owner decides what becomes of it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace weft::sm {

struct ManagerEvent {
  enum class Kind : std::uint8_t {
    kState,     // of the manager: it entered MASTER, STANDBY, …
    kHandover,  // mastership was given away, taken, or is waited for
    kSubnetUp,  // a sweep has ended, and all is as it should be
    kNode,      // one has appeared, or gone
    kLink,      // one came up, or went down
    kLid,       // a port was given one
    kDatabase,  // what is remembered: it cannot be read or written, or can again
    kProblem,   // something is left out, or could not be done
    kTrap,      // a node has reported that somebody used a wrong key
  };
  Kind kind{};
  std::string text;  // one line
};

// What each kind is called, in reports and where events are kept.
inline constexpr std::array<std::string_view, 9> kManagerEventKinds{
    "state", "handover", "subnet-up", "node", "link", "lid", "database", "problem", "trap"};
[[nodiscard]] constexpr std::string_view to_string(ManagerEvent::Kind kind) {
  return kManagerEventKinds[static_cast<std::size_t>(kind)];
}

using EventHandler = std::function<void(const ManagerEvent&)>;

}  // namespace weft::sm
