// SPDX-License-Identifier: Apache-2.0
// An add/drop multiplexer between two lines, each of which ends here, with a clock of its own. The
// path of the levels here is a whole line's: it passes, or it ends here, too, towards either side.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "wan/line/octet_stream.h"
#include "wan/line/sonet/defects.h"
#include "wan/line/sonet/line_receiver.h"
#include "wan/line/sonet/line_transmitter.h"
#include "wan/line/sonet/path_receiver.h"
#include "wan/line/sonet/path_transmitter.h"
#include "wan/line/sonet/sonet_counters.h"
#include "wan/line/sonet/vc_relay.h"

namespace weft::wan::sonet {

enum class Side : std::uint8_t { kWest, kEast, kCount };
inline constexpr std::size_t kSides = static_cast<std::size_t>(Side::kCount);

struct AddDropOptions {
  Level level = Level::kStm64;
  bool sdh = true;
  // Sent and expected in J0 of each side's line.
  std::array<Trace, kSides> traces{};
  std::array<Trace, kSides> expected_traces{};
};

// What is added towards a side and dropped from it.
struct LocalPath {
  std::uint8_t label = 0;  // C2, sent and expected
  Trace trace{};           // J1 sent
  Trace expected_trace{};
  OctetSource* add = nullptr;
  OctetSink* drop = nullptr;
};

class AddDropMultiplexer {
 public:
  // The path passes.
  explicit AddDropMultiplexer(const AddDropOptions& options);
  // The path of `side` ends here, as `path` says; its ends outlive this. The other side gets
  // containers that are unequipped, and what comes from it is dropped.
  AddDropMultiplexer(const AddDropOptions& options, Side side, const LocalPath& path);
  ~AddDropMultiplexer();
  AddDropMultiplexer(const AddDropMultiplexer&) = delete;
  AddDropMultiplexer& operator=(const AddDropMultiplexer&) = delete;

  // The line of a side: what comes from it, and what goes to it.
  [[nodiscard]] OctetSink& from(Side side);
  [[nodiscard]] OctetSource& to(Side side);
  void lose_signal(Side side);

  // Of that line; where the path passes, the path's defects are those of its pointers.
  [[nodiscard]] const Defects& defects(Side side) const;
  [[nodiscard]] const SonetCounters& counters(Side side) const;

 private:
  struct Line;
  class Nothing;

  std::unique_ptr<Nothing> nothing_;
  std::array<std::unique_ptr<Line>, kSides> lines_;
};

}  // namespace weft::wan::sonet
