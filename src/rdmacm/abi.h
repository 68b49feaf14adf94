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
#include "base/plain_bytes.h"
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

using plain::bytes_of;
using plain::read;

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
