// SPDX-License-Identifier: Apache-2.0
// What two ends say to each other on their control channel, before keys are drawn from it: the
// client its offer, then the server its own. The ciphers that both have decide, by
// agree_on_cipher(), so that nothing else has to be said.
//
//   type      1 byte: 1, an offer
//   version   1 byte: 1, of the format of datagrams (wan/seal.h, wan/sealed_path.h)
//   ciphers   1 byte each, the fastest first; who does not know one passes over it
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/aead.h"
#include "base/bytes.h"
#include "base/error.h"

namespace weft::wan {

struct KeyOffer {
  static constexpr std::uint8_t kVersion = 1;
  static constexpr std::size_t kMostCiphers = 32;

  std::vector<AeadAlgorithm> ciphers;

  [[nodiscard]] std::vector<std::byte> write() const;
  // protocol_error: it is no offer; protocol_not_supported: of another version. For a person: what
  // the other end has done.
  [[nodiscard]] static Expected<KeyOffer> read(Bytes message);
};

}  // namespace weft::wan
