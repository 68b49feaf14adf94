// SPDX-License-Identifier: Apache-2.0
// What stands before an Ethernet frame, or a part of it, in a message between LAN ports. On a
// connection a message has a whole frame; a datagram has as much of one as fits.
//
//   0-1   0x574C, "WL"
//   2     version(4): 1, kind(4): 1 Ethernet frame, 2 group list
//   3     ECN(1) checksum is left to do(1) checksum was found right(1) rsv(2) GSO type(3)
//   4-7   number of the frame, of those that its sender sends in datagrams; on connections 0
//   8-11  length of the whole frame
//   12-15 where this part begins in it, a multiple of 8
//   16-17 GSO size   18-19 length of headers   20-21 checksum start   22-23 checksum offset
//
// Numbers are big-endian. Byte 3 and 16 to 23 say of the frame what struct virtio_net_hdr does
// (OASIS virtio 1.2, 5.1.6), and are the same in all its parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tl/expected.hpp>

#include "base/bytes.h"

namespace weft::lan {

inline constexpr std::size_t kEthernetHeader = 14;
inline constexpr std::size_t kVlanTag = 4;
inline constexpr std::size_t kMostVlanTags = 2;  // IEEE 802.1Q: a customer's, and a provider's
// Of an interface: frames without tag then have 65,535 bytes, the most that those of TAP can.
inline constexpr std::size_t kMostMtu = 65'521;
// An IPv6 packet without jumbogram option, with tags: what segmentation offload may leave undone.
inline constexpr std::size_t kLongestFrame =
    40 + 65'535 + kEthernetHeader + kMostVlanTags * kVlanTag;

// What the sender's kernel left to the adapter: here to the receiver's kernel, which has the same
// machinery, so that a frame of 64 KiB need never be cut into segments of TCP.
struct Offload {
  enum class Gso : std::uint8_t { kNone = 0, kTcpv4 = 1, kTcpv6 = 4, kUdp = 5 };

  Gso gso = Gso::kNone;
  bool ecn = false;             // of TCP: only the first segment has CWR
  bool needs_checksum = false;  // from `checksum_start` on, put at `checksum_offset` behind that
  bool checksum_valid = false;  // nobody need look at it again
  std::uint16_t gso_size = 0;   // bytes of payload of each segment
  std::uint16_t header_length = 0;
  std::uint16_t checksum_start = 0;
  std::uint16_t checksum_offset = 0;

  friend bool operator==(const Offload&, const Offload&) = default;
  // Whether it can be said of a frame of this length: a kernel that is told so looks at no byte
  // outside of it.
  [[nodiscard]] bool fits(std::size_t frame) const;
};

enum class MessageKind : std::uint8_t { kFrame = 1, kGroups = 2 };

// Why bytes are no message.
enum class NoMessage : std::uint8_t {
  kOther,      // of another protocol
  kVersion,    // of a version or kind that is not known here
  kMalformed,  // numbers that cannot be
};

struct LanHeader {
  static constexpr std::size_t kSize = 24;
  static constexpr std::uint16_t kMark = 0x574C;
  static constexpr std::uint8_t kVersion = 1;
  static constexpr std::size_t kUnit = 8;  // of offsets

  MessageKind kind = MessageKind::kFrame;
  Offload offload{};
  std::uint32_t number = 0;
  std::uint32_t total = 0;   // 1 to kLongestFrame
  std::uint32_t offset = 0;  // below `total`

  friend bool operator==(const LanHeader&, const LanHeader&) = default;

  // `out` has room for kSize bytes.
  void write(MutableBytes out) const;
  // Whether `other` can stand before another part of the same frame.
  [[nodiscard]] bool same_frame(const LanHeader& other) const {
    return kind == other.kind && total == other.total && offload == other.offload;
  }
};

struct LanMessage {
  LanHeader header;
  Bytes part;  // of the frame, from header.offset on; at least one byte

  [[nodiscard]] static tl::expected<LanMessage, NoMessage> parse(Bytes message);
  [[nodiscard]] bool whole() const { return part.size() == header.total; }
};

}  // namespace weft::lan
