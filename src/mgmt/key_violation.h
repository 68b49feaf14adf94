// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/ids.h"
#include "mgmt/mad_envelope.h"
#include "wire/grh.h"

namespace weft::mgmt {

// A packet whose P_Key or Q_Key was not the one asked for; what traps 257 to 259 tell of it.
struct KeyViolation {
  enum class Kind : std::uint8_t { kPKey, kQKey };
  Kind kind = Kind::kPKey;
  std::uint32_t key = 0;  // the one that it had
  Lid slid{};
  Lid dlid{};
  Sl sl{};
  Qpn source_qp{};  // 0 where the packet does not tell
  Qpn dest_qp{};
  std::optional<wire::Grh> grh{};
};

}  // namespace weft::mgmt
