// SPDX-License-Identifier: Apache-2.0
// What somebody can do who does not see what is sent, but knows addresses and ports.
#include <gtest/gtest.h>

#include "dccp_stage.h"

namespace weft::wan::dccp {
namespace {

class DccpAttack : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(world.connect());
    world.run(1s);
    world.tap = [this](std::size_t from, Bytes packet) {
      const auto read = parse(packet, address(from), address(1 - from));
      ASSERT_TRUE(read);
      last[from] = read->header;
      ++sent[from][read->header.type];
    };
    const std::vector<std::byte> frame(100);
    world.send(0, frame);
    world.send(1, frame);
    world.run(100ms);
    sent = {};
  }
  // As from end 1, to end 0.
  void forge(PacketType type, Sequence sequence, std::optional<Sequence> acknowledged,
             Bytes data = {}) {
    Header header{.source_port = last[1].source_port,
                  .destination_port = last[1].destination_port,
                  .type = type,
                  .sequence = sequence,
                  .acknowledged = acknowledged,
                  .service_code = DccpPath::kServiceCode,
                  .reset_code = ResetCode::kAborted};
    std::vector<std::byte> packet(header_bytes(header, 0));
    const std::array<Bytes, 1> pieces{data};
    write(header, {}, pieces, address(1), address(0), packet);
    packet.insert(packet.end(), data.begin(), data.end());
    world.inject(0, packet);
  }

  World world{21};
  std::array<Header, 2> last;
  std::array<std::map<PacketType, int>, 2> sent;
};

TEST_F(DccpAttack, ABlindResetEndsNothingAndIsAnsweredRarely) {
  Random random(5);
  for (int i = 0; i < 1000; ++i)
    forge(PacketType::kReset, Sequence(random.next()), Sequence(random.next()));
  EXPECT_TRUE(world.path(0).established());
  EXPECT_EQ(world.count(0, "dccp_rx_sequence"), 1000u);
  EXPECT_EQ(sent[0][PacketType::kSync], 8);
  EXPECT_EQ(sent[0].size(), 1u);
  world.run(1s);
  forge(PacketType::kReset, Sequence(1), Sequence(1));
  EXPECT_EQ(sent[0][PacketType::kSync], 9);
  // The other end has answered them, and both go on.
  EXPECT_TRUE(world.path(1).established());
  world.fill(0, 3);
  world.run(1s);
  EXPECT_EQ(world.got(1).size(), 4u);
}

TEST_F(DccpAttack, ARightSequenceNumberAloneEndsNothing) {
  Random random(6);
  for (int i = 0; i < 1000; ++i)
    forge(PacketType::kReset, last[1].sequence + 1 + random.below(100), Sequence(random.next()));
  EXPECT_TRUE(world.path(0).established());
  // With both it does, which nobody guesses in fewer than some 2^60 attempts.
  forge(PacketType::kReset, last[1].sequence + 1, last[0].sequence);
  EXPECT_FALSE(world.path(0).established());
  EXPECT_EQ(world.count(0, "dccp_resets"), 1u);
}

TEST_F(DccpAttack, DataOfNumbersBeyondTheWindowAreNotTaken) {
  const std::array data{std::byte{1}};
  const std::uint64_t window = Connection::kSequenceWindow;
  const std::size_t before = world.got(0).size();
  forge(PacketType::kData, last[1].sequence + (3 * window + 3) / 4 + 1, {}, data);
  forge(PacketType::kData, last[1].sequence - window, {}, data);
  EXPECT_EQ(world.got(0).size(), before);
  EXPECT_EQ(world.count(0, "dccp_rx_sequence"), 2u);
  EXPECT_EQ(sent[0][PacketType::kSync], 2);
  EXPECT_EQ(last[0].acknowledged, last[1].sequence - window);  // the number that did not fit
  forge(PacketType::kData, last[1].sequence + (3 * window + 3) / 4, {}, data);
  EXPECT_EQ(world.got(0).size(), before + 1);
}

TEST_F(DccpAttack, ACloseOfANumberThatHasComeEndsNothing) {
  forge(PacketType::kClose, last[1].sequence, last[0].sequence);
  EXPECT_TRUE(world.path(0).established());
  EXPECT_EQ(world.count(0, "dccp_rx_sequence"), 1u);
}

TEST_F(DccpAttack, PacketsThatCannotComeNowAreAnsweredWithASync) {
  // To the client.
  forge(PacketType::kRequest, last[1].sequence + 1, {});
  forge(PacketType::kResponse, last[1].sequence + 2, last[0].sequence);
  EXPECT_EQ(world.count(0, "dccp_rx_unexpected"), 2u);
  EXPECT_EQ(sent[0][PacketType::kSync], 2);
  EXPECT_TRUE(world.path(0).established());
  // Acknowledgements are still of what has come, and no more.
  const std::vector<std::byte> frame(10);
  world.run(100ms);
  world.send(1, frame);
  world.run(100ms);
  EXPECT_TRUE(world.path(1).established());
}

TEST_F(DccpAttack, APacketOfNoConnectionIsAnsweredRarelyWithAReset) {
  for (int i = 0; i < 100; ++i) {
    last[1].destination_port = static_cast<std::uint16_t>(1000 + i);
    forge(PacketType::kData, Sequence(5), {});
  }
  EXPECT_EQ(world.count(0, "dccp_rx_stranger"), 100u);
  EXPECT_EQ(sent[0][PacketType::kReset], 8);
  EXPECT_EQ(last[0].reset_code, ResetCode::kNoConnection);
  EXPECT_EQ(last[0].sequence, Sequence(0));
  EXPECT_EQ(last[0].acknowledged, Sequence(5));
  world.run(2s);
  forge(PacketType::kReset, Sequence(5), Sequence(9));  // none on a Reset
  EXPECT_EQ(sent[0][PacketType::kReset], 8);
  EXPECT_TRUE(world.path(0).established());
}

// Requests as from the client do not end the connection that there is.
TEST_F(DccpAttack, RequestsFromElsewhereReplaceNothing) {
  for (unsigned i = 0; i < 1000; ++i) {
    const Header header{.source_port = static_cast<std::uint16_t>(20000 + i),
                        .destination_port = last[0].destination_port,
                        .type = PacketType::kRequest,
                        .sequence = Sequence(i),
                        .acknowledged = {},
                        .service_code = DccpPath::kServiceCode};
    std::vector<std::byte> packet(header_bytes(header, 0));
    write(header, {}, {}, address(0), address(1), packet);
    world.inject(1, packet);
  }
  EXPECT_TRUE(world.path(1).established());
  world.run(1s, [this] { world.fill(0, 5); });
  EXPECT_EQ(world.got(1).size(), 6u);
  EXPECT_EQ(world.count(1, "dccp_connections"), 1u);
}

TEST_F(DccpAttack, AnOptionThatMustBeUnderstoodAndIsNotEndsTheConnection) {
  const std::array options{std::byte{1}, std::byte{120}, std::byte{2}, std::byte{0}};
  const Header header{.source_port = last[1].source_port,
                      .destination_port = last[1].destination_port,
                      .type = PacketType::kAck,
                      .sequence = last[1].sequence + 1,
                      .acknowledged = last[0].sequence};
  std::vector<std::byte> packet(header_bytes(header, options.size()));
  write(header, options, {}, address(1), address(0), packet);
  world.inject(0, packet);
  EXPECT_FALSE(world.path(0).established());
  EXPECT_EQ(last[0].type, PacketType::kReset);
  EXPECT_EQ(last[0].reset_code, ResetCode::kMandatoryError);
}

}  // namespace
}  // namespace weft::wan::dccp
