// SPDX-License-Identifier: Apache-2.0
#include "carrier/datagram.h"

#include <cassert>

#include "wire/endian.h"

namespace weft::carrier {
namespace {

constexpr std::uint16_t kMagic = 0x574C;  // "WL"
constexpr std::uint8_t kVersion = 1;
constexpr std::uint32_t kWantsAnswer = 1u << 31;
constexpr std::uint32_t kTraining = 0xFFFFFF;

}  // namespace

void DatagramHead::write(MutableBytes out) const {
  assert(out.size() >= kSize);
  wire::store_be16(out.data(), kMagic);
  out[2] = std::byte{kVersion};
  out[3] = std::byte(kind);
  wire::store_be64(out.data() + 4, key);
  wire::store_be32(out.data() + 12, sequence);
}

void Hello::write(MutableBytes out) const {
  assert(out.size() >= kSize);
  wire::store_be64(out.data(), own_key);
  wire::store_be64(out.data() + 8, link);
  wire::store_be32(out.data() + 16, (wants_answer ? kWantsAnswer : 0) | training.packed());
}

std::optional<Datagram> Datagram::parse(Bytes bytes) {
  if (bytes.size() < DatagramHead::kSize || bytes.size() > kLongestDatagram ||
      wire::load_be16(bytes.data()) != kMagic || wire::load_u8(bytes.data() + 2) != kVersion) {
    return std::nullopt;
  }
  Datagram out{.head = {.kind = static_cast<DatagramKind>(wire::load_u8(bytes.data() + 3)),
                        .key = wire::load_be64(bytes.data() + 4),
                        .sequence = wire::load_be32(bytes.data() + 12)},
               .hello = {},
               .contents = bytes.subspan(DatagramHead::kSize)};
  const std::byte* const contents = out.contents.data();
  bool good = false;
  switch (out.head.kind) {
    case DatagramKind::kHello:
      if (out.contents.size() != Hello::kSize) break;
      out.hello = {.own_key = wire::load_be64(contents),
                   .link = wire::load_be64(contents + 8),
                   .wants_answer = (wire::load_be32(contents + 16) & kWantsAnswer) != 0,
                   .training = link::Training::unpack(wire::load_be32(contents + 16) & kTraining)};
      good = out.hello.own_key != 0;
      break;
    case DatagramKind::kHeartbeat:
    case DatagramKind::kGoodbye:
      good = out.contents.empty();
      break;
    case DatagramKind::kPacket:
      good = out.contents.size() >= link::kShortestPacket;
      break;
    case DatagramKind::kFlowControl:
      good = out.contents.size() == wire::FlowControl::kSize;
      break;
  }
  return good ? std::optional(out) : std::nullopt;
}

}  // namespace weft::carrier
