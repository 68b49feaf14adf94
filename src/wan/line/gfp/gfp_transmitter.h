// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>

#include "wan/line/gfp/gfp_counters.h"
#include "wan/line/gfp/gfp_options.h"
#include "wan/line/octet_stream.h"
#include "wan/line/payload_scrambler.h"

namespace weft::wan {

// One direction of a line in GFP-F: packets as frames, idle frames where none waits. A packet is
// not copied but scrambled out of where it lies. Begins with idle frames, as many as a receiver
// needs to be in step.
class GfpTransmitter final : public OctetSource {
 public:
  // `packets` outlives it.
  GfpTransmitter(const GfpOptions& options, PacketSource& packets);

  void fill(MutableBytes octets) override;
  // Sends a client management frame before the next packet. One of each kind waits at most.
  void manage(GfpManagement what) { managed_.set(static_cast<std::uint8_t>(what)); }

  [[nodiscard]] const GfpSendCounters& counters() const { return counters_; }

 private:
  [[nodiscard]] bool begin();
  [[nodiscard]] MutableBytes fill_idle(MutableBytes octets);
  void begin_idle();
  void begin_frame(const GfpType& type, Bytes payload);
  [[nodiscard]] Bytes next_packet();
  [[nodiscard]] std::size_t put(Bytes& from, MutableBytes octets);

  const GfpOptions options_;
  PacketSource& packets_;
  std::bitset<256> managed_;
  unsigned leading_idles_;
  // What is left of the present frame. Of its head, the first four octets are not scrambled.
  std::array<std::byte, 3 * kGfpHeader> head_{};
  Bytes core_{};
  Bytes payload_header_{};
  Bytes payload_{};
  std::array<std::byte, kGfpFcs> fcs_octets_{};
  Bytes fcs_{};
  PayloadScrambler scrambler_;
  GfpSendCounters counters_;
};

}  // namespace weft::wan
