// SPDX-License-Identifier: Apache-2.0
#include "wan/line/pcs/set_message.h"

#include <algorithm>
#include <utility>

#include "wire/crc.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

std::uint16_t check_of(std::uint8_t kind, Bytes content) {
  const std::array first{std::byte{kind}};
  return wire::crc16_finish(
      wire::crc16_update(wire::crc16_update(wire::kVcrcPreset, first), content));
}

}  // namespace

std::array<OrderedSet, SetMessage::kSets> SetMessage::sets() const {
  std::array<std::byte, 2 * kSets> octets;
  std::ranges::copy(content, octets.begin());
  wire::store_le16(octets.data() + kSize, check_of(kind, content));
  std::array<OrderedSet, kSets> out;
  for (std::size_t n = 0; n < kSets; ++n) {
    const auto head = static_cast<std::uint32_t>(unsigned{kind} << 4 | n);
    out[n] = {OrderedSet::Code::kSignal, head << 16 | wire::load_be16(octets.data() + 2 * n)};
  }
  return out;
}

std::optional<SetMessage> SetMessageReader::push(const OrderedSet& set) {
  const auto kind = static_cast<std::uint8_t>(set.value >> 20);
  const std::size_t n = set.value >> 16 & 0xF;
  const bool follows = set.code == OrderedSet::Code::kSignal && n == count_ && kind == kind_;
  if (!follows || n == 0) {
    lost_ += std::exchange(count_, 0);
    if (set.code != OrderedSet::Code::kSignal || n != 0) {
      ++lost_;
      return std::nullopt;
    }
  }
  kind_ = kind;
  wire::store_be16(octets_.data() + 2 * n, static_cast<std::uint16_t>(set.value));
  if (++count_ < SetMessage::kSets) return std::nullopt;
  count_ = 0;
  const Bytes content = Bytes(octets_).first(SetMessage::kSize);
  if (wire::load_le16(octets_.data() + SetMessage::kSize) != check_of(kind, content)) {
    lost_ += SetMessage::kSets;
    return std::nullopt;
  }
  SetMessage message{.kind = kind};
  std::ranges::copy(content, message.content.begin());
  return message;
}

}  // namespace weft::wan
