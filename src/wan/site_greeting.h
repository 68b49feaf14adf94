// SPDX-License-Identifier: Apache-2.0
// What two extenders that seal nothing say to each other on a TCP connection before their tunnel
// begins, in one message each: who calls asks, the other one agrees or refuses. Numbers are
// big-endian.
//
//   type      1 byte: 1 asks, 2 agrees, 3 refuses
//   version   1 byte: 1, of the format of frames (FrameHead::kVersion)
//   port      2 bytes: where the sender listens; of a refusal 0
//   words     the layers around its frames, within IP: "udp"; of a refusal why, for a person
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"

namespace weft::wan {

struct SiteGreeting {
  static constexpr std::size_t kMostWords = 200;  // bytes, printable ASCII
  static constexpr std::size_t kLongest = 4 + kMostWords;

  enum class Type : std::uint8_t { kAsks = 1, kAgrees = 2, kRefuses = 3 };

  Type type = Type::kAsks;
  std::uint16_t port = 0;
  std::string words;

  // Longer words are cut.
  [[nodiscard]] std::vector<std::byte> write() const;
  // protocol_error: it is no greeting; protocol_not_supported: of another version. For a person:
  // what the other end has done.
  [[nodiscard]] static Expected<SiteGreeting> read(Bytes message);

  friend bool operator==(const SiteGreeting&, const SiteGreeting&) = default;
};

// Of an encapsulation as lab files have it: what of it both ends must have in common, whoever of
// them leaves IP to the kernel, and Ethernet to routers: "udp", "ipv6". Empty is UDP.
[[nodiscard]] std::string_view layers_within_ip(std::string_view encapsulation);

}  // namespace weft::wan
