// SPDX-License-Identifier: Apache-2.0
#include "io/tls_keys.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <utility>

#include "io/openssl_aead.h"

namespace weft::io {
namespace {

constexpr std::size_t kLongestKey = 32;

// Overwritten when it is no longer needed.
struct Material {
  Material() = default;
  Material(const Material&) = delete;
  Material& operator=(const Material&) = delete;
  ~Material() { OPENSSL_cleanse(bytes.data(), bytes.size()); }
  std::array<std::byte, kLongestKey + Aead::kNonceBytes> bytes{};
};

}  // namespace

std::optional<AeadKey> TlsKeySource::key(std::uint32_t epoch) {
  const bool from_client =
      (channel_.role() == TlsRole::kClient) == (direction_ == TlsDirection::kOutgoing);
  const std::array context{std::byte(algorithm_),
                           std::byte(from_client ? 0 : 1),
                           std::byte(epoch >> 24),
                           std::byte(epoch >> 16 & 0xFF),
                           std::byte(epoch >> 8 & 0xFF),
                           std::byte(epoch & 0xFF),
                           std::byte(way_)};
  const Bytes said = way_ == 0 ? Bytes(context).first(context.size() - 1) : Bytes(context);
  const std::size_t key_bytes = key_bytes_of(algorithm_);
  Material material;
  const MutableBytes all = MutableBytes(material.bytes).first(key_bytes + Aead::kNonceBytes);
  if (!channel_.export_secret(kLabel, said, all)) return std::nullopt;
  auto aead = make_aead(algorithm_, all.first(key_bytes));
  if (!aead) return std::nullopt;
  AeadKey key{std::move(*aead)};
  std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(key_bytes), key.salt.size(),
              key.salt.begin());
  return key;
}

}  // namespace weft::io
