// SPDX-License-Identifier: Apache-2.0
#include "io/tls_fingerprint.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <algorithm>

namespace weft::io {
namespace {

constexpr std::string_view kPrefix = "SHA256:";
constexpr std::size_t kLetters = 43;  // and one '=' that nobody writes

}  // namespace

Expected<TlsFingerprint> TlsFingerprint::parse(std::string_view text) {
  if (text.starts_with(kPrefix) && text.size() == kPrefix.size() + kLetters) {
    const std::string padded = std::string(text.substr(kPrefix.size())) + "=";
    std::array<unsigned char, kSize + 1> decoded{};
    const int length =
        EVP_DecodeBlock(decoded.data(), reinterpret_cast<const unsigned char*>(padded.data()),
                        static_cast<int>(padded.size()));
    Digest digest;
    std::copy_n(decoded.begin(), kSize, digest.begin());
    const TlsFingerprint parsed(digest);
    // The decoder is lenient: with blanks, and with bits behind the last byte.
    if (length == static_cast<int>(decoded.size()) && parsed.to_string() == text) return parsed;
  }
  return fail(std::errc::invalid_argument,
              fmt::format("'{}' is no fingerprint of a key: want {} and {} letters of base64, as "
                          "weft extend fingerprint prints them",
                          text.substr(0, 80), kPrefix, kLetters));
}

std::string TlsFingerprint::to_string() const {
  std::array<unsigned char, kLetters + 2> letters{};
  EVP_EncodeBlock(letters.data(), digest_.data(), static_cast<int>(kSize));
  return std::string(kPrefix) + std::string(letters.begin(), letters.begin() + kLetters);
}

bool operator==(const TlsFingerprint& a, const TlsFingerprint& b) {
  return CRYPTO_memcmp(a.digest_.data(), b.digest_.data(), TlsFingerprint::kSize) == 0;
}

}  // namespace weft::io
