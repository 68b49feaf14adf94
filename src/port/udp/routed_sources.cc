// SPDX-License-Identifier: Apache-2.0
#include "port/udp/routed_sources.h"

namespace weft::port {

// Whoever asks holds the lock, so that others wait for the answer instead of asking, too.
std::optional<Gid> RoutedSources::to(const Gid& destination, std::uint32_t scope_id, Time now) {
  const std::lock_guard guard(mutex_);
  const Key key{destination, scope_id};
  Answer* known = answers_.touch(key);
  if (known != nullptr && now - known->at < kBelieved) return known->source;
  if (known == nullptr) known = &answers_.insert(key, {});
  *known = {.source = ask_({destination, 1, scope_id}), .at = now};
  return known->source;
}

}  // namespace weft::port
