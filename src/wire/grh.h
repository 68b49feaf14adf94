// SPDX-License-Identifier: Apache-2.0
// Global Route Header, IBA 8.3: the 40 bytes that a packet between subnets, or to a multicast
// group, has after its LRH. It has IPv6's layout.
//
//   bytes 0-3  IPVer(4) TClass(8) FlowLabel(20)      6  NxtHdr      8-23   SGID
//         4-5  PayLen                                7  HopLmt      24-39  DGID
#pragma once

#include <cassert>
#include <optional>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/endian.h"

namespace weft::wire {

[[nodiscard]] inline Gid load_gid(const std::byte* at) {
  std::array<std::uint8_t, 16> bytes;
  std::memcpy(bytes.data(), at, bytes.size());
  return Gid{bytes};
}

inline void store_gid(std::byte* at, const Gid& gid) {
  std::memcpy(at, gid.bytes().data(), gid.bytes().size());
}

struct Grh {
  static constexpr std::size_t kSize = 40;
  static constexpr std::uint8_t kIpVersion = 6;
  static constexpr std::uint8_t kNextHeaderIba = 0x1B;  // a BTH follows

  std::uint8_t ip_version = kIpVersion;  // 4 bits
  std::uint8_t traffic_class = 0;
  std::uint32_t flow_label = 0;      // 20 bits
  std::uint16_t payload_length = 0;  // bytes after the GRH through the ICRC's last
  std::uint8_t next_header = kNextHeaderIba;
  std::uint8_t hop_limit = 0;
  Gid sgid{};
  Gid dgid{};

  friend bool operator==(const Grh&, const Grh&) = default;

  [[nodiscard]] static std::optional<Grh> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    const std::uint32_t word = load_be32(at);
    return Grh{.ip_version = static_cast<std::uint8_t>(word >> 28),
               .traffic_class = static_cast<std::uint8_t>(word >> 20),
               .flow_label = word & 0xFFFFF,
               .payload_length = load_be16(at + 4),
               .next_header = load_u8(at + 6),
               .hop_limit = load_u8(at + 7),
               .sgid = load_gid(at + 8),
               .dgid = load_gid(at + 24)};
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_be32(at, std::uint32_t{ip_version} << 28 | std::uint32_t{traffic_class} << 20 |
                       (flow_label & 0xFFFFF));
    store_be16(at + 4, payload_length);
    store_u8(at + 6, next_header);
    store_u8(at + 7, hop_limit);
    store_gid(at + 8, sgid);
    store_gid(at + 24, dgid);
  }
};

// A GRH in place, for routers. The hop limit is outside the ICRC; the VCRC covers it.
class GrhView {
 public:
  static constexpr std::size_t kHopLimitByte = 7;

  explicit GrhView(MutableBytes grh) : at_(grh.data()) { assert(grh.size() >= Grh::kSize); }

  [[nodiscard]] std::uint8_t hop_limit() const { return load_u8(at_ + kHopLimitByte); }
  void set_hop_limit(std::uint8_t hops) { store_u8(at_ + kHopLimitByte, hops); }

 private:
  std::byte* at_;
};

}  // namespace weft::wire
