// SPDX-License-Identifier: Apache-2.0
#include "wan/seal.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

#include "seal_fixture.h"

namespace weft::wan::test {
namespace {

struct Vector {
  AeadAlgorithm algorithm;
  std::string_view key, nonce, associated, plain, sealed;
};

// McGrew and Viega, "The Galois/Counter Mode of Operation", test cases 4 and 16; RFC 8439, 2.8.2.
constexpr std::string_view kGcmPlain =
    "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
    "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
constexpr std::string_view kGcmKey =
    "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308";
constexpr std::string_view kGcmAssociated = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
constexpr std::array kVectors{
    Vector{AeadAlgorithm::kAes128Gcm, kGcmKey.substr(0, 32), "cafebabefacedbaddecaf888",
           kGcmAssociated, kGcmPlain,
           "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e"
           "21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091"
           "5bc94fbc3221a5db94fae95ae7121a47"},
    Vector{AeadAlgorithm::kAes256Gcm, kGcmKey, "cafebabefacedbaddecaf888", kGcmAssociated,
           kGcmPlain,
           "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
           "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662"
           "76fc6ece0f4e1768cddf8853bb2d551b"},
    Vector{AeadAlgorithm::kChaCha20Poly1305,
           "808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9f",
           "070000004041424344454647", "50515253c0c1c2c3c4c5c6c7",
           "4c616469657320616e642047656e746c656d656e206f662074686520636c6173"
           "73206f66202739393a204966204920636f756c64206f6666657220796f75206f"
           "6e6c79206f6e652074697020666f7220746865206675747572652c2073756e73"
           "637265656e20776f756c642062652069742e",
           "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"
           "3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
           "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc"
           "3ff4def08e4b7a9de576d26586cec64b61161ae10b594f09e26a7e902ecbd0600691"},
};

// One key whatever the epoch, with the salt that makes the vector's nonce of its sequence number.
class VectorKeys final : public AeadKeySource {
 public:
  explicit VectorKeys(const Vector& vector, std::uint64_t sequence) : vector_(vector) {
    const Buffer nonce = from_hex(vector.nonce);
    std::copy(nonce.begin(), nonce.end(), salt_.begin());
    salt_ = seal_nonce(salt_, sequence);
  }
  std::optional<AeadKey> key(std::uint32_t) override {
    return AeadKey{std::move(*io::make_aead(vector_.algorithm, from_hex(vector_.key))), salt_};
  }

