// SPDX-License-Identifier: Apache-2.0
// The end of a connection as far as maintenance goes (ITU-T I.610): it asks the other end again and
// again by loopback cells whether it is there, answers when it is asked, and says that nothing
// comes here when the network has said so.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>

#include "base/counters.h"
#include "base/time.h"
#include "wan/line/atm/cell.h"
#include "wan/line/atm/oam.h"
#include "wan/line/line_session.h"

namespace weft::wan::atm {

enum class OamCounter : std::uint8_t {
  kLoopbacksSent,
  kLoopbacksAnswered,
  kLoopbacksLost,
  kLoopbacksLate,
  kLoopbacksForOthers,
  kLooped,
  kAnswered,
  kAlarms,
  kRemoteDefects,
  kBadCrc,
  kOthers,
  kQueueFull,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(OamCounter::kCount)> kOamCounters{
    {
        {"loopbacks_sent", "loopback cells sent"},
        {"loopbacks_answered", "of them, those that came back from the other end"},
        {"loopbacks_lost", "of them, those that had not when the next one was due"},
        {"loopbacks_late", "of those, the ones that came back later, but not too late"},
        {"loopbacks_for_others",
         "loopback cells that came back with another's tag, or were for "
         "another point"},
        {"loopbacks_looped", "own loopback cells that came back unanswered: the line is looped"},
        {"loopbacks_returned", "loopback cells of the other end that were sent back"},
        {"alarms", "times the network began to say that it had nothing to bring (AIS)"},
        {"remote_defects", "times the other end began to say that nothing comes there (RDI)"},
        {"oam_bad_crc", "maintenance cells dropped: CRC wrong"},
        {"oam_others", "maintenance cells of functions that are not for this end"},
        {"oam_queue_full", "maintenance cells dropped: too many waited"},
    }};

using OamCounters = CounterSet<OamCounter, kOamCounters>;

struct OamOptions {
  Channel channel{};
  bool segment = false;  // to where the segment ends, else from end to end
  Duration period = 1s;  // from one loopback cell to the next, and of RDI cells (I.610, 9.2.1)
  // So many in turn without an answer, and the other end is not there. For so many periods an
  // answer may be on its way.
  unsigned lost_limit = 3;
  std::uint32_t first_tag = 1;
  // By which an end knows its own cells where the line is looped; unused: it cannot.
  OamLoopback::Id source = OamLoopback::of(OamLoopback::kUnused);
};

class OamEnd final : public LineSession, public CellFeed {
 public:
  // AIS and RDI end when no cell says so for so long (I.610, 9.2.1.1: 2.5 s +- 0.5 s).
  static constexpr Duration kDefectEnds = 2500ms;
  static constexpr std::size_t kMostWaiting = 16;

  explicit OamEnd(const OamOptions& options) : options_(options), tag_(options.first_tag) {}

  // Cells of the connection that have the payload type of this flow.
  void take_oam(const CellRun& run);
  // Cells of user data came: what they came by is not cut.
  void user_cells_came() { alarmed_until_.reset(); }

  // The other end answers, and neither it nor the network says that nothing comes.
  [[nodiscard]] bool up() const override { return answers_ && !alarmed_until_ && !defect_until_; }
  [[nodiscard]] Time next_deadline() const override;
  void advance(Time now) override;

  // While nothing comes the other end has not answered; what it said of itself is over.
  void set_line(bool present) override;

  [[nodiscard]] std::size_t put_cells(MutableBytes cells) override;

  // The network says that it has nothing to bring; the other end says that nothing comes there.
  [[nodiscard]] bool alarmed() const { return alarmed_until_.has_value(); }
  [[nodiscard]] bool remote_defect() const { return defect_until_.has_value(); }
  // Of the latest loopback cell that came back; as fine as advance() is called.
  [[nodiscard]] Duration round_trip() const { return round_trip_; }
  [[nodiscard]] const OamCounters& counters() const { return counters_; }

 private:
  void take_one(Bytes payload);
  void take_loopback(OamLoopback loopback);
  void send(const OamPayload& payload);

  const OamOptions options_;
  Time now_{};
  Time next_{};
  bool begun_ = false;
  struct Asked {
    std::uint32_t tag;
    Time at;
  };
  std::uint32_t tag_;
  std::deque<Asked> asked_;  // what may come back yet, and nothing sent later has
  bool answers_ = false;
  unsigned lost_ = 0;  // in turn
  std::optional<Time> alarmed_until_;
  std::optional<Time> defect_until_;
  Duration round_trip_{};
  std::deque<OamPayload> out_;
  OamCounters counters_;
};

}  // namespace weft::wan::atm
