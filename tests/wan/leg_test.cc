// SPDX-License-Identifier: Apache-2.0
#include "wan/leg.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "wan/frame.h"
#include "wan/path_bundle.h"

namespace weft::wan {
namespace {

// Keeps what is sent.
class Kept final : public Path {
 public:
  [[nodiscard]] bool established() const override { return true; }
  [[nodiscard]] bool ready() const override { return true; }
  [[nodiscard]] std::size_t longest_frame() const override { return 1472; }
  void send(std::span<const OutFrame> frames, Time) override {
    for (const OutFrame& frame : frames) {
      sent.emplace_back();
      for (const Bytes part : frame.parts)
        sent.back().insert(sent.back().end(), part.begin(), part.end());
    }
  }
  std::vector<std::vector<std::byte>> sent;
};

// Two ends, of which the first watches.
class Legs : public testing::Test {
 protected:
  static std::unique_ptr<PathBundle> bundle(Kept& kept, bool watched, Time now) {
    Path* const carrier = &kept;
    return std::make_unique<PathBundle>(std::span(&carrier, 1),
                                        PathBundle::Options{.watched = watched}, now);
  }
  void send() {
    const std::vector<std::byte> frame(100, std::byte{FrameHead::kVersion});
    const Bytes whole(frame);
    const OutFrame out{.parts = {&whole, 1}, .size = whole.size()};
    near->send({&out, 1}, now);
  }
  // Everything that was sent comes 5 ms later; returns bytes of frames that the far end has.
  std::size_t exchange(bool marked = false) {
    now += 5ms;
    std::size_t bytes = 0;
    for (const auto& datagram : std::exchange(near_path.sent, {}))
      bytes += far->receive(datagram, marked, now + far_ahead).size();
    for (const auto& datagram : std::exchange(far_path.sent, {}))
      EXPECT_TRUE(near->receive(datagram, false, now).empty());
    near->run(now);
    far->run(now + far_ahead);
    return bytes;
  }
  // Of what was sent, without doing anything else.
  void take_first() {
    const auto waits = std::exchange(near_path.sent, {});
    EXPECT_FALSE(far->receive(waits.front(), false, now + far_ahead).empty());
  }
  [[nodiscard]] const Leg& leg() const { return *near->legs().front(); }
  [[nodiscard]] std::uint64_t count(std::string_view name) const {
    for (const CounterValue& value : leg().counters())
      if (value.name == name) return value.value;
    return ~std::uint64_t{0};
  }

