// SPDX-License-Identifier: Apache-2.0
// Messages on a stream of bytes: each one has its length before it, in 4 bytes, big-endian.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace weft::io {

using Message = std::vector<std::byte>;

inline constexpr std::size_t kMessageLengthBytes = 4;

// Appends the message's length and the message. It is shorter than 2^32 bytes.
void append_message(std::vector<std::byte>& to, Bytes message);

// Takes the stream apart. It holds what was fed to it and not taken yet, and no more: memory is
// taken as bytes come, not as a length promises them.
class MessageReader {
 public:
  explicit MessageReader(std::size_t longest) : longest_(longest) {}

  // message_size: a message longer than the longest; the stream cannot be read any further, and
  // what came before is still there.
  Expected<void> feed(Bytes bytes);
  [[nodiscard]] std::optional<Message> take();
  // Bytes of whole messages that wait to be taken; an empty one counts for its length field.
  [[nodiscard]] std::size_t waiting() const { return waiting_; }
  [[nodiscard]] bool within_message() const { return !part_.empty(); }

 private:
  [[nodiscard]] Bytes fill(Bytes bytes, std::size_t until);

  std::size_t longest_;
  Message part_;  // of a message, after its length
  std::deque<Message> whole_;
  std::size_t waiting_ = 0;
};

}  // namespace weft::io
