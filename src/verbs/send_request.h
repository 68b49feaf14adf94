// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hca/types.h"
#include "verbs/objects.h"

namespace weft::verbs {

// Everything of a work request but its pieces; false for one that means nothing to a queue pair of
// this type: an opcode, a flag, an address handle of another domain, a bind that is not one.
bool describe(const Qp& qp, const ibv_send_wr& from, hca::SendRequest& to);

}  // namespace weft::verbs
