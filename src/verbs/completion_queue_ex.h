// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "verbs/objects.h"

namespace weft::verbs {

// What a completion queue can be asked to tell: everything but VLANs, flow tags and tag matching.
inline constexpr std::uint64_t kReadableFlags = std::uint64_t{IBV_WC_STANDARD_FLAGS} |
                                                IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
                                                IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

// Sets the function pointers of the extended interface. Times are told to those who asked for
// them in `wc_flags`; the rest costs nothing and is always there.
void install_readers(Cq& cq, std::uint64_t wc_flags);

}  // namespace weft::verbs
