// SPDX-License-Identifier: Apache-2.0
// Spans of bytes and bounds-checked cursors over them. Multi-byte fields are wire/'s business
// (wire/endian.h); a cursor only hands out checked sub-spans.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace weft {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

// Reads a buffer from the front. Taking more than is left returns nothing and moves nothing.
class ByteCursor {
 public:
  explicit ByteCursor(Bytes bytes) : rest_(bytes) {}

  [[nodiscard]] std::size_t remaining() const { return rest_.size(); }
  [[nodiscard]] Bytes rest() const { return rest_; }

  [[nodiscard]] std::optional<Bytes> take(std::size_t count) {
    if (count > rest_.size()) return std::nullopt;
    const Bytes taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

 private:
  Bytes rest_;
};

// Fills a buffer from the front. A put that does not fit writes nothing and returns false.
class ByteSink {
 public:
  explicit ByteSink(MutableBytes bytes) : all_(bytes) {}

  [[nodiscard]] std::size_t remaining() const { return all_.size() - used_; }
  [[nodiscard]] std::size_t size() const { return used_; }
  [[nodiscard]] Bytes written() const { return all_.first(used_); }

  // Room for `count` bytes that the caller fills.
  [[nodiscard]] std::optional<MutableBytes> reserve(std::size_t count) {
    if (count > remaining()) return std::nullopt;
    const MutableBytes room = all_.subspan(used_, count);
    used_ += count;
    return room;
  }

  [[nodiscard]] bool put(Bytes bytes) {
    const auto room = reserve(bytes.size());
    if (!room) return false;
    if (!bytes.empty()) std::memcpy(room->data(), bytes.data(), bytes.size());
    return true;
  }

 private:
  MutableBytes all_;
  std::size_t used_ = 0;
};

}  // namespace weft
