// SPDX-License-Identifier: Apache-2.0
#include "wan/key_offer.h"

#include <gtest/gtest.h>

#include "wan/seal.h"

namespace weft::wan {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> out;
  for (const int value : values)
    out.push_back(static_cast<std::byte>(value));
  return out;
}

TEST(KeyOffer, IsWrittenAsItIsRead) {
  const KeyOffer offer{{AeadAlgorithm::kChaCha20Poly1305, AeadAlgorithm::kAes128Gcm}};
  EXPECT_EQ(offer.write(), bytes_of({1, 1, 3, 1}));
  const auto read = KeyOffer::read(offer.write());
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->ciphers, offer.ciphers);
}

TEST(KeyOffer, PassesOverCiphersThatNobodyHereKnows) {
  const auto read = KeyOffer::read(bytes_of({1, 1, 0, 200, 2, 4}));
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->ciphers, (std::vector{AeadAlgorithm::kAes256Gcm}));
  EXPECT_TRUE(KeyOffer::read(bytes_of({1, 1})).value().ciphers.empty());
  EXPECT_EQ(agree_on_cipher(read->ciphers, {}), std::nullopt);
}

TEST(KeyOffer, RefusesWhatIsNone) {
  std::vector<std::byte> long_one(2 + KeyOffer::kMostCiphers, std::byte{1});
  EXPECT_TRUE(KeyOffer::read(long_one).has_value());
  long_one.push_back(std::byte{1});
  for (const auto& message : {bytes_of({}), bytes_of({1}), bytes_of({2, 1, 1}), long_one}) {
    const auto read = KeyOffer::read(message);
    ASSERT_FALSE(read.has_value());
    EXPECT_EQ(read.error().code, std::errc::protocol_error);
  }
  const auto other = KeyOffer::read(bytes_of({1, 9, 1}));
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().code, std::errc::protocol_not_supported);
  EXPECT_EQ(other.error().message, "the other end seals by version 9 of the format, this one by 1");
}

}  // namespace
}  // namespace weft::wan
