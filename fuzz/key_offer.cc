// SPDX-License-Identifier: Apache-2.0
// What the other end of a control channel says of its ciphers: anything becomes an offer of ciphers
// that are known here, or a refusal in words; an offer is written so that it reads back the same.
#include "wan/key_offer.h"

#include <algorithm>
#include <cstdint>

#include "input.h"
#include "wan/seal.h"

using namespace weft;
using namespace weft::wan;
using fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto offer = KeyOffer::read(std::as_bytes(std::span(data, size)));
  if (!offer) {
    require(!offer.error().message.empty());
    return 0;
  }
  require(offer->ciphers.size() <= KeyOffer::kMostCiphers);
  const auto known = [](AeadAlgorithm cipher) { return key_bytes_of(cipher) != 0; };
  require(std::ranges::all_of(offer->ciphers, known));
  const auto again = KeyOffer::read(offer->write());
  require(again.has_value() && again->ciphers == offer->ciphers);
  const auto agreed = agree_on_cipher(kAeadAlgorithms, offer->ciphers);
  require(agreed.has_value() == !offer->ciphers.empty());
  return 0;
}
