// SPDX-License-Identifier: Apache-2.0
// Cells of ATM at an interface between a user and a network (ITU-T I.361, 2.2; I.432.1, 4.3): five
// octets of header, the last of which checks the other four, and 48 of payload.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/bytes.h"

namespace weft::wan::atm {

inline constexpr std::size_t kHeaderSize = 5;
inline constexpr std::size_t kPayloadSize = 48;
inline constexpr std::size_t kCellSize = kHeaderSize + kPayloadSize;

// Which connection of a line a cell belongs to.
struct Channel {
  std::uint8_t vpi = 0;
  std::uint16_t vci = 0;
  friend auto operator<=>(const Channel&, const Channel&) = default;
};

// Where signalling between a user and its network is (I.361, 2.2.3).
inline constexpr Channel kSignalling{.vpi = 0, .vci = 5};
// VCIs below it are not for users.
inline constexpr std::uint16_t kFirstUserVci = 32;

// Values of the field of three bits (I.361, 2.2.4). Of user data, bit 1 says that the cell met
// congestion, and bit 0 is for the layer above: AAL type 5 ends a PDU with it.
inline constexpr std::uint8_t kLastOfPdu = 1;
inline constexpr std::uint8_t kCongested = 2;
inline constexpr std::uint8_t kOamSegment = 4;
inline constexpr std::uint8_t kOamEndToEnd = 5;

struct CellHeader {
  std::uint8_t gfc = 0;  // generic flow control, four bits
  Channel channel{};
  std::uint8_t payload_type = 0;  // three bits
  bool low_priority = false;      // CLP: the first to go where there is no room

  [[nodiscard]] bool is_user_data() const { return payload_type < kOamSegment; }
  friend bool operator==(const CellHeader&, const CellHeader&) = default;
};

// The first kHeaderSize bytes of a cell; write_header() writes the check as well, and read_header()
// does not look at it.
void write_header(const CellHeader& header, MutableBytes cell);
[[nodiscard]] CellHeader read_header(Bytes cell);

// The check of the first four bytes: CRC-8, and on it the sum with 01010101 that keeps the all-zero
// header from checking right wherever it is cut.
[[nodiscard]] std::uint8_t header_check(Bytes header);
[[nodiscard]] bool checks_right(Bytes header);
// The bit of these five bytes, from 0 at the most significant one of the first, that must be wrong
// if a single one is; nothing: none or several are. Wrong ones in several places can look like it.
[[nodiscard]] std::optional<unsigned> single_wrong_bit(Bytes header);

// Cells that no connection has: idle ones are the physical layer's, and do not leave it (I.432.1,
// 4.4); unassigned ones are the ATM layer's. Both by the first four bytes.
enum class EmptyCell : std::uint8_t { kNo, kIdle, kUnassigned };
[[nodiscard]] EmptyCell empty_kind(Bytes header);

[[nodiscard]] const std::array<std::byte, kCellSize>& idle_cell();

// Who has cells for a line.
class CellFeed {
 public:
  virtual ~CellFeed() = default;
  // The next ones, kCellSize bytes each, whose headers check right: as many as there are, and as
  // there is room for. How many. What it has in one call nobody gets between.
  [[nodiscard]] virtual std::size_t put_cells(MutableBytes cells) = 0;
};

// Cells of one header that came one after the other; at least one.
struct CellRun {
  CellHeader header;
  const std::byte* first = nullptr;  // payload of the first
  std::size_t stride = kCellSize;    // bytes from one payload to the next
  std::size_t count = 0;

  [[nodiscard]] Bytes payload(std::size_t cell) const {
    return {first + cell * stride, kPayloadSize};
  }
};

// Who takes cells of a line; gone on return.
class CellSink {
 public:
  virtual ~CellSink() = default;
  virtual void take_cells(const CellRun& run) = 0;
};

}  // namespace weft::wan::atm
