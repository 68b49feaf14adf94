// SPDX-License-Identifier: Apache-2.0
#include "base/gid_prefix.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <system_error>

#include "base/gid_text.h"

namespace weft {
namespace {

constexpr std::size_t kHalf = 8;  // bytes of one of the two words

std::uint64_t word(const Gid& gid, std::size_t first) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kHalf; ++i)
    value = value << 8 | gid.bytes()[first + i];
  return value;
}

// The first `bits` of a word, 0 to 64.
std::uint64_t mask(unsigned bits) {
  return bits == 0 ? 0 : ~std::uint64_t{0} << (64 - bits);
}

}  // namespace

GidPrefix::GidPrefix(const Gid& gid, unsigned bits)
    : high_(word(gid, 0) & mask(std::min(bits, 64u))),
      low_(word(gid, kHalf) & mask(bits > 64 ? std::min(bits, kMostBits) - 64 : 0)),
      bits_(std::min(bits, kMostBits)) {
}

unsigned GidPrefix::common_bits(const GidPrefix& other) const {
  const unsigned most = std::min(bits_, other.bits_);
  const std::uint64_t high = high_ ^ other.high_;
  if (high != 0) return std::min(most, static_cast<unsigned>(std::countl_zero(high)));
  return std::min(most, 64 + static_cast<unsigned>(std::countl_zero(low_ ^ other.low_)));
}

GidPrefix GidPrefix::first(unsigned bits) const {
  GidPrefix out = *this;
  out.bits_ = std::min(bits, bits_);
  out.high_ &= mask(std::min(out.bits_, 64u));
  out.low_ &= mask(out.bits_ > 64 ? out.bits_ - 64 : 0);
  return out;
}

std::string GidPrefix::to_string() const {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < kHalf; ++i) {
    bytes[i] = static_cast<std::uint8_t>(high_ >> (56 - 8 * i));
    bytes[kHalf + i] = static_cast<std::uint8_t>(low_ >> (56 - 8 * i));
  }
  return Gid{bytes}.to_string() + '/' + std::to_string(bits_);
}

std::optional<GidPrefix> parse_gid_prefix(std::string_view text) {
  const std::size_t slash = text.find('/');
  const auto gid = parse_gid(text.substr(0, slash));
  if (!gid) return std::nullopt;
  unsigned bits = 64;
  if (slash != text.npos) {
    const char* const last = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + slash + 1, last, bits);
    if (error != std::errc{} || stop != last || bits > GidPrefix::kMostBits) return std::nullopt;
  }
  // Bits beyond the length are a mistake of whoever wrote it.
  const GidPrefix prefix(*gid, bits);
  const GidPrefix whole(*gid, GidPrefix::kMostBits);
  if (prefix.subnet() != whole.subnet() || prefix.rest() != whole.rest()) return std::nullopt;
  return prefix;
}

}  // namespace weft
