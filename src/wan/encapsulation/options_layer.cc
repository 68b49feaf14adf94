// SPDX-License-Identifier: Apache-2.0
#include "wan/encapsulation/options_layer.h"

#include <algorithm>
#include <cassert>

#include "wire/endian.h"

namespace weft::wan {
namespace {

constexpr std::uint8_t kPad1 = 0;
constexpr std::uint8_t kPadN = 1;
// The two high bits of an option's type say what is done with a packet whose option is not known:
// nothing, or it is dropped (RFC 8200, 4.2).
constexpr std::uint8_t kActionBits = 0xC0;

// One option after another, until the area ends.
tl::expected<Bytes, PacketRefusal> read_options(ByteCursor area) {
  const auto refused = tl::unexpected(PacketRefusal::kOption);
  std::optional<Bytes> options;
  while (const auto type = area.take(1)) {
    const std::uint8_t kind = wire::load_u8(type->data());
    if (kind == kPad1) continue;
    const auto length = area.take(1);
    if (!length) return refused;
    const auto data = area.take(wire::load_u8(length->data()));
    if (!data) return refused;
    if (kind == kPadN) continue;
    if (kind == OptionsLayer::kOptionType) {
      if (options) return refused;
      options = *data;
    } else if ((kind & kActionBits) != 0) {
      return refused;
    }
  }
  return options.value_or(Bytes());
}

}  // namespace

std::size_t OptionsLayer::wrapped_size(std::size_t size) const {
  return size + header_size(OutPacket::kMostOptions);
}

void OptionsLayer::wrap(OutPacket& packet) const {
  if (packet.options.empty()) return;
  assert(packet.carried.ip_protocol);
  write(packet.options, *packet.carried.ip_protocol,
        packet.prepend(header_size(packet.options.size())));
  packet.carried = identity();
}

void OptionsLayer::write(Bytes options, std::uint8_t next_header, MutableBytes header) {
  assert(!options.empty() && options.size() <= OutPacket::kMostOptions);
  assert(header.size() == header_size(options.size()));
  ByteSink sink(header);
  const std::byte begin[kBeforeData] = {
      std::byte{next_header}, static_cast<std::byte>(header.size() / kUnit - 1),
      std::byte{kOptionType}, static_cast<std::byte>(options.size())};
  const bool fits = sink.put(begin) && sink.put(options);
  assert(fits);
  (void)fits;
  const MutableBytes padding = *sink.reserve(sink.remaining());
  std::fill(padding.begin(), padding.end(), std::byte{0});  // one byte of it is a Pad1
  if (padding.size() > 1) {
    wire::store_u8(padding.data(), kPadN);
    wire::store_u8(padding.data() + 1, static_cast<std::uint8_t>(padding.size() - 2));
  }
}

tl::expected<Bytes, PacketRefusal> OptionsLayer::read(Bytes header) {
  if (header.size() < kUnit) return tl::unexpected(PacketRefusal::kShort);
  const std::size_t size = (wire::load_u8(header.data() + 1) + std::size_t{1}) * kUnit;
  if (size > header.size()) return tl::unexpected(PacketRefusal::kShort);
  return read_options(ByteCursor(header.subspan(2, size - 2)));
}

std::optional<PacketRefusal> OptionsLayer::unwrap(InPacket& packet) const {
  const auto options = read(packet.bytes);
  if (!options) return options.error();
  packet.options = *options;
  const std::byte* const at = packet.bytes.data();
  packet.says = {.ip_protocol = wire::load_u8(at), .ether_type = {}};
  packet.bytes = packet.bytes.subspan((wire::load_u8(at + 1) + std::size_t{1}) * kUnit);
  return std::nullopt;
}

}  // namespace weft::wan
