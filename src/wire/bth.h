// SPDX-License-Identifier: Apache-2.0
// Base Transport Header, IBA 9.2: 12 bytes in front of every IBA transport packet.
//
//   byte 0  OpCode                                   byte 4     FECN(1) BECN(1) resv6
//        1  SE(1) MigReq(1) PadCnt(2) TVer(4)             5-7   DestQP
//      2-3  P_Key                                         8     AckReq(1) resv7      9-11  PSN
#pragma once

#include <cassert>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"
#include "wire/opcode.h"

namespace weft::wire {

struct Bth {
  static constexpr std::size_t kSize = 12;
  // Byte 4 (resv8a of IBA 9.2, with FECN and BECN in it) counts as ones for the ICRC.
  static constexpr std::size_t kUncoveredByte = 4;

  Opcode opcode = Opcode::rc_send_first;
  bool solicited = false;              // SE: raise a solicited event at the receiver
  bool migrated = false;               // MigReq: the path is in the migrated state
  std::uint8_t pad_count = 0;          // 0 to 3 pad bytes after the payload
  std::uint8_t transport_version = 0;  // TVer, 4 bits; 0 is the only one defined
  PKey pkey{};
  bool fecn = false;
  bool becn = false;
  Qpn dest_qp{};
  bool ack_request = false;
  Psn psn{};

  friend bool operator==(const Bth&, const Bth&) = default;

  [[nodiscard]] static std::optional<Bth> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    const std::uint8_t flags = load_u8(at + 1);
    return Bth{.opcode = static_cast<Opcode>(load_u8(at)),
               .solicited = (flags & 0x80) != 0,
               .migrated = (flags & 0x40) != 0,
               .pad_count = static_cast<std::uint8_t>(flags >> 4 & 3),
               .transport_version = static_cast<std::uint8_t>(flags & 0xF),
               .pkey = PKey{load_be16(at + 2)},
               .fecn = (load_u8(at + 4) & 0x80) != 0,
               .becn = (load_u8(at + 4) & 0x40) != 0,
               .dest_qp = Qpn{load_be24(at + 5)},
               .ack_request = (load_u8(at + 8) & 0x80) != 0,
               .psn = Psn{load_be24(at + 9)}};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_u8(at, static_cast<std::uint8_t>(opcode));
    store_u8(at + 1, static_cast<std::uint8_t>((solicited ? 0x80 : 0) | (migrated ? 0x40 : 0) |
                                               (pad_count & 3) << 4 | (transport_version & 0xF)));
    store_be16(at + 2, pkey.value());
    store_u8(at + 4, static_cast<std::uint8_t>((fecn ? 0x80 : 0) | (becn ? 0x40 : 0)));
    store_be24(at + 5, dest_qp.value());
    store_u8(at + 8, ack_request ? 0x80 : 0);
    store_be24(at + 9, psn.value());
  }
};

// Pad bytes after `payload_size` bytes, so that the ICRC starts on a 4-byte boundary.
[[nodiscard]] constexpr std::uint8_t pad_count_for(std::size_t payload_size) {
  return static_cast<std::uint8_t>(-payload_size & 3);
}

// A BTH in place, for what hops mark and a sender changes late. FECN and BECN are outside the ICRC.
class BthView {
 public:
  explicit BthView(MutableBytes bth) : at_(bth.data()) { assert(bth.size() >= Bth::kSize); }

  [[nodiscard]] Opcode opcode() const { return static_cast<Opcode>(load_u8(at_)); }
  [[nodiscard]] bool solicited() const { return bit(1, 0x80); }
  [[nodiscard]] bool fecn() const { return bit(4, 0x80); }
  [[nodiscard]] bool becn() const { return bit(4, 0x40); }
  [[nodiscard]] bool ack_request() const { return bit(8, 0x80); }
  [[nodiscard]] Psn psn() const { return Psn{load_be24(at_ + 9)}; }

  void set_opcode(Opcode opcode) { store_u8(at_, static_cast<std::uint8_t>(opcode)); }
  void set_fecn(bool on) { set_bit(4, 0x80, on); }
  void set_becn(bool on) { set_bit(4, 0x40, on); }
  void set_ack_request(bool on) { set_bit(8, 0x80, on); }
  void set_psn(Psn psn) { store_be24(at_ + 9, psn.value()); }

 private:
  [[nodiscard]] bool bit(std::size_t byte, int mask) const {
    return (load_u8(at_ + byte) & mask) != 0;
  }
  void set_bit(std::size_t byte, int mask, bool on) {
    const int rest = load_u8(at_ + byte) & ~mask;
    store_u8(at_ + byte, static_cast<std::uint8_t>(rest | (on ? mask : 0)));
  }

  std::byte* at_;
};

}  // namespace weft::wire
