// SPDX-License-Identifier: Apache-2.0
// Traps 256 to 259, in words: somebody used an M_Key, P_Key or Q_Key that was wrong. Who is told of
// it again and again says it once in a while, and how often it was.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/ids.h"
#include "base/time.h"
#include "wire/sm/notice.h"

namespace weft::sm {

[[nodiscard]] bool is_key_violation(const wire::Notice& notice);

// "Bad P_Key (trap 257): P_Key 0x8011 on SL 0 from LID 3 QP 0x00002a to LID 4 QP 0x000001". The
// notice is of a violation.
[[nodiscard]] std::string describe_violation(const wire::Notice& notice);

class KeyViolations {
 public:
  // Between two lines on the same trap of the same port.
  static constexpr Duration kQuiet = 10s;
  // Of which it knows when there was a line; for others there is none until one of these is quiet.
  static constexpr std::size_t kMostSources = 64;

  // Whether a line is to be said of such a trap from that port now. If so: how many there were
  // since the line before for which none was said.
  [[nodiscard]] std::optional<std::uint64_t> take(Lid from, wire::TrapNumber trap, Time now);

 private:
  struct Source {
    Time said{};
    std::uint64_t unsaid = 0;
  };
  std::map<std::pair<Lid, wire::TrapNumber>, Source> sources_;
};

}  // namespace weft::sm
