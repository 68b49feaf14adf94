// SPDX-License-Identifier: Apache-2.0
// What the two ends of a door (host/door.h) say, as the daemon reads and writes it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "daemon/hello.h"
#include "host/door.h"
#include "rdmacm/command_core.h"

namespace weft::daemon {

inline constexpr std::size_t kLongestDoorMessage = std::max<std::size_t>(
    sizeof(host::door::Request) + host::door::kMostCommand + host::door::kMostExtra,
    sizeof(host::door::Hello) + host::door::kMostFault + host::door::kMostCapture);

// A Request and what follows it.
struct DoorCommand {
  Bytes command;
  Bytes extra;
  std::uint64_t other = 0;  // file
};
// Nothing when it is not as long as it says.
[[nodiscard]] std::optional<DoorCommand> parse_door_command(Bytes message);

// no_buffer_space: the program does not read its answers.
Expected<void> send_door_answer(int socket, const rdmacm::Reply& reply);

[[nodiscard]] constexpr Greeting door_greeting(const char* whose) {
  return {host::door::kMagic, host::door::kVersion, offsetof(host::door::Hello, purpose), whose};
}

}  // namespace weft::daemon
