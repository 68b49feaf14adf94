// SPDX-License-Identifier: Apache-2.0
// Forward error correction: the code, what of a block is made again, and tunnels that have it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "sim/seeds.h"
#include "tunnel_world.h"
#include "wan/erasure_code.h"
#include "wan/fec_decoder.h"
#include "wan/fec_encoder.h"

namespace weft::wan {
namespace {

// Bit by bit, apart from the library.
std::uint8_t product(unsigned a, unsigned b) {
  unsigned out = 0;
  for (; b != 0; b >>= 1U) {
    if ((b & 1U) != 0) out ^= a;
    a = (a << 1U) ^ ((a & 0x80U) != 0 ? 0x11DU : 0U);
  }
  return static_cast<std::uint8_t>(out);
}

TEST(ErasureCode, HasTheCoefficientsThatAreWrittenDown) {
  for (std::size_t data = 0; data < FecCode::kMostFrames; ++data) {
    EXPECT_EQ(repair_coefficient(0, data), 1) << "the first repair is the plain sum";
    for (std::size_t repair = 0; repair < FecCode::kMostRepairs; ++repair) {
      const auto divisor = static_cast<unsigned>((255 - repair) ^ data);
      EXPECT_EQ(product(repair_coefficient(repair, data), divisor), 255 ^ data);
    }
  }
}

TEST(ErasureCode, MultipliesAndAddsAtAnyOffset) {
  Random random(3);
  for (const std::size_t size : {1U, 31U, 32U, 33U, 100U, 4096U}) {
    const std::vector<std::uint8_t> coefficients{1, 7, 0, 200};
    const SymbolSums sums(2, 2, coefficients);
    std::vector<std::byte> bytes(size);
    for (std::byte& each : bytes)
      each = static_cast<std::byte>(random.below(256));
    std::vector<std::vector<std::byte>> out(2, std::vector<std::byte>(size + 8, std::byte{9}));
    sums.add(1, bytes, 5, out);
    for (std::size_t row = 0; row < 2; ++row) {
      for (std::size_t i = 0; i < size + 8; ++i) {
        const bool inside = i >= 5 && i < 5 + size;
        const unsigned at = inside ? std::to_integer<unsigned>(bytes[i - 5]) : 0;
        ASSERT_EQ(std::to_integer<unsigned>(out[row][i]),
                  9U ^ product(coefficients[2 * row + 1], at));
      }
    }
  }
}

struct FecSent {
  std::uint64_t number = 0;
  std::vector<std::byte> frame;
};

// Blocks of one encoder, with what left for them.
class Fec : public testing::Test {
 protected:
  struct Block {
    std::vector<FecSent> frames;
    std::vector<FecSent> repairs;  // `frame` is the item's bytes
  };

  // Frames of some lengths, between which others leave; then all repairs.
  Block send(std::size_t frames, std::uint8_t repairs) {
    Block out;
    for (std::size_t i = 0; i < frames; ++i) {
      std::vector<std::byte> frame(random.between(FrameHead::kSize, 300));
      for (std::byte& each : frame)
        each = static_cast<std::byte>(random.below(256));
      const std::size_t cut = random.below(frame.size());
      const std::array<Bytes, 2> parts{Bytes(frame).first(cut), Bytes(frame).subspan(cut)};
      encoder.cover(number, parts, frame.size(), 0, now);
      out.frames.push_back({number, std::move(frame)});
      number += 1 + (random.chance(0.2) ? 1 : 0);
    }
    for (std::uint8_t i = 0; i < repairs; ++i) {
      const RepairItem item = encoder.take(number, now);
      std::vector<std::byte> bytes(RepairItem::kSize + item.symbol.size());
      write_repair_item(item, bytes);
      std::ranges::copy(item.symbol, bytes.begin() + RepairItem::kSize);
      out.repairs.push_back({number++, std::move(bytes)});
    }
    return out;
  }

