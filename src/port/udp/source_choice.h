// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/time.h"
#include "hca/types.h"
#include "port/udp/routed_sources.h"

namespace weft::port {

// Whether datagrams of a path need their source address named. Naming it costs a send a tenth of a
// short datagram's round trip, and most of the time the kernel would choose the same by itself.
// What the kernel would choose is looked at anew every kBelieved, since routes change; with what
// RoutedSources believes, that is a second.
class SourceChoice {
 public:
  // Not thread-safe: one sending thread.
  [[nodiscard]] bool must_name_source(const hca::Path& path, RoutedSources& sources);

 private:
  static constexpr Duration kBelieved = 500ms;
  static constexpr std::uint32_t kPerLook = 16;  // sends from one look at the clock to the next

  Gid source_;
  Gid destination_;
  std::uint32_t scope_id_ = 0;
  Time asked_at_{};
  std::uint32_t sends_ = 0;
  bool asked_ = false;
  bool must_name_ = true;
};

}  // namespace weft::port