  Time now{1s};
  Duration far_ahead = 7s;  // its clock
  Kept near_path, far_path;
  std::unique_ptr<PathBundle> near = bundle(near_path, true, now);
  std::unique_ptr<PathBundle> far = bundle(far_path, false, now + far_ahead);
};

TEST(LegMessage, IsReadAsItIsWritten) {
  std::array<std::byte, LegHead::kSize + LegReport::kSize + 3> bytes{};
  const LegReport report{1, 2, 3, 4, 5, 6, 7, 8};
  LegHead{.leg = 7, .begun = 9, .clock = 10, .number = 1ULL << 40}.write(true, bytes);
  report.write(MutableBytes(bytes).subspan(LegHead::kSize));
  bytes.back() = std::byte{1};
  bytes[bytes.size() - 3] = std::byte{1};
  const auto read = LegMessage::parse(bytes);
  ASSERT_TRUE(read && read->report);
  EXPECT_EQ(read->head.leg, 7);
  EXPECT_EQ(read->head.begun, 9u);
  EXPECT_EQ(read->head.clock, 10u);
  EXPECT_EQ(read->head.number, 1ULL << 40);
  EXPECT_EQ(read->report->begun, report.begun);
  EXPECT_EQ(read->report->next, report.next);
  EXPECT_EQ(read->report->datagrams, report.datagrams);
  EXPECT_EQ(read->report->bytes, report.bytes);
  EXPECT_EQ(read->report->marked, report.marked);
  EXPECT_EQ(read->report->echo, report.echo);
  EXPECT_EQ(read->report->held, report.held);
  EXPECT_EQ(read->report->least_delay, report.least_delay);
  EXPECT_EQ(read->frame.size(), 3u);
  for (std::size_t size = 0; size < LegHead::kSize + LegReport::kSize; ++size)
    EXPECT_FALSE(LegMessage::parse(Bytes(bytes).first(size))) << size;
  bytes[1] = std::byte{kMostLegs};
  EXPECT_FALSE(LegMessage::parse(bytes));
}

TEST_F(Legs, KnowTheirRoundTripAndWhatWasMarkedAndLost) {
  for (int i = 0; i < 20; ++i) {
    for (int k = 0; k < 3; ++k)
      send();
    EXPECT_EQ(exchange(i >= 10), 300u);
  }
  EXPECT_TRUE(leg().works());
  EXPECT_GE(leg().round_trip().smoothed(), 10ms);
  EXPECT_LE(leg().round_trip().smoothed(), 16ms);
  EXPECT_EQ(count("leg_tx_lost"), 0u);
  const std::uint64_t marked = count("leg_tx_marked");
  EXPECT_GE(marked, 20u);
  send();
  const std::size_t lost = near_path.sent.size();
  near_path.sent.clear();
  for (int i = 0; i < 5; ++i) {
    send();
    exchange();
  }
  EXPECT_EQ(count("leg_tx_lost"), lost);
}

// It would take what waits at its own socket for a queue on the way.
TEST_F(Legs, ReadWhatWaitsBeforeTheyReportWhenTheyHadNoProcessor) {
  send();
  exchange();
  ASSERT_TRUE(far_path.sent.empty());
  // Others' turn, and then the first of what has come meanwhile.
  now += 50ms;
  send();
  take_first();
  far->run(now + far_ahead);
  EXPECT_TRUE(far_path.sent.empty()) << "there may be more";
  now += Leg::kReportDelay;
  ASSERT_EQ(far->deadline(), now + far_ahead);
  far->run(now + far_ahead);
  EXPECT_EQ(far_path.sent.size(), 1u);
  // Who never has a processor reports all the same.
  for (int i = 0; i < 4; ++i) {
    far_path.sent.clear();
    send();
    take_first();
    for (int turn = 0; turn < 2; ++turn) {
      now += 50ms;
      far->run(now + far_ahead);
      EXPECT_EQ(far_path.sent.size(), static_cast<std::size_t>(turn));
    }
  }
}

TEST_F(Legs, AddNothingToFramesThatNobodyWatchesAndAskForNothing) {
  near = bundle(near_path, false, now);
  send();
  ASSERT_EQ(near_path.sent.size(), 1u);
  EXPECT_EQ(near_path.sent[0].size(), 100u);
  EXPECT_EQ(exchange(), 100u);
  for (int i = 0; i < 100; ++i)
    exchange();
  EXPECT_EQ(count("leg_tx_datagrams"), 0u);
  EXPECT_EQ(far->legs().front()->counters()[0].value, 0u);
}

TEST_F(Legs, WorkNoMoreWhenNothingIsHeardOfWhatTheySend) {
  for (int i = 0; i < 50; ++i)
    exchange();
  EXPECT_TRUE(leg().works());
  // What comes this way alone is not enough.
  for (int i = 0; i < 80; ++i) {
    near_path.sent.clear();
    exchange();
  }
  EXPECT_FALSE(leg().works());
  EXPECT_EQ(count("leg_failures"), 1u);
  for (int i = 0; i < 50; ++i)
    exchange();
  EXPECT_TRUE(leg().works());
}

TEST_F(Legs, BearThatTheOtherEndBeginsAnew) {
  for (int i = 0; i < 50; ++i) {
    send();
    exchange();
  }
  now += 10ms;
  far_ahead = -500ms;
  far = bundle(far_path, false, now + far_ahead);
  for (int i = 0; i < 50; ++i) {
    send();
    exchange();
  }
  EXPECT_TRUE(leg().works());
  EXPECT_LE(count("leg_tx_lost"), 2u);
  EXPECT_EQ(count("leg_report_forged"), 0u);
}

TEST_F(Legs, RefuseReportsOfWhatWasNeverSent) {
  send();
  for (int i = 0; i < 50; ++i)
    exchange();
  std::array<std::byte, LegHead::kSize + LegReport::kSize> forged{};
  LegHead{.leg = 0, .begun = 1, .clock = 1, .number = 1 << 20}.write(true, forged);
  LegReport{.begun = leg_clock(Time(1s)), .next = 1 << 20, .datagrams = 1}.write(
      MutableBytes(forged).subspan(LegHead::kSize));
  EXPECT_TRUE(near->receive(forged, false, now).empty());
  EXPECT_EQ(count("leg_report_forged"), 1u);
  forged[1] = std::byte{3};  // there is no such leg
  EXPECT_TRUE(near->receive(forged, false, now).empty());
  EXPECT_EQ(near->malformed(), 1u);
}

// Each report may claim half an hour more, and a sender that is busy gets thousands a second.
TEST_F(Legs, BelieveNoDelayThatClocksCannotShow) {
  Path* const carrier = &near_path;
  const PacingSettings steady{
      .adapt = true, .first_bytes_per_s = 1'000'000'000, .least_bytes_per_s = 1'000'000'000};
  near = std::make_unique<PathBundle>(std::span(&carrier, 1),
                                      PathBundle::Options{.watched = true, .pacing = steady}, now);
  std::array<std::byte, LegHead::kSize + LegReport::kSize> lie{};
  const std::uint32_t begun = leg_clock(now);
  for (std::uint32_t i = 1; i <= 20'000; ++i) {
    now += 400us;
    near->run(now);
    send();
    near_path.sent.clear();
    LegHead{.leg = 0, .begun = 1, .clock = 1, .number = i}.write(true, lie);
    LegReport{.begun = begun,
              .next = i,
              .datagrams = i,
              .bytes = 120 * i,
              .echo = leg_clock(now),
              .least_delay = i * 0x7FFFFFFFu}
        .write(MutableBytes(lie).subspan(LegHead::kSize));
    EXPECT_TRUE(near->receive(lie, false, now).empty());
  }
  EXPECT_EQ(count("leg_report_forged"), 0u);
  EXPECT_GT(leg().pacer()->queue(), 24h);
  EXPECT_LE(leg().pacer()->queue(), 24h * 365);
}

}  // namespace
}  // namespace weft::wan
