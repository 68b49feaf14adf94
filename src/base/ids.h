// SPDX-License-Identifier: Apache-2.0
// The identifiers of InfiniBand as types of their own: a LID cannot be passed for a QPN. Each
// holds its value in host order; wire/ turns it into big-endian bytes.
#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

namespace weft {

// An unsigned number of at most kBits bits. Construction keeps the low kBits only, which is what a
// field on the wire would do.
template <class Tag, class Rep, unsigned kBits>
class Id {
 public:
  using rep = Rep;
  static constexpr Rep kMask = kBits >= sizeof(Rep) * 8
                                   ? static_cast<Rep>(~Rep{0})
                                   : static_cast<Rep>((Rep{1} << (kBits % (sizeof(Rep) * 8))) - 1);

  constexpr Id() = default;
  constexpr explicit Id(Rep value) : value_(static_cast<Rep>(value & kMask)) {}
  [[nodiscard]] constexpr Rep value() const { return value_; }
  friend constexpr auto operator<=>(Id, Id) = default;

 private:
  Rep value_ = 0;
};

using Lid = Id<struct LidTag, std::uint16_t, 16>;    // IBA 4.1.3: local identifier
using Guid = Id<struct GuidTag, std::uint64_t, 64>;  // EUI-64 of a node, system or port
using Qpn = Id<struct QpnTag, std::uint32_t, 24>;    // queue pair number
using PKey = Id<struct PKeyTag, std::uint16_t, 16>;  // partition key; bit 15 = full member
using QKey = Id<struct QKeyTag, std::uint32_t, 32>;  // queue key (IBA 10.2.5)
using LKey = Id<struct LKeyTag, std::uint32_t, 32>;  // local key of a memory region
using RKey = Id<struct RKeyTag, std::uint32_t, 32>;  // remote key of a memory region
using Vl = Id<struct VlTag, std::uint8_t, 4>;        // virtual lane
using Sl = Id<struct SlTag, std::uint8_t, 4>;        // service level

inline constexpr Qpn kQp0{0};                  // subnet management interface
inline constexpr Qpn kQp1{1};                  // general services interface
inline constexpr Qpn kMulticastQpn{0xFFFFFF};  // IBA 9.2.6: destination of every multicast
inline constexpr PKey kDefaultPKey{0xFFFF};    // full member of the default partition
inline constexpr std::uint16_t kFullMemberBit = 0x8000;  // of a P_Key (IBA 10.9.1.1)
inline constexpr std::uint16_t kPartitionBits = 0x7FFF;  // of a P_Key: which partition it is
inline constexpr Vl kManagementVl{15};                   // IBA 7.6.4: of subnet management packets
inline constexpr QKey kGsiQKey{0x8001'0000};             // IBA 16: Q_Key of QP1
inline constexpr QKey kIpoibQKey{0x0000'0B1B};           // RFC 4391, 4: of the broadcast group
inline constexpr std::uint32_t kPrivilegedQKeyBit = 0x8000'0000;  // IBA 10.2.5: controlled Q_Keys

// Packet sequence number: arithmetic is modulo 2^24 and order is by the signed 24-bit difference
// (IBA 9.7.1), so there is no operator<; say which of two is newer with `diff`.
class Psn {
 public:
  static constexpr std::uint32_t kMask = 0xFFFFFF;
  constexpr Psn() = default;
  constexpr explicit Psn(std::uint32_t value) : value_(value & kMask) {}
  [[nodiscard]] constexpr std::uint32_t value() const { return value_; }
  [[nodiscard]] constexpr Psn operator+(std::uint32_t n) const { return Psn{value_ + n}; }
  [[nodiscard]] constexpr Psn operator-(std::uint32_t n) const { return Psn{value_ - n}; }
  constexpr Psn& operator++() { return *this = *this + 1; }
  friend constexpr bool operator==(Psn, Psn) = default;

  // a - b as a number in [-2^23, 2^23): positive when a is newer.
  [[nodiscard]] static constexpr std::int32_t diff(Psn a, Psn b) {
    return static_cast<std::int32_t>((a.value_ - b.value_) << 8) >> 8;
  }

 private:
  std::uint32_t value_ = 0;
};

// Global identifier: 16 raw bytes in network order. On IP wires a GID is an IPv6 address, or an
// IPv4 address as ::ffff:a.b.c.d.
class Gid {
 public:
  constexpr Gid() = default;
  constexpr explicit Gid(const std::array<std::uint8_t, 16>& bytes) : bytes_(bytes) {}
  static Gid from_ipv4(std::uint32_t host_order_address);  // ::ffff:a.b.c.d

  [[nodiscard]] constexpr const std::array<std::uint8_t, 16>& bytes() const { return bytes_; }
  [[nodiscard]] bool is_zero() const { return *this == Gid{}; }
  [[nodiscard]] bool is_ipv4_mapped() const;  // ::ffff:0:0/96
  [[nodiscard]] std::uint32_t ipv4() const;   // host order; low 32 bits
  [[nodiscard]] bool is_link_local() const;   // fe80::/10
  // IBA 4.1.1: first byte 0xFF. An IPv4-mapped multicast address (::ffff:224.0.0.0/100) counts
  // too: RoCEv2 carries IPv4 groups so.
  [[nodiscard]] bool is_multicast() const;
  [[nodiscard]] std::string to_string() const;  // as inet_ntop prints an IPv6 address
  friend constexpr auto operator<=>(const Gid&, const Gid&) = default;
  // Compared for every packet: two words instead of a call to memcmp.
  friend constexpr bool operator==(const Gid& a, const Gid& b) {
    using Words = std::array<std::uint64_t, 2>;
    const auto left = std::bit_cast<Words>(a.bytes_);
    const auto right = std::bit_cast<Words>(b.bytes_);
    return ((left[0] ^ right[0]) | (left[1] ^ right[1])) == 0;
  }

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

}  // namespace weft

template <class Tag, class Rep, unsigned kBits>
struct std::hash<weft::Id<Tag, Rep, kBits>> {
  std::size_t operator()(weft::Id<Tag, Rep, kBits> id) const noexcept {
    return std::hash<Rep>{}(id.value());
  }
};

template <>
struct std::hash<weft::Gid> {
  std::size_t operator()(const weft::Gid& gid) const noexcept;
};
