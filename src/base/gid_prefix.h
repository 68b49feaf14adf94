// SPDX-License-Identifier: Apache-2.0
// Prefixes of GIDs, as routers know other subnets by them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace weft {

// The first bits of a GID. Of a subnet it is 64 of them (IBA 4.1.1), of several subnets fewer.
class GidPrefix {
 public:
  static constexpr unsigned kMostBits = 128;

  // ::/0, which all GIDs have.
  constexpr GidPrefix() = default;
  // The first `bits` of `gid`, at most kMostBits; what follows them does not count.
  GidPrefix(const Gid& gid, unsigned bits);
  // Of a subnet.
  explicit GidPrefix(std::uint64_t subnet) : high_(subnet), bits_(64) {}

  [[nodiscard]] unsigned bits() const { return bits_; }
  // Its first 64 bits and the 64 after them, with zeros after those that it has.
  [[nodiscard]] std::uint64_t subnet() const { return high_; }
  [[nodiscard]] std::uint64_t rest() const { return low_; }
  [[nodiscard]] bool covers(const Gid& gid) const { return covers(GidPrefix(gid, kMostBits)); }
  [[nodiscard]] bool covers(const GidPrefix& other) const {
    return bits_ <= other.bits_ && common_bits(other) == bits_;
  }
  // How many bits at the beginning two have in common.
  [[nodiscard]] unsigned common_bits(const GidPrefix& other) const;
  // The bit after the first `index`, which is below kMostBits.
  [[nodiscard]] unsigned bit(unsigned index) const {
    return static_cast<unsigned>((index < 64 ? high_ : low_) >> (63 - index % 64) & 1);
  }
  // Its first bits, no more than it has.
  [[nodiscard]] GidPrefix first(unsigned bits) const;
  [[nodiscard]] std::string to_string() const;  // "fd00:0:0:2::/64"

  friend bool operator==(const GidPrefix&, const GidPrefix&) = default;

 private:
  std::uint64_t high_ = 0;
  std::uint64_t low_ = 0;
  unsigned bits_ = 0;
};

// As "fd00:0:0:2::/64"; without a length it is that of a subnet. Nothing: it is none, or has bits
// beyond its length.
[[nodiscard]] std::optional<GidPrefix> parse_gid_prefix(std::string_view text);

}  // namespace weft
