// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/path_receiver.h"

#include <algorithm>
#include <bit>

#include "wan/line/sonet/overhead.h"
#include "wan/line/sonet/scrambler.h"

namespace weft::wan::sonet {

PathReceiver::PathReceiver(Level level, const Trace& trace, std::uint8_t label, OctetSink& payload,
                           Defects& defects, SonetCounters& counters)
    : g_(geometry(level)),
      expected_label_(label),
      payload_(payload),
      defects_(defects),
      counters_(counters),
      trace_(trace) {
}

FarEndReport PathReceiver::take_report() {
  const std::uint32_t errors = std::min(errors_to_report_, std::uint32_t{kG1Most});
  errors_to_report_ -= errors;
  return {.errors = static_cast<std::uint8_t>(errors), .defect = defects_.asks(Action::kTellPath)};
}

void PathReceiver::take(Bytes octets, std::size_t position) {
  while (!octets.empty()) {
    if (position == 0) begin_container();
    const std::size_t column = position % g_.vc_row();
    std::size_t size = 1;
    if (column == 0) {
      read_overhead(position / g_.vc_row(), octets[0]);
    } else if (column < g_.vc_head()) {
      size = std::min(octets.size(), g_.vc_head() - column);
    } else {
      size = std::min(octets.size(), g_.vc_row() - column);
      hand_on(octets.first(size));
    }
    parity_ ^= bip8(octets.first(size));
    position += size;
    octets = octets.subspan(size);
  }
}

void PathReceiver::interrupted() {
  is_whole_ = false;
  has_b3_ = false;
  trace_.restart();
  if (hands_on_) payload_.interrupted();
  hands_on_ = false;
}

void PathReceiver::begin_container() {
  has_b3_ = is_whole_;
  b3_ = parity_;
  is_whole_ = true;
  parity_ = std::byte{};
}

void PathReceiver::read_overhead(std::size_t row, std::byte octet) {
  switch (static_cast<PathRow>(row)) {
    case PathRow::kJ1: {
      const TraceReceiver::Message message = trace_.take(octet);
      if (message == TraceReceiver::Message::kNone) return;
      defects_.observe(Defect::kTimPath, message == TraceReceiver::Message::kOther);
      return;
    }
    case PathRow::kB3:
      check_parity(octet);
      return;
    case PathRow::kC2: {
      label_ = std::to_integer<std::uint8_t>(octet);
      const bool fits = label_ == expected_label_ || label_ == label::kEquipped ||
                        expected_label_ == label::kEquipped;
      defects_.observe(Defect::kUnequipped, label_ == label::kUnequipped);
      defects_.observe(Defect::kPlm, label_ != label::kUnequipped && !fits);
      return;
    }
    case PathRow::kG1: {
      const unsigned errors = std::to_integer<unsigned>(octet) >> 4;
      if (errors <= kG1Most) counters_.add_in_turn(SonetCounter::kPathRei, errors);
      defects_.observe(Defect::kRdiPath, (octet & kG1Rdi) != std::byte{});
      return;
    }
    default:
      return;
  }
}

void PathReceiver::check_parity(std::byte b3) {
  if (!has_b3_) return;
  const auto errors =
      static_cast<std::uint32_t>(std::popcount(std::to_integer<unsigned>(b3 ^ b3_)));
  if (errors == 0) return;
  counters_.add_in_turn(SonetCounter::kB3Errors, errors);
  counters_.add_in_turn(SonetCounter::kB3Containers);
  errors_to_report_ += errors;
}

void PathReceiver::hand_on(Bytes octets) {
  if (defects_.asks(Action::kStopPayload)) {
    if (hands_on_) payload_.interrupted();
    hands_on_ = false;
    return;
  }
  hands_on_ = true;
  counters_.add_in_turn(SonetCounter::kPayloadIn, octets.size());
  payload_.take(octets);
}

}  // namespace weft::wan::sonet
