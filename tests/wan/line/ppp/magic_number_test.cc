// SPDX-License-Identifier: Apache-2.0
// By its magic number an end knows what it said itself (RFC 1661, 6.4).
#include <gtest/gtest.h>

#include "../line_stage.h"
#include "wan/line/ppp/ppp_session.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

constexpr std::size_t kCodeAt = 4;  // behind FF 03 C0 21
constexpr std::size_t kIdentifierAt = 5;
constexpr std::size_t kMagicAt = 10;  // of an option that is the first

enum : std::uint8_t { kRequest = 1, kAck = 2, kNak = 3 };

class MagicNumber : public ::testing::Test {
 protected:
  // What LCP sends, once it has been told this; `magic` as the only option.
  std::vector<Packet> told(std::uint8_t code, std::uint8_t identifier, std::uint32_t magic) {
    Packet packet = from_hex("0000000a050600000000");
    packet[0] = std::byte{code};
    packet[1] = std::byte{identifier};
    wire::store_be32(packet.data() + 6, magic);
    session.frame(PppProtocol::kLcp, packet);
    session.advance(now);
    return sent();
  }
  std::vector<Packet> sent() {
    std::vector<Packet> frames;
    for (PppFrame frame = session.next(); !frame.header.empty(); frame = session.next()) {
      frames.emplace_back(frame.header.begin(), frame.header.end());
      frames.back().insert(frames.back().end(), frame.information.begin(), frame.information.end());
    }
    return frames;
  }
  static std::uint8_t code_of(const Packet& frame) {
    return std::to_integer<std::uint8_t>(frame[kCodeAt]);
  }
  static std::uint32_t magic_of(const Packet& frame) {
    return wire::load_be32(frame.data() + kMagicAt);
  }
  std::uint32_t own() const { return session.link().magic(); }

  WaitingPackets out;
  CollectedPackets in;
  SeededEntropy entropy{Random(3)};
  // With a receive unit that need not be asked for, so that there is no other option.
  PppSession session{
      {.payload = PppPayload::kIpv6, .receive_unit = kPppDefaultUnit}, out, in, entropy};
  Time now{1s};
};

TEST_F(MagicNumber, OfZeroOrItsOwnIsNeverTaken) {
  session.advance(now);
  (void)sent();
  for (const std::uint32_t magic : {0U, own()}) {
    const auto frames = told(kRequest, 9, magic);
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(code_of(frames[0]), kNak);
    EXPECT_EQ(frames[0][kIdentifierAt], std::byte{9});
    EXPECT_NE(magic_of(frames[0]), 0U);
    EXPECT_NE(magic_of(frames[0]), own());
  }
  EXPECT_EQ(session.counters().get(PppCounter::kLooped), 1U);
  const auto frames = told(kRequest, 10, own() + 1);
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(code_of(frames[0]), kAck);
}

TEST_F(MagicNumber, IsDrawnAnewWhereTheOtherEndWishesForAnother) {
  session.advance(now);
  const auto request = sent();
  ASSERT_EQ(request.size(), 1U);
  const std::uint32_t before = own();
  EXPECT_EQ(magic_of(request[0]), before);
  // Not the one that was wished for, which on a line that leads back is one's own wish.
  const auto again =
      told(kNak, std::to_integer<std::uint8_t>(request[0][kIdentifierAt]), 0x1122'3344);
  ASSERT_EQ(again.size(), 1U);
  EXPECT_EQ(code_of(again[0]), kRequest);
  EXPECT_NE(own(), before);
  EXPECT_NE(own(), 0x1122'3344U);
  EXPECT_EQ(magic_of(again[0]), own());
}

TEST_F(MagicNumber, OfItsOwnThreeTimesInARowIsALoopAndAnotherOneIsNone) {
  session.advance(now);
  for (int i = 0; i < 2; ++i)
    (void)told(kRequest, 1, own());
  EXPECT_FALSE(session.link().is_looped());
  (void)told(kRequest, 1, own() + 1);
  for (int i = 0; i < 2; ++i)
    (void)told(kRequest, 1, own());
  EXPECT_FALSE(session.link().is_looped());
  (void)told(kRequest, 1, own());
  EXPECT_TRUE(session.link().is_looped());
}

}  // namespace
}  // namespace weft::wan