  void take(const FecSent& repair) {
    std::vector<std::byte> frame(FrameHead::kSize);
    FrameHead{}.write(frame);
    frame.insert(frame.end(), repair.frame.begin(), repair.frame.end());
    auto view = FrameView::parse(frame);
    ASSERT_TRUE(view);
    decoder.take(std::get<RepairItem>(*view->next()), repair.number);
    recover();
  }
  void keep(const FecSent& sent) {
    decoder.keep(sent.number, sent.frame);
    recover();
  }
  void recover() {
    while (const auto again = decoder.next()) {
      EXPECT_TRUE(recovered
                      .emplace(again->number,
                               std::vector<std::byte>(again->frame.begin(), again->frame.end()))
                      .second);
    }
  }
  void begin(const FecCode& code) {
    encoder.begin(code);
    decoder.begin(code);
  }

  Time now{1s};
  std::uint64_t number = 5;
  Random random{1};
  TunnelCounters counters;
  FecEncoder encoder;
  FecDecoder decoder{counters};
  std::map<std::uint64_t, std::vector<std::byte>> recovered;
};

TEST_F(Fec, MakesAnyFramesAgainOfAsManyRepairsInAnyOrder) {
  std::size_t all = 0;
  for (const std::uint64_t seed : sim::seeds(200)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "Fec.MakesAnyFramesAgainOfAsManyRepairsInAnyOrder"));
    random = Random(seed);
    const FecCode code{.frames = static_cast<std::uint8_t>(random.between(1, 32)),
                       .repairs = static_cast<std::uint8_t>(random.between(1, 8))};
    begin(code);
    recovered.clear();
    const Block block = send(random.between(1, code.frames), code.repairs);
    std::set<std::size_t> lost;
    const std::size_t most = std::min<std::size_t>(block.frames.size(), code.repairs);
    while (lost.size() < most)
      lost.insert(random.below(block.frames.size()));
    // Repairs that are lost leave as many fewer for frames.
    const std::size_t lost_repairs = random.below(most);
    while (lost.size() > code.repairs - lost_repairs)
      lost.erase(lost.begin());
    std::vector<std::pair<bool, std::size_t>> order;
    for (std::size_t i = 0; i < block.frames.size(); ++i)
      if (!lost.contains(i)) order.emplace_back(false, i);
    for (std::size_t i = lost_repairs; i < block.repairs.size(); ++i)
      order.emplace_back(true, i);
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[random.below(i)]);
    for (const auto& [repair, index] : order)
      repair ? take(block.repairs[index]) : keep(block.frames[index]);
    // And those that were only late, if the repairs came first.
    for (const std::size_t index : lost) {
      ASSERT_TRUE(recovered.contains(block.frames[index].number)) << index;
      EXPECT_EQ(recovered.at(block.frames[index].number), block.frames[index].frame);
    }
    for (const auto& sent : block.frames)
      if (recovered.contains(sent.number)) {
        EXPECT_EQ(recovered.at(sent.number), sent.frame);
      }
    all += lost.size();
    EXPECT_EQ(counters.get(TunnelCounter::kRxRepairRefused), 0u);
    if (HasFailure()) return;
  }
  EXPECT_GT(all, 200u);
}

TEST_F(Fec, MakesNothingOfTooFewRepairsAndCountsWhatIsMissing) {
  begin({.frames = 8, .repairs = 2});
  const Block block = send(8, 2);
  for (std::size_t i = 3; i < 8; ++i)
    keep(block.frames[i]);
  take(block.repairs[0]);
  take(block.repairs[1]);
  EXPECT_TRUE(recovered.empty());
  keep(block.frames[1]);
  EXPECT_EQ(recovered.size(), 2u) << "one that was only late has come";
  const Block next = send(8, 2);
  take(next.repairs[0]);
  for (int i = 0; i < 40; ++i) {
    for (const FecSent& sent : send(8, 2).frames)
      keep(sent);
  }
  EXPECT_EQ(recovered.size(), 2u);
  EXPECT_EQ(counters.get(TunnelCounter::kRxUnrecovered), 8u);
}

