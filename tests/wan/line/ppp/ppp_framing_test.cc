// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "genuine.h"
#include "ppp_stage.h"
#include "sim/seeds.h"
#include "wan/line/octet_run.h"
#include "wan/line/ppp/control_packet.h"
#include "wan/line/ppp/frame_check.h"
#include "wan/line/ppp/octet_stuffing.h"
#include "wan/line/scrambled_payload.h"

namespace weft::wan {
namespace {

using Count = PppReceiveCounter;
using testing::ElementsAre;

// An LCP Echo-Request, made by another program from RFC 1662 and read by tshark without a
// complaint: with either FCS, stuffed, between flags.
constexpr std::string_view kEcho = "ff03c0210901000c7d7e112254455354";
constexpr std::string_view kEcho16 = "7eff03c0210901000c7d5d7d5e11225445535431c27e";
constexpr std::string_view kEcho32 = "7eff03c0210901000c7d5d7d5e112254455354144aa1d17e";

struct PppReceived {
  CollectedFrames frames;
  PppReceiver receiver;
  explicit PppReceived(PppFcs fcs = PppFcs::k32, std::size_t longest = 9000)
      : receiver(fcs, longest, frames) {}
  [[nodiscard]] std::uint64_t count(Count what) const { return receiver.counters().get(what); }
};

TEST(PppFraming, MakesAndReadsTheFramesOfTheVectors) {
  for (const auto& [fcs, octets] : {std::pair{PppFcs::k16, kEcho16}, {PppFcs::k32, kEcho32}}) {
    WaitingFrames frames;
    frames.waiting = {from_hex(kEcho)};
    PppTransmitter transmitter(fcs, frames);
    EXPECT_EQ(drawn(transmitter, octets.size() / 2), from_hex(octets));
    EXPECT_EQ(drawn(transmitter, 3), from_hex("7e7e7e"));
    PppReceived received(fcs);
    received.receiver.take(from_hex(octets));
    EXPECT_THAT(received.frames.frames, ElementsAre(from_hex(kEcho)));
  }
}

TEST(PppFraming, EndsOneFrameAndBeginsTheNextWithOneFlag) {
  WaitingFrames frames;
  frames.waiting = {from_hex(kEcho), from_hex(kEcho)};
  PppTransmitter transmitter(PppFcs::k16, frames);
  Packet twice = from_hex(kEcho16);
  const Packet once = twice;
  twice.insert(twice.end(), once.begin() + 1, once.end());
  EXPECT_EQ(drawn(transmitter, twice.size()), twice);
  EXPECT_EQ(transmitter.frames_sent(), 2U);
}

TEST(PppFraming, BringsAFrameBehindAnyNumberOfFlags) {
  const Packet once = from_hex(kEcho32);
  for (std::size_t flags = 0; flags < 70; ++flags) {
    Packet line(flags, kPppFlag);
    line.insert(line.end(), once.begin(), once.end());
    line.insert(line.end(), flags, kPppFlag);
    EXPECT_EQ(octet_run(line, kPppFlag), flags + 1);
    PppReceived received;
    received.receiver.take(line);
    received.receiver.take(line);
    EXPECT_THAT(received.frames.frames, ElementsAre(from_hex(kEcho), from_hex(kEcho))) << flags;
    EXPECT_EQ(received.count(Count::kTooShort), 0U);
  }
  EXPECT_EQ(octet_run({}, kPppFlag), 0U);
}

TEST(PppFraming, BringsAnyFramesInAnyPieces) {
  Random random(7);
  for (const PppFcs fcs : {PppFcs::k16, PppFcs::k32}) {
    WaitingFrames frames;
    PppTransmitter transmitter(fcs, frames);
    ScrambledPayloadSource scrambled(transmitter);
    PppReceived received(fcs);
    ScrambledPayloadSink descrambled(received.receiver);
    std::vector<Packet> all;
    for (int i = 0; i < 200; ++i) {
      Packet information = random_packet(random, random.below(i % 10 == 0 ? 9000 : 200));
      // Some of nothing but what has to be stuffed.
      if (i % 7 == 0) std::ranges::fill(information, i % 2 == 0 ? kPppFlag : kPppEscape);
      all.push_back(frame_with(PppProtocol::kIpv6, information));
    }
    frames.waiting.assign(all.begin(), all.end());
    while (!frames.waiting.empty())
      hand_in_pieces(descrambled, drawn_in_pieces(scrambled, 777, random), random);
    hand_in_pieces(descrambled, drawn_in_pieces(scrambled, 20'000, random), random);
    EXPECT_EQ(received.frames.frames, all);
    EXPECT_EQ(received.count(Count::kFrames), all.size());
  }
}

TEST(PppFraming, FindsWhatHasToBeStuffedWhereverItIs) {
  for (std::size_t size = 0; size < 70; ++size) {
    for (std::size_t at = 0; at <= size; ++at) {
      Packet from(size, std::byte{0x7C});
      if (at < size) from[at] = at % 2 == 0 ? kPppFlag : kPppEscape;
      Packet to(size, std::byte{0});
      EXPECT_EQ(copy_plain(from, to), at);
      EXPECT_TRUE(
          std::equal(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(at), from.begin()));
      EXPECT_EQ(copy_plain(from, MutableBytes(to).first(size / 2)), std::min(at, size / 2));
    }
  }
}

TEST(PppFraming, ReadsOctetsThatNeedNotHaveBeenStuffed) {
  PppReceived received;
  Packet octets = from_hex("7e7ddf7d23c021");  // FF and 03
  const Packet rest = from_hex("0901000c7d5d7d5e112254455354144aa1d17e");
  octets.insert(octets.end(), rest.begin(), rest.end());
  received.receiver.take(octets);
  EXPECT_THAT(received.frames.frames, ElementsAre(from_hex(kEcho)));
}

TEST(PppFraming, CountsEachFrameThatItRefuses) {
  PppReceived received(PppFcs::k32, 12);
  const auto refuses = [&](std::string_view octets, Count why) {
    const std::uint64_t before = received.count(why);
    received.receiver.take(from_hex(octets));
    EXPECT_EQ(received.count(why), before + 1) << octets;
  };
  received.receiver.take(from_hex("1234"));
  EXPECT_EQ(received.count(Count::kOctetsSkipped), 2U);
  received.receiver.take(from_hex("7e7e7e"));  // nothing between flags is no frame
  refuses("ff03c021010203047e00", Count::kFcsWrong);
  refuses("7e", Count::kTooShort);
  refuses("ff03c0210901000c7d7e", Count::kAborted);
  refuses("7d7e", Count::kAborted);
  refuses("ff03c02109010000000000000000000000000000000000007e", Count::kTooLong);
  refuses("ff03c0217d5e7d5e7d5e7d5e7d5e7d5e7d5e7d5e7d5e7d5e7d5e7d5e7d5e7d5e7d5e7d5e7d5e7d5e7e",
          Count::kTooLong);
  received.receiver.take(from_hex("ff03c021"));
  received.receiver.interrupted();
  EXPECT_EQ(received.count(Count::kInterrupted), 1U);
  EXPECT_THAT(received.frames.frames, testing::IsEmpty());
  received.receiver.take(from_hex(kEcho32));
  EXPECT_THAT(received.frames.frames, ElementsAre(from_hex(kEcho)));
}

// A frame of any content with a right FCS, as a line has it.
Packet octets_of(const Packet& frame, PppFcs fcs = PppFcs::k32) {
  WaitingFrames frames;
  frames.waiting = {frame};
  PppTransmitter transmitter(fcs, frames);
  return drawn(transmitter, 2 * frame.size() + 12);
}

TEST(PppFraming, RefusesOtherAddressesAndNumbersThatAreNoProtocols) {
  PppReceived received;
  received.receiver.take(octets_of(from_hex("fe03c0210000")));
  received.receiver.take(octets_of(from_hex("ff0bc0210000")));
  EXPECT_EQ(received.count(Count::kAddressWrong), 2U);
  received.receiver.take(octets_of(from_hex("ff03c0200000")));
  received.receiver.take(octets_of(from_hex("ff03c1210000")));
  EXPECT_EQ(received.count(Count::kProtocolWrong), 2U);
}

TEST(PppOnABadLine, BringsASubsetInOrderEachExactAndIsInStepByTheNextFlag) {
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "PppOnABadLine.*"));
    Random random(seed);
    WaitingFrames frames;
    PppTransmitter transmitter(PppFcs::k32, frames);
    ScrambledPayloadSource scrambled(transmitter);
    PppReceived received;
    ScrambledPayloadSink descrambled(received.receiver);
    std::vector<Packet> all;
    for (int i = 0; i < 300; ++i)
      all.push_back(frame_with(PppProtocol::kIpv6, random_packet(random, random.between(1, 400))));
    frames.waiting.assign(all.begin(), all.end());
    Packet line;
    while (!frames.waiting.empty()) {
      const Packet more = drawn(scrambled, 1000);
      line.insert(line.end(), more.begin(), more.end());
    }
    const unsigned errors = static_cast<unsigned>(random.below(40));
    const unsigned slips = static_cast<unsigned>(random.below(6));
    damage(line, {.bit_errors = errors, .slips = slips}, random);
    hand_in_pieces(descrambled, line, random);
    EXPECT_TRUE(is_subsequence(received.frames.frames, all));
    std::uint64_t refused = 0;
    for (auto why = static_cast<int>(Count::kTooShort);
         why <= static_cast<int>(Count::kInterrupted); ++why)
      refused += received.count(Count(why));
    EXPECT_EQ(received.count(Count::kFrames), received.frames.frames.size());
    EXPECT_EQ(refused > 0, received.frames.frames.size() < all.size());
    // A wrong bit is two, 43 bits apart, of which either may hit a frame's end; a slip hits what
    // it is in, and what is there is not descrambled for 43 bits.
    EXPECT_GE(received.frames.frames.size() + 4U * (errors + slips), all.size());

    received.frames.frames.clear();
    std::vector<Packet> later;
    for (int i = 0; i < 20; ++i)
      later.push_back(frame_with(PppProtocol::kIpv6, random_packet(random, 60)));
    hand_in_pieces(descrambled, drawn(scrambled, 7000), random);
    received.frames.frames.clear();
    frames.waiting.assign(later.begin(), later.end());
    hand_in_pieces(descrambled, drawn(scrambled, 7000), random);
    EXPECT_EQ(received.frames.frames, later);
  }
}

// --- genuine frames ---------------------------------------------------------------------------

struct GenuineFrame {
  Packet octets;      // as they were on the line, between flags
  Packet frame;       // without stuffing, with FCS
  bool plain = true;  // nothing but 7D and 7E is stuffed in it
};

std::vector<GenuineFrame> genuine_frames(unsigned direction) {
  std::vector<GenuineFrame> found(1);
  bool escaped = false;
  for (const std::byte octet : recorded(direction)) {
    GenuineFrame& present = found.back();
    if (octet == kPppFlag) {
      if (!present.octets.empty()) found.emplace_back();
      continue;
    }
    present.octets.push_back(octet);
    if (escaped) {
      present.frame.push_back(octet ^ std::byte{0x20});
      present.plain &= octet == std::byte{0x5D} || octet == std::byte{0x5E};
      escaped = false;
    } else if (octet == kPppEscape) {
      escaped = true;
    } else {
      present.frame.push_back(octet);
    }
  }
  found.pop_back();
  std::erase_if(found, [](const GenuineFrame& frame) {
    return ppp_fcs_update(PppFcs::k16, ppp_fcs_preset(PppFcs::k16), frame.frame) != kPppResidue16;
  });
  return found;
}

TEST(PppGenuine, FramesAreMadeAgainAsTheyWere) {
  std::size_t frames = 0;
  std::size_t plain = 0;
  for (const unsigned direction : {1U, 2U}) {
    for (const GenuineFrame& genuine : genuine_frames(direction)) {
      ++frames;
      plain += genuine.plain ? 1 : 0;
      Packet without_fcs = genuine.frame;
      without_fcs.erase(without_fcs.end() - 2, without_fcs.end());
      const Packet line = octets_of(without_fcs, PppFcs::k16);
      if (genuine.plain) {
        EXPECT_TRUE(std::equal(genuine.octets.begin(), genuine.octets.end(), line.begin() + 1));
        continue;
      }
      // There, characters that this line carries as they are were stuffed too.
      Packet unstuffed;
      for (std::size_t at = 1; line[at] != kPppFlag; ++at)
        unstuffed.push_back(line[at] == kPppEscape ? line[++at] ^ std::byte{0x20} : line[at]);
      EXPECT_EQ(unstuffed, genuine.frame);
    }
  }
  EXPECT_EQ(frames, 20U);
  EXPECT_EQ(plain, 12U);
}

TEST(PppGenuine, FramesAreReadAndThoseWithCompressedHeadersCounted) {
  std::uint64_t handed_on = 0;
  std::uint64_t compressed = 0;
  std::uint64_t wrong = 0;
  for (const unsigned direction : {1U, 2U}) {
    PppReceived received(PppFcs::k16);
    received.receiver.take(recorded(direction));
    handed_on += received.count(Count::kFrames);
    compressed += received.count(Count::kAddressWrong);
    wrong += received.count(Count::kFcsWrong);
  }
  EXPECT_EQ(handed_on, 8U);
  EXPECT_EQ(compressed, 12U);
  EXPECT_EQ(wrong, 1U);
}

TEST(PppGenuine, ControlPacketsAreReadAndMadeAgainToTheByte) {
  std::size_t with_options = 0;
  std::size_t others = 0;
  for (const Packet& packet : captured()) {
    if ((wire::load_be16(packet.data() + 2) & 0x8000) == 0) continue;
    const Bytes information = Bytes(packet).subspan(kPppHeader);
    const auto control = ControlPacket::parse(information);
    ASSERT_TRUE(control);
    ControlPacket again = *control;
    std::vector<std::byte> options;
    if (control->code <= ControlCode::kConfigureReject) {
      Bytes rest = control->data;
      while (const auto option = take_option(rest))
        put_option(options, *option);
      EXPECT_TRUE(rest.empty());
      again.data = options;
      ++with_options;
    } else {
      ++others;
    }
    EXPECT_TRUE(std::ranges::equal(again.bytes(), information));
  }
  EXPECT_EQ(with_options, 16U);
  EXPECT_EQ(others, 10U);
}

}  // namespace
}  // namespace weft::wan
