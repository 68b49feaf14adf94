// SPDX-License-Identifier: Apache-2.0
#include "port/faults.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "udp_fixture.h"

namespace weft::port {
namespace {

using ::testing::HasSubstr;

constexpr Time kFaultsStart{1s};

// What comes off a line: datagrams that hold their number.
class Output final : public FaultyLine::Sink {
 public:
  void frame(const FaultyFrame& frame) override {
    std::uint32_t number = 0;
    std::memcpy(&number, frame.bytes.data(), sizeof number);
    numbers.push_back(number);
  }
  std::vector<std::uint32_t> numbers;
};

void arrive(FaultyLine& line, std::uint32_t number, Time now, Output& output) {
  std::array<std::byte, sizeof number> bytes;
  std::memcpy(bytes.data(), &number, sizeof number);
  FaultyFrame frame;
  frame.bytes = bytes;
  line.arrive(frame, bytes, now, output);
}

FaultConfig faults(std::string_view text) {
  return parse_faults(text).value();
}

std::vector<std::uint32_t> through(const FaultConfig& config, std::uint32_t count,
                                   std::uint64_t seed = 1) {
  FaultyLine line(config, Random(seed));
  Output output;
  for (std::uint32_t i = 0; i < count; ++i)
    arrive(line, i, kFaultsStart, output);
  line.release(kFaultsStart + 1h, output);
  EXPECT_FALSE(line.deadline());
  return output.numbers;
}

TEST(Faults, ReadsAListOfThem) {
  const auto config =
      parse_faults("loss=1%,duplicate=0.5%,reorder=25%,delay=1.5ms,corrupt=100%,seed=7");
  ASSERT_TRUE(config);
  FaultConfig expected;
  expected.loss = 0.01;
  expected.duplicate = 0.005;
  expected.reorder = 0.25;
  expected.corrupt = 1;
  expected.delay = 1500us;
  expected.seed = 7;
  EXPECT_EQ(*config, expected);
  EXPECT_TRUE(config->any());
  EXPECT_EQ(faults("delay=250us").delay, 250us);
  EXPECT_EQ(faults("delay=2s").delay, 2s);
}

TEST(Faults, NamesWhatIsWrongInAListAndTheChoices) {
  const auto message = [](std::string_view text) {
    const auto config = parse_faults(text);
    EXPECT_FALSE(config) << text;
    return config ? std::string() : config.error().message;
  };
  EXPECT_THAT(message("los=1%"), HasSubstr("los: there is no such fault; there are loss"));
  EXPECT_THAT(message("loss"), HasSubstr("loss: KEY=VALUE"));
  EXPECT_THAT(message("loss=1"), HasSubstr("loss=1: the value must be a percentage"));
  EXPECT_THAT(message("loss=101%"), HasSubstr("loss=101%"));
  EXPECT_THAT(message("loss=-1%"), HasSubstr("loss=-1%"));
  EXPECT_THAT(message("loss=nan%"), HasSubstr("percentage"));
  EXPECT_THAT(message("loss=1%,delay=2"), HasSubstr("delay=2: the value must be a time"));
  EXPECT_THAT(message("delay=11s"), HasSubstr("up to 10s"));
  EXPECT_THAT(message("seed=x"), HasSubstr("seed=x"));
  EXPECT_THAT(message("loss=1%,,seed=1"), HasSubstr("KEY=VALUE"));
}

TEST(Faults, AreNoneWithoutAny) {
  EXPECT_FALSE(faults("seed=7").any());
  std::vector<std::uint32_t> all(1000);
  std::iota(all.begin(), all.end(), 0u);
  EXPECT_EQ(through(faults(""), 1000), all);
}

TEST(Faults, LoseAboutAsManyAsAskedAndTheSameOnesForASeed) {
  const auto left = through(faults("loss=10%"), 10000);
  EXPECT_GT(left.size(), 8800u);
  EXPECT_LT(left.size(), 9200u);
  EXPECT_EQ(left, through(faults("loss=10%"), 10000));
  EXPECT_NE(left, through(faults("loss=10%"), 10000, 2));
}

TEST(Faults, LeaveTheFateOfOthersAloneWhenOneIsChanged) {
  const auto lossy = through(faults("loss=5%"), 5000);
  auto more = through(faults("loss=5%,reorder=20%"), 5000);
  EXPECT_NE(more, lossy);
  std::sort(more.begin(), more.end());
  EXPECT_EQ(more, lossy);
}

TEST(Faults, DuplicateWithTheCopyRightBehind) {
  const auto numbers = through(faults("duplicate=100%"), 3);
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{0, 0, 1, 1, 2, 2}));
}

