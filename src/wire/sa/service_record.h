// SPDX-License-Identifier: Apache-2.0
// ServiceRecord, IBA 15.2.5.14: who offers a service, and where.
//
//   0-7 ServiceID  8-23 ServiceGID  24-25 ServiceP_Key  26-27 rsv  28-31 ServiceLease
//   32-47 ServiceKey  48-111 ServiceName  112-175 ServiceData
#pragma once

#include <array>
#include <cassert>
#include <cstring>
#include <optional>

#include "wire/grh.h"
#include "wire/sa/sa_header.h"

namespace weft::wire {

struct ServiceRecord {
  static constexpr std::uint16_t kAttributeId = 0x0031;
  static constexpr std::size_t kSize = 176;
  static constexpr std::uint32_t kForEver = 0xFFFF'FFFF;  // of the lease

  // Bits of the ComponentMask of a question.
  static constexpr std::uint64_t kHasId = 1u << 0;
  static constexpr std::uint64_t kHasGid = 1u << 1;
  static constexpr std::uint64_t kHasPKey = 1u << 2;
  static constexpr std::uint64_t kHasLease = 1u << 4;
  static constexpr std::uint64_t kHasKey = 1u << 5;
  static constexpr std::uint64_t kHasName = 1u << 6;

  std::uint64_t id = 0;
  Gid gid{};
  PKey pkey{};
  std::uint32_t lease = 0;  // s
  std::array<std::byte, 16> key{};
  std::array<std::byte, 64> name{};  // UTF-8, filled with zeros
  std::array<std::byte, 64> data{};  // the service's own

  friend bool operator==(const ServiceRecord&, const ServiceRecord&) = default;

  [[nodiscard]] static std::optional<ServiceRecord> parse(Bytes bytes) {
    if (bytes.size() < kSize) return std::nullopt;
    const std::byte* at = bytes.data();
    ServiceRecord record{.id = load_be64(at),
                         .gid = load_gid(at + 8),
                         .pkey = PKey{load_be16(at + 24)},
                         .lease = load_be32(at + 28)};
    std::memcpy(record.key.data(), at + 32, record.key.size());
    std::memcpy(record.name.data(), at + 48, record.name.size());
    std::memcpy(record.data.data(), at + 112, record.data.size());
    return record;
  }

  void write(MutableBytes out) const {
    assert(out.size() >= kSize);
    std::byte* at = out.data();
    store_be64(at, id);
    store_gid(at + 8, gid);
    store_be16(at + 24, pkey.value());
    store_be16(at + 26, 0);
    store_be32(at + 28, lease);
    std::memcpy(at + 32, key.data(), key.size());
    std::memcpy(at + 48, name.data(), name.size());
    std::memcpy(at + 112, data.data(), data.size());
  }
};

}  // namespace weft::wire
