// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <variant>

#include "base/gid_prefix.h"
#include "base/ids.h"

namespace weft::hca {

// Which packets of a port go to a set of raw queues: those to a LID, those with a GRH whose DGID
// has a prefix (a whole GID is one of 128 bits), or one of these.
struct OtherLids {  // whatever is not for the port's own LIDs
  friend bool operator==(const OtherLids&, const OtherLids&) = default;
};
struct OtherGids {  // packets with a GRH that is not for the port's own GIDs
  friend bool operator==(const OtherGids&, const OtherGids&) = default;
};
struct Everything {  // copies of what nothing else diverts
  friend bool operator==(const Everything&, const Everything&) = default;
};
using RawRule = std::variant<Lid, GidPrefix, OtherLids, OtherGids, Everything>;

}  // namespace weft::hca
