// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/line_transmitter.h"

#include <algorithm>

#include "wan/line/sonet/overhead.h"

namespace weft::wan::sonet {
namespace {

constexpr std::byte kOnes{0xFF};

}  // namespace

LineTransmitter::LineTransmitter(Level level, const Trace& trace, bool sdh, VcSource& source,
                                 LineReceiver* beside, SonetCounters& counters)
    : g_(geometry(level)),
      sdh_(sdh),
      source_(source),
      beside_(beside),
      counters_(counters),
      section_(level, trace),
      plain_(g_.frame()),
      line_(g_.frame()),
      given_(g_.frame()) {
  plain_[g_.at(8, 0)] = kDoNotUse;
}

void LineTransmitter::fill(MutableBytes octets) {
  while (!octets.empty()) {
    if (given_ == g_.frame()) {
      if (octets.size() >= g_.frame()) {
        build(octets.first(g_.frame()));
        octets = octets.subspan(g_.frame());
        continue;
      }
      build(line_);
      given_ = 0;
    }
    const std::size_t size = std::min(octets.size(), g_.frame() - given_);
    std::copy_n(line_.begin() + static_cast<std::ptrdiff_t>(given_), size, octets.begin());
    given_ += size;
    octets = octets.subspan(size);
  }
}

std::size_t LineTransmitter::vc_octets_under_way() const {
  const std::size_t left = g_.frame() - given_;
  return left * g_.vc_row() / g_.row();
}

void LineTransmitter::build(MutableBytes line) {
  counters_.add_in_turn(SonetCounter::kFramesOut);
  write_line_overhead();
  const auto fill_rows = [&](std::size_t from, std::size_t to) {
    for (std::size_t row = from; row < to; ++row) {
      const auto octets = std::span(plain_).subspan(g_.at(row, 9), g_.vc_row());
      if (ais_) {
        std::ranges::fill(octets, kOnes);
      } else {
        source_.fill(octets);
      }
    }
  };
  fill_rows(0, kPointerRow);
  write_pointer_row();
  fill_rows(kPointerRow + 1, kRows);
  b2_ = line_parity(section_.put(plain_, line), plain_, g_);
}

void LineTransmitter::write_line_overhead() {
  const FarEndReport report = beside_ == nullptr ? FarEndReport{} : beside_->take_report();
  std::copy_n(b2_.begin(), g_.thirds(), plain_.begin() + static_cast<std::ptrdiff_t>(g_.at(4, 0)));
  plain_[g_.at(4, 6)] = report.defect ? kK2Rdi : std::byte{};
  plain_[g_.m1()] = std::byte{report.errors};
}

void LineTransmitter::write_pointer_row() {
  const auto row = std::span(plain_).subspan(g_.at(kPointerRow, 0), g_.row());
  const auto h3 = row.subspan(g_.at(0, 6), g_.unit());
  auto octets = row.subspan(g_.overhead());
  const PointerAction action = source_.next_pointer();
  ais_ = action.ais;
  if (ais_) {
    counters_.add_in_turn(SonetCounter::kAisOut);
    write_pointers(row, g_, kAisPointer, sdh_);
    std::ranges::fill(h3, kOnes);
    std::ranges::fill(octets, kOnes);
    return;
  }
  // A step is told by inverted bits of the value before it.
  std::uint16_t shown = action.value;
  const auto before = [&](unsigned by) {
    return static_cast<std::uint16_t>((action.value + by) % kPointers);
  };
  std::ranges::fill(h3, std::byte{});
  switch (action.step) {
    case PointerStep::kNone:
      break;
    case PointerStep::kNewData:
      counters_.add_in_turn(SonetCounter::kNewDataOut);
      break;
    case PointerStep::kIncrement:
      counters_.add_in_turn(SonetCounter::kIncrementsOut);
      shown = before(kPointers - 1) ^ kIncrementBits;
      std::ranges::fill(octets.first(g_.unit()), std::byte{});
      octets = octets.subspan(g_.unit());
      break;
    case PointerStep::kDecrement:
      counters_.add_in_turn(SonetCounter::kDecrementsOut);
      shown = before(1) ^ kDecrementBits;
      source_.fill(h3);
      break;
  }
  const auto flag =
      action.step == PointerStep::kNewData ? PointerFlag::kNewData : PointerFlag::kNormal;
  write_pointers(row, g_, pointer_word(flag, shown, sdh_), sdh_);
  source_.fill(octets);
}

}  // namespace weft::wan::sonet
