// SPDX-License-Identifier: Apache-2.0
// What the traps 256 to 259 tell in the DataDetails of their Notice: a packet whose M_Key, P_Key or
// Q_Key was wrong. IBA 14.2.5.1.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"
#include "wire/grh.h"
#include "wire/mad.h"
#include "wire/sm/notice.h"

namespace weft::wire {

// Of 256: a subnet management packet.
//
//   2-3 LID1  4-5 LID2  6 Method  8-9 AttributeID  10-13 AttributeModifier  14-21 M_Key
//   23 DrNotice(1) DrPathTruncated(1) DrHopCount(6)  24-53 DrNoticeReturnPath
struct BadMkeyDetails {
  static constexpr std::size_t kSize = Notice::kDetails;
  static constexpr std::size_t kPathRoom = 30;

  Lid slid{};  // it came from there
  Lid dr_slid{};
  MadMethod method{};
  std::uint16_t attribute = 0;
  std::uint32_t modifier = 0;
  std::uint64_t mkey = 0;
  bool is_directed = false;
  bool is_truncated = false;  // there were more hops than there is room for
  std::uint8_t hops = 0;      // 0 to 63; beyond kPathRoom nothing is told of them
  std::array<std::uint8_t, kPathRoom> return_path{};
  friend bool operator==(const BadMkeyDetails&, const BadMkeyDetails&) = default;

  [[nodiscard]] static std::optional<BadMkeyDetails> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    BadMkeyDetails out{.slid = Lid{load_be16(at + 2)},
                       .dr_slid = Lid{load_be16(at + 4)},
                       .method = static_cast<MadMethod>(load_u8(at + 6)),
                       .attribute = load_be16(at + 8),
                       .modifier = load_be32(at + 10),
                       .mkey = load_be64(at + 14),
                       .is_directed = (load_u8(at + 23) & 0x80) != 0,
                       .is_truncated = (load_u8(at + 23) & 0x40) != 0,
                       .hops = static_cast<std::uint8_t>(load_u8(at + 23) & 0x3F)};
    std::memcpy(out.return_path.data(), at + 24, kPathRoom);
    return out;
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    std::memset(at, 0, kSize);
    store_be16(at + 2, slid.value());
    store_be16(at + 4, dr_slid.value());
    store_u8(at + 6, static_cast<std::uint8_t>(method));
    store_be16(at + 8, attribute);
    store_be32(at + 10, modifier);
    store_be64(at + 14, mkey);
    store_u8(at + 23, static_cast<std::uint8_t>((is_directed ? 0x80 : 0) |
                                                (is_truncated ? 0x40 : 0) | (hops & 0x3F)));
    std::memcpy(at + 24, return_path.data(), kPathRoom);
  }
};

// Of 257 and 258, at an adapter, a router or a switch's port 0; 1 is who sent it, 2 whom it was
// for.
//
//   2-3 LID1  4-5 LID2  6-9 Key  10 SL(4)  11-13 QP1  15-17 QP2  18-33 GIDADDR1  34-49 GIDADDR2
struct BadKeyDetails {
  static constexpr std::size_t kSize = Notice::kDetails;
  Lid slid{};
  Lid dlid{};
  std::uint32_t key = 0;  // of a P_Key the lower 16 bits
  Sl sl{};
  Qpn source_qp{};
  Qpn dest_qp{};
  Gid sgid{};  // both 0: it had no GRH
  Gid dgid{};
  friend bool operator==(const BadKeyDetails&, const BadKeyDetails&) = default;

  [[nodiscard]] static std::optional<BadKeyDetails> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return BadKeyDetails{.slid = Lid{load_be16(at + 2)},
                         .dlid = Lid{load_be16(at + 4)},
                         .key = load_be32(at + 6),
                         .sl = Sl{static_cast<std::uint8_t>(load_u8(at + 10) >> 4)},
                         .source_qp = Qpn{load_be24(at + 11)},
                         .dest_qp = Qpn{load_be24(at + 15)},
                         .sgid = load_gid(at + 18),
                         .dgid = load_gid(at + 34)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    std::memset(at, 0, kSize);
    store_be16(at + 2, slid.value());
    store_be16(at + 4, dlid.value());
    store_be32(at + 6, key);
    store_u8(at + 10, static_cast<std::uint8_t>(sl.value() << 4));
    store_be24(at + 11, source_qp.value());
    store_be24(at + 15, dest_qp.value());
    store_gid(at + 18, sgid);
    store_gid(at + 34, dgid);
  }
};

// Of 259, at an external port of a switch.
//
//   0-1 DataValid  2-3 LID1  4-5 LID2  6-7 P_Key  8 SL(4)  9-11 QP1  13-15 QP2  16-31 GIDADDR1
//   32-47 GIDADDR2  48-49 SwitchLIDADDR  50 PortNo
struct BadPkeyAtSwitchDetails {
  static constexpr std::size_t kSize = Notice::kDetails;
  static constexpr std::uint16_t kAllButGids = 0x000F;  // of DataValid: LIDs, P_Key, SL, QPs
  static constexpr std::uint16_t kGids = 0x0030;

  std::uint16_t valid = 0;
  Lid slid{};
  Lid dlid{};
  PKey pkey{};
  Sl sl{};
  Qpn source_qp{};
  Qpn dest_qp{};
  Gid sgid{};
  Gid dgid{};
  Lid switch_lid{};
  std::uint8_t port = 0;
  friend bool operator==(const BadPkeyAtSwitchDetails&, const BadPkeyAtSwitchDetails&) = default;

  [[nodiscard]] static std::optional<BadPkeyAtSwitchDetails> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return BadPkeyAtSwitchDetails{.valid = load_be16(at),
                                  .slid = Lid{load_be16(at + 2)},
                                  .dlid = Lid{load_be16(at + 4)},
                                  .pkey = PKey{load_be16(at + 6)},
                                  .sl = Sl{static_cast<std::uint8_t>(load_u8(at + 8) >> 4)},
                                  .source_qp = Qpn{load_be24(at + 9)},
                                  .dest_qp = Qpn{load_be24(at + 13)},
                                  .sgid = load_gid(at + 16),
                                  .dgid = load_gid(at + 32),
                                  .switch_lid = Lid{load_be16(at + 48)},
                                  .port = load_u8(at + 50)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    std::memset(at, 0, kSize);
    store_be16(at, valid);
    store_be16(at + 2, slid.value());
    store_be16(at + 4, dlid.value());
    store_be16(at + 6, pkey.value());
    store_u8(at + 8, static_cast<std::uint8_t>(sl.value() << 4));
    store_be24(at + 9, source_qp.value());
    store_be24(at + 13, dest_qp.value());
    store_gid(at + 16, sgid);
    store_gid(at + 32, dgid);
    store_be16(at + 48, switch_lid.value());
    store_u8(at + 50, port);
  }
};

}  // namespace weft::wire
