// SPDX-License-Identifier: Apache-2.0
#include "wan/line/ppp/ppp_session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "session_pair.h"
#include "wan/line/ppp/control_packet.h"

namespace weft::wan {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using State = ControlState;

constexpr PppSessionOptions kIpv6{.payload = PppPayload::kIpv6};

const Packet kPacket(600, std::byte{0x7E});

TEST(PppSession, ComesUpAndCarriesPackets) {
  for (const PppPayload payload :
       {PppPayload::kIpv6, PppPayload::kIpv4, PppPayload::kMpls, PppPayload::kInfiniBand}) {
    PppPair pair({.payload = payload}, {.payload = payload});
    EXPECT_FALSE(pair.up());
    ASSERT_TRUE(pair.come_up());
    EXPECT_EQ(pair.a.session.link_state(), State::kOpened);
    pair.a.out.waiting = {kPacket, from_hex("01")};
    pair.b.out.waiting = {from_hex("02")};
    pair.run(100ms);
    EXPECT_THAT(pair.b.in.packets, ElementsAre(kPacket, from_hex("01")));
    EXPECT_THAT(pair.a.in.packets, ElementsAre(from_hex("02")));
  }
}

TEST(PppSession, ReadsNoPacketBeforeItMaySendOne) {
  PppPair pair(kIpv6, kIpv6);
  pair.a.out.waiting = {kPacket};
  pair.run(10ms);
  EXPECT_EQ(pair.a.out.waiting.size(), 1U);
  EXPECT_THAT(pair.b.in.packets, IsEmpty());
  ASSERT_TRUE(pair.come_up());
  pair.run(20ms);
  EXPECT_THAT(pair.b.in.packets, ElementsAre(kPacket));
}

TEST(PppSession, PutsLinkPacketsIntoAVendorsProtocol) {
  PppPair pair;
  ASSERT_TRUE(pair.come_up());
  pair.a.out.waiting = {from_hex("a1a2a3")};
  const PppFrame frame = pair.a.session.next();
  Packet header(frame.header.begin(), frame.header.end());
  Packet expected = from_hex("ff03405b0000000002494200");
  wire::store_be32(expected.data() + 4, pair.a.session.link().magic());
  EXPECT_EQ(header, expected);
  EXPECT_EQ(Packet(frame.information.begin(), frame.information.end()), from_hex("a1a2a3"));
}

TEST(PppSession, RefusesVendorPacketsOfOthersAndItsOwn) {
  PppPair pair;
  ASSERT_TRUE(pair.come_up());
  PppSession& session = pair.b.session;
  session.frame(PppProtocol::kVendor, from_hex("000000010000000099"));
  session.frame(PppProtocol::kVendor, from_hex("00000001"));
  EXPECT_EQ(pair.b.count(PppCounter::kOtherVendor), 2U);
  Packet own = from_hex("000000000249420099");
  session.frame(PppProtocol::kVendor, own);
  EXPECT_THAT(pair.b.in.packets, ElementsAre(from_hex("99")));
  wire::store_be32(own.data(), session.link().magic());
  session.frame(PppProtocol::kVendor, own);
  EXPECT_EQ(pair.b.count(PppCounter::kOwnVendorPacket), 1U);
  session.frame(PppProtocol::kVendor, Bytes(own).first(8));
  own[0] ^= std::byte{1};
  session.frame(PppProtocol::kVendor, Bytes(own).first(8));
  EXPECT_EQ(pair.b.count(PppCounter::kEmpty), 1U);
}

TEST(PppSession, AgreesOnHowLongPacketsMayBe) {
  PppPair pair({.payload = PppPayload::kIpv6, .receive_unit = 4000},
               {.payload = PppPayload::kIpv6, .receive_unit = 1500});
  ASSERT_TRUE(pair.come_up());
  EXPECT_EQ(pair.a.session.link().send_unit(), 1500U);
  EXPECT_EQ(pair.b.session.link().send_unit(), 4000U);
  pair.a.out.waiting = {Packet(1501), Packet(1500)};
  pair.b.out.waiting = {Packet(4001), Packet(4000)};
  pair.run(200ms);
  EXPECT_THAT(pair.b.in.packets, ElementsAre(Packet(1500)));
  EXPECT_THAT(pair.a.in.packets, ElementsAre(Packet(4000)));
  EXPECT_EQ(pair.a.count(PppCounter::kTooLongForPeer), 1U);
}

TEST(PppSession, DrawsAnotherIdentifierWhereBothHaveTheSame) {
  const PppSessionOptions same{.payload = PppPayload::kIpv6,
                               .network = {.interface_identifier = 0x0200'00FF'FE00'0001}};
  PppPair pair(same, same);
  ASSERT_TRUE(pair.come_up());
  const NetworkControl& a = pair.a.session.network();
  const NetworkControl& b = pair.b.session.network();
  EXPECT_NE(a.own(), b.own());
  EXPECT_EQ(a.own(), b.remote());
  EXPECT_EQ(b.own(), a.remote());
}

TEST(PppSession, GivesAnAddressToWhoHasNone) {
  PppPair pair({.payload = PppPayload::kIpv4,
                .network = {.address = 0xC0000201, .remote_address = 0xC0000202}},
               {.payload = PppPayload::kIpv4});
  ASSERT_TRUE(pair.come_up());
  EXPECT_EQ(pair.b.session.network().own(), 0xC0000202U);
  EXPECT_EQ(pair.b.session.network().remote(), 0xC0000201U);
  EXPECT_EQ(pair.a.session.network().remote(), 0xC0000202U);
}

TEST(PppSession, ComesUpWithoutAddressesWhereNobodyHasAny) {
  PppPair pair({.payload = PppPayload::kIpv4}, {.payload = PppPayload::kIpv4});
  ASSERT_TRUE(pair.come_up());
  EXPECT_EQ(pair.a.session.network().own(), 0U);
}

// Of other makes: what they ask for, and what is answered.
struct OneEnd {
  WaitingPackets out;
  CollectedPackets in;
  SeededEntropy entropy{Random(3)};
  PppSession session;
  Time now{1s};
  explicit OneEnd(const PppSessionOptions& options = kIpv6) : session(options, out, in, entropy) {
    session.advance(now);
    (void)sent();
  }
  // Frames that it sends.
  std::vector<Packet> sent() {
    std::vector<Packet> frames;
    for (PppFrame frame = session.next(); !frame.header.empty(); frame = session.next()) {
      frames.emplace_back(frame.header.begin(), frame.header.end());
      frames.back().insert(frames.back().end(), frame.information.begin(), frame.information.end());
    }
    return frames;
  }
  std::vector<Packet> answers(std::string_view lcp, PppProtocol protocol = PppProtocol::kLcp) {
    session.frame(protocol, from_hex(lcp));
    session.advance(now);
    return sent();
  }
};

Packet lcp(std::string_view text) {
  Packet frame = from_hex("ff03c021");
  const Packet information = from_hex(text);
  frame.insert(frame.end(), information.begin(), information.end());
  return frame;
}

TEST(PppLink, RejectsEveryOptionButTheReceiveUnitAndTheMagicNumber) {
  OneEnd end;
  // ACCM, authentication, quality, PFC, ACFC, FCS-Alternatives, and the two that are known.
  EXPECT_THAT(end.answers("01070023"
                          "0206000a0000"
                          "0304c023"
                          "0404c025"
                          "0702"
                          "0802"
                          "090304"
                          "010405dc"
                          "050611223344"),
              ElementsAre(lcp("04070019"
                              "0206000a0000"
                              "0304c023"
                              "0404c025"
                              "0702"
                              "0802"
                              "090304")));
  EXPECT_EQ(end.session.link_state(), State::kReqSent);
  EXPECT_THAT(end.answers("0108000e"
                          "010405dc"
                          "050611223344"),
              ElementsAre(lcp("0208000e"
                              "010405dc"
                              "050611223344")));
  EXPECT_EQ(end.session.link_state(), State::kAckSent);
}

TEST(PppLink, WishesFor1500WhereAReceiveUnitCannotBeAndRejectsItInTheEnd) {
  OneEnd end;
  for (int i = 0; i < 5; ++i)
    EXPECT_THAT(end.answers("010100080104007f"), ElementsAre(lcp("03010008010405dc")));
  EXPECT_THAT(end.answers("010100080104007f"), ElementsAre(lcp("040100080104007f")));
}

TEST(PppLink, AnswersEchoesTerminateAndUnknownCodes) {
  PppPair pair;
  ASSERT_TRUE(pair.come_up());
  PppSession& session = pair.a.session;
  const auto answer = [&](std::string_view text) {
    session.frame(PppProtocol::kLcp, from_hex(text));
    session.advance(pair.now);
    const PppFrame frame = session.next();
    return Packet(frame.header.begin(), frame.header.end());
  };
  Packet reply = lcp("0a0500090000000077");
  wire::store_be32(reply.data() + 8, session.link().magic());
  EXPECT_EQ(answer("09050009"
                   "11223344"
                   "77"),
            reply);
  EXPECT_EQ(answer("0b060008"
                   "11223344"),
            Packet());  // Discard-Request
  EXPECT_EQ(answer("0f070006"
                   "abcd"),
            lcp("0700000a"
                "0f070006"
                "abcd"));
  EXPECT_EQ(answer("05090004"), lcp("06090004"));
  EXPECT_EQ(session.link_state(), State::kStopping);
  EXPECT_FALSE(session.up());
}

TEST(PppLink, RejectsProtocolsThatItDoesNotKnowOnceOpened) {
  PppPair pair;
  pair.a.session.frame(PppProtocol(0x8207), from_hex("01020004"));
  EXPECT_EQ(pair.a.count(PppCounter::kProtocolsDiscarded), 1U);
  ASSERT_TRUE(pair.come_up());
  pair.a.session.frame(PppProtocol(0x8207), from_hex("01020004"));
  const PppFrame frame = pair.a.session.next();
  const Packet sent(frame.header.begin(), frame.header.end());
  EXPECT_EQ(Packet(sent.begin() + 6, sent.end()), from_hex("000a"
                                                           "8207"
                                                           "01020004"));
  EXPECT_EQ(sent[4], std::byte{8});
}

TEST(PppLink, TakesOneAnswerAndOnlyToItsLastRequest) {
  OneEnd end;
  EXPECT_THAT(end.answers("02630004"), IsEmpty());
  EXPECT_EQ(end.session.counters().get(PppCounter::kControlUnasked), 1U);
  EXPECT_EQ(end.session.link_state(), State::kReqSent);
}

TEST(PppLink, CountsPacketsWhoseLengthsDoNotFit) {
  OneEnd end;
  for (const char* text : {"0101", "01010003", "01010009010405", "010100080105dc00",
                           "01010006"
                           "0100",
                           "07010004"})
    EXPECT_THAT(end.answers(text), IsEmpty()) << text;
  EXPECT_EQ(end.session.counters().get(PppCounter::kControlMalformed), 6U);
}

TEST(PppSession, AsksTenTimesThenPausesAndBeginsAnew) {
  OneEnd end;  // has asked once
  int asked = 1;
  while (end.session.counters().get(PppCounter::kGivenUp) == 0) {
    ASSERT_LT(asked, 20);
    end.now = end.session.next_deadline();
    end.session.advance(end.now);
    asked += static_cast<int>(end.sent().size());
  }
  EXPECT_EQ(asked, 10);
  EXPECT_EQ(end.now, Time{1s} + 30s);
  EXPECT_EQ(end.session.link_state(), State::kStopped);
  end.now = end.session.next_deadline();
  EXPECT_EQ(end.now, Time{1s} + 33s);
  end.session.advance(end.now);
  EXPECT_EQ(end.session.link_state(), State::kReqSent);
}

TEST(PppSession, GoesDownAfterThreeEchoesWithoutAnAnswerAndComesBack) {
  PppPair pair;
  ASSERT_TRUE(pair.come_up());
  pair.run(5s);
  EXPECT_TRUE(pair.up());
  EXPECT_EQ(pair.a.count(PppCounter::kEchoesLost), 0U);
  pair.harm = [](Packet& octets, bool there) {
    if (there) octets.assign(octets.size(), kPppFlag);
  };
  const Time cut = pair.now;
  ASSERT_TRUE(pair.run_until([&] { return !pair.a.session.up(); }, 10s));
  EXPECT_LE(pair.now - cut, 4s + 20ms);
  EXPECT_EQ(pair.a.count(PppCounter::kQualityFailures), 1U);
  ASSERT_TRUE(pair.run_until([&] { return !pair.b.session.up(); }, 10s));
  pair.harm = [](Packet&, bool) {};
  EXPECT_TRUE(pair.come_up(20s));
}

TEST(PppSession, IsNeverUpOnALineThatLeadsBackAndKnowsWhy) {
  for (const PppSessionOptions& options : {kIpv6, PppSessionOptions{}}) {
    PppPair pair(options, options);
    pair.looped = true;
    pair.run(60s);
    EXPECT_FALSE(pair.a.session.up());
    EXPECT_TRUE(pair.a.session.link().is_looped());
    EXPECT_GE(pair.a.count(PppCounter::kLooped), 3U);
    pair.looped = false;
    EXPECT_TRUE(pair.come_up(40s));
    EXPECT_FALSE(pair.a.session.link().is_looped());
  }
}

TEST(PppSession, GoesDownWhereTheLineIsLoopedWhileItIsUp) {
  PppPair pair;
  ASSERT_TRUE(pair.come_up());
  pair.looped = true;
  EXPECT_TRUE(pair.run_until([&] { return !pair.a.session.up(); }, 2s));
}

TEST(PppSession, FollowsTheLineBelow) {
  PppPair pair;
  ASSERT_TRUE(pair.come_up());
  pair.a.session.set_line(false);
  pair.run(10ms);
  EXPECT_FALSE(pair.a.session.up());
  EXPECT_EQ(pair.a.session.link_state(), State::kStarting);
  pair.a.session.set_line(true);
  EXPECT_TRUE(pair.come_up());
}

TEST(PppSession, EndsWithTheOtherEndsConsent) {
  PppPair pair(kIpv6, kIpv6);
  ASSERT_TRUE(pair.come_up());
  pair.a.session.set_wanted(false);
  pair.run(100ms);
  EXPECT_EQ(pair.a.session.link_state(), State::kClosed);
  EXPECT_FALSE(pair.b.session.up());
  pair.run(20s);
  EXPECT_FALSE(pair.b.session.up());
  pair.a.session.set_wanted(true);
  EXPECT_TRUE(pair.come_up(10s));
}

TEST(PppSession, GivesUpWhereTheOtherEndCarriesSomethingElse) {
  PppPair pair(kIpv6, {.payload = PppPayload::kMpls});
  pair.run(60s);
  EXPECT_FALSE(pair.a.session.up());
  EXPECT_FALSE(pair.b.session.up());
  EXPECT_GE(pair.a.count(PppCounter::kProtocolsRejected), 1U);
  EXPECT_GE(pair.a.count(PppCounter::kGivenUp), 1U);
}

TEST(PppSession, KeepsNoMoreThanSoManyControlPackets) {
  OneEnd end;
  for (int i = 0; i < 100; ++i)
    end.session.frame(PppProtocol::kLcp, from_hex("0f070004"));
  EXPECT_EQ(end.session.counters().get(PppCounter::kControlOverflow), 36U);
  end.session.advance(end.now);
  for (int i = 0; i < 10; ++i)
    end.session.frame(PppProtocol::kLcp, from_hex("0f070004"));
  end.session.advance(end.now);
  EXPECT_EQ(end.session.counters().get(PppCounter::kControlOverflow), 46U);
  EXPECT_EQ(end.sent().size(), 64U);
}

}  // namespace
}  // namespace weft::wan
