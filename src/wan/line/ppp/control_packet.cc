// SPDX-License-Identifier: Apache-2.0
#include "wan/line/ppp/control_packet.h"

#include <cassert>

#include "wire/endian.h"

namespace weft::wan {

std::optional<ControlPacket> ControlPacket::parse(Bytes information) {
  if (information.size() < kControlHeader) return std::nullopt;
  const std::size_t length = wire::load_be16(information.data() + 2);
  if (length < kControlHeader || length > information.size()) return std::nullopt;
  return ControlPacket{.code = ControlCode(wire::load_u8(information.data())),
                       .identifier = wire::load_u8(information.data() + 1),
                       .data = information.subspan(kControlHeader, length - kControlHeader)};
}

std::vector<std::byte> ControlPacket::bytes() const {
  assert(data.size() <= 0xFFFF - kControlHeader);
  std::vector<std::byte> out(kControlHeader);
  wire::store_u8(out.data(), static_cast<std::uint8_t>(code));
  wire::store_u8(out.data() + 1, identifier);
  wire::store_be16(out.data() + 2, static_cast<std::uint16_t>(kControlHeader + data.size()));
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

std::optional<ControlOption> take_option(Bytes& options) {
  if (options.size() < kOptionHeader) return std::nullopt;
  const std::size_t length = wire::load_u8(options.data() + 1);
  if (length < kOptionHeader || length > options.size()) return std::nullopt;
  const ControlOption option{.type = wire::load_u8(options.data()),
                             .value = options.subspan(kOptionHeader, length - kOptionHeader)};
  options = options.subspan(length);
  return option;
}

bool are_options(Bytes options) {
  while (take_option(options)) {
  }
  return options.empty();
}

void put_option(std::vector<std::byte>& options, const ControlOption& option) {
  assert(option.value.size() <= 0xFF - kOptionHeader);
  options.push_back(static_cast<std::byte>(option.type));
  options.push_back(static_cast<std::byte>(kOptionHeader + option.value.size()));
  options.insert(options.end(), option.value.begin(), option.value.end());
}

}  // namespace weft::wan
