// SPDX-License-Identifier: Apache-2.0
// What tests/wan/seal_test.cc does not show through datagrams.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "io/openssl_aead.h"

namespace weft::io {
namespace {

TEST(Aead, WantsAKeyOfItsLength) {
  const std::array<std::byte, 32> key{};
  for (const AeadAlgorithm algorithm : kAeadAlgorithms) {
    EXPECT_TRUE(make_aead(algorithm, Bytes(key).first(key_bytes_of(algorithm))).has_value());
    const auto made = make_aead(algorithm, Bytes(key).first(15));
    ASSERT_FALSE(made.has_value());
    EXPECT_NE(made.error().message.find("a key of 15 bytes"), std::string::npos);
  }
  EXPECT_FALSE(make_aead(AeadAlgorithm{9}, {}).has_value());
}

TEST(Aead, PrefersEachOfThoseThatThereAreOnce) {
  const auto preferred = preferred_aeads();
  ASSERT_FALSE(preferred.empty());
  EXPECT_EQ(std::set(preferred.begin(), preferred.end()).size(), preferred.size());
  const std::array<std::byte, 32> key{};
  for (const AeadAlgorithm algorithm : preferred)
    EXPECT_TRUE(make_aead(algorithm, Bytes(key).first(key_bytes_of(algorithm))).has_value());
}

TEST(Aead, SealsNothingIntoRoomOfAnotherLength) {
  const std::array<std::byte, 16> key{};
  const auto aead = *make_aead(AeadAlgorithm::kAes128Gcm, key);
  const std::array<std::byte, 20> text{};
  const std::array pieces{Bytes(text)};
  std::array<std::byte, 64> out{};
  for (const std::size_t room : {0u, 19u, 20u, 35u, 37u})
    EXPECT_FALSE(aead->seal({}, {}, pieces, MutableBytes(out).first(room))) << room;
  EXPECT_TRUE(aead->seal({}, {}, pieces, MutableBytes(out).first(36)));
  std::array<std::byte, 20> opened{};
  EXPECT_FALSE(aead->open({}, {}, Bytes(out).first(15), {}));
  EXPECT_FALSE(aead->open({}, {}, Bytes(out).first(36), MutableBytes(opened).first(19)));
  EXPECT_TRUE(aead->open({}, {}, Bytes(out).first(36), opened));
}

}  // namespace
}  // namespace weft::io
