// SPDX-License-Identifier: Apache-2.0
// Packets of LCP and of the network control protocols (RFC 1661, 5 and 6):
//
//   code 8, identifier 8, length 16 (of all of it), data
//
// The data of Configure packets is options: type 8, length 8 (of all of it), value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"

namespace weft::wan {

enum class ControlCode : std::uint8_t {
  kConfigureRequest = 1,
  kConfigureAck = 2,
  kConfigureNak = 3,
  kConfigureReject = 4,
  kTerminateRequest = 5,
  kTerminateAck = 6,
  kCodeReject = 7,
  kProtocolReject = 8,
  kEchoRequest = 9,
  kEchoReply = 10,
  kDiscardRequest = 11,
};

inline constexpr std::size_t kControlHeader = 4;
inline constexpr std::size_t kOptionHeader = 2;

struct ControlPacket {
  ControlCode code{};
  std::uint8_t identifier = 0;
  Bytes data;

  // None: its length is less than its header, or more than there is. What is beyond is padding.
  [[nodiscard]] static std::optional<ControlPacket> parse(Bytes information);
  [[nodiscard]] std::vector<std::byte> bytes() const;
};

struct ControlOption {
  std::uint8_t type = 0;
  Bytes value;
};

// The first option of `options`, which is taken off; none where they are at an end, or malformed:
// they are not empty then.
[[nodiscard]] std::optional<ControlOption> take_option(Bytes& options);
// Whether they are options to the end.
[[nodiscard]] bool are_options(Bytes options);
void put_option(std::vector<std::byte>& options, const ControlOption& option);

}  // namespace weft::wan
