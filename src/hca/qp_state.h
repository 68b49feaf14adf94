// SPDX-License-Identifier: Apache-2.0
// Queue pair attributes and the transition table of IBA 11.2.5.2 (tables 91 and 92).
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "hca/types.h"

namespace weft::hca {

// Which attributes a modify carries. A bit mask.
enum QpAttr : std::uint32_t {
  kAttrState = 1u << 0,
  kAttrCurrentState = 1u << 1,
  kAttrSqdNotify = 1u << 2,
  kAttrAccess = 1u << 3,
  kAttrPKeyIndex = 1u << 4,
  kAttrPort = 1u << 5,
  kAttrQKey = 1u << 6,
  kAttrSqPsn = 1u << 7,
  kAttrOther = 1u << 31,  // something that no datagram queue pair has
};

struct QpAttributes {
  QpState state = QpState::kReset;
  QpState current_state = QpState::kReset;
  bool sqd_notify = false;
  std::uint16_t pkey_index = 0;
  std::uint8_t port = 0;
  QKey qkey{};
  Psn sq_psn{};
};

const char* to_string(QpState state);

// Checks that `mask` carries what the transition needs and nothing that it forbids. The error
// names the transition and the attributes that are missing or out of place.
Expected<void> check_transition(QpType type, QpState from, QpState to, std::uint32_t mask);

}  // namespace weft::hca
