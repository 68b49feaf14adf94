// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/sscop.h"

#include <gtest/gtest.h>

#include "cell_stage.h"
#include "sim/seeds.h"

namespace weft::wan::atm {
namespace {

TEST(SscopPdu, HasTheLayoutOfTheStandard) {
  const Octets message = from_hex("0102030405");
  EXPECT_EQ(to_hex(write_sscop({.type = SscopType::kData, .number = 7, .message = message})),
            "0102030405000000c8000007");
  EXPECT_EQ(to_hex(write_sscop({.type = SscopType::kBegin, .most = 32, .connection = 9})),
            "0000000901000020");
  EXPECT_EQ(to_hex(write_sscop({.type = SscopType::kEnd, .by_sscop = true})), "0000000013000000");
  EXPECT_EQ(to_hex(write_sscop({.type = SscopType::kPoll, .number = 5, .poll = 3})),
            "000000030a000005");
  EXPECT_EQ(to_hex(write_sscop(
                {.type = SscopType::kStatus, .number = 4, .most = 40, .poll = 3, .list = {4, 5}})),
            "0000000400000005"
            "00000003"
            "00000028"
            "0b000004");
}

TEST(SscopPdu, IsReadAsItIsWritten) {
  Random random(1);
  for (unsigned type = 1; type <= 15; ++type) {
    const Octets message = random_octets(random, random.below(30));
    SscopPdu pdu{.type = static_cast<SscopType>(type)};
    if (type == 8 || type == 13 || type == 14) pdu.message = message;
    if (type == 11) pdu.list = {1, 2, 3};
    if (type == 12) pdu.list = {1, 2};
    const std::vector<std::byte> bytes = write_sscop(pdu);
    const auto read = read_sscop(bytes);
    ASSERT_TRUE(read) << type;
    EXPECT_EQ(read->type, pdu.type);
    EXPECT_EQ(read->list, pdu.list);
    EXPECT_TRUE(std::ranges::equal(read->message, pdu.message));
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_TRUE(size % 4 == 0 || !read_sscop(Bytes(bytes).first(size)));
    }
  }
  EXPECT_FALSE(read_sscop(from_hex("00000000")));
  EXPECT_FALSE(read_sscop(from_hex("c8000000")));
  // USTAT names one gap, by two numbers: not by one, not by three.
  EXPECT_FALSE(read_sscop(from_hex("00000001000000200c000000")));
  EXPECT_FALSE(read_sscop(from_hex("000000010000000200000003000000200c000000")));
}

struct SscopEnd final : SscopUser {
  explicit SscopEnd(const SscopOptions& options) : sscop(options, *this) {}
  void established(Time) override { ++establishments; }
  void released(Time) override { ++releases; }
  void message(Bytes message, Time) override { came.emplace_back(message.begin(), message.end()); }
  Sscop sscop;
  int establishments = 0;
  int releases = 0;
  std::vector<Octets> came;
};

class SscopWorld {
 public:
  explicit SscopWorld(std::uint64_t seed = 1, const SscopOptions& options = {})
      : ends{SscopEnd(options), SscopEnd(options)}, random_(seed) {}

  void run_for(Duration time) {
    for (const Time end = now + time; now < end; now += 10ms)
      step();
  }
  void step() {
    for (SscopEnd& end : ends)
      end.sscop.advance(now);
    std::array<std::vector<Octets>, 2> out;
    for (std::size_t i = 0; i < 2; ++i) {
      for (Bytes pdu = ends[i].sscop.next_pdu(); !pdu.empty(); pdu = ends[i].sscop.next_pdu())
        out[i].emplace_back(pdu.begin(), pdu.end());
    }
    for (std::size_t i = 0; i < 2; ++i) {
      for (const Octets& pdu : out[i]) {
        if (!random_.chance(loss)) ends[1 - i].sscop.receive(pdu, now);
      }
    }
  }

  [[nodiscard]] std::size_t under_way() const {
    return ends[0].sscop.under_way() + ends[1].sscop.under_way();
  }
  // In the connection that was the first.
  [[nodiscard]] bool stayed() const {
    return std::ranges::all_of(ends, [](const SscopEnd& end) {
      return end.establishments == 1 && end.sscop.state() == SscopState::kReady;
    });
  }

