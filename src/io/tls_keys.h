// SPDX-License-Identifier: Apache-2.0
// Keys for datagrams beside a TLS channel.
#pragma once

#include <cstdint>
#include <optional>

#include "base/aead.h"
#include "io/tls_channel.h"

namespace weft::io {

// Of which datagrams, seen from this end.
enum class TlsDirection : std::uint8_t { kOutgoing, kIncoming };

// The key of each epoch, of one direction, from the exporter of a channel (RFC 8446, 7.5): both
// ends know it without a word more, it is another one on each channel, and neither the datagrams
// nor the keys of other epochs tell it. The context of the exporter is the algorithm, the direction
// (0: from the client), and the epoch in 4 bytes, big-endian, and for ways beside the first one the
// way's number; what it gives is the key, then the salt.
class TlsKeySource final : public AeadKeySource {
 public:
  // Labels that begin so need no registration (RFC 5705, 4).
  static constexpr std::string_view kLabel = "EXPERIMENTAL weft wan datagrams";

  // `channel` outlives it; there are no keys before it is open, and they stay the same when it has
  // ended.
  // `way`: of several by which datagrams go, from 0; each has keys of its own.
  TlsKeySource(const TlsChannel& channel, AeadAlgorithm algorithm, TlsDirection direction,
               std::uint8_t way = 0)
      : channel_(channel), algorithm_(algorithm), direction_(direction), way_(way) {}

  [[nodiscard]] std::optional<AeadKey> key(std::uint32_t epoch) override;

 private:
  const TlsChannel& channel_;
  AeadAlgorithm algorithm_;
  TlsDirection direction_;
  std::uint8_t way_;
};

}  // namespace weft::io
