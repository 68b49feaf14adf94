// SPDX-License-Identifier: Apache-2.0
// Line codes of fibres that find their way back: whatever happens to the bits of a stream, what
// comes out is what was put in, in order, and what does not is counted.
#include "wan/fibre_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "../link/rig.h"
#include "base/fibre_address.h"
#include "base/random.h"
#include "wan/fibre_block_code.h"
#include "wan/fibre_channel.h"

namespace weft::wan {
namespace {

using Stream = std::vector<std::byte>;

void flip_line_bit(Stream& stream, std::size_t at) {
  stream[at / 8] ^= static_cast<std::byte>(1U << at % 8);
}

// The stream without some bits, the last ones of an octet that is not full too.
Stream cut_bits(const Stream& stream, std::size_t at, std::size_t count) {
  Stream out(stream.size());
  std::size_t to = 0;
  for (std::size_t bit = 0; bit < 8 * stream.size(); ++bit) {
    if (bit >= at && bit < at + count) continue;
    if ((std::to_integer<unsigned>(stream[bit / 8]) >> bit % 8 & 1) != 0) flip_line_bit(out, to);
    ++to;
  }
  out.resize(to / 8);
  return out;
}

// A reader that knows what was put in by its number, and looks at the VCRC as a port would.
struct Judge : FibreSink {
  bool arrived(const FibreRecord& record) override {
    switch (record.item) {
      case FibreItem::kPacket:
        came(record.bytes);
        break;
      case FibreItem::kFlowControl:
        EXPECT_TRUE(wire::FlowControl::parse(record.bytes)) << "made up";
        ++signals;
        break;
      case FibreItem::kTraining:
        EXPECT_EQ(record.training, training);
        ++trainings;
        break;
      case FibreItem::kBadPacket:
        ++bad;
        break;
      case FibreItem::kLost:
        ++lost;
        break;
      case FibreItem::kSkip:
        break;
    }
    return true;
  }
  void came(Bytes packet) {
    const auto crc =
        wire::crc16_finish(wire::crc16_update(wire::kVcrcPreset, packet.first(packet.size() - 2)));
    if (wire::load_le16(packet.data() + packet.size() - 2) != crc) {
      ++damaged;
      return;
    }
    // The next one of what was sent, or one further on.
    while (at < sent.size() && !std::ranges::equal(sent[at], packet))
      ++at;
    ASSERT_LT(at, sent.size()) << "not what was sent, or out of order";
    ++at;
    ++good;
  }
  std::vector<Stream> sent;
  TrainingSet training{.own = 77, .heard = 4, .format = link::CreditFormat{.scale = 5}};
  std::size_t at = 0;
  std::size_t good = 0, bad = 0, damaged = 0, signals = 0, trainings = 0, lost = 0;
};

class FibreLine : public ::testing::TestWithParam<FibreCodeKind> {
 protected:
  FibreLine() { begin(); }
  // The receiving end finds the line.
  void begin() {
    judge_ = {};
    from_->restart();
    to_->restart();
    Stream stream;
    from_->put_training(stream, judge_.training);
    read(stream);
    EXPECT_EQ(judge_.trainings, 1U);
  }
  Stream packets(std::size_t count) {
    Stream stream;
    for (std::size_t i = 0; i < count; ++i) {
      const auto number = static_cast<std::uint32_t>(judge_.sent.size());
      judge_.sent.push_back(
          link::make_packet({.payload = 4 * random_.below(200), .number = number}));
      EXPECT_TRUE(from_->put_packet(stream, *pool_.copy(judge_.sent.back())));
      if (i % 4 == 0) from_->put_flow_control(stream, wire::FlowControl{.fccl = 9}.bytes());
    }
    return stream;
  }
  void read(const Stream& stream) {
    for (std::size_t at = 0; at < stream.size();) {
      const std::size_t size = std::min<std::size_t>(1 + random_.below(5000), stream.size() - at);
      EXPECT_EQ(to_->read(Bytes(stream).subspan(at, size), judge_), size);
      at += size;
    }
  }
  [[nodiscard]] std::uint64_t count(const FibreCode& code, std::string_view name) const {
    for (const CounterValue& value : code.counters()) {
      if (value.name == name) return value.value;
    }
    ADD_FAILURE() << name;
    return 0;
  }

