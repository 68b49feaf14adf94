// SPDX-License-Identifier: Apache-2.0
#include "hca/credit.h"

#include <cassert>

#include "wire/endian.h"

namespace weft::hca {

//   byte 0  zero    1-3  seen    4-7  receives    8-11  bytes    12-15  lost
std::optional<Credit> Credit::parse(Bytes bytes) {
  if (bytes.size() != kSize || wire::load_u8(bytes.data()) != 0) return std::nullopt;
  return Credit{.seen = Psn{wire::load_be24(bytes.data() + 1)},
                .receives = wire::load_be32(bytes.data() + 4),
                .bytes = wire::load_be32(bytes.data() + 8),
                .lost = wire::load_be32(bytes.data() + 12)};
}

void Credit::write(MutableBytes out) const {
  assert(out.size() >= kSize);
  wire::store_be32(out.data(), seen.value());
  wire::store_be32(out.data() + 4, receives);
  wire::store_be32(out.data() + 8, bytes);
  wire::store_be32(out.data() + 12, lost);
}

}  // namespace weft::hca
