// SPDX-License-Identifier: Apache-2.0
// Frames with one packet each, outside of any session: for who converts captures.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <tl/expected.hpp>
#include <vector>

#include "base/bytes.h"
#include "wan/frame.h"

namespace weft::wan {

// Numbers frames, and packets on their lanes, as a tunnel that loses none does. Of epoch 0, which
// no session has.
class SingleFrames {
 public:
  // Of a packet, LRH through VCRC; empty: it is too short for an LRH, or longer than any.
  [[nodiscard]] std::vector<std::byte> next(Bytes packet);

 private:
  std::uint64_t sequence_ = 0;
  std::array<std::uint32_t, kLanes> packets_{};
  std::array<std::uint32_t, kLanes> blocks_{};
};

// Hands out the packets of a frame of any session, in order; pieces of packets are passed over and
// counted in what is returned.
[[nodiscard]] tl::expected<std::size_t, FrameError> packets_of_frame(
    Bytes frame, const std::function<void(Bytes packet)>& packet);

}  // namespace weft::wan
