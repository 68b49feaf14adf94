// SPDX-License-Identifier: Apache-2.0
// Two stations, or one and what others say, on an Ethernet that is a list of frames.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "encapsulation_stage.h"
#include "wan/neighbour/neighbour_cache.h"

namespace weft::wan {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Kind = NeighbourMessage::Kind;

constexpr MacAddress kWest{2, 0, 0, 0, 0, 1};
constexpr MacAddress kNeighbourEast{2, 0, 0, 0, 0, 2};
constexpr MacAddress kNeighbourOther{2, 0, 0, 0, 0, 9};

struct Station final : NeighbourUser {
  Station(const MacAddress& mac, const Gid& own) : cache(mac, own, {}, *this) {}
  void send(const NeighbourFrame& frame, Time) override {
    sent.emplace_back(frame.bytes().begin(), frame.bytes().end());
  }
  void found(const Gid& address, Time) override { news.push_back(cache.find(address)); }
  [[nodiscard]] std::uint64_t count(NeighbourCounter counter) const {
    return cache.counters().snapshot()[static_cast<std::size_t>(counter)].value;
  }

  NeighbourCache cache;
  std::vector<std::vector<std::byte>> sent;
  std::vector<std::optional<MacAddress>> news;
};

class Neighbours : public ::testing::TestWithParam<bool> {
 protected:
  Neighbours()
      : ends_(here(GetParam())), west_(kWest, ends_.local), east_(kNeighbourEast, ends_.remote) {}

  // Until nobody says anything any more; `deaf` hears nothing.
  void exchange(const Station* deaf = nullptr) {
    for (int round = 0; round < 10; ++round) {
      pass(west_, east_, deaf);
      pass(east_, west_, deaf);
    }
  }
  void pass(Station& from, Station& to, const Station* deaf) {
    for (const auto& frame : std::exchange(from.sent, {})) {
      if (&to == deaf) continue;
      EXPECT_TRUE(to.cache.receive(frame, now_));
    }
  }
  // Everything that is due within so long happens when it is due.
  void let(Duration time, const Station* deaf = nullptr) {
    const Time end = now_ + time;
    for (;;) {
      Time next = end;
      for (const Station* station : {&west_, &east_})
        next = std::min(next, station->cache.deadline().value_or(end));
      now_ = std::max(now_, next);
      if (now_ >= end) break;
      west_.cache.run(now_);
      east_.cache.run(now_);
      exchange(deaf);
    }
  }
  static NeighbourFrame advertisement(const Gid& of, const MacAddress& mac, bool solicited,
                                      bool overrides) {
    return {{.kind = Kind::kAdvertisement,
             .sender = of,
             .target = of,
             .mac = mac,
             .solicited = solicited,
             .overrides = overrides},
            mac,
            solicited ? kWest : MacAddress{},
            here(of.is_ipv4_mapped()).local};
  }

  [[nodiscard]] NeighbourFrame question(const Gid& of, const MacAddress& mac,
                                        const std::optional<Gid>& target = {}) const {
    return {{.kind = Kind::kSolicitation,
             .sender = of,
             .target = target.value_or(ends_.local),
             .mac = mac},
            mac,
            kWest,
            ends_.local};
  }

