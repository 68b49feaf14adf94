// SPDX-License-Identifier: Apache-2.0
// Numbers in byte order. Every multi-byte field of IBA, IP and UDP is big-endian; the two CRCs of
// an IBA packet are little-endian (IBA 7.8: the register goes out low-order byte first). The
// pointer forms do not check: the caller has made sure that the bytes are there.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace weft::wire {

namespace detail {

constexpr std::uint16_t swap_bytes(std::uint16_t v) {
  return __builtin_bswap16(v);
}
constexpr std::uint32_t swap_bytes(std::uint32_t v) {
  return __builtin_bswap32(v);
}
constexpr std::uint64_t swap_bytes(std::uint64_t v) {
  return __builtin_bswap64(v);
}

template <class T, std::endian kOrder>
[[nodiscard]] inline T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return kOrder == std::endian::native ? value : swap_bytes(value);
}

template <std::endian kOrder, class T>
inline void store(std::byte* to, T value) {
  if (kOrder != std::endian::native) value = swap_bytes(value);
  std::memcpy(to, &value, sizeof value);
}

}  // namespace detail

[[nodiscard]] inline std::uint8_t load_u8(const std::byte* from) {
  return std::to_integer<std::uint8_t>(*from);
}
[[nodiscard]] inline std::uint16_t load_be16(const std::byte* from) {
  return detail::load<std::uint16_t, std::endian::big>(from);
}
[[nodiscard]] inline std::uint32_t load_be24(const std::byte* from) {
  return std::uint32_t{load_u8(from)} << 16 | load_be16(from + 1);
}
[[nodiscard]] inline std::uint32_t load_be32(const std::byte* from) {
  return detail::load<std::uint32_t, std::endian::big>(from);
}
[[nodiscard]] inline std::uint64_t load_be64(const std::byte* from) {
  return detail::load<std::uint64_t, std::endian::big>(from);
}
[[nodiscard]] inline std::uint16_t load_le16(const std::byte* from) {
  return detail::load<std::uint16_t, std::endian::little>(from);
}
[[nodiscard]] inline std::uint32_t load_le32(const std::byte* from) {
  return detail::load<std::uint32_t, std::endian::little>(from);
}
[[nodiscard]] inline std::uint64_t load_le64(const std::byte* from) {
  return detail::load<std::uint64_t, std::endian::little>(from);
}

inline void store_u8(std::byte* to, std::uint8_t value) {
  *to = std::byte{value};
}
inline void store_be16(std::byte* to, std::uint16_t value) {
  detail::store<std::endian::big>(to, value);
}
// The low 24 bits of `value`.
inline void store_be24(std::byte* to, std::uint32_t value) {
  store_u8(to, static_cast<std::uint8_t>(value >> 16));
  store_be16(to + 1, static_cast<std::uint16_t>(value));
}
inline void store_be32(std::byte* to, std::uint32_t value) {
  detail::store<std::endian::big>(to, value);
}
inline void store_be64(std::byte* to, std::uint64_t value) {
  detail::store<std::endian::big>(to, value);
}
inline void store_le16(std::byte* to, std::uint16_t value) {
  detail::store<std::endian::little>(to, value);
}
inline void store_le32(std::byte* to, std::uint32_t value) {
  detail::store<std::endian::little>(to, value);
}
inline void store_le64(std::byte* to, std::uint64_t value) {
  detail::store<std::endian::little>(to, value);
}

}  // namespace weft::wire
