// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/aal5_segmenter.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "wan/line/msb_crc.h"
#include "wire/endian.h"

namespace weft::wan::atm {

Aal5Segmenter::Aal5Segmenter(CellHeader header) {
  header.payload_type &= static_cast<std::uint8_t>(~kLastOfPdu);
  write_header(header, headers_[0]);
  header.payload_type |= kLastOfPdu;
  write_header(header, headers_[1]);
}

void Aal5Segmenter::begin(Bytes head, Bytes body, std::uint8_t user_to_user) {
  const std::size_t payload = head.size() + body.size();
  assert(left() == 0 && head.size() <= kMostHead && payload >= 1 && payload <= kLongestPayload);
  body_ = body;
  head_size_ = head.size();
  size_ = cells_for(payload) * kPayloadSize;
  made_ = 0;
  plain_end_ = payload / kPayloadSize * kPayloadSize;

  // What is behind the last full cell, and the padding and the trailer behind that.
  MutableBytes tail = MutableBytes(tail_).first(size_ - plain_end_);
  const std::size_t rest = payload - plain_end_;
  if (plain_end_ != 0) {
    std::byte* const behind = std::copy(head.begin(), head.end(), first_.data());
    std::copy_n(body.begin(), kPayloadSize - head.size(), behind);
    std::copy_n(body.end() - static_cast<std::ptrdiff_t>(rest), rest, tail.begin());
  } else {
    std::copy(body.begin(), body.end(), std::copy(head.begin(), head.end(), tail.data()));
  }
  std::byte* const trailer = tail.data() + tail.size() - kTrailerSize;
  std::fill(tail.data() + rest, trailer, std::byte{0});
  wire::store_u8(trailer, user_to_user);
  wire::store_u8(trailer + 1, 0);  // CPI: nothing but user data
  wire::store_be16(trailer + 2, static_cast<std::uint16_t>(payload));
  std::uint32_t crc = kCrc32MsbPreset;
  if (!head.empty()) crc = crc32_msb_update(crc, head);
  crc = crc32_msb_update(crc, body);
  crc = crc32_msb_update(crc, tail.subspan(rest, tail.size() - rest - 4));
  wire::store_be32(trailer + 4, ~crc);
}

// So many cells whose payload lies in one piece; the place behind them. Nothing of this object is
// looked at in between, which each byte written might have changed.
std::byte* Aal5Segmenter::put_cells(const std::byte* payload, std::size_t count, Template header,
                                    std::byte* to) {
  for (; count != 0; --count, payload += kPayloadSize, to += kCellSize) {
    std::memcpy(to, header.data(), header.size());
    std::memcpy(to + kHeaderSize, payload, kPayloadSize);
  }
  return to;
}

std::size_t Aal5Segmenter::put(MutableBytes cells) {
  const std::size_t count = std::min(left(), cells.size() / kCellSize);
  const std::size_t end = made_ + count * kPayloadSize;
  std::byte* to = cells.data();
  if (made_ == 0 && count != 0 && plain_end_ != 0) {
    to = put_cells(first_.data(), 1, headers_[0], to);
    made_ = kPayloadSize;
  }
  if (made_ < std::min(end, plain_end_)) {
    const std::size_t plain = std::min(end, plain_end_) - made_;
    to = put_cells(body_.data() + (made_ - head_size_), plain / kPayloadSize, headers_[0], to);
    made_ += plain;
  }
  for (; made_ < end; made_ += kPayloadSize) {
    const bool last = made_ + kPayloadSize == size_;
    to = put_cells(tail_.data() + (made_ - plain_end_), 1, headers_[last ? 1 : 0], to);
  }
  return count;
}

}  // namespace weft::wan::atm