  Ends ends_;
  Station west_;
  Station east_;
  Time now_ = Time{} + 1h;
};

TEST_P(Neighbours, FindEachOther) {
  west_.cache.look_for(ends_.remote, now_);
  EXPECT_EQ(west_.cache.find(ends_.remote), std::nullopt);
  EXPECT_EQ(west_.cache.state_text(ends_.remote), "looking");
  let(1ms);
  EXPECT_EQ(west_.cache.state_text(ends_.remote), "reachable");
  EXPECT_EQ(west_.cache.find(ends_.remote), kNeighbourEast);
  EXPECT_THAT(west_.news, ElementsAre(kNeighbourEast));
  EXPECT_EQ(east_.cache.find(ends_.local), std::nullopt) << "nobody has looked for it";
  EXPECT_EQ(west_.count(NeighbourCounter::kAsked), 1u);
  EXPECT_EQ(east_.count(NeighbourCounter::kAnswered), 1u);
}

TEST_P(Neighbours, LookForAsLongAsNobodyAnswers) {
  west_.cache.look_for(ends_.remote, now_);
  let(1h, &east_);
  EXPECT_EQ(west_.count(NeighbourCounter::kAsked), 3600u);
  EXPECT_THAT(west_.news, IsEmpty());
  let(2s);
  EXPECT_EQ(west_.cache.find(ends_.remote), kNeighbourEast);
}

TEST_P(Neighbours, AreAskedWhetherTheyAreThereOnlyWhenNothingCame) {
  west_.cache.look_for(ends_.remote, now_);
  let(1ms);
  for (int i = 0; i < 100; ++i) {
    let(20s);
    west_.cache.confirm(ends_.remote, now_);
  }
  EXPECT_EQ(west_.count(NeighbourCounter::kAsked), 1u);
  let(31s);
  EXPECT_EQ(west_.count(NeighbourCounter::kAsked), 2u);
  EXPECT_EQ(west_.news.size(), 1u);
}

TEST_P(Neighbours, AreLostAfterThreeQuestionsAndFoundAgain) {
  west_.cache.look_for(ends_.remote, now_);
  let(1ms);
  let(32s + 900ms, &east_);
  EXPECT_EQ(west_.cache.find(ends_.remote), kNeighbourEast) << "it may still answer";
  EXPECT_EQ(west_.cache.state_text(ends_.remote), "probing");
  let(200ms, &east_);
  EXPECT_EQ(west_.cache.find(ends_.remote), std::nullopt);
  EXPECT_EQ(west_.count(NeighbourCounter::kLost), 1u);
  let(2s);
  EXPECT_THAT(west_.news, ElementsAre(kNeighbourEast, std::nullopt, kNeighbourEast));
}

// The question of who is looked for says where he is; he is asked alone whether that is true.
TEST_P(Neighbours, AreKnownByWhatTheyAsk) {
  east_.cache.look_for(ends_.local, now_);
  west_.cache.look_for(ends_.remote, now_ + 1h);
  east_.cache.run(now_);
  exchange();
  EXPECT_EQ(west_.cache.find(ends_.remote), kNeighbourEast);
  EXPECT_EQ(east_.cache.find(ends_.local), kWest);
  EXPECT_EQ(west_.cache.deadline(), now_);
  west_.cache.run(now_);
  ASSERT_EQ(west_.sent.size(), 1u);
  EXPECT_EQ(hex_of(Bytes(west_.sent[0]).first(6)), "02 00 00 00 00 02") << "not all are asked";
}

// However long it was looked for: it has as many questions as any other before it is lost again.
TEST_P(Neighbours, AreNotLostAtOnceWhenTheirQuestionShowsThem) {
  west_.cache.look_for(ends_.remote, now_);
  let(1h, &east_);
  east_.cache.look_for(ends_.local, now_);
  let(1ms, &west_);  // nobody hears what west has asked yet
  west_.cache.receive(question(ends_.remote, kNeighbourEast).bytes(), now_);
  let(2500ms, &east_);
  EXPECT_EQ(west_.cache.find(ends_.remote), kNeighbourEast);
  EXPECT_EQ(west_.count(NeighbourCounter::kLost), 0u);
}

TEST_P(Neighbours, AreAskedAgainOnlyWhenTheirQuestionSaysSomethingNew) {
  west_.cache.look_for(ends_.remote, now_);
  let(1ms);
  const auto due = west_.cache.deadline();
  west_.cache.receive(question(ends_.remote, kNeighbourEast).bytes(), now_ + 1s);
  EXPECT_EQ(west_.cache.deadline(), due);
  west_.cache.receive(question(ends_.remote, kNeighbourOther).bytes(), now_ + 1s);
  EXPECT_EQ(west_.cache.find(ends_.remote), kNeighbourOther);
  EXPECT_EQ(west_.cache.deadline(), now_ + 1s);
}

TEST_P(Neighbours, AreNotFoundByWhatOnlyConfirmsThem) {
  west_.cache.look_for(ends_.remote, now_);
  west_.cache.confirm(ends_.remote, now_);
  EXPECT_EQ(west_.cache.find(ends_.remote), std::nullopt);
  EXPECT_EQ(west_.cache.deadline(), now_);
}

TEST_P(Neighbours, AreLookedForOnceHoweverOftenThatIsWanted) {
  west_.cache.look_for(ends_.remote, now_);
  west_.cache.look_for(ends_.remote, now_);
  west_.cache.run(now_);
  EXPECT_EQ(west_.sent.size(), 1u);
}

TEST_P(Neighbours, AreWhereTheLastAnswerSays) {
  west_.cache.look_for(ends_.remote, now_);
  let(1ms);
  EXPECT_TRUE(
      west_.cache.receive(advertisement(ends_.remote, kNeighbourOther, true, true).bytes(), now_));
  EXPECT_EQ(west_.cache.find(ends_.remote), kNeighbourOther);
  // Who tells everybody unasked is believed, and asked.
  EXPECT_TRUE(
      west_.cache.receive(advertisement(ends_.remote, kNeighbourEast, false, true).bytes(), now_));
  EXPECT_EQ(west_.cache.find(ends_.remote), kNeighbourEast);
  EXPECT_EQ(west_.cache.deadline(), now_);
}

TEST_P(Neighbours, KeepNothingThatNobodyLooksFor) {
  for (unsigned i = 10; i < 200; ++i) {
    const Gid address =
        GetParam() ? Gid::from_ipv4(0xC0000200U + i) : ipv6(static_cast<std::uint8_t>(i));
    west_.cache.receive(advertisement(address, kNeighbourOther, true, true).bytes(), now_);
    EXPECT_EQ(west_.cache.find(address), std::nullopt);
  }
  EXPECT_THAT(west_.sent, IsEmpty());
  EXPECT_EQ(west_.cache.deadline(), std::nullopt);
}

TEST_P(Neighbours, NoticeWhoElseHasTheirAddress) {
  west_.cache.receive(advertisement(ends_.local, kNeighbourOther, false, true).bytes(), now_);
  EXPECT_EQ(west_.count(NeighbourCounter::kConflict), 1u);
  west_.cache.receive(question(ends_.local, kNeighbourOther, ends_.remote).bytes(), now_);
  EXPECT_EQ(west_.count(NeighbourCounter::kConflict), 2u);
  // Its own, come back.
  west_.cache.receive(advertisement(ends_.local, kWest, false, true).bytes(), now_);
  EXPECT_EQ(west_.count(NeighbourCounter::kConflict), 2u);
}

// Every byte that is not free to choose: the message is refused or means something else.
TEST_P(Neighbours, NoticeEveryChangedBit) {
  const NeighbourMessage question{
      .kind = Kind::kSolicitation, .sender = ends_.local, .target = ends_.remote, .mac = kWest};
  const NeighbourFrame frame(question, kWest, {}, {});
  const auto whole = read_neighbour_message(frame.bytes());
  ASSERT_TRUE(whole);
  EXPECT_EQ(*whole, question);
  for (std::size_t bit = 12 * 8; bit < frame.bytes().size() * 8; ++bit) {
    std::vector<std::byte> changed(frame.bytes().begin(), frame.bytes().end());
    changed[bit / 8] ^= std::byte{1} << (bit % 8);
    // IPv6's traffic class and flow label, and what ARP does not say when it asks.
    const std::size_t at = bit / 8;
    const bool free = GetParam() ? at >= 32 && at < 38 : at >= 14 && at < 18 && bit / 4 != 29;
    if (free) continue;
    const auto read = read_neighbour_message(changed);
    EXPECT_FALSE(read && *read == question) << "bit " << bit;
  }
  for (std::size_t size = 0; size < frame.bytes().size(); ++size)
    EXPECT_FALSE(read_neighbour_message(frame.bytes().first(size))) << size;
}

INSTANTIATE_TEST_SUITE_P(Each, Neighbours, ::testing::Bool(),
                         [](const auto& kind) { return kind.param ? "Arp" : "Discovery"; });

// As they cross a wire between two Linux hosts.
TEST(NeighbourMessages, AreThoseOfOthers) {
  const auto arp = read_neighbour_message(
      bytes_of("ff ff ff ff ff ff 02 00 00 00 00 01 08 06 00 01 08 00 06 04 00 01"
               "02 00 00 00 00 01 c0 00 02 01 00 00 00 00 00 00 c0 00 02 02"));
  ASSERT_TRUE(arp);
  EXPECT_EQ(*arp, (NeighbourMessage{.kind = Kind::kSolicitation,
                                    .sender = here(true).local,
                                    .target = here(true).remote,
                                    .mac = kWest}));
  EXPECT_EQ(hex_of(NeighbourFrame(*arp, kWest, {}, {}).bytes()),
            "ff ff ff ff ff ff 02 00 00 00 00 01 08 06 00 01 08 00 06 04 00 01 "
            "02 00 00 00 00 01 c0 00 02 01 00 00 00 00 00 00 c0 00 02 02");
}

TEST(NeighbourMessages, AreNotOtherProtocols) {
  const auto of = [](std::string_view hex) {
    return read_neighbour_message(bytes_of(hex)).error();
  };
  EXPECT_EQ(of("02 00"), NotNeighbour::kOther);
  EXPECT_EQ(of("02 00 00 00 00 02 02 00 00 00 00 01 88 b5 01"), NotNeighbour::kOther);
  EXPECT_EQ(of("02 00 00 00 00 02 02 00 00 00 00 01 86 dd 60 00"), NotNeighbour::kOther);
  EXPECT_EQ(of("02 00 00 00 00 02 02 00 00 00 00 01 08 06 00 01"), NotNeighbour::kMalformed);
}

// RFC 4861, 7.2.5. ARP has no such answers.
TEST(NeighbourMessages, ThatDoNotOverrideHaveTheStationAskedWhereItWas) {
  const Time now = Time{} + 1h;
  const auto answer = [](const MacAddress& mac) {
    const NeighbourMessage message{.kind = Kind::kAdvertisement,
                                   .sender = ipv6(2),
                                   .target = ipv6(2),
                                   .mac = mac,
                                   .solicited = true,
                                   .overrides = false};
    return NeighbourFrame(message, mac, kWest, ipv6(1));
  };
  Station west(kWest, ipv6(1));
  west.cache.look_for(ipv6(2), now);
  west.cache.receive(answer(kNeighbourEast).bytes(), now);
  EXPECT_EQ(west.cache.find(ipv6(2)), kNeighbourEast) << "there was nothing to override";
  EXPECT_EQ(west.cache.deadline(), now + 30s);
  west.cache.receive(answer(kNeighbourOther).bytes(), now);
  EXPECT_EQ(west.cache.find(ipv6(2)), kNeighbourEast);
  EXPECT_EQ(west.cache.deadline(), now);
  west.cache.run(now);
  west.cache.receive(answer(kNeighbourOther).bytes(), now);
  EXPECT_EQ(west.cache.deadline(), now + 1s) << "it is asked already";
}

// A station asks whether its address is taken (RFC 4862, 5.4.2).
TEST(NeighbourMessages, OfThoseWithoutAnAddressAreAnsweredToAll) {
  Station west(kWest, ipv6(1));
  const auto probe = bytes_of(
      "33 33 ff 00 00 01 02 00 00 00 00 09 86 dd 60 00 00 00 00 18 3a ff"
      "00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00"
      "ff 02 00 00 00 00 00 00 00 00 00 01 ff 00 00 01"
      "87 00 7d a5 00 00 00 00 fd 00 00 00 00 00 00 00 00 00 00 00 00 00 00 01");
  EXPECT_TRUE(west.cache.receive(probe, Time{} + 1h));
  ASSERT_EQ(west.sent.size(), 1u);
  EXPECT_EQ(hex_of(Bytes(west.sent[0]).first(6)), "33 33 00 00 00 01");
  const auto answer = read_neighbour_message(west.sent[0]);
  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, (NeighbourMessage{.kind = Kind::kAdvertisement,
                                       .sender = ipv6(1),
                                       .target = ipv6(1),
                                       .mac = kWest,
                                       .solicited = false,
                                       .overrides = true}));
}

