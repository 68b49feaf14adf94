// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <rdma/ib_user_verbs.h>

#include <cstdint>

#include "hca/types.h"
#include "mgmt/cm_parameters.h"

namespace weft::rdmacm {

// Bits of ib_uverbs_qp_attr::qp_attr_mask, as enum ibv_qp_attr_mask has them.
enum QpAttrBit : std::uint32_t {
  kQpState = 1u << 0,
  kQpAccessFlags = 1u << 3,
  kQpPKeyIndex = 1u << 4,
  kQpPort = 1u << 5,
  kQpQKey = 1u << 6,
};

// An address vector for `path`, through port `port`.
[[nodiscard]] ib_uverbs_ah_attr ah_attributes(const hca::Path& path, std::uint8_t port);

// A step of a queue pair at port `port`, as the rdma_cm command interface describes it.
[[nodiscard]] ib_uverbs_qp_attr qp_attributes(const mgmt::QpTransition& transition,
                                              std::uint8_t port);

}  // namespace weft::rdmacm
