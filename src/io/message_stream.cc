// SPDX-License-Identifier: Apache-2.0
#include "io/message_stream.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <utility>

namespace weft::io {
namespace {

std::size_t length_at(const Message& part) {
  std::size_t length = 0;
  for (std::size_t i = 0; i < kMessageLengthBytes; ++i)
    length = length << 8 | std::to_integer<std::size_t>(part[i]);
  return length;
}

}  // namespace

void append_message(std::vector<std::byte>& to, Bytes message) {
  assert(message.size() <= UINT32_MAX);
  for (int shift = 24; shift >= 0; shift -= 8)
    to.push_back(static_cast<std::byte>(message.size() >> shift));
  to.insert(to.end(), message.begin(), message.end());
}

// Appends what is missing until `part_` has `until` bytes; returns what is left.
Bytes MessageReader::fill(Bytes bytes, std::size_t until) {
  const std::size_t count = std::min(bytes.size(), until - part_.size());
  part_.insert(part_.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
  return bytes.subspan(count);
}

Expected<void> MessageReader::feed(Bytes bytes) {
  while (!bytes.empty()) {
    if (part_.size() < kMessageLengthBytes) bytes = fill(bytes, kMessageLengthBytes);
    if (part_.size() < kMessageLengthBytes) return {};
    const std::size_t length = length_at(part_);
    if (length > longest_) {
      return fail(std::errc::message_size,
                  fmt::format("a message of {} bytes, at most {}", length, longest_));
    }
    bytes = fill(bytes, kMessageLengthBytes + length);
    if (part_.size() < kMessageLengthBytes + length) return {};
    waiting_ += part_.size();
    part_.erase(part_.begin(), part_.begin() + kMessageLengthBytes);
    whole_.push_back(std::exchange(part_, {}));
  }
  return {};
}

std::optional<Message> MessageReader::take() {
  if (whole_.empty()) return std::nullopt;
  Message message = std::move(whole_.front());
  whole_.pop_front();
  waiting_ -= message.size() + kMessageLengthBytes;
  return message;
}

}  // namespace weft::io
