// SPDX-License-Identifier: Apache-2.0
// Messages over local sockets that carry open files (SCM_RIGHTS).
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/error.h"
#include "io/unique_fd.h"

namespace weft::io {

// One message over a SOCK_SEQPACKET socket, with `descriptor` unless that is negative. Never waits:
// no_buffer_space when the other end does not read.
Expected<void> send_message(int socket, Bytes message, int descriptor = -1);

// The same with several descriptors, at most kMostDescriptors.
inline constexpr std::size_t kMostDescriptors = 8;
Expected<void> send_message(int socket, Bytes message, std::span<const int> descriptors);

struct ReceivedMessage {
  std::size_t size = 0;  // bytes of the buffer that were filled; 0: the other end has closed
  UniqueFd descriptor;   // that came with it, if one did
};

// The next message. Nothing when there is none and the socket does not block. message_size: it was
// longer than the buffer, and is lost.
Expected<std::optional<ReceivedMessage>> receive_message(int socket, MutableBytes buffer);

// The same for a message that may carry several: fills `descriptors` from the front, at most
// kMostDescriptors, and empties the rest; more that came are closed. The result's descriptor stays
// empty.
Expected<std::optional<ReceivedMessage>> receive_message(int socket, MutableBytes buffer,
                                                         std::span<UniqueFd> descriptors);

}  // namespace weft::io
