// SPDX-License-Identifier: Apache-2.0
// The kernel's rdma_cm command interface, version 4, as the public header rdma/rdma_user_cm.h has
// it, read from and written to bytes. Its structures are in host order and never leave the machine.
#pragma once

#include <rdma/rdma_user_cm.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <optional>
#include <type_traits>

#include "base/bytes.h"
#include "wire/endian.h"

namespace weft::rdmacm::abi {

inline constexpr std::uint32_t kNoDeviceIndex = ~std::uint32_t{0};
inline constexpr std::size_t kLongestResponse = 1024;

// enum rdma_cm_event_type of rdma/rdma_cma.h: what programs see.
enum class Event : std::uint32_t {
  kAddrResolved,
  kAddrError,
  kRouteResolved,
  kRouteError,
  kConnectRequest,
  kConnectResponse,
  kConnectError,
  kUnreachable,
  kRejected,
  kEstablished,
  kDisconnected,
  kDeviceRemoval,
  kMulticastJoin,
  kMulticastError,
  kAddrChange,
  kTimewaitExit,
};

// A structure from the front of `in`; nothing when there are fewer than `least` bytes. What is
// missing beyond them is zero: older programs send shorter structures.
template <class T>
[[nodiscard]] std::optional<T> read(Bytes in, std::size_t least = sizeof(T)) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (in.size() < least) return std::nullopt;
  T out{};
  std::memcpy(&out, in.data(), std::min(in.size(), sizeof out));
  return out;
}

template <class T>
[[nodiscard]] Bytes bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

// A number for a member that the interface has in network order.
[[nodiscard]] inline std::uint16_t network_order(std::uint16_t value) {
  std::array<std::byte, sizeof value> bytes{};
  wire::store_be16(bytes.data(), value);
  return std::bit_cast<std::uint16_t>(bytes);
}
[[nodiscard]] inline std::uint32_t network_order(std::uint32_t value) {
  std::array<std::byte, sizeof value> bytes{};
  wire::store_be32(bytes.data(), value);
  return std::bit_cast<std::uint32_t>(bytes);
}
[[nodiscard]] inline std::uint64_t network_order(std::uint64_t value) {
  std::array<std::byte, sizeof value> bytes{};
  wire::store_be64(bytes.data(), value);
  return std::bit_cast<std::uint64_t>(bytes);
}

}  // namespace weft::rdmacm::abi
