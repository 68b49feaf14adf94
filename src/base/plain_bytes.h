// SPDX-License-Identifier: Apache-2.0
// Structures that travel as they are between processes of one machine.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

#include "base/bytes.h"

namespace weft::plain {

// A structure from the front of `in`; nothing when there are fewer than `least` bytes. What is
// missing beyond them is zero: older programs send shorter structures.
template <class T>
[[nodiscard]] std::optional<T> read(Bytes in, std::size_t least = sizeof(T)) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (in.size() < least) return std::nullopt;
  T out{};
  std::memcpy(&out, in.data(), std::min(in.size(), sizeof out));
  return out;
}

template <class T>
[[nodiscard]] Bytes bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

}  // namespace weft::plain