 private:
  const Vector& vector_;
  Aead::Nonce salt_{};
};

// The associated data of the vectors ends with what a datagram has as epoch and sequence number.
TEST(Seal, MakesDatagramsOfThePublishedVectors) {
  for (const Vector& vector : kVectors) {
    const Buffer associated = from_hex(vector.associated);
    const std::size_t header = associated.size() - SealHeader::kSize;
    const SealHeader first = SealHeader::read(Bytes(associated).last<SealHeader::kSize>());
    VectorKeys keys(vector, first.sequence);
    Sealer sealer(keys, {.first = first});
    const Buffer datagram = seal(sealer, from_hex(vector.plain), Bytes(associated).first(header));
    Buffer right = associated;
    const Buffer sealed = from_hex(vector.sealed);
    right.insert(right.end(), sealed.begin(), sealed.end());
    EXPECT_EQ(datagram, right) << name_of(vector.algorithm);
    Opener opener(keys, {.first_epoch = first.epoch});
    EXPECT_EQ(open(opener, right, Time{}, header), from_hex(vector.plain));
  }
}

class EachAead : public testing::TestWithParam<AeadAlgorithm> {
 protected:
  Keys keys{1, GetParam()};
  Sealer sealer{keys, {}};
  Opener opener{keys, {}};
};
INSTANTIATE_TEST_SUITE_P(All, EachAead, testing::ValuesIn(kAeadAlgorithms), [](const auto& info) {
  std::string name(name_of(info.param));
  std::erase(name, '-');
  return name;
});

TEST_P(EachAead, OpensWhatWasSealedOfAnyLength) {
  for (const std::size_t size : {0u, 1u, 15u, 16u, 17u, 63u, 64u, 288u, 1500u, 8972u, 65000u}) {
    const Buffer frame = some_bytes(size, size);
    EXPECT_EQ(open(opener, seal(sealer, frame)), frame) << size;
  }
  EXPECT_EQ(opener.counters().get(OpenCounter::kOpened), 11u);
  EXPECT_EQ(sealer.counters().get(SealCounter::kSealedBytes),
            opener.counters().get(OpenCounter::kOpenedBytes));
}

TEST_P(EachAead, GathersPiecesOfAnyLength) {
  const Buffer frame = some_bytes(3000, 9);
  Random random(10);
  for (int round = 0; round < 50; ++round) {
    std::vector<Bytes> pieces;
    for (Bytes rest = frame; !rest.empty();) {
      const std::size_t count = std::min<std::size_t>(rest.size(), random.below(400));
      pieces.push_back(rest.first(count));
      rest = rest.subspan(count);
    }
    Buffer datagram(Sealer::size_of(4, frame.size()));
    ASSERT_TRUE(sealer.seal(some_bytes(4, 4), pieces, datagram).has_value());
    ASSERT_EQ(open(opener, datagram, Time{}, 4), frame);
  }
}

TEST_P(EachAead, SealsAndOpensInPlace) {
  const Buffer frame = some_bytes(1000, 3);
  const std::size_t header = 4;
  Buffer datagram = some_bytes(header, 4);
  datagram.resize(Sealer::size_of(header, frame.size()));
  const std::size_t at = header + SealHeader::kSize;
  std::copy(frame.begin(), frame.end(), datagram.begin() + static_cast<std::ptrdiff_t>(at));
  const std::array pieces{Bytes(datagram).subspan(at, 400), Bytes(datagram).subspan(at + 400, 600)};
  ASSERT_TRUE(sealer.seal(Bytes(datagram).first(header), pieces, datagram).has_value());
  EXPECT_EQ(Buffer(datagram.begin(), datagram.begin() + header), some_bytes(header, 4));
  EXPECT_NE(Buffer(datagram.begin() + static_cast<std::ptrdiff_t>(at), datagram.end() - 16), frame);
  const MutableBytes room = MutableBytes(datagram).subspan(at, frame.size());
  const auto opened = opener.open(datagram, header, room, Time{});
  ASSERT_TRUE(opened.has_value());
  EXPECT_EQ(Buffer(opened->frame.begin(), opened->frame.end()), frame);
  EXPECT_EQ(sealer.counters().get(SealCounter::kSealedBytes), frame.size());
  EXPECT_EQ(opener.counters().get(OpenCounter::kOpenedBytes), frame.size());
}

TEST_P(EachAead, RefusesAnyBitThatWasChangedAndOpensTheOriginalAfterwards) {
  const Buffer frame = some_bytes(100, 5);
  const Buffer datagram = seal(sealer, frame, some_bytes(7, 6));
  const std::size_t bits = datagram.size() * 8;
  for (std::size_t bit = 0; bit < bits; ++bit) {
    Buffer changed = datagram;
    changed[bit / 8] ^= std::byte(1 << bit % 8);
    ASSERT_FALSE(open(opener, changed, Time{}, 7).has_value()) << bit;
  }
  const OpenCounters& counters = opener.counters();
  EXPECT_EQ(counters.get(OpenCounter::kForged) + counters.get(OpenCounter::kUnknownEpoch), bits);
  // An epoch ahead is tried with its own key, up to as many as are followed.
  EXPECT_EQ(counters.get(OpenCounter::kUnknownEpoch), 32u - 5u);
  EXPECT_EQ(open(opener, datagram, Time{}, 7), frame);
}

TEST_P(EachAead, RefusesWhatIsCutShort) {
  const Buffer datagram = seal(sealer, some_bytes(50, 7), some_bytes(3, 8));
  for (std::size_t size = 0; size < datagram.size(); ++size)
    ASSERT_FALSE(open(opener, Bytes(datagram).first(size), Time{}, 3).has_value()) << size;
  EXPECT_EQ(opener.counters().get(OpenCounter::kShort), 3 + kSealOverhead);
  EXPECT_EQ(opener.counters().get(OpenCounter::kForged), 50u);
}

TEST_P(EachAead, NeverSealsTwoFramesAlike) {
  const Buffer frame(64);
  const Buffer first = seal(sealer, frame);
  const Buffer second = seal(sealer, frame);
  const auto text = [](const Buffer& datagram) {
    return Buffer(datagram.begin() + SealHeader::kSize, datagram.end());
  };
  EXPECT_NE(text(first), text(second));
}

TEST(Seal, OpensEachDatagramOnceInAnyOrderWithinTheWindow) {
  Keys keys(1);
  Sealer sealer(keys, {});
  Opener opener(keys, {.replay_window = 8192});
  std::vector<Buffer> datagrams;
  for (std::uint64_t i = 0; i < 8192; ++i)
    datagrams.push_back(seal(sealer, some_bytes(8, i)));
  for (std::size_t i = datagrams.size(); i-- > 0;)
    ASSERT_EQ(open(opener, datagrams[i]), some_bytes(8, i)) << i;
  for (const Buffer& datagram : datagrams)
    ASSERT_EQ(open(opener, datagram).error(), OpenCounter::kReplayed);
  EXPECT_EQ(opener.counters().get(OpenCounter::kReplayed), 8192u);
  ASSERT_TRUE(open(opener, seal(sealer, {})).has_value());
  EXPECT_EQ(open(opener, datagrams.front()).error(), OpenCounter::kTooOld);
}

TEST(Seal, IsNotMovedByForgedNumbers) {
  Keys keys(1);
  Sealer sealer(keys, {});
  Opener opener(keys, {});
  const Buffer early = seal(sealer, some_bytes(8, 1));
  Buffer forged = seal(sealer, some_bytes(8, 2));
  forged[4] = std::byte{0x7F};  // the sequence number's highest byte
  EXPECT_EQ(open(opener, forged).error(), OpenCounter::kForged);
  EXPECT_EQ(open(opener, early), some_bytes(8, 1));
}

TEST(Seal, DoesNotOpenWhatIsOfAnotherSessionOrDirection) {
  Keys ours(1);
  Keys others(2);
  Sealer sealer(ours, {});
  Opener opener(others, {});
  EXPECT_EQ(open(opener, seal(sealer, some_bytes(8, 1))).error(), OpenCounter::kForged);
}

TEST(Seal, SealsNothingIntoABufferThatIsTooShort) {
  Keys keys(1);
  Sealer sealer(keys, {});
  const Buffer frame = some_bytes(100, 1);
  const std::array pieces{Bytes(frame)};
  Buffer out(Sealer::size_of(0, 100) - 1);
  EXPECT_EQ(sealer.seal({}, pieces, out).error(), std::errc::no_buffer_space);
  EXPECT_EQ(out, Buffer(out.size()));
  EXPECT_EQ(sealer.next().sequence, 0u);
}

TEST(Seal, TakesTheCipherThatBothHaveAndTheSlowerProcessorLikes) {
  using enum AeadAlgorithm;
  const std::vector quick{kAes128Gcm, kAes256Gcm, kChaCha20Poly1305};
  const std::vector slow{kChaCha20Poly1305, kAes128Gcm, kAes256Gcm};
  EXPECT_EQ(agree_on_cipher(quick, quick), kAes128Gcm);
  EXPECT_EQ(agree_on_cipher(quick, slow), kChaCha20Poly1305);
  EXPECT_EQ(agree_on_cipher(slow, quick), kChaCha20Poly1305);
  EXPECT_EQ(agree_on_cipher(std::vector{kAes256Gcm, kAes128Gcm}, quick), kAes256Gcm);
  EXPECT_EQ(agree_on_cipher(slow, std::vector{kAes256Gcm, kAes128Gcm}), kAes128Gcm);
  EXPECT_EQ(agree_on_cipher(std::vector{kAes256Gcm}, std::vector{kAes128Gcm}), std::nullopt);
  EXPECT_EQ(agree_on_cipher(quick, {}), std::nullopt);
  EXPECT_EQ(agree_on_cipher({}, slow), std::nullopt);
}

}  // namespace
}  // namespace weft::wan::test
