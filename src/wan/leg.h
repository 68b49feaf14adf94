// SPDX-License-Identifier: Apache-2.0
// One of the ways to a remote, as a path of its own, where both ends watch what becomes of what
// leaves by it: each tells the other what has come, so that a leg knows its round trip, whether it
// works at all, and how fast it may send.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/time.h"
#include "wan/leg_counters.h"
#include "wan/leg_message.h"
#include "wan/pacing.h"
#include "wan/path.h"
#include "wan/round_trip.h"

namespace weft::wan {

class Leg {
 public:
  // Something is said by a leg as often, so that both ends know whether it works.
  static constexpr Duration kPeriod = 100ms;
  // What has come is reported so soon.
  static constexpr Duration kReportDelay = 2ms;
  // Besides a round trip: no news for so long, of what has left, and the leg works no more.
  static constexpr Duration kPatience = 250ms;

  // `carrier` outlives it. `pacing`: of what leaves, beside what pace the carrier has; nothing:
  // none.
  Leg(Path& carrier, std::uint8_t number, const std::optional<PacingSettings>& pacing, Time now);

  [[nodiscard]] const Path& carrier() const { return carrier_; }
  // What leaves by it arrives, as far as is known: the other end has said so.
  [[nodiscard]] bool works() const { return works_; }
  // As of a wan::Path; a frame may be so long with a head.
  [[nodiscard]] bool ready() const { return may_send() && !pause_; }
  [[nodiscard]] std::size_t longest_frame() const;
  [[nodiscard]] std::size_t burst() const;
  // While it is ready.
  void send(std::span<const OutFrame> frames, Time now);
  // The same without a head, for an end whose other end need not watch.
  void send_unwatched(std::span<const OutFrame> frames, Time now) { carrier_.send(frames, now); }

  // Something has come by it, of so many bytes.
  void receive(const LegMessage& message, std::size_t size, bool marked, Time now);

  // Says what is to be said, as often where `watches`, and else only what the other end asks for.
  // True: ready() or works() has changed.
  bool run(bool watches, Time now);
  [[nodiscard]] std::optional<Time> deadline(bool watches) const;

  [[nodiscard]] const RoundTrip& round_trip() const { return round_trip_; }
  // Nothing: it has no pace of its own.
  [[nodiscard]] const Pacer* pacer() const { return pacer_ ? &*pacer_ : nullptr; }
  [[nodiscard]] std::vector<CounterValue> counters() const { return counters_.snapshot(); }

 private:
  // What has come, since the other end began to count.
  struct Arrivals {
    LegReport report;
    Time newest_at{};
    bool owed = false;          // something has come since the last report
    std::optional<Time> due{};  // of the next one, where frames have
    bool put_off = false;       // that one
    bool has_delay = false;     // report.least_delay is one
  };

  [[nodiscard]] bool may_send() const { return carrier_.established() && carrier_.ready(); }
  [[nodiscard]] LegHead next_head(Time now);
  void hear(const LegReport& report, Time now);
  void feed_back(const LegReport& report, Duration round_trip, Time now);
  // When the next report is due, if nothing new comes.
  [[nodiscard]] std::optional<Time> report_due(bool watches) const;
  // Whether it is to leave now.
  [[nodiscard]] bool reports(bool watches, Time now);
  void say(Time now);
  [[nodiscard]] Duration patience() const { return kPatience + round_trip_.smoothed(); }

  Path& carrier_;
  const std::uint8_t number_;
  const std::uint32_t begun_;
  std::optional<Pacer> pacer_;
  std::optional<Time> pause_;  // between frames
  std::uint64_t next_ = 0;     // number of what leaves next
  Time reported_at_{};         // or that there was nothing to report

  Arrivals arrivals_;
  bool heard_ = false;               // anything, from the one that is there now
  std::uint32_t peer_begun_ = 0;     // that one's
  std::uint64_t newest_report_ = 0;  // the number that it came with
  std::optional<LegReport> known_;   // what it said
  std::uint64_t missing_ = 0;        // of what it spoke of
  Duration delay_ = 0ns;             // as it said last; counted on where its clock turns over
  RoundTrip round_trip_;
  bool works_ = false;
  Time progress_at_{};  // news of something that had left came
  CounterSet<LegCounter, kLegCounters> counters_;

  // Kept between calls.
  std::vector<std::byte> heads_;
  std::vector<Bytes> parts_;
  std::vector<OutFrame> out_;
};

}  // namespace weft::wan
