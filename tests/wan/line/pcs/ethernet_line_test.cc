// SPDX-License-Identifier: Apache-2.0
// Ethernet frames over a line of 66-bit blocks, whole and damaged.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "lane_words.h"
#include "sim/seeds.h"
#include "wan/line/pcs/pcs_session.h"

namespace weft::wan {
namespace {

// So many octets of an idle line are enough to find blocks: at each of 65 wrong places every other
// block gives it away, and then there are 64.
constexpr std::size_t kEnoughIdle = 125 * kGroupOctets;

Octets numbered(std::size_t size, std::size_t number) {
  Octets out(size, static_cast<std::byte>(number));
  for (std::size_t i = 0; i < 4; ++i)
    out[i] = static_cast<std::byte>(number >> (8 * i));
  return out;
}

TEST(EthernetLine, CarriesFramesOfAnySizeInAnyPiecesInOrder) {
  Random random(21);
  for (const BitOrder order : {BitOrder::kLeastFirst, BitOrder::kMostFirst}) {
    SendingEnd from(LineFrames::kEthernet, order);
    ReceivingEnd to({.order = order});
    to.line.take(from.octets(kEnoughIdle));
    ASSERT_TRUE(to.line.good());
    std::vector<Octets> sent;
    for (std::size_t size = 60; size < 200; ++size)
      sent.push_back(random_octets(random, size));
    for (const std::size_t size : {1518UL, 4096UL, 9000UL})
      sent.push_back(random_octets(random, size));
    from.queue.packets.assign(sent.begin(), sent.end());
    while (!from.queue.packets.empty())
      to.line.take(from.octets(1 + random.below(300)));
    to.line.take(from.octets(10'000));
    EXPECT_EQ(to.arrived.packets, sent);
    EXPECT_EQ(to.count(EthernetCounter::kArrived), sent.size());
    EXPECT_EQ(to.count(PcsCounter::kErrorWords), 0U);
  }
}

TEST(EthernetLine, FillsShortFramesUpTo60Octets) {
  SendingEnd from;
  ReceivingEnd to;
  to.line.take(from.octets(kEnoughIdle));
  from.queue.packets.push_back(numbered(20, 7));
  to.line.take(from.octets(500));
  Octets filled = numbered(20, 7);
  filled.resize(60);
  EXPECT_EQ(to.arrived.packets, std::vector<Octets>{filled});
}

// Octets from the start of one frame to that of the next.
std::vector<std::size_t> distances(std::size_t size, std::size_t count) {
  Queue queue;
  for (std::size_t i = 0; i < count; ++i)
    queue.packets.push_back(numbered(size, i));
  FrameTransmitter frames(LineFrames::kEthernet, queue);
  std::vector<std::uint64_t> octets((size + 60) * count / 6);
  std::vector<std::uint8_t> control(octets.size());
  frames.fill(octets, control);
  std::vector<std::size_t> out;
  std::optional<std::size_t> last;
  for (std::size_t i = 0; i < octets.size(); ++i) {
    for (const unsigned lane : {0U, 4U}) {
      if (!XgmiiWord{octets[i], control[i]}.has(lane, Xgmii::kStart)) continue;
      if (last) out.push_back(8 * i + lane - *last);
      last = 8 * i + lane;
    }
  }
  return out;
}

// As UNH-IOL's table of the deficit idle count has it (E. Lynskey, 2001).
TEST(EthernetLine, KeepsGapsAt12OctetsOnAverageWhereverAFrameEnds) {
  for (std::size_t more = 0; more < 4; ++more) {
    const std::size_t frame = 8 + 60 + more + 4;
    const auto all = distances(60 + more, 401);
    ASSERT_GE(all.size(), 399U);
    std::size_t sum = 0;
    for (const std::size_t distance : all) {
      EXPECT_EQ(distance % 4, 0U);
      EXPECT_GE(distance - frame, 9U);
      EXPECT_LE(distance - frame, 15U);
      sum += distance;
    }
    EXPECT_NEAR(static_cast<double>(sum) / static_cast<double>(all.size()),
                static_cast<double>(frame + 12), 0.02);
  }
  EXPECT_EQ(distances(61, 6), (std::vector<std::size_t>{84, 84, 84, 88, 84}));
}

TEST(EthernetLine, CountsRuntsLongOnesAndDamagedOnes) {
  Arrived arrived;
  EthernetReceiver mac(arrived, 1000);
  const auto frame = [](std::size_t size) {
    Octets out(7 + size, std::byte{0x55});
    out[6] = std::byte{0xD5};
    return out;
  };
  mac.frame(frame(63));
  EXPECT_EQ(mac.counters().get(EthernetCounter::kRunts), 1U);
  mac.frame(frame(1001));
  EXPECT_EQ(mac.counters().get(EthernetCounter::kOverlong), 1U);
  mac.frame(frame(64));
  EXPECT_EQ(mac.counters().get(EthernetCounter::kBadFcs), 1U);
  mac.frame(Octets(71, std::byte{0x55}));
  EXPECT_EQ(mac.counters().get(EthernetCounter::kBadPreambles), 1U);
  EXPECT_TRUE(arrived.packets.empty());
}

TEST(EthernetLine, LosesNoMoreThanTheFramesThatBitErrorsHit) {
  for (const std::uint64_t seed : sim::seeds(30)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "EthernetLine.*"));
    Random random(seed);
    SendingEnd from;
    ReceivingEnd to;
    to.line.take(from.octets(kEnoughIdle));
    std::vector<Octets> sent;
    for (std::size_t i = 0; i < 200; ++i)
      sent.push_back(numbered(60 + random.below(500), i));
    from.queue.packets.assign(sent.begin(), sent.end());
    Octets line = from.octets(100'000);
    const std::size_t errors = 1 + random.below(10);
    for (std::size_t i = 0; i < errors; ++i)
      flip_bit(line, random.below(8 * line.size()));
    to.line.take(line);
    EXPECT_TRUE(to.line.locked());
    // A subset, in order, each exact.
    std::size_t at = 0;
    for (const Octets& packet : to.arrived.packets) {
      while (at < sent.size() && sent[at] != packet)
        ++at;
      ASSERT_LT(at, sent.size());
      ++at;
    }
    // A wrong bit is three of them behind the descrambler, in two blocks; a frame at the most and
    // its neighbour are gone by each, and none without a count.
    const std::size_t lost = sent.size() - to.arrived.packets.size();
    EXPECT_LE(lost, 2 * errors);
    const std::size_t counted =
        to.count(PcsCounter::kBadFrames) + to.count(EthernetCounter::kBadFcs) +
        to.count(EthernetCounter::kRunts) + to.count(EthernetCounter::kBadPreambles) +
        to.count(PcsCounter::kErrorWords);
    EXPECT_GE(counted, lost);
  }
}

TEST(EthernetLine, IsFoundAgainAfterSlipsWithinAFewHundredBlocks) {
  for (const std::uint64_t seed : sim::seeds(60)) {
    SCOPED_TRACE(sim::how_to_replay(seed, "EthernetLine.*"));
    Random random(seed);
    SendingEnd from;
    ReceivingEnd to;
    to.line.take(from.octets(kEnoughIdle));
    const std::size_t bits = random.chance(0.2) ? 66 * 4 + 1 : 1 + random.below(132);
    Octets line = from.octets(40'000);
    from.queue.packets.push_back(numbered(100, 1));
    const Octets rest = from.octets(500);
    line.insert(line.end(), rest.begin(), rest.end());
    to.line.take(without_bits(line, random.below(8000), bits));
    const bool is_whole = bits % kBlockBits == 0;
    EXPECT_EQ(to.count(PcsCounter::kLockLost), is_whole ? 0U : 1U) << bits;
    EXPECT_TRUE(to.line.good());
    // By each wrong place two blocks on average, and 64 at the right one.
    EXPECT_LE(to.count(PcsCounter::kSlips), 2 * kBlockBits);
    EXPECT_EQ(to.arrived.packets, std::vector<Octets>{numbered(100, 1)});
  }
}

TEST(EthernetLine, FindsBlocksWithinTheirStandardsNumber) {
  Random random(24);
  std::uint64_t most = 0;
  for (std::size_t skipped = 0; skipped < kBlockBits; ++skipped) {
    SendingEnd from;
    ReceivingEnd to;
    const Octets line = without_bits(from.octets(20'000), 0, skipped);
    for (std::size_t at = 0; !to.line.locked(); ++at) {
      ASSERT_LT(at, line.size());
      to.line.take(Bytes(line).subspan(at, 1));
    }
    EXPECT_LE(to.count(PcsCounter::kSlips), kBlockBits);
    most = std::max(most, to.line.blocks());
  }
  // 65 wrong places at two blocks each, and 64 blocks; seldom 50 more.
  EXPECT_LE(most, 320U);
}

TEST(EthernetLine, SaysLocalFaultWhileBlocksAreNotFoundOrTooManyAreBad) {
  Random random(25);
  ReceivingEnd to({.error_rate_blocks = 2000});
  EXPECT_EQ(to.lanes.fault(), LinkFault::kNone);
  to.line.take(random_octets(random, 2000));
  EXPECT_EQ(to.lanes.fault(), LinkFault::kLocal);
  SendingEnd from;
  to.line.take(from.octets(kEnoughIdle));
  EXPECT_EQ(to.lanes.fault(), LinkFault::kNone);
  // One bad header in 33 blocks: they stay locked onto, but there are 30 in 1,000.
  Octets line = from.octets(8250 * 2);
  for (std::size_t block = 0; block < 8 * line.size() / kBlockBits; block += 33)
    flip_bit(line, (7 + block) * kBlockBits % (8 * line.size()));
  Octets bad(line.begin(), line.begin() + 8250);
  to.line.take(bad);
  EXPECT_TRUE(to.line.locked());
  EXPECT_TRUE(to.line.high_error_rate());
  EXPECT_EQ(to.lanes.fault(), LinkFault::kLocal);
  EXPECT_EQ(to.count(PcsCounter::kHighErrorRate), 1U);
  to.line.take(from.octets(3 * 16'500));
  EXPECT_FALSE(to.line.high_error_rate());
  EXPECT_EQ(to.lanes.fault(), LinkFault::kNone);
  to.line.interrupted();
  EXPECT_FALSE(to.line.locked());
}

// Two ends of a line that goes both ways, with whatever has to follow the other.
struct Both {
  Both() {
    for (int i = 0; i < 4; ++i)
      run(true, true);
  }
  void run(bool forth, bool back, std::size_t octets = kEnoughIdle) {
    now += 20ms;
    if (forth) far.line.take(near_sender.octets(octets));
    if (back) near.line.take(far_sender.octets(octets));
    near_session.advance(now);
    far_session.advance(now);
  }
  Time now{1s};
  SendingEnd near_sender, far_sender;
  ReceivingEnd near, far;
  PcsSession near_session{{}, near.line, near.lanes, near_sender.frames};
  PcsSession far_session{{}, far.line, far.lanes, far_sender.frames};
};

TEST(PcsSession, IsUpWhileBothDirectionsAre) {
  Both both;
  EXPECT_TRUE(both.near_session.up());
  EXPECT_TRUE(both.far_session.up());
  // Nothing comes to the far end: it says so, and the near one stops sending frames.
  for (int i = 0; i < 10; ++i)
    both.run(false, true);
  EXPECT_FALSE(both.far_session.up());
  EXPECT_FALSE(both.near_session.up());
  EXPECT_EQ(both.near.lanes.fault(), LinkFault::kRemote);
  both.near_sender.queue.packets.push_back(numbered(100, 1));
  both.run(false, true);
  EXPECT_EQ(both.near_sender.queue.packets.size(), 1U);
  for (int i = 0; i < 4; ++i)
    both.run(true, true);
  EXPECT_TRUE(both.near_session.up());
  EXPECT_TRUE(both.far_session.up());
  EXPECT_EQ(both.far.arrived.packets.size(), 1U);
  EXPECT_EQ(both.near_session.next_deadline(), both.now + 100ms);
}

TEST(PcsSession, IsNotUpBeforeTheLineHasSettled) {
  Both both;
  PcsSession session({}, both.near.line, both.near.lanes, both.near_sender.frames);
  EXPECT_EQ(session.next_deadline(), Time{});
  session.advance(both.now);
  EXPECT_FALSE(session.up());
  EXPECT_EQ(session.next_deadline(), both.now + 10ms);
  session.advance(both.now + 10ms);
  EXPECT_TRUE(session.up());
}

TEST(InfinibandLine, CarriesPacketsAndOrderedSetsAsTheyAre) {
  Random random(26);
  SendingEnd from(LineFrames::kInfiniband);
  LaneFrames frames;
  PcsCounters counters;
  XgmiiReceiver lanes(4300, frames, counters);
  PcsReceiver line({}, lanes, counters);
  line.take(from.octets(kEnoughIdle));
  std::vector<Octets> sent;
  std::vector<OrderedSet> sets;
  for (std::size_t size = 10; size < 100; ++size) {
    sent.push_back(random_octets(random, size));
    from.queue.packets.push_back(sent.back());
    sets.push_back({OrderedSet::Code::kSignal, static_cast<std::uint32_t>(size << 16 | 0xABCD)});
    from.frames.put(sets.back());
    line.take(from.octets(33));
  }
  line.take(from.octets(10'000));
  EXPECT_EQ(frames.frames, sent);
  EXPECT_EQ(frames.sets, sets);
  EXPECT_EQ(frames.bad, 0);
}

TEST(InfinibandLine, ForgetsWhatIsTooLongOrDoesNotEnd) {
  LaneFrames frames;
  PcsCounters counters;
  XgmiiReceiver lanes(30, frames, counters);
  const auto put = [&](std::uint64_t octets, std::uint8_t control) {
    if (control == 0) return lanes.data(std::span(&octets, 1));
    lanes.control({octets, control});
  };
  const std::uint64_t start = 0xD555'5555'5555'55FB;
  put(start, 1);
  put(kIdleWord.octets, kIdleWord.control);
  EXPECT_EQ(frames.bad, 1);
  put(start, 1);
  for (int i = 0; i < 4; ++i)
    put(1, 0);
  EXPECT_EQ(frames.bad, 2);
  EXPECT_EQ(counters.get(PcsCounter::kOverlong), 1U);
  put(start, 1);
  put(0x5555'55FB'0000'009C, 0x11);  // an ordered set within it, and another one begins
  EXPECT_EQ(frames.bad, 3);
  put(0x0707'0707'0707'07FD, 0xFF);
  EXPECT_EQ(frames.frames, std::vector<Octets>{Octets(3, std::byte{0x55})});
  put(start, 1);
  put(kErrorWord.octets, kErrorWord.control);
  EXPECT_EQ(frames.bad, 4);
  put(start, 1);
  put(0x0101'0101'0101'0101, 0);
  put(0x0101'0101'0101'0101, 0);
  put(0x07FD'0101'0101'0101, 0xC0);
  EXPECT_EQ(frames.frames.size(), 2U);
  put(start, 1);
  put(0x0101'0101'0101'0101, 0);
  put(0x0101'0101'0101'0101, 0);
  put(0x0707'FD01'0101'0101, 0xE0);
  EXPECT_EQ(frames.frames.size(), 3U);
  put(start, 1);
  put(0x0101'0101'0101'0101, 0);
  put(0x0101'0101'0101'0101, 0);
  put(0x0101'0101'0101'0101, 0);
  EXPECT_EQ(counters.get(PcsCounter::kOverlong), 2U);
  EXPECT_EQ(frames.frames.size(), 3U);
}

}  // namespace
}  // namespace weft::wan
