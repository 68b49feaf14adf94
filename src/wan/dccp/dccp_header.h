// SPDX-License-Identifier: Apache-2.0
// The header of a DCCP packet (RFC 4340, 5.1 to 5.7): everything before its options.
//
//   bytes 0-1 source port   2-3 destination port   4 words before the data   5 CCVal(4) CsCov(4)
//   6-7 checksum   8 0(3) type(4) X(1)   then with X, 9 0, 10-15 sequence number; without, 9-11
//
// Behind that comes what the type has: of a Request the service code (4); of all others but Data
// the number that is acknowledged (8, with X; 4 without), then of a Response the service code, of a
// Reset its code and three bytes of data.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <tl/expected.hpp>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/ids.h"
#include "wan/dccp/sequence.h"

namespace weft::wan::dccp {

enum class PacketType : std::uint8_t {
  kRequest,
  kResponse,
  kData,
  kAck,
  kDataAck,
  kCloseReq,
  kClose,
  kReset,
  kSync,
  kSyncAck,
};

// Why a connection was reset (RFC 4340, 5.6).
enum class ResetCode : std::uint8_t {
  kUnspecified,
  kClosed,
  kAborted,
  kNoConnection,
  kPacketError,
  kOptionError,
  kMandatoryError,
  kConnectionRefused,
  kBadServiceCode,
  kTooBusy,
  kBadInitCookie,
  kAggressionPenalty,
};

// Why a packet is none, whatever its connection (RFC 4340, 8.5, step 1).
enum class HeaderRefusal : std::uint8_t { kShort, kType, kOffset, kNumbers, kCoverage, kChecksum };

struct Header {
  static constexpr std::size_t kMostBytes = 1020;  // with options
  static constexpr std::size_t kMostSize = 28;     // without

  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint8_t cc_value = 0;  // of the sender's congestion control, 4 bits
  // Of the data, what the checksum covers: 0: all; else so many words of 4 bytes, and one less.
  std::uint8_t coverage = 0;
  PacketType type = PacketType::kData;
  bool extended = true;                  // X: numbers of 48 bits, not of 24
  Sequence sequence;                     // without X only 24 bits of it, and of the next
  std::optional<Sequence> acknowledged;  // of types that have one
  std::uint32_t service_code = 0;        // of a Request and a Response
  ResetCode reset_code = ResetCode::kUnspecified;
  std::array<std::uint8_t, 3> reset_data{};

  // Bytes before the options.
  [[nodiscard]] std::size_t size() const;
};

[[nodiscard]] constexpr bool has_acknowledgement(PacketType type) {
  return type != PacketType::kRequest && type != PacketType::kData;
}

struct Packet {
  Header header;
  Bytes options;  // with what fills them up
  Bytes data;
};

// What an IP packet from one host to the other carries, whose checksum is checked. Reserved bits
// are passed over.
[[nodiscard]] tl::expected<Packet, HeaderRefusal> parse(Bytes packet, const Gid& source,
                                                        const Gid& destination);

// Bytes of the header and so many of options, filled up to words.
[[nodiscard]] std::size_t header_bytes(const Header& header, std::size_t options);
// Writes them before `data`, whose coverage does not go beyond it, to `out`, which has just
// header_bytes(), at most kMostBytes; with the checksum. A number is there for types that have one.
void write(const Header& header, Bytes options, std::span<const Bytes> data, const Gid& source,
           const Gid& destination, MutableBytes out);

}  // namespace weft::wan::dccp
