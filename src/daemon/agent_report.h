// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "base/counters.h"

namespace weft::daemon {

// The counters that an agent's report has, layer by layer, without those of UDP sockets.
std::span<const std::span<const CounterInfo>> reported_counters();

}  // namespace weft::daemon
