// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"

namespace weft::wan {

// The checksum of RFC 1071 over bytes that lie in pieces of any length, as a transport's is: over a
// pseudo-header, its own header and data.
class InternetChecksum {
 public:
  InternetChecksum() = default;
  // Over the pseudo-header of a transport's packet of `length` bytes, of IPv4 (RFC 793, 3.1) or
  // IPv6 (RFC 8200, 8.1) by the addresses, which are both of one.
  InternetChecksum(const Gid& source, const Gid& destination, std::uint8_t protocol,
                   std::uint32_t length);
  void add(Bytes piece);
  void add16(std::uint16_t value);  // between pieces of an even number of bytes in all
  // Of all that was added: what belongs into the field, which was zero, or 0 where it was right.
  [[nodiscard]] std::uint16_t value() const;

 private:
  std::uint64_t sum_ = 0;  // of words as they lie in memory
  bool odd_ = false;       // an odd number of bytes so far
};

}  // namespace weft::wan