  std::array<SscopEnd, 2> ends;
  double loss = 0;
  Time now{};

 private:
  Random random_;
};

TEST(SscopConnection, IsEstablishedCarriesAndIsReleased) {
  SscopWorld world;
  world.ends[0].sscop.establish(world.now);
  world.run_for(100ms);
  EXPECT_EQ(world.ends[0].establishments, 1);
  EXPECT_EQ(world.ends[1].establishments, 1);
  ASSERT_TRUE(world.ends[1].sscop.send(from_hex("0203"), world.now));
  world.run_for(1s);
  EXPECT_EQ(world.ends[0].came, (std::vector<Octets>{from_hex("0203")}));
  EXPECT_EQ(world.ends[1].sscop.under_way(), 0U);
  world.run_for(60s);
  EXPECT_EQ(world.ends[0].sscop.state(), SscopState::kReady);
  world.ends[0].sscop.release(world.now);
  world.run_for(100ms);
  for (const SscopEnd& end : world.ends) {
    EXPECT_EQ(end.releases, 1);
    EXPECT_EQ(end.sscop.state(), SscopState::kIdle);
  }
}

TEST(SscopConnection, IsEstablishedFromBothEndsAtOnce) {
  SscopWorld world;
  for (SscopEnd& end : world.ends)
    end.sscop.establish(world.now);
  world.run_for(100ms);
  for (SscopEnd& end : world.ends) {
    EXPECT_EQ(end.sscop.state(), SscopState::kReady);
    EXPECT_TRUE(end.sscop.send(from_hex("07"), world.now));
  }
  world.run_for(1s);
  EXPECT_EQ(world.ends[0].came.size(), 1U);
  EXPECT_EQ(world.ends[1].came.size(), 1U);
}

TEST(SscopConnection, GivesUpAnEndThatIsNotThereAndOneThatFallsSilent) {
  SscopWorld world;
  world.loss = 1;
  world.ends[0].sscop.establish(world.now);
  world.run_for(3900ms);
  EXPECT_EQ(world.ends[0].releases, 0);
  world.run_for(200ms);
  EXPECT_EQ(world.ends[0].releases, 1);
  EXPECT_EQ(world.ends[0].sscop.counters().get(SscopCounter::kGivenUp), 1U);
  world.loss = 0;
  world.ends[0].sscop.establish(world.now);
  world.run_for(1s);
  world.loss = 1;
  world.run_for(5s);
  EXPECT_EQ(world.ends[0].sscop.state(), SscopState::kReady);
  world.run_for(4s);
  EXPECT_EQ(world.ends[0].sscop.state(), SscopState::kIdle);
  EXPECT_EQ(world.ends[1].sscop.state(), SscopState::kIdle);
}

TEST(SscopConnection, EndsWhereTheOtherEndSaysWhatCannotBe) {
  for (const SscopPdu& wrong : std::initializer_list<SscopPdu>{
           {.type = SscopType::kStatus, .number = 5, .most = 32},
           {.type = SscopType::kStatus, .number = 0, .most = 32, .poll = 99},
           {.type = SscopType::kStatus, .number = 0, .most = 32, .list = {9, 10}},
           {.type = SscopType::kUnsolicited, .number = 0, .most = 32, .list = {0, 7}},
           {.type = SscopType::kPoll, .number = 33, .poll = 1}}) {
    SscopWorld world;
    world.ends[0].sscop.establish(world.now);
    world.run_for(100ms);
    world.ends[0].sscop.receive(write_sscop(wrong), world.now);
    EXPECT_EQ(world.ends[0].sscop.state(), SscopState::kIdle);
    world.run_for(100ms);
    EXPECT_EQ(world.ends[1].sscop.state(), SscopState::kIdle);
  }
}

TEST(SscopConnection, AnswersWhoRecoversOrBeginsAnewAndCountsStrangers) {
  SscopWorld world;
  SscopEnd& end = world.ends[0];
  end.sscop.receive(write_sscop({.type = SscopType::kPoll}), world.now);
  EXPECT_EQ(read_sscop(end.sscop.next_pdu())->type, SscopType::kEnd);
  end.sscop.receive(write_sscop({.type = SscopType::kResync, .connection = 3}), world.now);
  end.sscop.receive(write_sscop({.type = SscopType::kManagement}), world.now);
  end.sscop.receive(write_sscop({.type = SscopType::kEndAck}), world.now);
  EXPECT_EQ(end.sscop.counters().get(SscopCounter::kUnexpected), 4U);
  end.sscop.receive(from_hex("00"), world.now);
  EXPECT_EQ(end.sscop.counters().get(SscopCounter::kMalformed), 1U);
  for (const auto& [type, answer] : {std::pair{SscopType::kBegin, SscopType::kBeginAck},
                                     std::pair{SscopType::kResync, SscopType::kResyncAck},
                                     std::pair{SscopType::kRecovery, SscopType::kRecoveryAck}}) {
    const int before = end.establishments;
    const SscopPdu pdu{
        .type = type, .most = 10, .connection = static_cast<std::uint8_t>(10 + before)};
    end.sscop.receive(write_sscop(pdu), world.now);
    EXPECT_EQ(read_sscop(end.sscop.next_pdu())->type, answer);
    EXPECT_EQ(end.establishments, before + 1);
    end.sscop.receive(write_sscop(pdu), world.now);  // once more: it was answered already
    EXPECT_EQ(read_sscop(end.sscop.next_pdu())->type, answer);
    EXPECT_EQ(end.establishments, before + 1);
  }
}

TEST(SscopConnection, SendsNoMoreThanTheWindowAndKeepsNoMoreThanItMay) {
  SscopWorld world(1, {.window = 64});
  world.ends[0].sscop.establish(world.now);
  world.run_for(100ms);
  EXPECT_FALSE(world.ends[0].sscop.send(Octets(Sscop::kMostMessage + 1), world.now));
  std::size_t taken = 0;
  while (world.ends[0].sscop.send(from_hex("01"), world.now))
    ++taken;
  EXPECT_EQ(taken, 64 + Sscop::kMostWaiting);  // no more than the window is under way
  world.run_for(10s);
  EXPECT_EQ(world.ends[1].came.size(), taken);
}

TEST(SscopLoss, LosesNoMessageAndKeepsTheirOrder) {
  std::uint64_t again = 0;
  for (const std::uint64_t seed : sim::seeds(50)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "SscopLoss.LosesNoMessage*"));
    Random random(seed);
    SscopWorld world(seed, {.window = static_cast<std::uint32_t>(1 + random.below(64))});
    world.ends[0].sscop.establish(world.now);
    world.run_for(100ms);
    const double loss = 0.01 * static_cast<double>(random.below(30));
    world.loss = loss;
    std::array<std::vector<Octets>, 2> sent;
    for (int i = 0; i < 200; ++i) {
      const std::size_t from = random.below(2);
      const Octets message = random_octets(random, 1 + random.below(200));
      if (world.ends[from].sscop.send(message, world.now)) sent[from].push_back(message);
      if (random.chance(0.5)) world.run_for(Duration(random.below(100'000'000)));
    }
    world.loss = 0;
    // More may go once in a Timer_POLL, when STAT says so: a window of one takes that per message.
    const Time latest = world.now + 200s;
    while (world.under_way() != 0 && world.now < latest)
      world.run_for(100ms);
    const bool stayed = world.stayed();
    for (std::size_t to = 0; to < 2; ++to) {
      const std::vector<Octets>& came = world.ends[to].came;
      std::vector<Octets>& all = sent[1 - to];
      if (!stayed && came.size() < all.size()) all.resize(came.size());  // the last ones are lost
      EXPECT_TRUE(came == all) << came.size() << " came of " << all.size();
    }
    EXPECT_TRUE(stayed || loss > 0.1) << "a little loss ends no connection";
    again += world.ends[0].sscop.counters().get(SscopCounter::kSentAgain);
  }
  EXPECT_GT(again, 0U);
}

}  // namespace
}  // namespace weft::wan::atm
