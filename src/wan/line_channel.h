// SPDX-License-Identifier: Apache-2.0
// A line (line/line.h) on a stream of bytes: its octets go by a clock, whether there is something
// to say or not, as those of a real line do. Where the stream takes them more slowly the clock
// waits: octets come late then, and none is lost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/time.h"
#include "wan/line/line.h"
#include "wan/stream_channel.h"

namespace weft::wan {

enum class LineChannelCounter : std::uint8_t {
  kSent,
  kArrived,
  kHeldUp,
  kSilences,
  kStreams,
  kCount
};

inline constexpr std::array<CounterInfo, static_cast<std::size_t>(LineChannelCounter::kCount)>
    kLineChannelCounters{{
        {"line_sent", "octets that went into the line"},
        {"line_arrived", "octets that the line brought"},
        {"line_held_up", "times that the line's clock waited for the stream to take octets"},
        {"line_silences", "times that the line brought nothing, as one that is cut"},
        {"line_streams", "times that there was a stream for the line"},
    }};

class LineChannel final : public StreamChannel {
 public:
  struct Options {
    std::uint64_t octets_per_s = 0;  // of each direction; not 0
    // As many octets go at once as this takes, so that packets wait so long at most to be put in.
    Duration grain = 250us;
    // A clock that was not asked for longer than this does not catch up.
    Duration most_late = 20ms;
    Duration silence = kLineSilence;
  };

  // `line` outlives it. `changed` is called when the line's session has come up or gone down.
  LineChannel(const Options& options, Line& line, std::function<void(Time now)> changed);

  // The line's session is up, and there is a stream.
  [[nodiscard]] bool is_up() const { return up_; }
  [[nodiscard]] std::vector<CounterValue> counters() const;

  // --- StreamChannel ---------------------------------------------------------------------------
  void opened(Time now) override;
  void closed(Time now) override;
  [[nodiscard]] bool is_open() const override { return open_; }
  [[nodiscard]] MutableBytes room() override { return in_; }
  [[nodiscard]] bool arrived(std::size_t bytes, Time now) override;
  void out_of_step() override {}
  [[nodiscard]] Bytes pending() const override {
    return Bytes(out_).subspan(gone_, filled_ - gone_);
  }
  void sent(std::size_t bytes, Time now) override;
  [[nodiscard]] bool run(Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override;

 private:
  void look_at_session(Time now);
  void look_for_silence(Time now);
  void generate(Time now);
  // How long so many octets take, and the other way round.
  [[nodiscard]] Duration time_of(std::size_t octets) const;
  [[nodiscard]] std::size_t octets_in(Duration time) const;

  const Options options_;
  Line& line_;
  const std::function<void(Time now)> changed_;
  bool open_ = false;
  bool silent_ = true;
  bool up_ = false;
  Time heard_{};  // when octets came last
  Time clock_{};  // up to when octets have been made
  std::vector<std::byte> out_;
  std::size_t filled_ = 0;  // of out_
  std::size_t gone_ = 0;    // of those
  std::vector<std::byte> in_;
  CounterSet<LineChannelCounter, kLineChannelCounters> counters_;
};

}  // namespace weft::wan