// The same in ARP (RFC 5227, 2.1.1), where who asks says at which Ethernet address he is.
TEST(NeighbourMessages, OfThoseWithoutAnAddressAreAnsweredToThemByArp) {
  Station west(kWest, here(true).local);
  const auto probe = bytes_of(
      "ff ff ff ff ff ff 02 00 00 00 00 09 08 06 00 01 08 00 06 04 00 01"
      "02 00 00 00 00 09 00 00 00 00 00 00 00 00 00 00 c0 00 02 01");
  EXPECT_TRUE(west.cache.receive(probe, Time{} + 1h));
  ASSERT_EQ(west.sent.size(), 1u);
  EXPECT_EQ(hex_of(west.sent[0]),
            "02 00 00 00 00 09 02 00 00 00 00 01 08 06 00 01 08 00 06 04 00 02 "
            "02 00 00 00 00 01 c0 00 02 01 02 00 00 00 00 09 00 00 00 00");
  const auto answer = read_neighbour_message(west.sent[0]);
  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, (NeighbourMessage{.kind = Kind::kAdvertisement,
                                       .sender = here(true).local,
                                       .target = here(true).local,
                                       .mac = kWest,
                                       .solicited = true,
                                       .overrides = true}));
  // Nobody asks for nobody.
  const auto for_nobody = bytes_of(
      "ff ff ff ff ff ff 02 00 00 00 00 09 08 06 00 01 08 00 06 04 00 01"
      "02 00 00 00 00 09 c0 00 02 09 00 00 00 00 00 00 00 00 00 00");
  EXPECT_EQ(read_neighbour_message(for_nobody).error(), NotNeighbour::kMalformed);
}

}  // namespace
}  // namespace weft::wan
