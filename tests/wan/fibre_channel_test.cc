// SPDX-License-Identifier: Apache-2.0
// A fibre that is a stream of bytes: its framing, and how two ends train.
#include "wan/fibre_channel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>
#include <vector>

#include "../link/rig.h"
#include "base/fibre_address.h"
#include "base/random.h"

namespace weft::wan {
namespace {

using link::CreditFormat;

// What comes to one end, packets by their numbers.
struct Listener : link::ChannelUser {
  void connected(Time) override {
    EXPECT_FALSE(is_connected);
    is_connected = true;
    ++connections;
  }
  void disconnected(Time) override {
    EXPECT_TRUE(is_connected);
    is_connected = false;
  }
  void arrived(Bytes packet, Time) override {
    EXPECT_TRUE(is_connected);
    numbers.push_back(wire::Bth::parse(packet.subspan(8))->psn.value());
    packets.emplace_back(packet.begin(), packet.end());
  }
  void arrived_flow_control(link::SignalBytes packet, Time) override {
    EXPECT_TRUE(is_connected);
    signals.push_back(*wire::FlowControl::parse(packet));
  }
  void may_send(Time) override { ++room; }

  bool is_connected = false;
  int connections = 0;
  int room = 0;
  std::vector<std::uint32_t> numbers;
  std::vector<std::vector<std::byte>> packets;
  std::vector<wire::FlowControl> signals;
};

// Two ends and a stream between them, which brings bytes in pieces of any size.
class FibreStreamBase {
 protected:
  explicit FibreStreamBase(FibreCodeKind code)
      : channels_{FibreChannel({.code = code, .format = CreditFormat{.scale = 3, .wide = true}}),
                  FibreChannel({.code = code})} {
    for (std::size_t i = 0; i < 2; ++i)
      channels_[i].set_user(&users_[i]);
  }

  void open() {
    for (FibreChannel& channel : channels_)
      channel.opened(now_);
  }
  void seek() {
    for (FibreChannel& channel : channels_)
      channel.seek(true, now_);
  }
  void move(std::size_t from, std::size_t most) {
    FibreChannel& to = channels_[1 - from];
    const Bytes pending = channels_[from].pending();
    const std::size_t size = std::min({pending.size(), to.room().size(), most});
    std::copy_n(pending.begin(), size, to.room().begin());
    channels_[from].sent(size, now_);
    EXPECT_TRUE(to.arrived(size, now_));
  }
  // Until there is nothing more, in pieces of up to so many bytes.
  void carry(std::size_t most = 1 << 20) {
    while (!channels_[0].pending().empty() || !channels_[1].pending().empty()) {
      for (const std::size_t from : {0, 1})
        move(from, 1 + random_.below(most));
    }
  }
  void pass(Duration time) {
    for (const Time end = now_ + time; now_ < end; now_ += 10ms) {
      for (FibreChannel& channel : channels_)
        EXPECT_TRUE(channel.run(now_));
      carry();
    }
  }
  [[nodiscard]] bool connected() const { return users_[0].is_connected && users_[1].is_connected; }
  void send(std::size_t from, std::uint32_t number, std::size_t payload = 64) {
    const auto bytes = link::make_packet({.payload = payload, .number = number});
    channels_[from].send(*pool_.copy(bytes), now_);
  }
  bool put(std::size_t to, std::initializer_list<int> bytes) {
    const MutableBytes room = channels_[to].room();
    std::transform(bytes.begin(), bytes.end(), room.begin(),
                   [](int byte) { return std::byte(static_cast<std::uint8_t>(byte)); });
    return channels_[to].arrived(bytes.size(), now_);
  }

