// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "host/context.h"
#include "verbs/abi.h"

namespace weft::verbs {

// The path that an address vector describes. EINVAL for a port that there is not, for a
// `sgid_index` that the port does not have; on Ethernet for an address without a network header
// (RoCEv2, annex A17.4.3), on InfiniBand for one without a LID.
Expected<hca::Path> path_of(host::Context& context, const ibv_ah_attr& attributes);

// The way back; zeros for a path that was never set.
ibv_ah_attr address_vector_of(const hca::Path& path);

}  // namespace weft::verbs
