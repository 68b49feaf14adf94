// SPDX-License-Identifier: Apache-2.0
#include "wan/fec_encoder.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "wire/crc.h"
#include "wire/endian.h"

namespace weft::wan {

void FecEncoder::begin(const FecCode& code) {
  code_ = code;
  give_up();
  delay_ = 0ns;
  coefficients_.reset();
  sums_.assign(code.repairs, {});
  if (!code.any()) return;
  std::vector<std::uint8_t> coefficients;
  for (std::size_t repair = 0; repair < code.repairs; ++repair) {
    for (std::size_t frame = 0; frame < code.frames; ++frame)
      coefficients.push_back(repair_coefficient(repair, frame));
  }
  coefficients_.emplace(code.repairs, code.frames, coefficients);
}

void FecEncoder::open(std::uint64_t number, std::uint8_t traffic_class, Time now) {
  first_ = number;
  members_ = 0;
  sent_ = 0;
  check_ = wire::kIcrcPreset;
  symbol_size_ = 0;
  for (auto& sum : sums_)
    sum.clear();
  traffic_class_ = traffic_class;
  opened_at_ = now;
}

void FecEncoder::cover(std::uint64_t number, std::span<const Bytes> parts, std::size_t size,
                       std::uint8_t traffic_class, Time now) {
  assert(any() && !full_ && size <= kLongestFrame);
  if (count_ == 0) open(number, traffic_class, now);
  // So much else has been sent meanwhile that this one has no place in it.
  if (number - first_ >= kSpan) {
    full_ = true;
    return;
  }
  symbol_size_ = std::max(symbol_size_, RepairItem::kLengthSize + size);
  for (auto& sum : sums_)
    sum.resize(symbol_size_);
  std::array<std::byte, RepairItem::kLengthSize> length;
  wire::store_be16(length.data(), static_cast<std::uint16_t>(size));
  coefficients_->add(count_, length, 0, sums_);
  std::size_t offset = length.size();
  for (const Bytes part : parts) {
    coefficients_->add(count_, part, offset, sums_);
    check_ = wire::crc32_update(check_, part);
    offset += part.size();
  }
  assert(offset == length.size() + size);
  members_ |= std::uint64_t{1} << (number - first_);
  last_at_ = now;
  full_ = ++count_ == code_.frames;
}

std::optional<Time> FecEncoder::deadline() const {
  if (count_ == 0) return std::nullopt;
  return last_at_ + kPause;
}

RepairItem FecEncoder::take(std::uint64_t number, Time now) {
  assert(count_ != 0 && sent_ < code_.repairs);
  if (sent_ == 0) delay_ = std::max(now - opened_at_, delay_ - delay_ / 8);
  const RepairItem item{.index = sent_,
                        .back = static_cast<std::uint32_t>(number - first_),
                        .members = members_,
                        .check = wire::crc32_finish(check_),
                        .symbol = sums_[sent_]};
  full_ = true;
  if (++sent_ == code_.repairs) give_up();
  return item;
}

}  // namespace weft::wan
