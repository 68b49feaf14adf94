// SPDX-License-Identifier: Apache-2.0
// The section, or regenerator section: scrambler, B1, and what else the first three rows of the
// overhead have. Whatever stands in a line has both ends of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "wan/line/sonet/defects.h"
#include "wan/line/sonet/geometry.h"
#include "wan/line/sonet/scrambler.h"
#include "wan/line/sonet/sonet_counters.h"
#include "wan/line/sonet/trace.h"

namespace weft::wan::sonet {

// Of a frame without its first three rows of overhead: what B2 of the next one is to be, 3 N octets
// (G.707, 9.2.2.4). `parity` is that of the whole frame `plain`.
[[nodiscard]] Parity line_parity(const Parity& parity, Bytes plain, const Geometry& g);
// How many bits of B2 in `plain` are not as `expected`, which is from line_parity().
[[nodiscard]] std::uint32_t b2_errors(const Parity& expected, Bytes plain, const Geometry& g);

class SectionReader {
 public:
  // All but `expected` outlive it.
  SectionReader(Level level, const Trace& expected, Defects& defects, SonetCounters& counters);

  // A frame of the line; what it says of the section is seen to. The plain one and its parity stay
  // until the next call.
  void take(Bytes line);
  [[nodiscard]] MutableBytes plain() { return plain_; }
  [[nodiscard]] const Parity& parity() const { return parity_; }
  // The next frame does not follow.
  void restart();
  [[nodiscard]] const TraceReceiver& trace() const { return trace_; }

 private:
  const Level level_;
  const Geometry g_;
  Defects& defects_;
  SonetCounters& counters_;
  TraceReceiver trace_;
  std::vector<std::byte> plain_;
  Parity parity_{};
  std::optional<std::byte> b1_;  // that the next frame is to have
};

class SectionWriter {
 public:
  SectionWriter(Level level, const Trace& trace);

  // Writes framing octets, J0 and B1 into the first rows of `plain` and the frame for the line into
  // `line`. The parity of the plain one.
  Parity put(MutableBytes plain, MutableBytes line);

 private:
  const Level level_;
  const Geometry g_;
  TraceSender trace_;
  std::byte b1_{};
};

}  // namespace weft::wan::sonet
