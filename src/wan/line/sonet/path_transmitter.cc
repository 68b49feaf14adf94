// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/path_transmitter.h"

#include <algorithm>
#include <cassert>

#include "wan/line/sonet/overhead.h"
#include "wan/line/sonet/scrambler.h"

namespace weft::wan::sonet {

// The first frame begins with three rows of containers before its pointer says where they are.
PathTransmitter::PathTransmitter(Level level, const Trace& trace, std::uint8_t label,
                                 std::uint16_t pointer, OctetSource& payload, PathReceiver* beside)
    : g_(geometry(level)),
      label_(label),
      pointer_(pointer),
      payload_(payload),
      beside_(beside),
      trace_(trace),
      position_((kAlignedPointer + kPointers - pointer) % kPointers * g_.unit()) {
  assert(pointer < kPointers);
}

void PathTransmitter::fill(MutableBytes octets) {
  while (!octets.empty()) {
    if (position_ == 0) {
      b3_ = parity_;
      parity_ = std::byte{};
    }
    const std::size_t column = position_ % g_.vc_row();
    std::size_t size = 0;
    if (column == 0) {
      octets[0] = overhead(position_ / g_.vc_row());
      size = 1;
    } else if (column < g_.vc_head()) {
      size = std::min(octets.size(), g_.vc_head() - column);
      std::ranges::fill(octets.first(size), std::byte{});
    } else {
      size = std::min(octets.size(), g_.vc_row() - column);
      payload_.fill(octets.first(size));
    }
    parity_ ^= bip8(Bytes(octets.first(size)));
    position_ = (position_ + size) % g_.vc();
    octets = octets.subspan(size);
  }
}

std::byte PathTransmitter::overhead(std::size_t row) {
  switch (static_cast<PathRow>(row)) {
    case PathRow::kJ1:
      return trace_.next();
    case PathRow::kB3:
      return b3_;
    case PathRow::kC2:
      return std::byte{label_};
    case PathRow::kG1: {
      const FarEndReport report = beside_ == nullptr ? FarEndReport{} : beside_->take_report();
      return static_cast<std::byte>(report.errors << 4) | (report.defect ? kG1Rdi : std::byte{});
    }
    default:
      return std::byte{};
  }
}

}  // namespace weft::wan::sonet
