// SPDX-License-Identifier: Apache-2.0
// Authenticated encryption (RFC 5116) as cores see it. io/openssl_aead.h has OpenSSL's, and
// io/tls_keys.h draws the keys from a TLS session.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/bytes.h"

namespace weft {

// The values stand on the wire, where two ends agree on one.
enum class AeadAlgorithm : std::uint8_t {
  kAes128Gcm = 1,         // NIST SP 800-38D; RFC 5116, 5.1
  kAes256Gcm = 2,         // RFC 5116, 5.2
  kChaCha20Poly1305 = 3,  // RFC 8439
};
inline constexpr std::array kAeadAlgorithms{AeadAlgorithm::kAes128Gcm, AeadAlgorithm::kAes256Gcm,
                                            AeadAlgorithm::kChaCha20Poly1305};

[[nodiscard]] constexpr std::string_view name_of(AeadAlgorithm algorithm) {
  switch (algorithm) {
    case AeadAlgorithm::kAes128Gcm:
      return "aes-128-gcm";
    case AeadAlgorithm::kAes256Gcm:
      return "aes-256-gcm";
    case AeadAlgorithm::kChaCha20Poly1305:
      return "chacha20-poly1305";
  }
  return "unknown";
}
// Bytes of a key; 0 when the value is none of the above.
[[nodiscard]] constexpr std::size_t key_bytes_of(AeadAlgorithm algorithm) {
  switch (algorithm) {
    case AeadAlgorithm::kAes128Gcm:
      return 16;
    case AeadAlgorithm::kAes256Gcm:
    case AeadAlgorithm::kChaCha20Poly1305:
      return 32;
  }
  return 0;
}

// One key. What is destroyed leaves nothing of it in memory. Not for two threads at a time.
class Aead {
 public:
  static constexpr std::size_t kNonceBytes = 12;
  static constexpr std::size_t kTagBytes = 16;
  using Nonce = std::array<std::byte, kNonceBytes>;

  virtual ~Aead() = default;

  // Encrypts `pieces`, one after the other, to `out`, and puts the tag behind: `out` has their sum
  // and kTagBytes. A piece may lie just where it comes to lie in `out`, and overlaps it nowhere
  // else. The tag covers `associated` too. Under one key a nonce must never come twice: it would
  // lay both texts open. False: not done, and `out` says nothing.
  [[nodiscard]] virtual bool seal(const Nonce& nonce, Bytes associated,
                                  std::span<const Bytes> pieces, MutableBytes out) = 0;
  // The reverse: `sealed` ends with the tag and is at least kTagBytes long, `out` has that much
  // less. They are the same memory, from their first byte on, or do not overlap. False: some bit is
  // not as it was sealed, and `out` holds zeros.
  [[nodiscard]] virtual bool open(const Nonce& nonce, Bytes associated, Bytes sealed,
                                  MutableBytes out) = 0;
};

// What one direction of one epoch is protected with. The salt makes the nonces of a session its own
// (RFC 8446, 5.3: write_iv), so that nobody can prepare for many sessions at once; it protects
// nothing by being secret.
struct AeadKey {
  std::unique_ptr<Aead> aead;
  Aead::Nonce salt{};
};

// The keys of one direction of a session. The same epoch always has the same key.
class AeadKeySource {
 public:
  virtual ~AeadKeySource() = default;
  // Nothing when there is none to be had: the session is over.
  [[nodiscard]] virtual std::optional<AeadKey> key(std::uint32_t epoch) = 0;
};

}  // namespace weft
