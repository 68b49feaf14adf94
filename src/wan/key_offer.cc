// SPDX-License-Identifier: Apache-2.0
#include "wan/key_offer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace weft::wan {
namespace {

constexpr std::byte kOffer{1};
constexpr std::size_t kKeyOfferHead = 2;

}  // namespace

std::vector<std::byte> KeyOffer::write() const {
  assert(ciphers.size() <= kMostCiphers);
  std::vector<std::byte> message{kOffer, std::byte{kVersion}};
  for (const AeadAlgorithm cipher : ciphers)
    message.push_back(static_cast<std::byte>(cipher));
  return message;
}

Expected<KeyOffer> KeyOffer::read(Bytes message) {
  if (message.size() < kKeyOfferHead || message[0] != kOffer ||
      message.size() > kKeyOfferHead + kMostCiphers) {
    return fail(std::errc::protocol_error, "the other end has sent something else than its offer");
  }
  if (message[1] != std::byte{kVersion}) {
    return fail(std::errc::protocol_not_supported,
                fmt::format("the other end seals by version {} of the format, this one by {}",
                            std::to_integer<unsigned>(message[1]), kVersion));
  }
  KeyOffer offer;
  for (const std::byte value : message.subspan(kKeyOfferHead)) {
    const auto cipher = static_cast<AeadAlgorithm>(value);
    if (std::ranges::find(kAeadAlgorithms, cipher) != kAeadAlgorithms.end()) {
      offer.ciphers.push_back(cipher);
    }
  }
  return offer;
}

}  // namespace weft::wan
