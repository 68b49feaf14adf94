// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/ids.h"

namespace weft::rdmacm {

// The Q_Key of datagram queue pairs of rdma_cm, unless a program names another (RDMA_UDP_QKEY).
inline constexpr QKey kDatagramQKey{0x0123'4567};

}  // namespace weft::rdmacm