TEST_F(Fec, MakesNothingOfWhatSomebodyHasChanged) {
  begin({.frames = 8, .repairs = 2});
  // A byte of a frame that has come: with XOR alone it would be one of the lost frame too.
  Block block = send(8, 2);
  block.frames[4].frame[40 % block.frames[4].frame.size()] ^= std::byte{1};
  for (std::size_t i = 1; i < 8; ++i)
    keep(block.frames[i]);
  take(block.repairs[0]);
  EXPECT_EQ(counters.get(TunnelCounter::kRxRepairRefused), 1u);
  // A byte of a repair; and two that say different things.
  block = send(8, 2);
  for (std::size_t i = 1; i < 8; ++i)
    keep(block.frames[i]);
  block.repairs[0].frame[RepairItem::kSize + 20] ^= std::byte{1};
  take(block.repairs[0]);
  EXPECT_EQ(counters.get(TunnelCounter::kRxRepairRefused), 2u);
  block = send(8, 2);
  for (std::size_t i = 2; i < 8; ++i)
    keep(block.frames[i]);
  take(block.repairs[1]);
  block.repairs[0].frame[18] ^= std::byte{1};  // of the checksum
  take(block.repairs[0]);
  EXPECT_EQ(counters.get(TunnelCounter::kRxRepairRefused), 3u);
  EXPECT_TRUE(recovered.empty());
}

TEST_F(Fec, OfAnotherCodeIsRefused) {
  begin({.frames = 8, .repairs = 2});
  const Block block = send(8, 2);
  decoder.begin({.frames = 4, .repairs = 2});
  take(block.repairs[0]);
  decoder.begin({.frames = 8, .repairs = 1});
  take(block.repairs[1]);
  decoder.begin({});
  take(block.repairs[0]);
  EXPECT_EQ(counters.get(TunnelCounter::kRxRepairRefused), 3u);
  EXPECT_TRUE(recovered.empty());
}

TEST_F(Fec, ClosesABlockThatIsNotFullWhenTrafficPauses) {
  begin({.frames = 8, .repairs = 1});
  EXPECT_FALSE(encoder.deadline());
  const Block half = send(3, 0);
  EXPECT_FALSE(encoder.full());
  EXPECT_FALSE(encoder.pauses(now));
  EXPECT_EQ(encoder.deadline(), now + FecEncoder::kPause);
  now += FecEncoder::kPause;
  EXPECT_TRUE(encoder.pauses(now));
  const Block repairs = send(0, 1);
  EXPECT_FALSE(encoder.deadline());
  keep(half.frames[0]);
  keep(half.frames[2]);
  take(repairs.repairs[0]);
  EXPECT_EQ(recovered.at(half.frames[1].number), half.frames[1].frame);
}

// --- tunnels -------------------------------------------------------------------------------------

struct Crossed {
  double mean_ms = 0;
  Duration longest = 0ns;
  std::uint64_t repeated = 0;
  std::uint64_t recovered = 0;
  std::uint64_t repairs = 0;
};

// 10,000 packets a second for two seconds over a WAN of which one frame in a hundred is lost.
Crossed cross(const FecCode& code, Duration delay) {
  WorldOptions options;
  options.tunnel.fec = code;
  options.buffer.lane_bytes = 16U << 20;
  options.wan = {.delay = delay, .loss = 0.01};
  World world(options);
  EXPECT_TRUE(world.activate()) << world.describe();
  std::vector<Time> sent;
  Crossed out;
  Duration sum = 0ns;
  std::size_t came = 0;
  world.at_each_moment = [&] {
    for (; came < world.sites[1]->seen[0]; ++came) {
      const Duration took = world.now() - sent[came];
      sum += took;
      out.longest = std::max(out.longest, took);
    }
  };
  for (int i = 0; i < 20'000; ++i) {
    sent.push_back(world.now());
    EXPECT_TRUE(world.sites[0]->send(Sl{0}, Vl{0}, 1024));
    world.run_for(100us);
  }
  world.run_for(5s);
  EXPECT_EQ(came, sent.size());
  EXPECT_EQ(world.sites[1]->disorder + world.sites[1]->damaged, 0u);
  EXPECT_EQ(world.pool.in_use(), 0u);
  out.mean_ms = std::chrono::duration<double, std::milli>(sum).count() / 20'000;
  out.repeated = world.count(0, TunnelCounter::kTxRepeated);
  out.recovered = world.count(1, TunnelCounter::kRxRecovered);
  out.repairs = world.count(0, TunnelCounter::kTxRepairs);
  return out;
}

