// SPDX-License-Identifier: Apache-2.0
// What a lane receiver makes of what a transmitter is told to send.
#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "phy/lanes/lane_receiver.h"
#include "phy/training/lane_source.h"

namespace weft::phy {
namespace {

BitVector made(LaneSource& source, const LaneTransmit& what, std::size_t sets) {
  source.send(what);
  BitVector bits;
  source.produce(sets, bits);
  return bits;
}

// A lane's receiver, whose symbols are of no account.
class Ear {
 public:
  void receive(BitSpan bits) { lane_.receive(bits, symbols_); }
  void silence() { lane_.silence(); }
  void set_inverted(bool inverted) { lane_.set_inverted(inverted); }
  [[nodiscard]] const LaneInput& input() const { return lane_.input(); }
  [[nodiscard]] std::uint32_t take_errors() { return lane_.take_errors(); }

 private:
  LaneCounters counters_;
  LaneReceiver lane_{counters_, false};
  std::vector<LaneSymbol> symbols_;
};

BitVector inverted(BitVector bits) {
  for (std::size_t i = 0; i < bits.size(); ++i)
    bits.flip(i);
  return bits;
}

TEST(LaneSignals, AreTrainingSequencesWhenEightHaveComeInARow) {
  for (const LaneSend send : {LaneSend::kTs1, LaneSend::kTs2}) {
    LaneSource source(1);
    Ear ear;
    EXPECT_EQ(ear.input(), LaneInput{});
    ear.receive(made(source, {.send = send, .lane = 3}, 7).span());
    EXPECT_EQ(ear.input().signal, LaneSignal::kNoise);
    ear.receive(made(source, {.send = send, .lane = 3}, 1).span());
    const LaneSignal expected = send == LaneSend::kTs1 ? LaneSignal::kTs1 : LaneSignal::kTs2;
    EXPECT_EQ(ear.input(), (LaneInput{.signal = expected, .lane = 3}));
  }
}

TEST(LaneSignals, AreHeardWhereverInASymbolTheBitsBegin) {
  for (std::size_t cut = 0; cut < 10; ++cut) {
    LaneSource source(1);
    BitVector all;
    all.put(0, static_cast<unsigned>(cut));
    source.send({.send = LaneSend::kTs2, .lane = 11});
    source.produce(10, all);
    Ear ear;
    ear.receive(all.span());
    EXPECT_EQ(ear.input(), (LaneInput{.signal = LaneSignal::kTs2, .lane = 11})) << cut;
  }
}

TEST(LaneSignals, GoFromTs1ToTs2ToIdleDataAsTheSenderDoes) {
  LaneSource source(5);
  Ear ear;
  ear.receive(made(source, {.send = LaneSend::kTs1, .lane = 1}, 20).span());
  EXPECT_EQ(ear.input().signal, LaneSignal::kTs1);
  ear.receive(made(source, {.send = LaneSend::kTs2, .lane = 1}, 7).span());
  EXPECT_EQ(ear.input().signal, LaneSignal::kTs1);
  ear.receive(made(source, {.send = LaneSend::kTs2, .lane = 1}, 1).span());
  EXPECT_EQ(ear.input().signal, LaneSignal::kTs2);
  ear.receive(made(source, {.send = LaneSend::kIdle}, 3).span());
  EXPECT_EQ(ear.input(), LaneInput{.signal = LaneSignal::kIdle});
  ear.receive(made(source, {.send = LaneSend::kIdle}, 400).span());
  EXPECT_EQ(ear.input(), LaneInput{.signal = LaneSignal::kIdle});
  EXPECT_EQ(ear.take_errors(), 0U);
}

TEST(LaneSignals, ArePacketsByTheirDelimiters) {
  LaneSource source(5);
  Ear ear;
  ear.receive(made(source, {.send = LaneSend::kTs2}, 8).span());
  Encoder encoder;
  BitVector bits;
  for (int i = 0; i < 40; ++i)
    bits.put_symbol(encoder.encode(data_character(4, 4)));
  ear.receive(bits.span());
  EXPECT_EQ(ear.input().signal, LaneSignal::kIdle);
  bits.clear();
  bits.put_symbol(encoder.encode(kSlp));
  ear.receive(bits.span());
  EXPECT_EQ(ear.input().signal, LaneSignal::kPackets);
}

TEST(LaneSignals, SayThatWiresAreCrossedAndAreHeardWithThemTurned) {
  LaneSource source(1);
  Ear ear;
  ear.receive(inverted(made(source, {.send = LaneSend::kTs1, .lane = 2}, 9)).span());
  EXPECT_EQ(ear.input(), (LaneInput{.signal = LaneSignal::kTs1, .lane = 2, .inverted = true}));
  ear.set_inverted(true);
  EXPECT_EQ(ear.input(), LaneInput{});
  ear.receive(inverted(made(source, {.send = LaneSend::kTs1, .lane = 2}, 9)).span());
  EXPECT_EQ(ear.input(), (LaneInput{.signal = LaneSignal::kTs1, .lane = 2}));
  ear.receive(inverted(made(source, {.send = LaneSend::kIdle}, 9)).span());
  EXPECT_EQ(ear.input(), LaneInput{.signal = LaneSignal::kIdle});
}

TEST(LaneSignals, OfTheOtherSpeedAreNoise) {
  for (const bool faster : {false, true}) {
    LaneSource source(1);
    const BitVector sent = made(source, {.send = LaneSend::kTs1, .lane = 2}, 200);
    BitVector sampled;
    for (std::size_t i = 0; i < sent.size(); i += faster ? 2 : 1) {
      const std::uint32_t bit = sent.span().bit(i) ? 1 : 0;
      sampled.put(faster ? bit : bit * 3, faster ? 1 : 2);
    }
    Ear ear;
    ear.receive(sampled.span());
    EXPECT_EQ(ear.input().signal, LaneSignal::kNoise) << faster;
  }
}

TEST(LaneSignals, OfRandomBitsAreNoiseEvenAfterTraining) {
  Random random(7);
  LaneSource source(1);
  Ear ear;
  ear.receive(made(source, {.send = LaneSend::kTs1}, 10).span());
  BitVector bits;
  for (int i = 0; i < 1000; ++i)
    bits.put(static_cast<std::uint32_t>(random.next()), 32);
  ear.receive(bits.span());
  EXPECT_EQ(ear.input().signal, LaneSignal::kNoise);
}

TEST(LaneSignals, StayWhereErrorsAreFewAndCounted) {
  LaneSource source(1);
  Ear ear;
  ear.receive(made(source, {.send = LaneSend::kTs2}, 10).span());
  ear.receive(made(source, {.send = LaneSend::kIdle}, 4).span());
  BitVector bits = made(source, {.send = LaneSend::kIdle}, 40);
  for (const std::size_t at : {1000U, 3000U, 5000U})
    bits.flip(at);
  ear.receive(bits.span());
  EXPECT_EQ(ear.input().signal, LaneSignal::kIdle);
  const std::uint32_t errors = ear.take_errors();
  EXPECT_GE(errors, 3U);
  EXPECT_LE(errors, 9U);
  EXPECT_EQ(ear.take_errors(), 0U);
}

TEST(LaneSignals, AreSilenceWhenTheSignalGoes) {
  LaneSource source(1);
  Ear ear;
  ear.receive(made(source, {.send = LaneSend::kTs2}, 10).span());
  ear.silence();
  EXPECT_EQ(ear.input(), LaneInput{});
  source.send({});
  BitVector none;
  source.produce(3, none);
  EXPECT_EQ(none.size(), 0U);
  EXPECT_FALSE(source.sounds());
}

}  // namespace
}  // namespace weft::phy
