// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/counters.h"
#include "base/time.h"
#include "wan/line/line_session.h"
#include "wan/line/octet_stream.h"

namespace weft::wan {

// A line that brings no octet for so long is cut: lines do not stop. Whoever makes its octets is a
// process that may have no processor for a while, and then is no more gone than a tunnel's other
// end is before so long.
inline constexpr Duration kLineSilence = 3s;

// One end of a WAN's line: packets become its octets, and its octets packets. The packets that go
// come from the PacketSource that it was made with, those that came go to its PacketSink.
class Line {
 public:
  Line() = default;
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  virtual ~Line() = default;

  [[nodiscard]] virtual OctetSource& out() = 0;
  [[nodiscard]] virtual OctetSink& in() = 0;
  [[nodiscard]] virtual LineSession& session() = 0;
  // Bytes of the longest packet that it carries; longer ones are not taken from the source.
  [[nodiscard]] virtual std::size_t longest_packet() const = 0;
  // Of each of its parts; names are unique.
  [[nodiscard]] virtual std::vector<CounterValue> counters() const = 0;
};

}  // namespace weft::wan
