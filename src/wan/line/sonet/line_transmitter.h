// SPDX-License-Identifier: Apache-2.0
// The sending end of a line, or multiplex section: octets of containers in, those of the line out.
#pragma once

#include <cstddef>
#include <vector>

#include "wan/line/octet_stream.h"
#include "wan/line/sonet/geometry.h"
#include "wan/line/sonet/line_receiver.h"
#include "wan/line/sonet/section.h"
#include "wan/line/sonet/sonet_counters.h"
#include "wan/line/sonet/vc_stream.h"

namespace weft::wan::sonet {

class LineTransmitter final : public OctetSource {
 public:
  // `beside` is the receiver of the same line, whose reports are sent; null: there is none. All but
  // `trace`, which is sent in J0, outlive it. `sdh`: pointers say that they are of SDH.
  LineTransmitter(Level level, const Trace& trace, bool sdh, VcSource& source, LineReceiver* beside,
                  SonetCounters& counters);

  void fill(MutableBytes octets) override;
  // Of a frame: octets of containers that fill() has asked for but not given out.
  [[nodiscard]] std::size_t vc_octets_under_way() const;
  // The next frame as it is before it is scrambled, once it is begun.
  [[nodiscard]] Bytes plain() const { return plain_; }

 private:
  void build(MutableBytes line);
  void write_line_overhead();
  void write_pointer_row();

  const Geometry g_;
  const bool sdh_;
  VcSource& source_;
  LineReceiver* const beside_;
  SonetCounters& counters_;
  SectionWriter section_;
  std::vector<std::byte> plain_;
  std::vector<std::byte> line_;
  std::size_t given_ = 0;  // octets of line_
  Parity b2_{};
  bool ais_ = false;  // there is no container
};

}  // namespace weft::wan::sonet