TEST(FecTunnel, RepeatsLittleAndWaitsForLittleWhereTheWanLosesOneInAHundred) {
  const Crossed without = cross({}, 50ms);
  const Crossed with = cross({.frames = 10, .repairs = 2}, 50ms);
  EXPECT_GT(without.repeated, 150u);
  EXPECT_EQ(without.repairs + without.recovered, 0u);
  EXPECT_GT(with.recovered, 150u);
  EXPECT_LT(with.repeated, without.repeated / 10);
  EXPECT_LT(with.repairs, 20'000 * 2 / 10 * 11 / 10) << "more than a fifth, and what pauses";
  EXPECT_LT(with.mean_ms, 55);
  EXPECT_GT(without.mean_ms, 100);
}

// Where the round trip is shorter than what a block takes, the sender waits for that before it
// sends again.
TEST(FecTunnel, RepeatsLittleOverAShortWayToo) {
  const Crossed near = cross({.frames = 10, .repairs = 2}, 1ms);
  EXPECT_GT(near.recovered, 150u);
  EXPECT_LT(near.repeated, 20u);
}

TEST(FecTunnel, IsRefusedWhereTheOtherEndHasAnother) {
  WorldOptions options;
  options.tunnel.fec = {.frames = 10, .repairs = 2};
  options.other = options.tunnel;
  options.other->fec = {};
  World world(options);
  world.run_for(1s);
  EXPECT_EQ(world.ends[0]->session().state(), Session::State::kRefused);
  EXPECT_THAT(world.ends[0]->session().why(),
              testing::HasSubstr("the other end has no fec, this one fec 10+2"));
  EXPECT_THAT(world.ends[1]->session().why(),
              testing::HasSubstr("the other end has fec 10+2, this one no fec"));
}

// What pauses is repaired too; what is sent when nothing is carried needs no repairs.
TEST(FecTunnel, RepairsTheLastPacketBeforeAPauseAndNothingWhenIdle) {
  WorldOptions options;
  options.tunnel.fec = {.frames = 10, .repairs = 1};
  options.wan.delay = 50ms;
  World world(options);
  ASSERT_TRUE(world.activate());
  world.run_for(1s);
  const std::uint64_t before = world.count(0, TunnelCounter::kTxRepairs);
  world.run_for(1s);
  EXPECT_EQ(world.count(0, TunnelCounter::kTxRepairs), before);
  int frames = 0;
  world.paths[0]->look = [&frames](auto&) { return ++frames != 1; };
  ASSERT_TRUE(world.sites[0]->send(Sl{0}, Vl{0}, 1024));
  world.run_for(55ms);
  EXPECT_EQ(world.sites[1]->came[0], 1u);
  world.run_for(1s);
  EXPECT_EQ(world.count(0, TunnelCounter::kTxRepeated), 0u);
  EXPECT_EQ(world.count(0, TunnelCounter::kTxRepairs), before + 1);
}

// A repair is longer than what it repairs; the path may become narrower in between.
TEST(FecTunnel, KeepsToThePathsWidthAndGoesOnWhereItShrinks) {
  for (const std::size_t narrow : {kLeastFrame, kLeastFrame + 30, std::size_t{700}}) {
    WorldOptions options;
    options.tunnel.fec = {.frames = 4, .repairs = 2};
    options.wan = {.delay = 5ms, .loss = 0.02, .longest_frame = 9000};
    World world(options);
    ASSERT_TRUE(world.activate());
    std::uint64_t before = 0;
    for (int i = 0; i < 300; ++i) {
      if (i == 150) {
        world.paths[0]->options.longest_frame = narrow;
        before = world.count(0, TunnelCounter::kTxRepairs);
      }
      for (int n = 0; n < 5; ++n)
        ASSERT_TRUE(world.sites[0]->send(Sl{0}, Vl{0}, 2048));
      world.run_for(500us);
    }
    EXPECT_GT(world.paths[0]->longest, 8000u);
    world.run_for(3s);
    EXPECT_EQ(world.sites[1]->came[0], 1500u);
    EXPECT_EQ(world.pool.in_use(), 0u);
    EXPECT_GT(world.count(1, TunnelCounter::kRxRecovered), 0u);
    // Where a frame and its repair are both of use, the former leaves room for the latter.
    if (narrow == 700) {
      EXPECT_GT(world.count(0, TunnelCounter::kTxRepairs), before + 500);
    }
  }
}

}  // namespace
}  // namespace weft::wan
