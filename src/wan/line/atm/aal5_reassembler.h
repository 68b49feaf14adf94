// SPDX-License-Identifier: Apache-2.0
// PDUs of AAL type 5 out of cells, in bounded memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "base/counters.h"
#include "wan/line/atm/aal5.h"

namespace weft::wan::atm {

// Each PDU of which a cell has come is counted once, but for those that others have run into
// because their last cell was lost: both are then one, which has no right CRC.
enum class Aal5Counter : std::uint8_t {
  kPdus,
  kCells,
  kBadCrc,
  kBadLength,
  kTooLong,
  kAborted,
  kTimedOut,
  kNoRoom,
  kClosed,
  kUnknownCells,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(Aal5Counter::kCount)>
    kAal5Counters{{
        {"pdus", "PDUs received whole"},
        {"cells", "cells of connections that are open"},
        {"bad_crc", "PDUs dropped: CRC wrong, as where a cell was lost or damaged"},
        {"bad_length", "PDUs dropped: length does not fit the cells, CRC right"},
        {"too_long", "PDUs dropped: more cells than a PDU may have here"},
        {"aborted", "PDUs that the sender has given up"},
        {"timed_out", "PDUs dropped: the rest of their cells did not come in time"},
        {"no_room", "PDUs dropped: too much of unfinished PDUs is kept already"},
        {"closed", "PDUs dropped: their connection was closed"},
        {"unknown_cells", "cells of connections that are not open"},
    }};

using Aal5Counters = CounterSet<Aal5Counter, kAal5Counters>;

struct Aal5Limits {
  std::size_t longest_payload = kLongestPayload;  // of a PDU, at least 1
  std::size_t most_kept = 1 << 20;   // octets of unfinished PDUs of all connections together
  std::uint64_t patience = 1 << 22;  // cell times from a PDU's last cell so far to the next
};

class Aal5Sink {
 public:
  virtual ~Aal5Sink() = default;
  // Gone on return.
  virtual void pdu(const Channel& channel, Bytes payload, std::uint8_t user_to_user) = 0;
};

class Aal5Reassembler {
 public:
  explicit Aal5Reassembler(const Aal5Limits& limits) : limits_(limits) {}

  // Cells of connections that are not open are counted and dropped.
  void open(const Channel& channel) { (void)partial_[channel]; }
  void close(const Channel& channel);

  // Cells of user data; `cell_time` is the number that the line was at, and never goes back.
  void take(const CellRun& run, std::uint64_t cell_time, Aal5Sink& sink);
  // Drops unfinished PDUs that have waited for longer than the limit.
  void expire(std::uint64_t cell_time);

  // Octets of unfinished PDUs.
  [[nodiscard]] std::size_t kept() const { return kept_; }
  [[nodiscard]] const Aal5Counters& counters() const { return counters_; }

 private:
  struct Partial {
    std::vector<std::byte> bytes;  // as far as it has come
    std::size_t used = 0;          // of them
    bool skips = false;            // what is left of a PDU that was dropped
    std::uint64_t last_cell = 0;
  };

  [[nodiscard]] Partial* find(const Channel& channel);
  [[nodiscard]] std::size_t gather(const CellRun& run, std::size_t from, Partial& partial);
  [[nodiscard]] std::size_t make_room(Partial& partial, std::size_t cells);
  void finish(const Channel& channel, Partial& partial, Aal5Sink& sink);
  void forget(Partial& partial);
  void drop(Partial& partial, Aal5Counter why);

  const Aal5Limits limits_;
  std::map<Channel, Partial> partial_;
  Partial* recent_ = nullptr;  // of recent_channel_, if anything
  Channel recent_channel_;
  std::size_t kept_ = 0;
  Aal5Counters counters_;
};

}  // namespace weft::wan::atm
