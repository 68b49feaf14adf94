// SPDX-License-Identifier: Apache-2.0
// A switch of cells: each connection leads from a port and a channel to another port and channel,
// with a queue before each port. When a queue is long, cells that pass are marked (EFCI), then
// those of low priority are dropped, at last all (ITU-T I.371, 6). What is on the signalling
// channel is for the switch itself: whoever has it (switch_calls.h) is asked first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/counters.h"
#include "base/time.h"
#include "wan/line/atm/cell.h"
#include "wan/line/atm/oam.h"

namespace weft::wan::atm {

enum class SwitchCounter : std::uint8_t {
  kForwarded,
  kMarked,
  kNoConnection,
  kDroppedLowPriority,
  kDroppedFull,
  kSegmentEnded,
  kAlarmsSent,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(SwitchCounter::kCount)>
    kSwitchCounters{{
        {"forwarded", "cells put into the queue of a port"},
        {"marked", "of them, those marked as having met congestion"},
        {"no_connection", "cells dropped: of no connection"},
        {"dropped_low_priority", "cells of low priority dropped: the queue was long"},
        {"dropped_full", "cells dropped: the queue was full"},
        {"segment_ended", "maintenance cells of a segment, which ends here: answered or dropped"},
        {"alarms_sent", "cells that say that nothing comes by a port (AIS)"},
    }};

using SwitchCounters = CounterSet<SwitchCounter, kSwitchCounters>;

struct SwitchOptions {
  std::size_t ports = 2;
  std::size_t queue = 1024;        // cells that a port's queue has room for, at least 1
  std::size_t mark_at = 512;       // with so many in it, cells are marked
  std::size_t low_priority = 768;  // with so many in it, those of low priority are dropped
};

// A port and a channel of it.
struct SwitchEnd {
  std::size_t port = 0;
  Channel channel{};
  friend auto operator<=>(const SwitchEnd&, const SwitchEnd&) = default;
};

class CellSwitch {
 public:
  explicit CellSwitch(const SwitchOptions& options);

  // Both ways. False, and nothing changes: one of them is of a connection already, the channel is
  // not for users, or there is no such port.
  [[nodiscard]] bool connect(const SwitchEnd& one, const SwitchEnd& other);
  // Either end of it.
  void disconnect(const SwitchEnd& end);
  // A channel of this port that is of no connection; nothing: all are.
  [[nodiscard]] std::optional<Channel> free_channel(std::size_t port) const;

  // Cells that came by a port, but for those of the signalling channel.
  void take(std::size_t port, const CellRun& run);
  // Cells that leave by a port, as CellFeed has it.
  [[nodiscard]] std::size_t put_cells(std::size_t port, MutableBytes cells);

  // Nothing comes by a port any more, or it does again: its connections are told each second.
  void set_cut(std::size_t port, bool cut) { ports_[port].cut = cut; }
  void advance(Time now);

  [[nodiscard]] std::size_t queued(std::size_t port) const { return ports_[port].queue.size(); }
  [[nodiscard]] std::size_t ports() const { return ports_.size(); }
  [[nodiscard]] std::size_t connections() const { return connections_.size() / 2; }
  [[nodiscard]] const SwitchCounters& counters() const { return counters_; }

 private:
  using Cell = std::array<std::byte, kCellSize>;
  struct Port {
    std::deque<Cell> queue;
    bool cut = false;
  };

  void enqueue(const SwitchEnd& to, CellHeader header, Bytes payload);
  void end_segment(const SwitchEnd& from, const CellRun& run);

  const SwitchOptions options_;
  std::vector<Port> ports_;
  std::map<SwitchEnd, SwitchEnd> connections_;
  Time alarms_at_{};
  SwitchCounters counters_;
};

}  // namespace weft::wan::atm
