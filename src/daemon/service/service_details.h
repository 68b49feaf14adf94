// SPDX-License-Identifier: Apache-2.0
// What services of each type have to tell beside their counters: "details" of docs/cli.md.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "fabric/lab.h"
#include "service/firewall/firewall.h"
#include "service/limiter/limiter.h"
#include "service/monitor/monitor.h"

namespace weft::daemon {

// The heaviest flows and senders, by the names of the lab's ports where they are that; the latency
// of connections that were seen to begin.
[[nodiscard]] nlohmann::json details_of(const service::Monitor& monitor, const fabric::Lab& lab);
// What became of each tenant that has a rate.
[[nodiscard]] nlohmann::json details_of(const service::Limiter& limiter, const fabric::Lab& lab);
// What each rule has matched, by its line in the file.
[[nodiscard]] nlohmann::json details_of(service::firewall::Firewall& firewall);

}  // namespace weft::daemon
