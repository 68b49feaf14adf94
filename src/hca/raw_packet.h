// SPDX-License-Identifier: Apache-2.0
// What an adapter looks at in a whole packet that a data service sends: who makes one and who lets
// it out look at the same.
#pragma once

#include <cstddef>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/grh.h"
#include "wire/lrh.h"

namespace weft::hca {

struct RawHead {
  wire::Lrh lrh{};
  std::optional<wire::Grh> grh{};
  std::optional<PKey>
      pkey{};  // of a packet with a BTH, which has an ICRC too; raw ones have neither
  std::size_t transport = 0;  // where the BTH begins, bytes from the LRH; 0: there is none
};

// Whether a GRH is right in a packet of which the VCRC covers so many bytes (IBA 8.3).
[[nodiscard]] bool is_right(const wire::Grh& grh, std::size_t covered);

// From the front of a packet, which has all headers up to the BTH. Nothing: it is for the subnet's
// management (VL15, queue pair 0), which services do not send, or malformed: too short, of another
// version, a GRH that does not fit the length that the LRH says, or a length without room for the
// headers and the ICRC. Whether the packet has that length is for others to see.
[[nodiscard]] std::optional<RawHead> read_raw_head(Bytes front);

}  // namespace weft::hca
