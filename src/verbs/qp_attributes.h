// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "hca/qp_state.h"
#include "host/context.h"
#include "verbs/abi.h"

namespace weft::verbs {

struct QpChange {
  hca::QpAttributes attributes;
  std::uint32_t mask = 0;  // hca::QpAttr bits
};

// What a modify asks for. EINVAL for a value that has no meaning here: a state, an MTU, rights or
// an address that do not exist. Whether the transition allows it is the queue pair's to say.
Expected<QpChange> change_of(host::Context& context, const ibv_qp_attr& attributes, unsigned mask);

// Everything but the capabilities, which the caller knows.
ibv_qp_attr attributes_of(const hca::QpAttributes& attributes);

}  // namespace weft::verbs
