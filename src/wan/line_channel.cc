// SPDX-License-Identifier: Apache-2.0
#include "wan/line_channel.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace weft::wan {
namespace {

constexpr std::size_t kLineRead = std::size_t{64} << 10;
constexpr std::uint64_t kNanoseconds = 1'000'000'000;

}  // namespace

LineChannel::LineChannel(const Options& options, Line& line, std::function<void(Time now)> changed)
    : options_(options), line_(line), changed_(std::move(changed)), in_(kLineRead) {
  assert(options.octets_per_s != 0);
  out_.resize(octets_in(options.most_late) + 1);
}

// Of some 10^10 octets a second and a few seconds at most: neither product is beyond 64 bits.
Duration LineChannel::time_of(std::size_t octets) const {
  return Duration(octets * kNanoseconds / options_.octets_per_s);
}

std::size_t LineChannel::octets_in(Duration time) const {
  return static_cast<std::uint64_t>(time.count()) * options_.octets_per_s / kNanoseconds;
}

void LineChannel::opened(Time now) {
  open_ = true;
  filled_ = 0;
  gone_ = 0;
  clock_ = now;
  counters_.add_in_turn(LineChannelCounter::kStreams);
}

void LineChannel::closed(Time now) {
  open_ = false;
  silent_ = true;
  line_.in().interrupted();
  look_at_session(now);
}

bool LineChannel::arrived(std::size_t bytes, Time now) {
  counters_.add_in_turn(LineChannelCounter::kArrived, bytes);
  silent_ = false;
  heard_ = now;
  line_.in().take(Bytes(in_).first(bytes));
  look_at_session(now);
  return true;
}

void LineChannel::sent(std::size_t bytes, Time now) {
  gone_ += bytes;
  counters_.add_in_turn(LineChannelCounter::kSent, bytes);
  if (gone_ == filled_) generate(now);
}

void LineChannel::look_at_session(Time now) {
  line_.session().set_line(!silent_);
  line_.session().advance(now);
  const bool up = !silent_ && line_.session().up();
  if (up == up_) return;
  up_ = up;
  changed_(now);
}

void LineChannel::look_for_silence(Time now) {
  if (silent_ || now - heard_ < options_.silence) return;
  silent_ = true;
  counters_.add_in_turn(LineChannelCounter::kSilences);
  line_.in().interrupted();
}

void LineChannel::generate(Time now) {
  gone_ = 0;
  filled_ = 0;
  if (now - clock_ > options_.most_late) {
    counters_.add_in_turn(LineChannelCounter::kHeldUp);
    clock_ = now - options_.most_late;
  }
  if (now - clock_ < options_.grain) return;
  const std::size_t octets = std::min(octets_in(now - clock_), out_.size());
  if (octets == 0) return;
  line_.out().fill(MutableBytes(out_).first(octets));
  filled_ = octets;
  clock_ += std::max(time_of(octets), Duration(1));
}

bool LineChannel::run(Time now) {
  look_for_silence(now);
  look_at_session(now);
  if (open_ && gone_ == filled_) generate(now);
  return true;
}

std::optional<Time> LineChannel::deadline() const {
  Time session = line_.session().next_deadline();
  if (!silent_) session = std::min(session, heard_ + options_.silence);
  // While the stream takes nothing, whoever has it knows when it does again.
  if (!open_ || gone_ != filled_) {
    return session == Time::max() ? std::nullopt : std::optional(session);
  }
  return std::min(session, clock_ + options_.grain);
}

std::vector<CounterValue> LineChannel::counters() const {
  std::vector<CounterValue> out = counters_.snapshot();
  accumulate(out, line_.counters());
  return out;
}

}  // namespace weft::wan
