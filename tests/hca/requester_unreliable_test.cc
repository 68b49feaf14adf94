// SPDX-License-Identifier: Apache-2.0
// Messages that nobody acknowledges.
#include <gmock/gmock.h>

#include <algorithm>

#include "requester_fixture.h"

namespace weft::hca::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::Opcode;

using RequesterUnreliable = RequesterTest;

TEST_F(RequesterUnreliable, CompletesUnreliableMessagesOnceTheirLastPacketIsSent) {
  connection.config.type = QpType::kUc;
  start();
  ASSERT_EQ(send(1, kMtu + 1), std::errc{});
  const auto packets = transmit();
  EXPECT_THAT(opcodes(packets), ElementsAre(Opcode::uc_send_first, Opcode::uc_send_last));
  EXPECT_FALSE(packets[1].bth.ack_request);
  EXPECT_THAT(completed_ids(), ElementsAre(1));
  EXPECT_TRUE(requester->idle());
  EXPECT_EQ(requester->deadline(), std::nullopt);
  EXPECT_EQ(read(2, 1), std::errc::invalid_argument);
}

TEST_F(RequesterUnreliable, GoesOnAfterAFailedUnreliableMessage) {
  connection.config.type = QpType::kUc;
  start();
  const std::array bad{Sge{.address = region.iova, .length = 1, .lkey = LKey{region.key + 1}}};
  ASSERT_EQ(requester->post({.wr_id = 1, .pieces = bad}), std::errc{});
  EXPECT_THAT(transmit(), IsEmpty());
  EXPECT_TRUE(requester->failed());
  requester->flush();
  requester->resume();
  ASSERT_EQ(send(2, 1), std::errc{});
  EXPECT_THAT(numbers(transmit()), ElementsAre(0));
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kLocalProtectionError),
                                       std::pair(2u, CompletionStatus::kSuccess)));
}

// Nothing is remembered of what nobody acknowledges, but of what the wire does not take.
TEST_F(RequesterUnreliable, UnreliableMessagesThatTheWireDoesNotTakeGoAgainAsTheyWere) {
  connection.config.type = QpType::kUc;
  start();
  std::uint32_t psn = 0;
  for (const std::uint32_t length : {1u, kMtu, 3 * kMtu}) {
    SCOPED_TRACE(length);
    ASSERT_EQ(send(length, length), std::errc{});
    ASSERT_EQ(send(length + 1, 2), std::errc{});
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(requester->fill(scratch, now));
      EXPECT_FALSE(requester->idle());
      requester->sent(scratch, {.outcome = SendOutcome::kWouldBlock}, now);
      EXPECT_TRUE(completed_ids().empty());
      EXPECT_TRUE(requester->has_work());
    }
    EXPECT_EQ(requester->queued_bytes(), length + 2);
    const auto packets = transmit();
    ASSERT_EQ(packets.size(), std::max<std::size_t>(length / kMtu, 1) + 1);
    EXPECT_EQ(packets.front().bth.psn, kFirstPsn + psn);
    psn += static_cast<std::uint32_t>(packets.size());
    EXPECT_THAT(completed_ids(), ElementsAre(length, length + 1));
    completions.all.clear();
    EXPECT_EQ(requester->in_flight(), 0u);
    EXPECT_EQ(requester->queued_bytes(), 0u);
  }
}

TEST_F(RequesterUnreliable, AnUnreliableMessageAloneIsOnePacket) {
  connection.config.type = QpType::kUc;
  start();
  for (const bool solicited : {false, true}) {
    ASSERT_EQ(post({.wr_id = 7, .signaled = true, .solicited = solicited}, 100, 5), std::errc{});
    const auto packets = transmit();
    EXPECT_THAT(opcodes(packets), ElementsAre(Opcode::uc_send_only));
    EXPECT_EQ(packets.front().bth.solicited, solicited);
    EXPECT_EQ(packets.front().bth.pad_count, 3);
    EXPECT_FALSE(packets.front().bth.ack_request);
    EXPECT_EQ(Bytes(packets.front().payload).size(), 5u);
    EXPECT_TRUE(std::equal(packets.front().payload.begin(), packets.front().payload.end(),
                           memory.begin() + 100));
  }
  // One that the wire does not take goes when it does.
  ASSERT_EQ(send(8, 5), std::errc{});
  ASSERT_TRUE(requester->fill(scratch, now));
  requester->sent(scratch, {.outcome = SendOutcome::kWouldBlock}, now);
  EXPECT_THAT(completed_ids(), ElementsAre(7, 7));
  EXPECT_EQ(requester->queued_bytes(), 5u);
  EXPECT_EQ(requester->queued_packets(), 1u);
  ASSERT_TRUE(requester->fill(scratch, now));
  EXPECT_EQ(wire::Bth::parse(scratch.packets().front().header)->psn, kFirstPsn + 2);
  // One that it refuses is lost, and nobody sends it again.
  requester->sent(scratch, {.outcome = SendOutcome::kRefused}, now);
  EXPECT_THAT(completed_ids(), ElementsAre(7, 7, 8));
  EXPECT_TRUE(requester->idle());
  // Memory that turns out not to be there fails it.
  ASSERT_EQ(send(9, 5), std::errc{});
  ASSERT_TRUE(requester->fill(scratch, now));
  requester->sent(
      scratch,
      {.outcome = SendOutcome::kRefused, .reason = CompletionStatus::kLocalProtectionError}, now);
  EXPECT_TRUE(requester->failed());
  EXPECT_EQ(completed().back().second, CompletionStatus::kLocalProtectionError);
}

TEST_F(RequesterUnreliable, SendsMuchThroughAnUnreliableConnectionWithoutAnyAnswer) {
  connection.config.type = QpType::kUc;
  start();
  ASSERT_EQ(send(1, 2 * 1024 * 1024), std::errc{});
  EXPECT_EQ(transmit().size(), 2u * 1024 * 1024 / kMtu);
  EXPECT_EQ(bursts.front(), 64u);
  EXPECT_THAT(completed_ids(), ElementsAre(1));
}

}  // namespace
}  // namespace weft::hca::test
