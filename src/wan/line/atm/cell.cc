// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/cell.h"

#include <algorithm>
#include <cassert>

#include "wan/line/msb_crc.h"
#include "wire/endian.h"

namespace weft::wan::atm {
namespace {

constexpr unsigned kHeaderBits = 8 * kHeaderSize;
constexpr std::uint32_t kIdleHeader = 0x0000'0001;
constexpr std::byte kIdlePayload{0x6A};

// What is left over of a header in which only one bit is wrong, and which one that is.
constexpr std::array<std::uint8_t, 256> make_syndromes() {
  std::array<std::uint8_t, 256> bits{};
  bits.fill(kHeaderBits);
  unsigned left_over = 1;  // of the last bit, which is one of the check itself
  for (unsigned bit = kHeaderBits; bit-- > 0;) {
    bits[left_over] = static_cast<std::uint8_t>(bit);
    left_over = (left_over << 1 & 0xFF) ^ ((left_over & 0x80) != 0 ? 0x07 : 0);
  }
  return bits;
}
constexpr std::array<std::uint8_t, 256> kWrongBits = make_syndromes();

unsigned syndrome(Bytes header) {
  return header_check(header) ^ std::to_integer<unsigned>(header[4]);
}

}  // namespace

void write_header(const CellHeader& header, MutableBytes cell) {
  assert(cell.size() >= kHeaderSize && header.gfc < 16 && header.payload_type < 8);
  const std::uint32_t word =
      std::uint32_t{header.gfc} << 28 | std::uint32_t{header.channel.vpi} << 20 |
      std::uint32_t{header.channel.vci} << 4 | std::uint32_t{header.payload_type} << 1 |
      (header.low_priority ? 1 : 0);
  wire::store_be32(cell.data(), word);
  wire::store_u8(cell.data() + 4, header_check(cell));
}

CellHeader read_header(Bytes cell) {
  assert(cell.size() >= 4);
  const std::uint32_t word = wire::load_be32(cell.data());
  return {.gfc = static_cast<std::uint8_t>(word >> 28),
          .channel = {.vpi = static_cast<std::uint8_t>(word >> 20),
                      .vci = static_cast<std::uint16_t>(word >> 4)},
          .payload_type = static_cast<std::uint8_t>(word >> 1 & 7),
          .low_priority = (word & 1) != 0};
}

std::uint8_t header_check(Bytes header) {
  assert(header.size() >= 4);
  return crc8_update(0, header.first(4)) ^ kHecCoset;
}

bool checks_right(Bytes header) {
  assert(header.size() >= kHeaderSize);
  return syndrome(header) == 0;
}

std::optional<unsigned> single_wrong_bit(Bytes header) {
  assert(header.size() >= kHeaderSize);
  const unsigned bit = kWrongBits[syndrome(header)];
  if (bit == kHeaderBits) return std::nullopt;
  return bit;
}

EmptyCell empty_kind(Bytes header) {
  const std::uint32_t word = wire::load_be32(header.data());
  if (word == kIdleHeader) return EmptyCell::kIdle;
  // Of an unassigned one, GFC, three bits of payload type and CLP may be anything (I.361, 2.2.2);
  // VPI and VCI are zero, which no connection has.
  return (word & 0x0FFF'FFF0) == 0 ? EmptyCell::kUnassigned : EmptyCell::kNo;
}

const std::array<std::byte, kCellSize>& idle_cell() {
  static const std::array<std::byte, kCellSize> kIdle = [] {
    std::array<std::byte, kCellSize> cell{};
    cell.fill(kIdlePayload);
    wire::store_be32(cell.data(), kIdleHeader);
    wire::store_u8(cell.data() + 4, header_check(cell));
    return cell;
  }();
  return kIdle;
}

}  // namespace weft::wan::atm
