// SPDX-License-Identifier: Apache-2.0
#include "wan/path_model.h"

#include <algorithm>

namespace weft::wan {

void PathModel::change(const PathEmulation& emulation, Time now) {
  emulation_ = emulation;
  random_ = Random(emulation.line.seed);
  flapping_.start(emulation.line, now);
  // What waits goes on waiting, but no longer than the new queue is.
  if (emulation_.line.rate_bytes_per_s == 0) free_ = std::min(free_, now);
  free_ = std::min(free_, now + time_on_line(queue_of(emulation_)));
}

// Rounded up, so that a line never carries more than its rate.
Duration PathModel::time_on_line(std::uint64_t bytes) const {
  const std::uint64_t rate = emulation_.line.rate_bytes_per_s;
  if (rate == 0) return 0ns;
  const auto product = static_cast<unsigned __int128>(bytes) * 1'000'000'000;
  return Duration(static_cast<std::int64_t>((product + rate - 1) / rate));
}

// Nothing is drawn where nothing is asked for, so that another fault leaves the seed's rest be.
bool PathModel::happens(double probability) {
  return probability > 0 && random_.chance(probability);
}

bool PathModel::out(Time now) {
  while (flapping_.run(now)) {
  }
  return flapping_.out();
}

std::uint64_t PathModel::waiting(Time now) const {
  if (free_ <= now) return 0;
  const auto product =
      static_cast<unsigned __int128>((free_ - now).count()) * emulation_.line.rate_bytes_per_s;
  return static_cast<std::uint64_t>(product / 1'000'000'000);
}

Time PathModel::stream_ready() const {
  return free_ - time_on_line(queue_of(emulation_));
}

std::optional<PathCounter> PathModel::refuses(std::size_t size, Time now) {
  if (emulation_.mtu != 0 && size > emulation_.mtu) return PathCounter::kTooLong;
  if (out(now)) return PathCounter::kOutage;
  if (emulation_.line.rate_bytes_per_s == 0 || free_ <= now) return std::nullopt;
  const Duration most = time_on_line(queue_of(emulation_));
  if (free_ - now + time_on_line(size) > most) return PathCounter::kQueueFull;
  return std::nullopt;
}

// Of what the line has sent at free_.
Time PathModel::arrival() {
  Time arrives = free_ + emulation_.line.delay;
  if (emulation_.jitter > 0ns) {
    arrives += Duration(random_.below(static_cast<std::uint64_t>(emulation_.jitter.count()) + 1));
  }
  return last_arrival_ = std::max(arrives, last_arrival_);
}

std::optional<std::uint64_t> PathModel::wrong_bit(std::size_t size) {
  const double each = emulation_.line.bit_errors;
  if (size == 0 || !happens(std::min(1.0, each * 8 * static_cast<double>(size)))) {
    return std::nullopt;
  }
  count(PathCounter::kDamaged);
  return random_.below(size * 8);
}

PathModel::Fate PathModel::carry(std::size_t size, bool ecn_capable, Time now) {
  count(PathCounter::kOffered);
  count(PathCounter::kOfferedBytes, size);
  if (const auto why = refuses(size, now)) {
    count(*why);
    return {};
  }
  Fate fate;
  fate.marked = ecn_capable && emulation_.mark != 0 && waiting(now) > emulation_.mark;
  free_ = std::max(free_, now) + time_on_line(size);
  const Time arrives = arrival();
  if (happens(emulation_.line.loss)) {
    count(PathCounter::kLost);
    return {};
  }
  if (fate.marked) count(PathCounter::kMarked);
  fate.arrives = arrives;
  fate.wrong_bit = wrong_bit(size);
  if (happens(emulation_.line.duplicate)) {
    count(PathCounter::kDuplicated);
    fate.again = arrives;
  }
  if (happens(emulation_.line.reorder)) {
    count(PathCounter::kReordered);
    fate.overtaken = true;
    const auto most = static_cast<std::uint64_t>(emulation_.late.count());
    *fate.arrives += Duration(1 + random_.below(most + 1));
  }
  return fate;
}

PathModel::Fate PathModel::carry_stream(std::size_t size, Time now) {
  count(PathCounter::kOffered);
  count(PathCounter::kOfferedBytes, size);
  Time begins = std::max(free_, now);
  if (out(now)) begins = std::max(begins, flapping_.deadline().value_or(now));
  free_ = begins + time_on_line(size);
  Fate fate;
  fate.arrives = arrival();
  fate.wrong_bit = wrong_bit(size);
  return fate;
}

}  // namespace weft::wan