TEST(Faults, ReorderByLettingAFewPassAndLoseNone) {
  auto numbers = through(faults("reorder=10%"), 1000);
  ASSERT_EQ(numbers.size(), 1000u);
  EXPECT_FALSE(std::is_sorted(numbers.begin(), numbers.end()));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_LE(std::abs(static_cast<int>(numbers[i]) - static_cast<int>(i)), 16) << i;
  }
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(std::unique(numbers.begin(), numbers.end()), numbers.end());
}

TEST(Faults, KeepNothingForEverWhenNobodyComesToOvertake) {
  FaultyLine line(faults("reorder=100%"), Random(1));
  Output output;
  arrive(line, 0, kFaultsStart, output);
  EXPECT_TRUE(output.numbers.empty());
  ASSERT_TRUE(line.deadline());
  line.release(*line.deadline() - 1ns, output);
  EXPECT_TRUE(output.numbers.empty());
  line.release(*line.deadline(), output);
  EXPECT_EQ(output.numbers.size(), 1u);
  EXPECT_FALSE(line.deadline());
}

TEST(Faults, DelayEverythingByTheSameTime) {
  FaultyLine line(faults("delay=2ms"), Random(1));
  Output output;
  arrive(line, 0, kFaultsStart, output);
  arrive(line, 1, kFaultsStart + 1ms, output);
  EXPECT_EQ(line.deadline(), kFaultsStart + 2ms);
  line.release(kFaultsStart + 2ms - 1ns, output);
  EXPECT_TRUE(output.numbers.empty());
  line.release(kFaultsStart + 2ms, output);
  EXPECT_EQ(output.numbers, std::vector<std::uint32_t>{0});
  EXPECT_EQ(line.deadline(), kFaultsStart + 3ms);
}

TEST(Faults, CorruptOneBit) {
  FaultyLine line(faults("corrupt=100%"), Random(1));
  Output output;
  for (int i = 0; i < 100; ++i)
    arrive(line, 0, kFaultsStart, output);
  for (const std::uint32_t number : output.numbers)
    EXPECT_EQ(std::popcount(number), 1);
  EXPECT_EQ(line.take_tally().corrupted, 100u);
}

TEST(Faults, HoldBoundedMemory) {
  FaultyLine line(faults("delay=10s"), Random(1));
  Output output;
  std::vector<std::byte> bytes(1u << 20);
  FaultyFrame frame;
  frame.bytes = bytes;
  for (int i = 0; i < 64; ++i)
    line.arrive(frame, bytes, kFaultsStart, output);
  const FaultTally tally = line.take_tally();
  EXPECT_GT(tally.overflowed, 32u);
  line.release(kFaultsStart + 10s, output);
  EXPECT_EQ(output.numbers.size(), 64 - tally.overflowed);
}

using FaultyPort = UdpFixture;

TEST_F(FaultyPort, FindsCorruptedDatagramsByTheirIcrc) {
  UdpPortConfig config = on_loopback();
  config.faults = faults("corrupt=100%");
  const auto port = open(config);
  const auto sender = port->open_endpoint(Service::kReliable).value();
  const auto receiver = port->open_endpoint(Service::kReliable).value();
  fill(burst_, receiver->qpn(), 8, 1024, true, "127.0.0.1", "127.0.0.1");
  ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
  wait_for(*receiver);
  while (counter(*port, "fault_corrupted") < 8)
    receiver->inlet()->receive(collector_, 64);
  // The byte of a BTH that no ICRC covers may have been hit.
  EXPECT_EQ(counter(*port, "udp_rx_bad_icrc") + collector_.arrivals.size(), 8u);
  EXPECT_GE(counter(*port, "udp_rx_bad_icrc"), 6u);
}

TEST_F(FaultyPort, WakesItsReaderWhenWhatItHeldIsDue) {
  UdpPortConfig config = on_loopback();
  config.faults = faults("delay=5ms,duplicate=100%");
  const auto port = open(config);
  const auto sender = port->open_endpoint(Service::kReliable).value();
  const auto receiver = port->open_endpoint(Service::kReliable).value();
  fill(burst_, receiver->qpn(), 2, 4096, true, "127.0.0.1", "127.0.0.1");
  ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
  wait_for(*receiver);
  Inlet& inlet = *receiver->inlet();
  inlet.receive(collector_, 64);
  EXPECT_TRUE(collector_.arrivals.empty());
  // Each is due 5 ms after it came, and two that came together need not be taken together.
  while (collector_.arrivals.size() < 4) {
    wait_for(inlet, 1);
    inlet.receive(collector_, 64);
  }
  EXPECT_TRUE(std::ranges::equal(collector_.arrivals[3].message(4096), Bytes(payloads_[1])));
  pollfd timer{inlet.descriptors().at(1), POLLIN, 0};
  EXPECT_EQ(poll(&timer, 1, 0), 0) << "nothing is held any more";
}

}  // namespace
}  // namespace weft::port
