// SPDX-License-Identifier: Apache-2.0
// Keys without a TLS session, and bytes to seal.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/aead.h"
#include "base/random.h"
#include "io/openssl_aead.h"
#include "wan/opener.h"
#include "wan/sealer.h"

namespace weft::wan::test {

using Buffer = std::vector<std::byte>;

inline Buffer from_hex(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  Buffer bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(digit(text[i]) << 4 | digit(text[i + 1])));
  return bytes;
}

inline Buffer some_bytes(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  Buffer bytes(count);
  for (std::byte& byte : bytes)
    byte = static_cast<std::byte>(random.next());
  return bytes;
}

// Both ends' keys: a seed and the epoch make one. It counts what it gives, and what of it lives.
class Keys final : public AeadKeySource {
 public:
  explicit Keys(std::uint64_t seed, AeadAlgorithm algorithm = AeadAlgorithm::kAes128Gcm)
      : seed_(seed), algorithm_(algorithm) {}

  std::optional<AeadKey> key(std::uint32_t epoch) override {
    if (epoch >= end) return std::nullopt;
    ++given;
    const Buffer material = some_bytes(key_bytes_of(algorithm_) + 12, seed_ << 32 | epoch);
    const auto [key, salt] =
        std::pair(Bytes(material).first(key_bytes_of(algorithm_)), Bytes(material).last(12));
    AeadKey made{std::make_unique<Counted>(std::move(*io::make_aead(algorithm_, key)), *live)};
    std::copy(salt.begin(), salt.end(), made.salt.begin());
    return made;
  }

  std::uint64_t end = std::uint64_t{1} << 32;  // of the session: no epoch from here on
  int given = 0;
  std::shared_ptr<int> live = std::make_shared<int>(0);

 private:
  class Counted final : public Aead {
   public:
    Counted(std::unique_ptr<Aead> aead, int& live) : aead_(std::move(aead)), live_(live) {
      ++live_;
    }
    ~Counted() override { --live_; }
    bool seal(const Nonce& nonce, Bytes associated, std::span<const Bytes> pieces,
              MutableBytes out) override {
      return aead_->seal(nonce, associated, pieces, out);
    }
    bool open(const Nonce& nonce, Bytes associated, Bytes sealed, MutableBytes out) override {
      return aead_->open(nonce, associated, sealed, out);
    }

   private:
    std::unique_ptr<Aead> aead_;
    int& live_;
  };

  std::uint64_t seed_;
  AeadAlgorithm algorithm_;
};

inline Buffer seal(Sealer& sealer, Bytes frame, Bytes header = {}) {
  Buffer datagram(Sealer::size_of(header.size(), frame.size()));
  const std::array pieces{frame};
  const auto sealed = sealer.seal(header, pieces, datagram);
  EXPECT_TRUE(sealed.has_value());
  EXPECT_EQ(sealed->size(), datagram.size());
  return datagram;
}

// What came out, or why nothing did.
inline tl::expected<Buffer, OpenCounter> open(Opener& opener, Bytes datagram, Time now = Time{},
                                              std::size_t header = 0) {
  Buffer out(Opener::frame_size(header, datagram.size()).value_or(0), std::byte{0xEE});
  const auto opened = opener.open(datagram, header, out, now);
  if (!opened) {
    const bool is_wiped = out == Buffer(out.size());
    EXPECT_TRUE(is_wiped || opened.error() != OpenCounter::kForged);
    return tl::unexpected(opened.error());
  }
  EXPECT_EQ(opened->frame.data(), out.data());
  EXPECT_EQ(opened->frame.size(), out.size());
  return out;
}

}  // namespace weft::wan::test
