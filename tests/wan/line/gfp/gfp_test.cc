// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "../line_stage.h"
#include "gfp_vectors.h"
#include "wan/line/gfp/gfp_fields.h"
#include "wan/line/gfp/gfp_receiver.h"
#include "wan/line/gfp/gfp_transmitter.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

using State = GfpReceiver::State;
using Count = GfpReceiveCounter;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(GfpHeader, HasTheHecOfTheVectors) {
  EXPECT_EQ(gfp_with_hec(0x005E), 0x005E'BB3B);
  EXPECT_EQ(gfp_with_hec(0x1001), 0x1001'1352);
  EXPECT_EQ(gfp_with_hec(0x005E) ^ kGfpCoreScramble, 0xB6F5'8ADB);
  EXPECT_EQ(gfp_with_hec(0), 0U);
}

TEST(GfpHeader, IsPutRightWhereOneBitIsWrongAndRefusedWhereTwoAre) {
  for (const unsigned value : {0U, 1U, 0x5EU, 0x1001U, 0xFFFFU}) {
    const std::uint32_t word = gfp_with_hec(static_cast<std::uint16_t>(value));
    for (unsigned bit = 0; bit < 32; ++bit) {
      const std::uint32_t once = word ^ 1U << bit;
      EXPECT_FALSE(gfp_is_right(once));
      EXPECT_EQ(gfp_check(once).outcome, GfpChecked::Outcome::kCorrected);
      EXPECT_EQ(gfp_check(once).value, value);
      for (unsigned other = bit + 1; other < 32; ++other)
        EXPECT_EQ(gfp_check(once ^ 1U << other).outcome, GfpChecked::Outcome::kWrong);
    }
  }
}

TEST(GfpHeader, OfATypeReadsBackAsItIsWritten) {
  for (unsigned value = 0; value <= 0xFFFF; ++value) {
    const auto parsed = GfpType::parse(static_cast<std::uint16_t>(value));
    EXPECT_EQ(parsed.value(), value);
  }
}

struct GfpSent {
  WaitingPackets packets;
  GfpTransmitter transmitter;
  explicit GfpSent(const GfpOptions& options) : transmitter(options, packets) {}
};
struct GfpReceived {
  CollectedPackets packets;
  GfpReceiver receiver;
  explicit GfpReceived(const GfpOptions& options) : receiver(options, packets) {}
  [[nodiscard]] std::uint64_t count(Count what) const { return receiver.counters().get(what); }
};

// What goes over the line, unscrambled, from its third frame on, behind the leading idle frames.
Packet frame_of(const GfpOptions& options, const Packet& packet) {
  GfpSent sent(options);
  sent.packets.waiting = {packet};
  Packet line =
      drawn(sent.transmitter, 8 + kGfpHeader + options.data_type().overhead() + packet.size());
  EXPECT_EQ(wire::load_be32(line.data()), 0xB6AB'31E0);
  EXPECT_EQ(wire::load_be32(line.data() + 4), 0xB6AB'31E0);
  line.erase(line.begin(), line.begin() + 8);
  wire::store_be32(line.data(), wire::load_be32(line.data()) ^ kGfpCoreScramble);
  PayloadDescrambler().descramble(MutableBytes(line).subspan(4));
  return line;
}

Packet payload_of(std::string_view frame, std::size_t from, std::size_t to) {
  const Packet bytes = from_hex(frame);
  return {bytes.begin() + static_cast<std::ptrdiff_t>(from),
          bytes.end() - static_cast<std::ptrdiff_t>(to)};
}

TEST(Gfp, MakesTheFramesOfTheVectors) {
  EXPECT_EQ(frame_of({.user = GfpUser::kEthernet}, payload_of(kEthernetFrame, 8, 4)),
            from_hex(kEthernetFrame));
  EXPECT_EQ(frame_of({.user = GfpUser::kPpp}, payload_of(kPppFrame, 8, 4)), from_hex(kPppFrame));
  EXPECT_EQ(frame_of({.user = GfpUser::kIpv4, .fcs = false}, payload_of(kIpv4Frame, 8, 0)),
            from_hex(kIpv4Frame));
  EXPECT_EQ(frame_of({.user = GfpUser::kEthernet, .fcs = false}, payload_of(kBareFrame, 8, 0)),
            from_hex(kBareFrame));
}

TEST(Gfp, FillsWithIdleFramesAndHasThePacketAtOnce) {
  GfpSent sent({});
  EXPECT_EQ(drawn(sent.transmitter, 10), from_hex("b6ab31e0b6ab31e0b6ab"));
  sent.packets.waiting = {from_hex("0102")};
  const Packet more = drawn(sent.transmitter, 6);
  EXPECT_EQ(Packet(more.begin(), more.begin() + 2), from_hex("31e0"));
  EXPECT_EQ(wire::load_be32(more.data() + 2), gfp_with_hec(10) ^ kGfpCoreScramble);
}

TEST(Gfp, BringsAnyPacketsInAnyPieces) {
  Random random(1);
  for (const std::optional<std::uint8_t> channel : {std::optional<std::uint8_t>{}, {7}}) {
    for (const bool fcs : {false, true}) {
      const GfpOptions options{.fcs = fcs, .channel = channel};
      GfpSent sent(options);
      GfpReceived received(options);
      std::vector<Packet> all;
      for (int i = 0; i < 60; ++i) {
        all.push_back(random_packet(random, random.between(1, i % 10 == 0 ? 9000 : 300)));
        if (random.chance(0.3)) {
          const Packet octets = drawn_in_pieces(sent.transmitter, random.between(1, 40), random);
          hand_in_pieces(received.receiver, octets, random);
        }
        sent.packets.waiting.push_back(all.back());
      }
      const Packet octets = drawn_in_pieces(sent.transmitter, 120'000, random);
      hand_in_pieces(received.receiver, octets, random);
      EXPECT_EQ(received.packets.packets, all);
      EXPECT_EQ(received.count(Count::kPackets), all.size());
      EXPECT_EQ(sent.transmitter.counters().get(GfpSendCounter::kPackets), all.size());
    }
  }
}

TEST(Gfp, DropsWhatIsTooLongForAFrameAndCountsIt) {
  const GfpOptions options{.channel = 1, .longest_packet = 0xFFFF};
  GfpSent sent(options);
  GfpReceived received(options);
  const Packet longest(0xFFFF - 12, std::byte{1});
  sent.packets.waiting = {Packet(longest.size() + 1), longest};
  received.receiver.take(drawn(sent.transmitter, 80'000));
  EXPECT_THAT(received.packets.packets, ElementsAre(longest));
  EXPECT_EQ(sent.transmitter.counters().get(GfpSendCounter::kTooLong), 1);
}

TEST(Gfp, IsInStepByTheSecondHeaderAndHandsOnWhatThatOneBegins) {
  GfpSent sent({});
  sent.packets.waiting = {from_hex("aa"), from_hex("bb"), from_hex("cc")};
  const Packet line = drawn(sent.transmitter, 200);
  GfpReceived received({});
  received.receiver.take(Bytes(line).subspan(8, 4));  // the leading idle frames are missing
  EXPECT_EQ(received.receiver.state(), State::kPresync);
  received.receiver.take(Bytes(line).subspan(12, 13));
  EXPECT_EQ(received.receiver.state(), State::kSync);
  received.receiver.take(Bytes(line).subspan(25));
  EXPECT_THAT(received.packets.packets, ElementsAre(from_hex("bb"), from_hex("cc")));
  EXPECT_EQ(received.count(Count::kFramesUnconfirmed), 1);
}

TEST(Gfp, WantsAsManyRightHeadersAsItIsTold) {
  GfpReceived received({.delta = 3});
  const Packet idle = from_hex("b6ab31e0");
  for (int header = 1; header <= 4; ++header) {
    EXPECT_NE(received.receiver.state(), State::kSync);
    received.receiver.take(idle);
  }
  EXPECT_EQ(received.receiver.state(), State::kSync);
}

TEST(Gfp, PutsOneWrongBitOfACoreHeaderRightOnlyInStep) {
  Packet wrong = from_hex("b6ab31e0");
  wrong[1] ^= std::byte{0x10};
  GfpReceived received({});
  received.receiver.take(wrong);
  EXPECT_EQ(received.receiver.state(), State::kHunt);
  received.receiver.take(from_hex("b6ab31e0"));
  received.receiver.take(wrong);
  EXPECT_EQ(received.receiver.state(), State::kHunt);
  EXPECT_EQ(received.count(Count::kFalseDelineations), 1);
  received.receiver.take(from_hex("b6ab31e0b6ab31e0"));
  received.receiver.take(wrong);
  EXPECT_EQ(received.receiver.state(), State::kSync);
  EXPECT_EQ(received.count(Count::kCoreCorrected), 1);
  wrong[2] ^= std::byte{1};
  received.receiver.take(wrong);
  EXPECT_EQ(received.receiver.state(), State::kHunt);
  EXPECT_EQ(received.count(Count::kSyncLosses), 1);
}

// One wrong bit of the line is two of the payload, 43 bits apart.
TEST(Gfp, BearsAWrongBitOfTheLineInTheHeadersOfAPayload) {
  const GfpOptions options{.channel = 9};
  GfpSent sent(options);
  sent.packets.waiting = {Packet(40, std::byte{0x33})};
  const Packet line = drawn(sent.transmitter, 80);
  for (std::size_t bit = 0; bit < 32; ++bit) {
    Packet changed = line;
    // The second wrong bit is in the linear extension header, or behind it.
    changed[12 + bit / 8] ^= static_cast<std::byte>(0x80U >> bit % 8);
    GfpReceived received(options);
    received.receiver.take(changed);
    EXPECT_EQ(received.count(Count::kTypeCorrected), 1);
    EXPECT_EQ(received.packets.packets.size(), bit + 43 < 64 ? 1U : 0U) << bit;
  }
}

TEST(Gfp, RefusesAWrongFcs) {
  GfpSent sent({});
  sent.packets.waiting = {Packet(40, std::byte{0x33}), from_hex("44")};
  Packet line = drawn(sent.transmitter, 120);
  line[30] ^= std::byte{4};
  GfpReceived received({});
  received.receiver.take(line);
  EXPECT_THAT(received.packets.packets, ElementsAre(from_hex("44")));
  EXPECT_EQ(received.count(Count::kFcsWrong), 1);
}

// Frames of whoever has agreed on something else.
TEST(Gfp, RefusesWhatIsNotAgreed) {
  const auto refused_by = [](const GfpOptions& sender, const GfpOptions& receiver, Count why) {
    GfpSent sent(sender);
    sent.packets.waiting = {from_hex("0102030405")};
    GfpReceived received(receiver);
    received.receiver.take(drawn(sent.transmitter, 60));
    EXPECT_THAT(received.packets.packets, IsEmpty());
    EXPECT_EQ(received.count(why), 1) << static_cast<int>(why);
  };
  refused_by({.user = GfpUser::kIpv6}, {.user = GfpUser::kIpv4}, Count::kUserMismatch);
  refused_by({.fcs = false}, {}, Count::kFcsMismatch);
  refused_by({}, {.fcs = false}, Count::kFcsMismatch);
  refused_by({.channel = 1}, {}, Count::kExtensionMismatch);
  refused_by({.channel = 1}, {.channel = 2}, Count::kChannelMismatch);
  refused_by({}, {.longest_packet = 4}, Count::kTooLong);
}

// Unscrambled frames as a line has them, behind idle frames.
Packet line_of(const std::vector<std::string>& frames) {
  Packet line = from_hex("b6ab31e0b6ab31e0");
  PayloadScrambler scrambler;
  for (const std::string& text : frames) {
    Packet frame = from_hex(text);
    wire::store_be32(frame.data(), wire::load_be32(frame.data()) ^ kGfpCoreScramble);
    scrambler.scramble(MutableBytes(frame).subspan(4));
    line.insert(line.end(), frame.begin(), frame.end());
  }
  return line;
}
std::string hex_header(std::uint16_t value) {
  char text[9];
  (void)std::snprintf(text, sizeof text, "%08x", gfp_with_hec(value));
  return text;
}

TEST(Gfp, RefusesFramesThatCannotBe) {
  GfpReceived received({.channel = 1});
  received.receiver.take(line_of({
      hex_header(1),                                                  // reserved control frame
      hex_header(4) + hex_header(0x1011),                             // no room for an FCS
      hex_header(4) + hex_header(0xA011),                             // management communications
      hex_header(4) + hex_header(0x8006),                             // reserved management
      hex_header(8) + hex_header(0x0111) + "00000000",                // another user
      hex_header(12) + hex_header(0x11F0) + "03000000" + "00000000",  // eHEC wrong
      hex_header(12) + hex_header(0x11F0) + hex_header(0x0100) + "00000000",  // no packet in it
      hex_header(8) + hex_header(0x9001) + "11111111",  // FCS of management wrong
      hex_header(5) + "1234567801",                     // tHEC wrong
  }));
  EXPECT_THAT(received.packets.packets, IsEmpty());
  EXPECT_EQ(received.receiver.state(), State::kSync);
  EXPECT_EQ(received.count(Count::kControlFrames), 1);
  EXPECT_EQ(received.count(Count::kInvalid), 2);
  EXPECT_EQ(received.count(Count::kOtherPayload), 2);
  EXPECT_EQ(received.count(Count::kUserMismatch), 1);
  EXPECT_EQ(received.count(Count::kExtensionWrong), 1);
  EXPECT_EQ(received.count(Count::kFcsWrong), 1);
  EXPECT_EQ(received.count(Count::kTypeWrong), 1);
}

// Who does not know what the scrambler had before must not guess.
TEST(Gfp, HandsOnNothingBeforeItHasHeard43BitsOfPayload) {
  GfpSent sent({});
  sent.packets.waiting = {Packet(50, std::byte{1})};
  (void)drawn(sent.transmitter, 100);
  GfpReceived received({});
  const Packet idle = drawn(sent.transmitter, 30);
  received.receiver.take(Bytes(idle).subspan(1));
  EXPECT_EQ(received.receiver.state(), State::kSync);
  sent.packets.waiting = {from_hex("11"), from_hex("22")};
  received.receiver.take(drawn(sent.transmitter, 60));
  EXPECT_THAT(received.packets.packets, ElementsAre(from_hex("22")));
  EXPECT_EQ(received.count(Count::kNotDescrambled), 1);
}

TEST(Gfp, BeginsAnewWhereTheLineIsInterrupted) {
  GfpSent sent({});
  GfpReceived received({});
  sent.packets.waiting = {Packet(50, std::byte{1}), Packet(50, std::byte{2}),
                          Packet(50, std::byte{3}), Packet(50, std::byte{4})};
  const Packet line = drawn(sent.transmitter, 400);
  received.receiver.take(Bytes(line).first(90));
  received.receiver.interrupted();
  EXPECT_EQ(received.receiver.state(), State::kHunt);
  received.receiver.take(Bytes(line).subspan(90));
  EXPECT_EQ(received.count(Count::kFramesCut), 1);
  EXPECT_EQ(received.count(Count::kSyncLosses), 1);
  EXPECT_THAT(received.packets.packets,
              ElementsAre(Packet(50, std::byte{1}), Packet(50, std::byte{4})));
}

TEST(GfpFields, TellAFrameFieldByField) {
  EXPECT_EQ(text_of(gfp_fields(from_hex(kPppFrame))),
            "PLI: 44\ncHEC: 0xe5ee, right\nPTI: client data\nPFI: with FCS\nEXI: null\nUPI: PPP\n"
            "tHEC: 0x2331, right\npayload: 36 octets\npFCS: 0x151fc32b, right\n");
  EXPECT_EQ(text_of(gfp_fields(from_hex("00000000"))),
            "PLI: 0 (idle frame)\ncHEC: 0x0000, right\n");
  EXPECT_EQ(text_of(gfp_fields(from_hex(hex_header(4) + hex_header(0x8005)))),
            "PLI: 4\ncHEC: 0x4084, right\nPTI: client management\nPFI: without FCS\nEXI: null\n"
            "UPI: reverse defect indication\ntHEC: 0x4b3d, right\n");
}

TEST(GfpFields, SayWhatIsWrong) {
  Packet frame = from_hex(kPppFrame);
  frame[3] ^= std::byte{1};
  frame[7] ^= std::byte{1};
  frame.back() ^= std::byte{1};
  const std::string text = text_of(gfp_fields(frame));
  EXPECT_THAT(text, testing::HasSubstr("cHEC: 0xe5ef, should be 0xe5ee\n"));
  EXPECT_THAT(text, testing::HasSubstr("tHEC: 0x2330, should be 0x2331\n"));
  EXPECT_THAT(text, testing::HasSubstr("pFCS: 0x151fc32a, should be 0x151fc32b\n"));
  EXPECT_THAT(text_of(gfp_fields(from_hex("0102"))), testing::HasSubstr("error: the frame ends"));
  EXPECT_THAT(text_of(gfp_fields(Bytes(frame).first(20))),
              testing::HasSubstr("error: the frame has 16 octets of its 44"));
  EXPECT_THAT(text_of(gfp_fields(from_hex(hex_header(4) + hex_header(0x1055)))),
              testing::HasSubstr("UPI: UPI 0x55\n"));
  EXPECT_THAT(text_of(gfp_fields(from_hex(hex_header(4) + hex_header(0x1055)))),
              testing::HasSubstr("error: the frame is too short for its FCS\n"));
}

}  // namespace
}  // namespace weft::wan
