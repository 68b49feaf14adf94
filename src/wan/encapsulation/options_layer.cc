// SPDX-License-Identifier: Apache-2.0
#include "wan/encapsulation/options_layer.h"

#include <algorithm>
#include <cassert>

#include "wire/endian.h"

namespace weft::wan {
namespace {

constexpr std::size_t kUnit = 8;
constexpr std::size_t kBeforeData = 4;  // the header's two bytes and the option's
constexpr std::uint8_t kPad1 = 0;
constexpr std::uint8_t kPadN = 1;
// The two high bits of an option's type say what is done with a packet whose option is not known:
// nothing, or it is dropped (RFC 8200, 4.2).
constexpr std::uint8_t kActionBits = 0xC0;

constexpr std::size_t header_size(std::size_t data) {
  return (kBeforeData + data + kUnit - 1) / kUnit * kUnit;
}

// One option after another, until the area ends.
std::optional<PacketRefusal> read_options(ByteCursor area, InPacket& packet) {
  while (const auto type = area.take(1)) {
    const std::uint8_t kind = wire::load_u8(type->data());
    if (kind == kPad1) continue;
    const auto length = area.take(1);
    if (!length) return PacketRefusal::kOption;
    const auto data = area.take(wire::load_u8(length->data()));
    if (!data) return PacketRefusal::kOption;
    if (kind == kPadN) continue;
    if (kind == OptionsLayer::kOptionType) {
      if (packet.options) return PacketRefusal::kOption;
      packet.options = *data;
    } else if ((kind & kActionBits) != 0) {
      return PacketRefusal::kOption;
    }
  }
  return std::nullopt;
}

}  // namespace

std::size_t OptionsLayer::wrapped_size(std::size_t size) const {
  return size + header_size(OutPacket::kMostOptions);
}

void OptionsLayer::wrap(OutPacket& packet) const {
  if (packet.options.empty()) return;
  assert(packet.options.size() <= OutPacket::kMostOptions && packet.carried.ip_protocol);
  const std::size_t size = header_size(packet.options.size());
  const std::uint8_t next = *packet.carried.ip_protocol;
  ByteSink header(packet.prepend(size));
  const std::byte begin[kBeforeData] = {std::byte{next}, static_cast<std::byte>(size / kUnit - 1),
                                        std::byte{kOptionType},
                                        static_cast<std::byte>(packet.options.size())};
  const bool fits = header.put(begin) && header.put(packet.options);
  assert(fits);
  (void)fits;
  const MutableBytes padding = *header.reserve(header.remaining());
  std::fill(padding.begin(), padding.end(), std::byte{0});  // one byte of it is a Pad1
  if (padding.size() > 1) {
    wire::store_u8(padding.data(), kPadN);
    wire::store_u8(padding.data() + 1, static_cast<std::uint8_t>(padding.size() - 2));
  }
  packet.carried = identity();
}

std::optional<PacketRefusal> OptionsLayer::unwrap(InPacket& packet) const {
  if (packet.bytes.size() < kUnit) return PacketRefusal::kShort;
  const std::size_t size = (wire::load_u8(packet.bytes.data() + 1) + std::size_t{1}) * kUnit;
  if (size > packet.bytes.size()) return PacketRefusal::kShort;
  packet.says = {.ip_protocol = wire::load_u8(packet.bytes.data()), .ether_type = {}};
  if (const auto why = read_options(ByteCursor(packet.bytes.subspan(2, size - 2)), packet)) {
    return why;
  }
  packet.bytes = packet.bytes.subspan(size);
  return std::nullopt;
}

}  // namespace weft::wan
