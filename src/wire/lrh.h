// SPDX-License-Identifier: Apache-2.0
// Local Route Header, IBA 7.7: the first 8 bytes of every packet on an InfiniBand link.
//
//   byte 0  VL(4) LVer(4)      bytes 2-3  DLID
//   byte 1  SL(4) rsv(2) LNH(2)      4-5  rsv(5) PktLen(11)      6-7  SLID
#pragma once

#include <cassert>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"

namespace weft::wire {

// Link Next Header: what follows the LRH.
enum class Lnh : std::uint8_t {
  raw = 0,         // raw header with an EtherType
  raw_ipv6 = 1,    // an IPv6 packet
  iba_local = 2,   // BTH
  iba_global = 3,  // GRH, BTH
};

struct Lrh {
  static constexpr std::size_t kSize = 8;

  Vl vl{};
  std::uint8_t link_version = 0;  // LVer, 4 bits; 0 is the only one defined
  Sl sl{};
  Lnh next_header = Lnh::iba_local;
  Lid dlid{};
  // PktLen, 11 bits: 4-byte words from the LRH's first byte through the ICRC's last (of a raw
  // packet, through its payload); the VCRC is not counted.
  std::uint16_t packet_words = 0;
  Lid slid{};

  friend bool operator==(const Lrh&, const Lrh&) = default;

  [[nodiscard]] std::size_t packet_bytes() const { return std::size_t{packet_words} * 4; }

  // Reserved bits are ignored on receipt and written as zero. Nothing when too short.
  [[nodiscard]] static std::optional<Lrh> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    return read(bytes);
  }

  // The same of at least kSize bytes. Each packet comes by this at every hop: an optional would be
  // written field by field, and read as a whole before that has left the store buffer.
  [[nodiscard]] static Lrh read(Bytes bytes) {
    assert(bytes.size() >= kSize);
    const std::byte* at = bytes.data();
    return Lrh{.vl = Vl{static_cast<std::uint8_t>(load_u8(at) >> 4)},
               .link_version = static_cast<std::uint8_t>(load_u8(at) & 0xF),
               .sl = Sl{static_cast<std::uint8_t>(load_u8(at + 1) >> 4)},
               .next_header = static_cast<Lnh>(load_u8(at + 1) & 3),
               .dlid = Lid{load_be16(at + 2)},
               .packet_words = static_cast<std::uint16_t>(load_be16(at + 4) & 0x7FF),
               .slid = Lid{load_be16(at + 6)}};
  }

  // `out` has room for kSize bytes.
  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_u8(at, static_cast<std::uint8_t>(vl.value() << 4 | (link_version & 0xF)));
    store_u8(at + 1, static_cast<std::uint8_t>(sl.value() << 4 | static_cast<int>(next_header)));
    store_be16(at + 2, dlid.value());
    store_be16(at + 4, static_cast<std::uint16_t>(packet_words & 0x7FF));
    store_be16(at + 6, slid.value());
  }
};

// An LRH in place, for hops. A change needs a new VCRC (crc16_change), and of anything but the VL
// of a local packet a new ICRC too.
class LrhView {
 public:
  static constexpr std::size_t kVlByte = 0;
  static constexpr std::size_t kSlByte = 1;
  static constexpr std::size_t kDlidBytes = 2;
  static constexpr std::size_t kSlidBytes = 6;

  // `packet` starts with the LRH and has at least its 8 bytes.
  explicit LrhView(MutableBytes packet) : at_(packet.data()) {
    assert(packet.size() >= Lrh::kSize);
  }

  [[nodiscard]] Vl vl() const { return Vl{static_cast<std::uint8_t>(load_u8(at_ + kVlByte) >> 4)}; }
  [[nodiscard]] Sl sl() const { return Sl{static_cast<std::uint8_t>(load_u8(at_ + kSlByte) >> 4)}; }
  [[nodiscard]] Lid dlid() const { return Lid{load_be16(at_ + kDlidBytes)}; }
  [[nodiscard]] Lid slid() const { return Lid{load_be16(at_ + kSlidBytes)}; }

  void set_vl(Vl vl) { set_high_nibble(kVlByte, vl.value()); }
  void set_sl(Sl sl) { set_high_nibble(kSlByte, sl.value()); }
  void set_dlid(Lid dlid) { store_be16(at_ + kDlidBytes, dlid.value()); }
  void set_slid(Lid slid) { store_be16(at_ + kSlidBytes, slid.value()); }

 private:
  void set_high_nibble(std::size_t byte, std::uint8_t value) {
    store_u8(at_ + byte, static_cast<std::uint8_t>(value << 4 | (load_u8(at_ + byte) & 0xF)));
  }

  std::byte* at_;
};

}  // namespace weft::wire
