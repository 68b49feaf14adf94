// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "lan/lan_header.h"

namespace weft::lan {

// A frame cut into datagrams, whose parts point into it: nothing is copied.
//
//   for (Segments segments(header, frame, 2048); !segments.done(); segments.next())
//     send(segments.head(), segments.part());
class Segments {
 public:
  // IBA 9.8.3: a datagram is one packet, whose payload a port of any kind takes up to this.
  static constexpr std::size_t kLeastDatagram = 256;

  // `datagram`: bytes that one may have, from kLeastDatagram on. Of `header`, the length and the
  // offset are written here. The frame has 1 to kLongestFrame bytes.
  Segments(const LanHeader& header, Bytes frame, std::size_t datagram)
      : frame_(frame), header_(header), most_(most_part(datagram)) {
    assert(datagram >= kLeastDatagram && !frame.empty() && frame.size() <= kLongestFrame);
    header_.total = static_cast<std::uint32_t>(frame.size());
    header_.offset = 0;
    begin();
  }

  [[nodiscard]] bool done() const { return part_.empty(); }
  [[nodiscard]] Bytes head() const { return head_; }
  [[nodiscard]] Bytes part() const { return part_; }
  void next() {
    header_.offset += static_cast<std::uint32_t>(part_.size());
    begin();
  }

  // How many bytes of a frame a datagram has that is not its last one.
  [[nodiscard]] static constexpr std::size_t most_part(std::size_t datagram) {
    return (datagram - LanHeader::kSize) / LanHeader::kUnit * LanHeader::kUnit;
  }
  // Into how many datagrams a frame of this length is cut.
  [[nodiscard]] static constexpr std::size_t count(std::size_t frame, std::size_t datagram) {
    return (frame + most_part(datagram) - 1) / most_part(datagram);
  }

 private:
  void begin() {
    part_ = frame_.subspan(header_.offset, std::min(most_, frame_.size() - header_.offset));
    if (!part_.empty()) header_.write(head_);
  }

  const Bytes frame_;
  LanHeader header_;
  const std::size_t most_;
  Bytes part_{};
  std::array<std::byte, LanHeader::kSize> head_{};
};

}  // namespace weft::lan
