// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/llc_snap.h"

#include <algorithm>

#include "wire/endian.h"

namespace weft::wan::atm {
namespace {

constexpr std::array<std::byte, kLlcSnapSize - 2> kRouted{
    std::byte{0xAA}, std::byte{0xAA}, std::byte{0x03}, std::byte{0}, std::byte{0}, std::byte{0}};

}  // namespace

std::array<std::byte, kLlcSnapSize> llc_snap(std::uint16_t ether_type) {
  std::array<std::byte, kLlcSnapSize> bytes;
  std::ranges::copy(kRouted, bytes.begin());
  wire::store_be16(bytes.data() + kRouted.size(), ether_type);
  return bytes;
}

std::optional<LlcPacket> read_llc_snap(Bytes payload) {
  if (payload.size() < kLlcSnapSize) return std::nullopt;
  if (!std::ranges::equal(payload.first(kRouted.size()), kRouted)) return std::nullopt;
  return LlcPacket{.ether_type = wire::load_be16(payload.data() + kRouted.size()),
                   .packet = payload.subspan(kLlcSnapSize)};
}

}  // namespace weft::wan::atm
