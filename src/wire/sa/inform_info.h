// SPDX-License-Identifier: Apache-2.0
// InformInfo, IBA 13.4.8.3: who wants to be told of which traps.
//
//   0-15 GID  16-17 LIDRangeBegin  18-19 LIDRangeEnd  20-21 rsv  22 IsGeneric  23 Subscribe
//   24-25 Type  26-27 TrapNumber (of a vendor: DeviceID)  28-31 QPN(24) rsv(3) RespTimeValue(5)
//   32 rsv  33-35 ProducerType (of a vendor: its OUI)
#pragma once

#include <cassert>
#include <cstring>
#include <optional>

#include "wire/grh.h"
#include "wire/sa/sa_header.h"

namespace weft::wire {

struct InformInfo {
  static constexpr std::size_t kSize = 36;
  // In the fields that it can be in: any.
  static constexpr Lid kAnyLid{0xFFFF};  // LIDRangeBegin
  static constexpr std::uint16_t kAnyType = 0xFFFF;
  static constexpr std::uint16_t kAnyTrap = 0xFFFF;
  static constexpr std::uint32_t kAnyProducer = 0xFFFFFF;

  Gid gid{};  // of what the trap is about; 0: the LIDs count
  Lid lid_begin{};
  Lid lid_end{};
  bool generic = true;
  bool subscribe = false;
  std::uint16_t type = kAnyType;  // a NoticeType
  std::uint16_t trap = kAnyTrap;
  Qpn qpn{};                              // to unsubscribe: that of the subscription
  std::uint8_t response_time = 0;         // 5 bits: 4.096 us * 2^n
  std::uint32_t producer = kAnyProducer;  // 24 bits: a NodeType

  friend bool operator==(const InformInfo&, const InformInfo&) = default;

  [[nodiscard]] static std::optional<InformInfo> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    return InformInfo{.gid = load_gid(at),
                      .lid_begin = Lid{load_be16(at + 16)},
                      .lid_end = Lid{load_be16(at + 18)},
                      .generic = load_u8(at + 22) != 0,
                      .subscribe = load_u8(at + 23) != 0,
                      .type = load_be16(at + 24),
                      .trap = load_be16(at + 26),
                      .qpn = Qpn{load_be24(at + 28)},
                      .response_time = static_cast<std::uint8_t>(load_u8(at + 31) & 0x1F),
                      .producer = load_be24(at + 33)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    std::memset(at, 0, kSize);
    store_gid(at, gid);
    store_be16(at + 16, lid_begin.value());
    store_be16(at + 18, lid_end.value());
    store_u8(at + 22, generic ? 1 : 0);
    store_u8(at + 23, subscribe ? 1 : 0);
    store_be16(at + 24, type);
    store_be16(at + 26, trap);
    store_be24(at + 28, qpn.value());
    store_u8(at + 31, response_time & 0x1F);
    store_be24(at + 33, producer);
  }
};

}  // namespace weft::wire
