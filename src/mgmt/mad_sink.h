// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "hca/types.h"
#include "wire/mad.h"

namespace weft::mgmt {

using wire::kMadSize;

// Carries a management datagram to QP 1 at the other end of `to` (source QP 1, Q_Key kGsiQKey), in
// the partition of `pkey`, of which the port may be a member of another kind than `pkey` says. May
// lose it; must not call the manager back.
class MadSink {
 public:
  virtual ~MadSink() = default;
  virtual void send(const hca::Path& to, PKey pkey, std::span<const std::byte, kMadSize> mad) = 0;
};

}  // namespace weft::mgmt
