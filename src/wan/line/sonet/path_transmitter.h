// SPDX-License-Identifier: Apache-2.0
// Makes containers of a payload: path overhead, fixed stuff, B3.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wan/line/octet_stream.h"
#include "wan/line/sonet/geometry.h"
#include "wan/line/sonet/path_receiver.h"
#include "wan/line/sonet/trace.h"
#include "wan/line/sonet/vc_stream.h"

namespace weft::wan::sonet {

class PathTransmitter final : public VcSource {
 public:
  // `beside` is the receiver of the same path, whose reports are sent; null: there is none. It and
  // `payload` outlive it. `trace` is sent in J1, `label` in C2. Containers begin at `pointer`,
  // below kPointers, and stay there.
  PathTransmitter(Level level, const Trace& trace, std::uint8_t label, std::uint16_t pointer,
                  OctetSource& payload, PathReceiver* beside);

  [[nodiscard]] PointerAction next_pointer() override {
    return {.step = PointerStep::kNone, .value = pointer_, .ais = false};
  }
  void fill(MutableBytes octets) override;

 private:
  [[nodiscard]] std::byte overhead(std::size_t row);

  const Geometry g_;
  const std::uint8_t label_;
  const std::uint16_t pointer_;
  OctetSource& payload_;
  PathReceiver* const beside_;
  TraceSender trace_;
  std::size_t position_ = 0;  // in the container
  std::byte b3_{};            // of the last whole container
  std::byte parity_{};        // of this one so far
};

}  // namespace weft::wan::sonet
