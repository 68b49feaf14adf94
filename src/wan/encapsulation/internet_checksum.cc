// SPDX-License-Identifier: Apache-2.0
#include "wan/encapsulation/internet_checksum.h"

#include <array>
#include <bit>
#include <cassert>
#include <cstring>

#include "wire/endian.h"
#include "wire/grh.h"

namespace weft::wan {
namespace {

std::uint64_t fold(std::uint64_t sum) {
  while (sum > 0xFFFF)
    sum = (sum & 0xFFFF) + (sum >> 16);
  return sum;
}

std::uint64_t swapped(std::uint64_t word) {
  return (word & 0xFF) << 8 | word >> 8;
}

// The sum does not depend on the order of bytes in a word but for that of its result (RFC 1071,
// 2B), and carries may be added in at the end, so words are taken as they lie, two at a time.
std::uint64_t sum_of(Bytes piece) {
  std::uint64_t sum = 0;
  const std::byte* at = piece.data();
  std::size_t left = piece.size();
  for (; left >= 4; at += 4, left -= 4) {
    std::uint32_t word;
    std::memcpy(&word, at, sizeof word);
    sum += word;
  }
  std::uint32_t rest = 0;
  if (left != 0) std::memcpy(&rest, at, left);
  return fold(sum + rest);
}

}  // namespace

// The sum of an IPv4-mapped address is that of the IPv4 address and of 0xFFFF, which is zero in
// this arithmetic.
InternetChecksum::InternetChecksum(const Gid& source, const Gid& destination, std::uint8_t protocol,
                                   std::uint32_t length) {
  std::array<std::byte, 32> addresses;
  wire::store_gid(addresses.data(), source);
  wire::store_gid(addresses.data() + 16, destination);
  add(addresses);
  add16(static_cast<std::uint16_t>(length >> 16));
  add16(static_cast<std::uint16_t>(length));
  add16(protocol);
}

void InternetChecksum::add(Bytes piece) {
  if (piece.empty()) return;
  const std::uint64_t sum = sum_of(piece);
  sum_ += odd_ ? swapped(sum) : sum;
  odd_ = odd_ != (piece.size() % 2 != 0);
}

void InternetChecksum::add16(std::uint16_t value) {
  assert(!odd_);
  std::byte bytes[2];
  wire::store_be16(bytes, value);
  add(bytes);
}

std::uint16_t InternetChecksum::value() const {
  const std::uint64_t sum = fold(sum_);
  const auto word =
      static_cast<std::uint16_t>(std::endian::native == std::endian::little ? swapped(sum) : sum);
  return static_cast<std::uint16_t>(~word);
}

}  // namespace weft::wan
