// SPDX-License-Identifier: Apache-2.0
// Octets of virtual containers between lines, which move them by pointers, and paths, which fill
// and empty them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "wan/line/sonet/pointer.h"

namespace weft::wan::sonet {

// What a frame does with its container.
struct PointerAction {
  PointerStep step = PointerStep::kNone;
  // In force from this frame on; kAis: there is no container, only ones.
  std::uint16_t value = kAlignedPointer;
  bool ais = false;
};

class VcSource {
 public:
  virtual ~VcSource() = default;
  // A frame is at its pointers, and what is filled from here on follows H3. The value has to be
  // where in that the next container begins.
  [[nodiscard]] virtual PointerAction next_pointer() = 0;
  // The next octets of containers; not asked for in a frame that is an AIS, after its pointers.
  virtual void fill(MutableBytes octets) = 0;
};

class VcSink {
 public:
  virtual ~VcSink() = default;
  // Octets of a container from `position` on, 0 being J1. They follow the ones before unless
  // interrupted() was called in between, and are of one container.
  virtual void take(Bytes octets, std::size_t position) = 0;
  // What comes next is of another container, from its beginning.
  virtual void interrupted() = 0;
};

// What a receiver has to tell the other end, by way of the transmitter beside it: errors counted
// since it was asked, as many as fit, and whether it receives at all.
struct FarEndReport {
  std::uint8_t errors = 0;  // M1, or the first bits of G1
  bool defect = false;      // RDI in K2 or G1
};

}  // namespace weft::wan::sonet
