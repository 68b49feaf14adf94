// SPDX-License-Identifier: Apache-2.0
// What requests of the communication manager say of paths and partitions, brought into step with
// what the service does to packets: else the other end would answer around it.
#pragma once

#include <cstdint>

#include "service/fields.h"
#include "service/path_cache.h"
#include "wire/link_patch.h"

namespace weft::service {

enum class CmPathResult : std::uint8_t {
  kUnchanged,
  kChanged,
  kWithoutAlternate,  // the same, and an alternate path around the service was taken out
  kRefused,           // a LAP that names ends of its own
};

// `pkey`: what packets of this partition leave with.
[[nodiscard]] CmPathResult rewrite_cm_paths(const Fields& fields, const Path& path, PKey pkey,
                                            wire::LinkPatch& patch);

}  // namespace weft::service