  Random random_{7};
  Time now_{1s};
  BufferPool payloads_{link::PacketPool::kPayloadBlock, 100};
  link::PacketPool pool_{100, payloads_};
  std::array<Listener, 2> users_;
  std::array<FibreChannel, 2> channels_;
};

// What holds with each line code, and what is of the symbols as they are.
class FibreStream : public FibreStreamBase, public ::testing::TestWithParam<FibreCodeKind> {
 protected:
  FibreStream() : FibreStreamBase(GetParam()) {}
};
class SymbolStream : public FibreStreamBase, public ::testing::Test {
 protected:
  SymbolStream() : FibreStreamBase(FibreCodeKind::kSymbols) {}
};

INSTANTIATE_TEST_SUITE_P(EachCode, FibreStream,
                         ::testing::Values(FibreCodeKind::kSymbols, FibreCodeKind::k8b10b,
                                           FibreCodeKind::k64b66b),
                         [](const auto& info) {
                           const auto code = static_cast<std::size_t>(info.param);
                           return "Of" + std::string(kFibreCodeNames[code]);
                         });

TEST_P(FibreStream, ConnectsWhenBothEndsLookForEachOther) {
  open();
  channels_[0].seek(true, now_);
  pass(1s);
  EXPECT_FALSE(connected());
  channels_[1].seek(true, now_);
  pass(200ms);
  EXPECT_TRUE(connected());
  // Each knows what the other one offers.
  EXPECT_EQ(channels_[0].far_format(), std::nullopt);
  EXPECT_EQ(channels_[1].far_format(), (CreditFormat{.scale = 3, .wide = true}));
  pass(10s);
  EXPECT_TRUE(connected()) << "an idle fibre is no silent one";
  EXPECT_EQ(users_[0].connections, 1);
}

TEST_P(FibreStream, CarriesBothKindsInOrderInPiecesOfAnySize) {
  open();
  seek();
  pass(200ms);
  ASSERT_TRUE(connected());
  for (const std::size_t piece : {1, 7, 100, 5000}) {
    std::vector<std::vector<std::byte>> sent;
    for (std::uint32_t i = 0; i < 50; ++i) {
      const std::size_t payload = 4 * random_.below(1025);
      sent.push_back(link::make_packet({.payload = payload, .number = i}));
      send(0, i, payload);
      channels_[0].send_flow_control(
          wire::FlowControl{.vl = Vl{3}, .fccl = static_cast<std::uint16_t>(i)}.bytes(), now_);
    }
    carry(piece);
    EXPECT_EQ(users_[1].packets, sent);
    ASSERT_EQ(users_[1].signals.size(), 50);
    for (std::uint32_t i = 0; i < 50; ++i)
      EXPECT_EQ(users_[1].signals[i].fccl, i);
    users_[1].packets.clear();
    users_[1].signals.clear();
  }
}

// As they are on a lane of a real link, in steps of four symbols.
TEST_F(SymbolStream, SaysPacketsAsTheyAreBetweenTheirDelimiters) {
  open();
  seek();
  pass(200ms);
  const auto packet = link::make_packet({.payload = 20, .number = 5});
  send(0, 5, 20);
  const Bytes out = channels_[0].pending();
  ASSERT_EQ(out.size(), packet.size() + 2);
  EXPECT_EQ(out.size() % 4, 0);
  EXPECT_EQ(out.front(), std::byte{0xFB});
  EXPECT_EQ(out.back(), std::byte{0xFD});
  EXPECT_TRUE(std::ranges::equal(out.subspan(1, packet.size()), packet));
  carry();
  const auto signal = wire::FlowControl{.vl = Vl{1}, .fctbs = 2, .fccl = 3};
  channels_[0].send_flow_control(signal.bytes(), now_);
  EXPECT_EQ(channels_[0].pending().size(), 8);
  EXPECT_EQ(channels_[0].pending().front(), std::byte{0x5C});
  carry();
  EXPECT_EQ(users_[1].signals.back(), signal);
}

// Counts of 24 bits are two packets, an upper half and what belongs to it.
TEST_P(FibreStream, CarriesCreditOfBothWidthsAsItIs) {
  open();
  seek();
  pass(200ms);
  using Op = wire::FlowControl::Op;
  std::vector<wire::FlowControl> sent;
  for (const bool wide : {false, true, true, false}) {
    for (const Op op : {Op::kInitialize, Op::kNormal}) {
      const Vl vl{static_cast<std::uint8_t>(random_.below(16))};
      const auto count = [&] { return static_cast<std::uint16_t>(random_.below(4096)); };
      if (wide) sent.push_back({.op = Op::kUpper, .vl = vl, .fctbs = count(), .fccl = count()});
      sent.push_back({.op = op, .vl = vl, .fctbs = count(), .fccl = count()});
    }
  }
  for (const wire::FlowControl& signal : sent)
    channels_[0].send_flow_control(signal.bytes(), now_);
  carry(9);
  EXPECT_EQ(users_[1].signals, sent);
}

TEST_P(FibreStream, BringsNothingOfAnEarlierTraining) {
  open();
  seek();
  pass(200ms);
  for (std::uint32_t number = 0; number < 100; ++number) {
    const std::size_t side = random_.below(2);
    send(1 - side, 1000 + number);  // on its way while the other end trains anew
    channels_[side].seek(false, now_);
    users_[side].numbers.clear();
    if (random_.chance(0.5)) move(random_.below(2), 1 + random_.below(40));
    channels_[side].seek(true, now_);
    for (int i = 0; i < 5; ++i)
      move(random_.below(2), 1 + random_.below(40));
    send(1 - side, 2000 + number);
    pass(250ms);
    ASSERT_TRUE(connected()) << number;
    for (const std::uint32_t came : users_[side].numbers)
      EXPECT_EQ(came, 2000 + number);
    users_[1 - side].numbers.clear();
  }
}

TEST_P(FibreStream, GivesUpAStreamThatIsSilent) {
  open();
  seek();
  pass(200ms);
  ASSERT_TRUE(connected());
  for (const Time end = now_ + 2500ms; now_ < end; now_ += 100ms) {
    EXPECT_TRUE(channels_[0].run(now_));
    channels_[0].sent(channels_[0].pending().size(), now_);
  }
  now_ += 500ms;
  EXPECT_FALSE(channels_[0].run(now_));
  channels_[0].closed(now_);
  EXPECT_FALSE(users_[0].is_connected);
}

TEST_F(SymbolStream, GivesUpWhatIsOutOfStep) {
  const auto out_of_step = [&](std::initializer_list<int> bytes) {
    channels_[1].closed(now_);
    channels_[1].opened(now_);
    return !put(1, bytes);
  };
  EXPECT_TRUE(out_of_step({0x00})) << "nothing begins so";
  EXPECT_TRUE(out_of_step({0x5C, 0, 0, 0, 0, 0, 0, 0x5C})) << "no end";
  EXPECT_FALSE(out_of_step({0x5C, 0, 0, 0, 0, 0, 0, 0xFE})) << "the end of a bad one";
  EXPECT_EQ(channels_[1].counters().get(FibreCounter::kBadPackets), 1);
  EXPECT_TRUE(out_of_step({0xFB, 0, 0, 0, 0, 0x00, 0x01, 0, 0})) << "shorter than a packet";
  EXPECT_TRUE(out_of_step({0xFB, 0, 0, 0, 0, 0x07, 0xFF, 0, 0})) << "longer than any";
  EXPECT_FALSE(out_of_step({0xFB, 0, 0, 0, 0, 0x04, 0x00, 0, 0})) << "the beginning of one";
  EXPECT_TRUE(out_of_step({0xBC, 0x1C, 0x1C, 0x00}));
  EXPECT_TRUE(out_of_step({0xBC, 0x00, 0x33, 0x33}));
  EXPECT_FALSE(out_of_step({0xBC, 0x1C, 0x1C, 0x1C, 0xBC}));
  EXPECT_EQ(channels_[1].counters().get(FibreCounter::kOutOfStep), 6);
}

// The sets of a lane of any port, as the standard has them: they say nothing, and do no harm.
TEST_F(SymbolStream, TakesTrainingSetsWithoutNumbersForNothing) {
  open();
  seek();
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(put(1, {0xBC, 0, 0x45, 0x45, 0x45, 0x45, 0x45, 0x45, 0x45, 0x45, 0x45, 0x45, 0x45,
                        0x45, 0x45, 0x45}));
  }
  EXPECT_FALSE(users_[1].is_connected);
  pass(200ms);
  EXPECT_TRUE(connected());
}

// Each set that names another training is answered, each packet gives credit: whoever sends them
// and reads nothing must not fill the memory.
TEST_F(SymbolStream, GivesUpAnEndThatTalksAndDoesNotRead) {
  open();
  seek();
  std::size_t most = 0;
  bool goes_on = true;
  for (int i = 0; i < 100'000 && goes_on; ++i) {
    const int number = 1 + i % 2;
    goes_on = put(1, {0xBC, 0, 0x4A, 0x4A, 0x57, 0x66, 1, 0, number, 0, 0, 0, 0, 0x4A, 0x4A, 0x4A});
    most = std::max(most, channels_[1].pending().size());
  }
  EXPECT_FALSE(goes_on);
  EXPECT_LE(most, 2 * (256U << 10));
  EXPECT_EQ(channels_[1].counters().get(FibreCounter::kUnread), 1);
  channels_[1].closed(now_);
  open();
  pass(200ms);
  EXPECT_TRUE(connected()) << "with one that reads";
}

TEST_P(FibreStream, TakesNoMoreThanMayWaitAndSaysWhenThereIsRoom) {
  open();
  seek();
  pass(200ms);
  std::uint32_t sent = 0;
  while (channels_[0].ready())
    send(0, sent++, 4096);
  EXPECT_LT(channels_[0].pending().size(), (256U << 10) + 6000);
  carry();
  EXPECT_EQ(users_[1].numbers.size(), sent);
  EXPECT_EQ(users_[0].room, 1);
  EXPECT_TRUE(channels_[0].ready());
}

}  // namespace
}  // namespace weft::wan
