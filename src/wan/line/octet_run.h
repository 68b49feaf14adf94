// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "wire/endian.h"

namespace weft::wan {

// How many octets of this value there are before another one.
[[nodiscard]] inline std::size_t octet_run(Bytes octets, std::byte value) {
  const std::uint64_t eight = 0x0101'0101'0101'0101 * std::to_integer<std::uint64_t>(value);
  std::size_t run = 0;
  while (run + sizeof eight <= octets.size() && wire::load_le64(octets.data() + run) == eight)
    run += sizeof eight;
  while (run < octets.size() && octets[run] == value)
    ++run;
  return run;
}

}  // namespace weft::wan
