// SPDX-License-Identifier: Apache-2.0
#include "wan/line/equipment/foreign_cells.h"

#include <algorithm>
#include <array>

#include "base/random.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

using Payload = std::array<std::byte, atm::kPayloadSize>;

Payload payload_of(std::uint64_t number) {
  Payload out;
  wire::store_be64(out.data(), number);
  Random random(number);
  for (std::size_t at = 8; at < out.size(); at += 8)
    wire::store_be64(out.data() + at, random.next());
  return out;
}

}  // namespace

std::size_t ForeignCells::put_cells(MutableBytes cells) {
  std::size_t count = 0;
  for (; clock_.is_due() && cells.size() >= (count + 1) * atm::kCellSize; ++count) {
    const MutableBytes cell = cells.subspan(count * atm::kCellSize, atm::kCellSize);
    atm::write_header({.channel = channel_}, cell);
    std::ranges::copy(payload_of(sent_++), cell.begin() + atm::kHeaderSize);
    clock_.sent(atm::kCellSize);
    arrivals_.sent();
  }
  return count;
}

void ForeignCells::take(const atm::CellRun& run) {
  for (std::size_t cell = 0; cell < run.count; ++cell) {
    const Bytes payload = run.payload(cell);
    const std::uint64_t number = wire::load_be64(payload.data());
    if (run.header.is_user_data() && std::ranges::equal(payload, payload_of(number))) {
      arrivals_.whole(number);
    } else {
      arrivals_.spoilt();
    }
  }
}

}  // namespace weft::wan
