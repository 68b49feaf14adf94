// SPDX-License-Identifier: Apache-2.0
#include "phy/training/lane_detector.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "phy/training/lane_source.h"

namespace weft::phy {
namespace {

BitVector made(LaneSource& source, const LaneTransmit& what, std::size_t sets) {
  source.send(what);
  BitVector bits;
  source.produce(sets, bits);
  return bits;
}

BitVector inverted(BitVector bits) {
  for (std::size_t i = 0; i < bits.size(); ++i)
    bits.flip(i);
  return bits;
}

TEST(LaneDetector, HearsATrainingSequenceWhenEightHaveComeInARow) {
  for (const LaneSend send : {LaneSend::kTs1, LaneSend::kTs2}) {
    LaneSource source(1);
    LaneDetector detector;
    EXPECT_EQ(detector.input(), LaneInput{});
    detector.receive(made(source, {.send = send, .lane = 3}, 7).span());
    EXPECT_EQ(detector.input().signal, LaneSignal::kNoise);
    detector.receive(made(source, {.send = send, .lane = 3}, 1).span());
    const LaneSignal expected = send == LaneSend::kTs1 ? LaneSignal::kTs1 : LaneSignal::kTs2;
    EXPECT_EQ(detector.input(), (LaneInput{.signal = expected, .lane = 3}));
  }
}

TEST(LaneDetector, HearsWhereverInASymbolTheBitsBegin) {
  for (std::size_t cut = 0; cut < 10; ++cut) {
    LaneSource source(1);
    BitVector all;
    all.put(0, static_cast<unsigned>(cut));
    source.send({.send = LaneSend::kTs2, .lane = 11});
    source.produce(10, all);
    LaneDetector detector;
    detector.receive(all.span());
    EXPECT_EQ(detector.input(), (LaneInput{.signal = LaneSignal::kTs2, .lane = 11})) << cut;
  }
}

TEST(LaneDetector, GoesFromTs1ToTs2ToIdleDataAsTheSenderDoes) {
  LaneSource source(5);
  LaneDetector detector;
  detector.receive(made(source, {.send = LaneSend::kTs1, .lane = 1}, 20).span());
  EXPECT_EQ(detector.input().signal, LaneSignal::kTs1);
  detector.receive(made(source, {.send = LaneSend::kTs2, .lane = 1}, 7).span());
  EXPECT_EQ(detector.input().signal, LaneSignal::kTs1);
  detector.receive(made(source, {.send = LaneSend::kTs2, .lane = 1}, 1).span());
  EXPECT_EQ(detector.input().signal, LaneSignal::kTs2);
  detector.receive(made(source, {.send = LaneSend::kIdle}, 3).span());
  EXPECT_EQ(detector.input(), LaneInput{.signal = LaneSignal::kIdle});
  detector.receive(made(source, {.send = LaneSend::kIdle}, 400).span());
  EXPECT_EQ(detector.input(), LaneInput{.signal = LaneSignal::kIdle});
  EXPECT_EQ(detector.take_errors(), 0U);
}

TEST(LaneDetector, HearsPacketsByTheirDelimiters) {
  LaneSource source(5);
  LaneDetector detector;
  detector.receive(made(source, {.send = LaneSend::kTs2}, 8).span());
  Encoder encoder;
  BitVector bits;
  for (int i = 0; i < 40; ++i)
    bits.put_symbol(encoder.encode(data_character(4, 4)));
  detector.receive(bits.span());
  EXPECT_EQ(detector.input().signal, LaneSignal::kIdle);
  bits.clear();
  bits.put_symbol(encoder.encode(kSlp));
  detector.receive(bits.span());
  EXPECT_EQ(detector.input().signal, LaneSignal::kPackets);
}

TEST(LaneDetector, SaysThatWiresAreCrossedAndHearsWithThemTurned) {
  LaneSource source(1);
  LaneDetector detector;
  detector.receive(inverted(made(source, {.send = LaneSend::kTs1, .lane = 2}, 9)).span());
  EXPECT_EQ(detector.input(), (LaneInput{.signal = LaneSignal::kTs1, .lane = 2, .inverted = true}));
  detector.set_inverted(true);
  EXPECT_EQ(detector.input(), LaneInput{});
  detector.receive(inverted(made(source, {.send = LaneSend::kTs1, .lane = 2}, 9)).span());
  EXPECT_EQ(detector.input(), (LaneInput{.signal = LaneSignal::kTs1, .lane = 2}));
  detector.receive(inverted(made(source, {.send = LaneSend::kIdle}, 9)).span());
  EXPECT_EQ(detector.input(), LaneInput{.signal = LaneSignal::kIdle});
}

TEST(LaneDetector, HearsTheOtherSpeedAsNoise) {
  for (const bool faster : {false, true}) {
    LaneSource source(1);
    const BitVector sent = made(source, {.send = LaneSend::kTs1, .lane = 2}, 200);
    BitVector sampled;
    for (std::size_t i = 0; i < sent.size(); i += faster ? 2 : 1) {
      const std::uint32_t bit = sent.span().bit(i) ? 1 : 0;
      sampled.put(faster ? bit : bit * 3, faster ? 1 : 2);
    }
    LaneDetector detector;
    detector.receive(sampled.span());
    EXPECT_EQ(detector.input().signal, LaneSignal::kNoise) << faster;
  }
}

TEST(LaneDetector, HearsRandomBitsAsNoiseEvenAfterTraining) {
  Random random(7);
  LaneSource source(1);
  LaneDetector detector;
  detector.receive(made(source, {.send = LaneSend::kTs1}, 10).span());
  BitVector bits;
  for (int i = 0; i < 1000; ++i)
    bits.put(static_cast<std::uint32_t>(random.next()), 32);
  detector.receive(bits.span());
  EXPECT_EQ(detector.input().signal, LaneSignal::kNoise);
}

TEST(LaneDetector, CountsErrorsAndStaysWhereTheyAreFew) {
  LaneSource source(1);
  LaneDetector detector;
  detector.receive(made(source, {.send = LaneSend::kTs2}, 10).span());
  detector.receive(made(source, {.send = LaneSend::kIdle}, 4).span());
  BitVector bits = made(source, {.send = LaneSend::kIdle}, 40);
  for (const std::size_t at : {1000U, 3000U, 5000U})
    bits.flip(at);
  detector.receive(bits.span());
  EXPECT_EQ(detector.input().signal, LaneSignal::kIdle);
  const std::uint32_t errors = detector.take_errors();
  EXPECT_GE(errors, 3U);
  EXPECT_LE(errors, 9U);
  EXPECT_EQ(detector.take_errors(), 0U);
}

TEST(LaneDetector, ForgetsAllWhenTheSignalGoes) {
  LaneSource source(1);
  LaneDetector detector;
  detector.receive(made(source, {.send = LaneSend::kTs2}, 10).span());
  detector.silence();
  EXPECT_EQ(detector.input(), LaneInput{});
  source.send({});
  BitVector none;
  source.produce(3, none);
  EXPECT_EQ(none.size(), 0U);
  EXPECT_FALSE(source.sounds());
}

}  // namespace
}  // namespace weft::phy
