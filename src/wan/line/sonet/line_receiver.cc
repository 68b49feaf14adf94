// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/line_receiver.h"

#include <algorithm>

#include "wan/line/sonet/overhead.h"

namespace weft::wan::sonet {

LineReceiver::LineReceiver(Level level, const Trace& trace, VcSink& sink, Defects& defects,
                           SonetCounters& counters)
    : g_(geometry(level)),
      sink_(sink),
      defects_(defects),
      counters_(counters),
      aligner_(level, *this, defects, counters),
      section_(level, trace, defects, counters),
      pointer_(g_.n - 1),
      quality_(g_.n) {
}

FarEndReport LineReceiver::take_report() {
  const std::uint32_t errors = std::min(errors_to_report_, std::uint32_t{kM1Most});
  errors_to_report_ -= errors;
  return {.errors = static_cast<std::uint8_t>(errors), .defect = defects_.asks(Action::kTellLine)};
}

std::size_t LineReceiver::vc_octets_under_way() const {
  const std::size_t at = aligner_.position();
  const std::size_t in_row = at % g_.row();
  return at / g_.row() * g_.vc_row() + (in_row > g_.overhead() ? in_row - g_.overhead() : 0);
}

void LineReceiver::frame(Bytes line) {
  section_.take(line);
  const Bytes plain = section_.plain();
  check_parity(plain);
  read_line_overhead(plain);
  if (defects_.stands(Defect::kAisLine)) {
    close();
    pointer_.lose();
    defects_.forget_from(Defect::kAisPath);
    return;
  }
  const auto hand_on_rows = [&](std::size_t from, std::size_t to) {
    for (std::size_t row = from; row < to; ++row)
      hand_on(plain.subspan(g_.at(row, 9), g_.vc_row()));
  };
  hand_on_rows(0, kPointerRow);
  move_container(plain);
  hand_on_rows(kPointerRow + 1, kRows);
}

void LineReceiver::alignment_lost() {
  close();
  section_.restart();
  pointer_.lose();
  quality_.restart();
  b2_.reset();
  defects_.forget_from(Defect::kTimSection);
}

// An AIS has no parity.
void LineReceiver::check_parity(Bytes plain) {
  if ((plain[g_.at(4, 6)] & kK2Signal) == kK2Ais) {
    b2_.reset();
    return;
  }
  const std::uint32_t errors = b2_ ? b2_errors(*b2_, plain, g_) : 0;
  b2_ = line_parity(section_.parity(), plain, g_);
  quality_.frame(errors, defects_);
  if (errors == 0) return;
  counters_.add_in_turn(SonetCounter::kB2Errors, errors);
  counters_.add_in_turn(SonetCounter::kB2Frames);
  errors_to_report_ += std::min(errors, std::uint32_t{kM1Most});
}

void LineReceiver::read_line_overhead(Bytes plain) {
  const std::byte signal = plain[g_.at(4, 6)] & kK2Signal;
  defects_.observe(Defect::kAisLine, signal == kK2Ais);
  defects_.observe(Defect::kRdiLine, signal == kK2Rdi);
  // As many errors as there are bits of B2 at most; anything else is none (G.707, 9.2.2.12).
  const auto rei = std::to_integer<unsigned>(plain[g_.m1()]);
  if (signal != kK2Ais && rei <= 24 * g_.n) counters_.add_in_turn(SonetCounter::kLineRei, rei);
}

// What row 4 does, and its part of the container, of which H3 may have some, too.
void LineReceiver::move_container(Bytes plain) {
  const Bytes row = plain.subspan(g_.at(kPointerRow, 0), g_.row());
  const PointerStep step = pointer_.take(row, g_);
  const PointerState state = pointer_.state();
  defects_.set(Defect::kAisPath, state == PointerState::kAis);
  defects_.set(Defect::kLop, state == PointerState::kLost);
  const auto value = pointer_.value();
  if (!value) {
    close();
    return;
  }
  Bytes octets = row.subspan(g_.overhead());
  if (!open_ || step == PointerStep::kNewData) {
    const std::size_t begins = *value * g_.unit();
    // What says where the container is anyway changes nothing.
    if (!open_ || skip_ != 0 || (g_.vc() - position_) % g_.vc() != begins) {
      close();
      open_ = true;
      skip_ = begins;
      position_ = 0;
      counters_.add_in_turn(SonetCounter::kNewDataIn);
    }
  } else if (step == PointerStep::kDecrement) {
    counters_.add_in_turn(SonetCounter::kDecrementsIn);
    hand_on(row.subspan(g_.at(0, 6), g_.unit()));
  } else if (step == PointerStep::kIncrement) {
    counters_.add_in_turn(SonetCounter::kIncrementsIn);
    octets = octets.subspan(g_.unit());
  }
  hand_on(octets);
}

void LineReceiver::close() {
  if (open_) sink_.interrupted();
  open_ = false;
}

void LineReceiver::hand_on(Bytes octets) {
  if (!open_) return;
  if (skip_ != 0) {
    const std::size_t skipped = std::min(skip_, octets.size());
    skip_ -= skipped;
    octets = octets.subspan(skipped);
  }
  while (!octets.empty()) {
    const Bytes part = octets.first(std::min(octets.size(), g_.vc() - position_));
    sink_.take(part, position_);
    position_ = (position_ + part.size()) % g_.vc();
    octets = octets.subspan(part.size());
  }
}

}  // namespace weft::wan::sonet
