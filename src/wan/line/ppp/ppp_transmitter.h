// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "wan/line/octet_stream.h"
#include "wan/line/ppp/ppp_frame.h"

namespace weft::wan {

// One direction of a line in PPP: frames between flags, one flag being the end of one frame and
// the beginning of the next; flags where none waits. Begins with a flag.
class PppTransmitter final : public OctetSource {
 public:
  // `frames` outlives it.
  PppTransmitter(PppFcs fcs, PppFrameSource& frames) : fcs_(fcs), frames_(frames) {}

  void fill(MutableBytes octets) override;
  [[nodiscard]] std::uint64_t frames_sent() const { return frames_sent_; }

 private:
  [[nodiscard]] bool begin();
  void stuff(Bytes& from, MutableBytes& octets);

  const PppFcs fcs_;
  PppFrameSource& frames_;
  // What is left of the present frame.
  Bytes header_{};
  Bytes information_{};
  std::array<std::byte, 4> check_octets_{};
  Bytes check_{};
  std::optional<std::byte> owed_;  // the second octet of a pair, or the flag at the end
  bool flagged_ = false;           // a flag has gone
  bool in_frame_ = false;
  std::uint64_t frames_sent_ = 0;
};

}  // namespace weft::wan
