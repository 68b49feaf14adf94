// SPDX-License-Identifier: Apache-2.0
// An acknowledgement that rides with a message of one packet, between Weft peers only: the last
// header of the opcodes weft_rc_send_only_ack and weft_rc_write_only_ack, 8 bytes.
// AETH(32) reserved(8) PSN(24). Both mean what the AETH and BTH.PSN of an ACK mean (IBA 9.7.5.1.2).
#pragma once

#include <cassert>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/aeth.h"
#include "wire/endian.h"
#include "wire/opcode.h"

namespace weft::wire {

struct RidingAck {
  static constexpr std::size_t kSize = Aeth::kSize + 4;

  Aeth aeth{};
  Psn psn{};

  friend bool operator==(const RidingAck&, const RidingAck&) = default;

  [[nodiscard]] static std::optional<RidingAck> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    return RidingAck{.aeth = *Aeth::parse(bytes),
                     .psn = Psn{load_be24(bytes.data() + Aeth::kSize + 1)}};
  }
  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    aeth.write(out);
    store_u8(out.data() + Aeth::kSize, 0);
    store_be24(out.data() + Aeth::kSize + 1, psn.value());
  }
};

// The opcode of the same packet with an acknowledgement riding; nothing where none can.
[[nodiscard]] constexpr std::optional<Opcode> with_riding_ack(Opcode opcode) {
  if (opcode == Opcode::rc_send_only) return Opcode::weft_rc_send_only_ack;
  if (opcode == Opcode::rc_write_only) return Opcode::weft_rc_write_only_ack;
  return std::nullopt;
}
// The inverse: nothing where none rides.
[[nodiscard]] constexpr std::optional<Opcode> without_riding_ack(Opcode opcode) {
  if (opcode == Opcode::weft_rc_send_only_ack) return Opcode::rc_send_only;
  if (opcode == Opcode::weft_rc_write_only_ack) return Opcode::rc_write_only;
  return std::nullopt;
}

}  // namespace weft::wire
