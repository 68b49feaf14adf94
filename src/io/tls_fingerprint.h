// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.h"

namespace weft::io {

// By what a site knows another: the SHA-256 of its public key (the SubjectPublicKeyInfo of X.509,
// as RFC 7469, 2.4 takes it). It is no secret.
class TlsFingerprint {
 public:
  static constexpr std::size_t kSize = 32;
  using Digest = std::array<unsigned char, kSize>;

  explicit TlsFingerprint(const Digest& digest) : digest_(digest) {}

  // "SHA256:" and 43 letters of base64, as OpenSSH prints its own. Any other text is an error.
  static Expected<TlsFingerprint> parse(std::string_view text);
  [[nodiscard]] std::string to_string() const;

  [[nodiscard]] const Digest& digest() const { return digest_; }
  // Takes as long whatever differs.
  friend bool operator==(const TlsFingerprint& a, const TlsFingerprint& b);

 private:
  Digest digest_;
};

}  // namespace weft::io