  Random random_{31};
  BufferPool payloads_{link::PacketPool::kPayloadBlock, 100};
  link::PacketPool pool_{100, payloads_};
  std::unique_ptr<FibreCode> from_ = make_fibre_code(GetParam());
  std::unique_ptr<FibreCode> to_ = make_fibre_code(GetParam());
  Judge judge_;
};

INSTANTIATE_TEST_SUITE_P(EachCode, FibreLine,
                         ::testing::Values(FibreCodeKind::k8b10b, FibreCodeKind::k64b66b),
                         [](const auto& info) {
                           const auto code = static_cast<std::size_t>(info.param);
                           return "Of" + std::string(kFibreCodeNames[code]);
                         });

TEST_P(FibreLine, CarriesPacketsOfEachSize) {
  Stream stream;
  for (std::uint32_t i = 0; i < 300; ++i) {
    judge_.sent.push_back(link::make_packet({.payload = 4 * i, .number = i}));
    EXPECT_TRUE(from_->put_packet(stream, *pool_.copy(judge_.sent.back())));
  }
  read(stream);
  EXPECT_EQ(judge_.good, 300U);
  EXPECT_EQ(judge_.bad + judge_.damaged + judge_.lost, 0U);
}

TEST_P(FibreLine, LosesNoMoreThanWhatBitErrorsHitAndSaysNothingThatWasNotSaid) {
  std::size_t lost = 0;
  for (int round = 0; round < 60; ++round) {
    begin();
    Stream stream = packets(100);
    const std::size_t errors = random_.below(12);
    for (std::size_t i = 0; i < errors; ++i)
      flip_line_bit(stream, random_.below(8 * stream.size()));
    read(stream);
    const std::size_t missing = judge_.sent.size() - judge_.good;
    // Where a start or an end is hit, its neighbour may go too.
    EXPECT_LE(missing, 2 * errors);
    EXPECT_GE(judge_.signals + 2 * errors, 25U);
    EXPECT_LE(judge_.signals, 25U);
    lost += missing;
    EXPECT_TRUE(errors > 0 || missing == 0);
  }
  EXPECT_GT(lost, 60U);
}

TEST_P(FibreLine, FindsItsWayBackAfterSlipsAndCutsBehindTheNextTraining) {
  for (int round = 0; round < 60; ++round) {
    begin();
    const Stream stream = packets(100);
    const std::size_t bits = random_.chance(0.5) ? 1 + random_.below(200) : random_.below(40'000);
    read(cut_bits(stream, random_.below(4 * stream.size()), bits));
    const std::size_t before = judge_.trainings;
    // Each end says it again and again until it is heard: here three times at most.
    Stream training;
    for (int i = 0; i < 3; ++i)
      from_->put_training(training, judge_.training);
    read(training);
    EXPECT_GT(judge_.trainings, before);
    const std::size_t good = judge_.good;
    judge_.at = judge_.sent.size();
    read(packets(20));
    EXPECT_EQ(judge_.good, good + 20) << "after " << bits << " bits";
  }
}

TEST_P(FibreLine, BearsAnythingThatIsNoLine) {
  for (int round = 0; round < 50; ++round) {
    Stream noise(random_.below(20'000));
    for (std::byte& byte : noise)
      byte = static_cast<std::byte>(random_.next());
    read(noise);
  }
  EXPECT_EQ(judge_.good, 0U);
  EXPECT_EQ(judge_.trainings, 1U);
}

// Two channels and whatever happens to the bits between them.
class FibreRepair : public ::testing::TestWithParam<FibreCodeKind>, public link::ChannelUser {
 protected:
  void connected(Time) override { ++connections; }
  void disconnected(Time) override {}
  void arrived(Bytes, Time) override { ++packets; }
  void arrived_flow_control(link::SignalBytes, Time) override {}
  void may_send(Time) override {}

  // In both directions; `cut` bits are missing in the first one.
  void run(Duration time, std::size_t cut = 0) {
    for (const Time end = now + time; now < end; now += 10ms) {
      for (const std::size_t from : {0U, 1U}) {
        ASSERT_TRUE(ends[from].run(now));
        const Bytes pending = ends[from].pending();
        Stream stream(pending.begin(), pending.end());
        ends[from].sent(stream.size(), now);
        if (from == 0 && cut != 0 && !stream.empty()) {
          stream = cut_bits(stream, 0, std::exchange(cut, 0));
        }
        std::ranges::copy(stream, ends[1 - from].room().begin());
        ASSERT_TRUE(ends[1 - from].arrived(stream.size(), now));
      }
    }
  }
  Time now{1s};
  int connections = 0;
  int packets = 0;
  std::array<FibreChannel, 2> ends{FibreChannel({.code = GetParam()}),
                                   FibreChannel({.code = GetParam()})};
};

INSTANTIATE_TEST_SUITE_P(EachCode, FibreRepair,
                         ::testing::Values(FibreCodeKind::k8b10b, FibreCodeKind::k64b66b),
                         [](const auto& info) {
                           const auto code = static_cast<std::size_t>(info.param);
                           return "Of" + std::string(kFibreCodeNames[code]);
                         });

TEST_P(FibreRepair, TrainsAnewOnTheSameStreamAfterASlip) {
  BufferPool payloads{link::PacketPool::kPayloadBlock, 10};
  link::PacketPool pool{10, payloads};
  ends[1].set_user(this);
  for (FibreChannel& end : ends) {
    end.opened(now);
    end.seek(true, now);
  }
  run(1s);
  ASSERT_TRUE(ends[0].is_connected() && ends[1].is_connected());
  for (std::size_t slip = 1; slip < 12; ++slip) {
    for (std::uint32_t i = 0; i < 50; ++i)
      ends[0].send(*pool.copy(link::make_packet({.payload = 400, .number = i})), now);
    run(2s, slip);
    ASSERT_TRUE(ends[0].is_connected() && ends[1].is_connected()) << slip;
    packets = 0;
    ends[0].send(*pool.copy(link::make_packet({.payload = 400, .number = 7})), now);
    run(100ms);
    EXPECT_EQ(packets, 1) << slip;
  }
  EXPECT_EQ(ends[1].counters().get(FibreCounter::kOutOfStep), 0U);
}

TEST(FibreBlockCode, LosesTheConnectionWhereOneEndSaysThatItUnderstandsNothing) {
  FibreBlockCode said;
  FibreBlockCode heard;
  Judge judge;
  Stream stream;
  // The one that has read nothing yet says remote fault.
  said.put_training(stream, judge.training);
  EXPECT_TRUE(heard.read(stream, judge));
  EXPECT_EQ(judge.trainings, 1U);
  EXPECT_EQ(judge.lost, 0U);
  Stream answer;
  heard.put_skip(answer);
  Judge other;
  EXPECT_TRUE(said.read(answer, other));
  stream.clear();
  said.put_skip(stream);
  EXPECT_TRUE(heard.read(stream, judge));
  EXPECT_EQ(judge.lost, 0U) << "idle again";
  said.restart();
  stream.clear();
  FibreBlockCode deaf;
  deaf.put_skip(stream);
  deaf.put_skip(stream);
  EXPECT_TRUE(heard.read(stream, judge));
  EXPECT_EQ(judge.lost, 1U);
}

}  // namespace
}  // namespace weft::wan
