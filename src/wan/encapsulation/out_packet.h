// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"

namespace weft::wan {

// By which number a header says what comes after it. Both are kept, since it is the layer outside
// that decides which one it has room for.
struct Carried {
  std::optional<std::uint8_t> ip_protocol;  // IPv4's protocol, IPv6's next header
  std::optional<std::uint16_t> ether_type;
};

// A frame itself: numbers for experiments (RFC 3692 and 4727; IEEE 802, local experimental
// EtherType 1), since none has been assigned.
inline constexpr Carried kFrame{.ip_protocol = 253, .ether_type = 0x88B5};

// A packet of DCCP (RFC 4340), which is in IP alone.
inline constexpr Carried kDccp{.ip_protocol = 33, .ether_type = {}};

// A frame on its way out: pieces that stay where they are, between headers and trailers that layers
// put around them, from the inside out.
class OutPacket {
 public:
  static constexpr std::size_t kMostHeaders = 512;
  static constexpr std::size_t kMostTrailers = 64;

  // The pieces are used until the packet goes.
  explicit OutPacket(std::span<const Bytes> frame);
  OutPacket(const OutPacket&) = delete;
  OutPacket& operator=(const OutPacket&) = delete;

  // Room before, or after, everything that is there, for a layer to fill. At most kMostHeaders and
  // kMostTrailers bytes in all.
  [[nodiscard]] MutableBytes prepend(std::size_t size);
  [[nodiscard]] MutableBytes append(std::size_t size);
  // In place of all that is there: for layers that change bytes, as octet stuffing does.
  void replace(std::vector<std::byte> bytes);

  [[nodiscard]] std::size_t size() const;
  // The packet as it is now, in order; none of it is empty.
  [[nodiscard]] std::span<const Bytes> pieces();

  Carried carried = kFrame;        // what the outermost layer so far is
  std::uint8_t traffic_class = 0;  // for IP, ECN bits included
  Bytes options;                   // for a layer that carries such, at most kMostOptions bytes
  static constexpr std::size_t kMostOptions = 248;

 private:
  std::array<std::byte, kMostHeaders> headers_;
  std::size_t headers_at_ = kMostHeaders;
  std::array<std::byte, kMostTrailers> trailers_;
  std::size_t trailers_size_ = 0;
  std::vector<Bytes> all_;  // with a place for the headers before the body, and one behind it
  std::size_t body_size_ = 0;
  std::vector<std::byte> replaced_;
};

}  // namespace weft::wan
