// SPDX-License-Identifier: Apache-2.0
#include "wan/seal.h"

#include <algorithm>
#include <utility>

#include "wire/endian.h"

namespace weft::wan {
namespace {

constexpr std::size_t kSequenceAt = 4;  // in the header, and in the nonce

}  // namespace

SealHeader SealHeader::read(std::span<const std::byte, kSize> from) {
  return {wire::load_be32(from.data()), wire::load_be64(from.data() + kSequenceAt)};
}

void SealHeader::write(std::span<std::byte, kSize> to) const {
  wire::store_be32(to.data(), epoch);
  wire::store_be64(to.data() + kSequenceAt, sequence);
}

std::optional<AeadAlgorithm> agree_on_cipher(std::span<const AeadAlgorithm> client,
                                             std::span<const AeadAlgorithm> server) {
  const bool by_server = !server.empty() && server.front() == AeadAlgorithm::kChaCha20Poly1305;
  const auto [order, others] = by_server ? std::pair(server, client) : std::pair(client, server);
  for (const AeadAlgorithm algorithm : order) {
    if (std::find(others.begin(), others.end(), algorithm) != others.end()) return algorithm;
  }
  return std::nullopt;
}

Aead::Nonce seal_nonce(const Aead::Nonce& salt, std::uint64_t sequence) {
  Aead::Nonce nonce = salt;
  std::byte* const low = nonce.data() + kSequenceAt;
  wire::store_be64(low, wire::load_be64(low) ^ sequence);
  return nonce;
}

}  // namespace weft::wan
