// SPDX-License-Identifier: Apache-2.0
#include "port/inlet_faults.h"

#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>

namespace weft::port {

Expected<std::unique_ptr<InletFaults>> InletFaults::create(const FaultConfig& config,
                                                           std::uint64_t ordinal) {
  io::UniqueFd timer(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer) return fail_errno(errno, "timerfd_create");
  // Neighbouring seeds of this generator give the same numbers one later; forks do not.
  const std::uint64_t base = Random(config.seed).next();
  return std::unique_ptr<InletFaults>(
      new InletFaults(config, Random(base + ordinal).fork(), std::move(timer)));
}

void InletFaults::arrive(MutableBytes run, const io::ReceivedDatagram& about,
                         std::uint16_t local_port, Time now, FaultyLine::Sink& sink) {
  const std::size_t segment =
      about.segment_size != 0 ? about.segment_size : std::max<std::size_t>(run.size(), 1);
  FaultyFrame frame;
  frame.about = about;
  frame.about.segment_size = 0;
  frame.local_port = local_port;
  std::size_t at = 0;
  do {
    const MutableBytes bytes = run.subspan(at, std::min(segment, run.size() - at));
    at += segment;
    frame.bytes = bytes;
    line_.arrive(frame, bytes, now, sink);
  } while (at < run.size());
}

FaultTally InletFaults::settle() {
  const Time next = line_.deadline().value_or(Time::max());
  if (next == timer_at_) return line_.take_tally();
  timer_at_ = next;
  itimerspec spec{};  // all zero: disarmed, and not readable any more
  if (next != Time::max()) {
    const auto at = std::max<std::int64_t>(next.time_since_epoch().count(), 1);
    spec.it_value.tv_sec = at / 1'000'000'000;
    spec.it_value.tv_nsec = at % 1'000'000'000;
  }
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
  return line_.take_tally();
}

}  // namespace weft::port
