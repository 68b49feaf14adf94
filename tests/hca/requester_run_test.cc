// SPDX-License-Identifier: Apache-2.0
// Messages of many packets: what leaves as a run is what would leave packet by packet.
#include <gmock/gmock.h>

#include <algorithm>

#include "requester_fixture.h"

namespace weft::hca::test {
namespace {

using ::testing::ElementsAre;
using wire::Opcode;
using wire::Syndrome;

class RequesterRun : public RequesterTest {
 protected:
  // The message as its packets carry it.
  static std::vector<std::byte> joined(const std::vector<Seen>& packets) {
    std::vector<std::byte> all;
    for (const Seen& packet : packets)
      all.insert(all.end(), packet.payload.begin(), packet.payload.end());
    return all;
  }
  [[nodiscard]] bool is_memory(Bytes bytes, std::size_t offset = 0) const {
    return std::equal(bytes.begin(), bytes.end(),
                      memory.begin() + static_cast<std::ptrdiff_t>(offset));
  }
};

TEST_F(RequesterRun, NumbersThePacketsOfAMessageOneByOneAndCarriesAllOfIt) {
  start();
  ASSERT_EQ(send(1, 20 * kMtu + 3), std::errc{});
  const auto packets = transmit();
  ASSERT_EQ(packets.size(), 21u);
  for (std::uint32_t i = 0; i < packets.size(); ++i) {
    EXPECT_EQ(packets[i].bth.psn, kFirstPsn + i);
    EXPECT_EQ(packets[i].bth.dest_qp, kPeerQpn);
    const Opcode expected = i == 0    ? Opcode::rc_send_first
                            : i == 20 ? Opcode::rc_send_last
                                      : Opcode::rc_send_middle;
    EXPECT_EQ(packets[i].bth.opcode, expected) << i;
  }
  EXPECT_TRUE(is_memory(joined(packets)));
  EXPECT_TRUE(packets.back().bth.ack_request);
  EXPECT_THAT(bursts, ElementsAre(21));
}

TEST_F(RequesterRun, GoesOverThePiecesOfARequestWhereverTheyEnd) {
  start();
  const std::array pieces{sge(0, 5 * kMtu + 100), sge(8192, 60), sge(16384, 6 * kMtu)};
  ASSERT_EQ(requester->post({.wr_id = 1, .pieces = pieces}), std::errc{});
  const auto packets = transmit();
  ASSERT_EQ(packets.size(), 12u);
  const std::vector<std::byte> all = joined(packets);
  const Bytes bytes(all);
  EXPECT_TRUE(is_memory(bytes.first(5 * kMtu + 100)));
  EXPECT_TRUE(is_memory(bytes.subspan(5 * kMtu + 100, 60), 8192));
  EXPECT_TRUE(is_memory(bytes.subspan(5 * kMtu + 160), 16384));
}

TEST_F(RequesterRun, StopsWhereTheWindowEndsAndAsksThere) {
  start_weft();
  ASSERT_EQ(send(1, 1000 * kMtu), std::errc{});
  const auto packets = transmit();
  ASSERT_GT(packets.size(), 100u);
  ASSERT_LT(packets.size(), 1000u);
  EXPECT_LE(requester->in_flight(), requester->window());
  EXPECT_TRUE(packets.back().bth.ack_request);
  // Every quarter of the window, too.
  const auto asks = std::count_if(packets.begin(), packets.end(),
                                  [](const Seen& packet) { return packet.bth.ack_request; });
  EXPECT_GE(asks, 4);
  EXPECT_LE(asks, 8);
}

TEST_F(RequesterRun, AsksForAsMuchAsLeavesAtOnceOnALongPath) {
  start_weft();
  ASSERT_EQ(send(1, 1), std::errc{});
  transmit();
  now += 10ms;
  weft_ack(0);
  ASSERT_EQ(send(2, 1000 * kMtu), std::errc{});
  const auto packets = transmit();
  const auto asks = std::count_if(packets.begin(), packets.end(),
                                  [](const Seen& packet) { return packet.bth.ack_request; });
  EXPECT_GE(asks, 8) << "of " << packets.size() << ": a quarter of the window is too seldom";
}

TEST_F(RequesterRun, SendsAgainFromTheMiddleOfARunWhatThePeerMisses) {
  start();
  ASSERT_EQ(send(1, 20 * kMtu), std::errc{});
  transmit();
  now += 1ms;
  nak(7, wire::NakCode::psn_sequence_error);
  const auto again = transmit();
  ASSERT_EQ(again.size(), 13u);
  EXPECT_EQ(again.front().bth.psn, kFirstPsn + 7);
  EXPECT_TRUE(is_memory(joined(again), std::size_t{7} * kMtu));
}

TEST_F(RequesterRun, TakesBackARunThatTheWireDidNotTake) {
  start();
  ASSERT_EQ(send(1, 20 * kMtu), std::errc{});
  ASSERT_TRUE(requester->fill(scratch, now));
  requester->sent(scratch, {.outcome = SendOutcome::kWouldBlock}, now);
  EXPECT_EQ(requester->in_flight(), 0u);
  EXPECT_EQ(requester->queued_packets(), 20u);
  const auto packets = transmit();
  ASSERT_EQ(packets.size(), 20u);
  EXPECT_EQ(packets.front().bth.psn, kFirstPsn);
  EXPECT_TRUE(is_memory(joined(packets)));
}

TEST_F(RequesterRun, SaysTheAddressWithEveryPacketOfAWriteToAWeftPeer) {
  start_weft();
  ASSERT_EQ(write(1, 4 * kMtu), std::errc{});
  const auto packets = transmit();
  EXPECT_THAT(opcodes(packets),
              ElementsAre(Opcode::rc_write_first, Opcode::weft_rc_write_middle,
                          Opcode::weft_rc_write_middle, Opcode::weft_rc_write_last));
  for (std::size_t i = 0; i < packets.size(); ++i) {
    const wire::Reth expected{.virtual_address = 0x1000 + i * kMtu,
                              .rkey = RKey{0x77},
                              .dma_length = static_cast<std::uint32_t>((4 - i) * kMtu)};
    EXPECT_EQ(packets[i].reth(), expected) << i;
  }
  EXPECT_THAT(bursts, ElementsAre(4)) << "all are of one length, and leave at once";
}

TEST_F(RequesterRun, KeepsToTheStandardsWritesWithAPeerThatIsNotWeft) {
  start();
  ASSERT_EQ(write(1, 4 * kMtu), std::errc{});
  EXPECT_THAT(opcodes(transmit()), ElementsAre(Opcode::rc_write_first, Opcode::rc_write_middle,
                                               Opcode::rc_write_middle, Opcode::rc_write_last));
}

TEST_F(RequesterRun, EndsAWriteWithImmediateAsTheStandardDoes) {
  start_weft();
  ASSERT_EQ(post({.wr_id = 1,
                  .opcode = SendOpcode::kRdmaWriteWithImmediate,
                  .remote_address = 0x1000,
                  .rkey = RKey{0x77}},
                 0, 3 * kMtu),
            std::errc{});
  EXPECT_THAT(opcodes(transmit()), ElementsAre(Opcode::rc_write_first, Opcode::weft_rc_write_middle,
                                               Opcode::rc_write_last_imm));
}

class ShortMessages : public RequesterRun {
 protected:
  void post_many(std::uint64_t first, std::size_t count) {
    for (std::uint64_t id = first; id < first + count; ++id)
      ASSERT_EQ(send(id, 100, id * 128), std::errc{});
  }
};

TEST_F(ShortMessages, GoAsARunEachFromItsOwnMemory) {
  start();
  post_many(0, 40);
  const auto packets = transmit();
  EXPECT_THAT(bursts, ElementsAre(40));
  ASSERT_EQ(packets.size(), 40u);
  for (std::uint32_t i = 0; i < packets.size(); ++i) {
    EXPECT_EQ(packets[i].bth.psn, kFirstPsn + i);
    EXPECT_EQ(packets[i].bth.opcode, Opcode::rc_send_only);
    EXPECT_EQ(packets[i].payload.size(), 100u);
    EXPECT_TRUE(is_memory(packets[i].payload, std::size_t{i} * 128)) << i;
  }
  EXPECT_TRUE(packets.back().bth.ack_request);
  ack(39);
  EXPECT_EQ(completed_ids().size(), 40u);
  EXPECT_EQ(requester->in_flight(), 0u);
}

TEST_F(ShortMessages, KeepTheirOwnHeadersWhenTheyAreNotAlike) {
  start();
  post_many(0, 3);
  ASSERT_EQ(post({.wr_id = 3, .solicited = true}, 0, 100), std::errc{});
  ASSERT_EQ(post({.wr_id = 4}, 0, 100), std::errc{});
  ASSERT_EQ(post({.wr_id = 5, .opcode = SendOpcode::kSendWithInvalidate}, 0, 96), std::errc{});
  ASSERT_EQ(post({.wr_id = 6}, 0, 100), std::errc{});
  ASSERT_EQ(post({.wr_id = 7}, 0, 99), std::errc{});
  const auto packets = transmit();
  ASSERT_EQ(packets.size(), 8u);
  for (std::size_t i = 0; i < packets.size(); ++i) {
    EXPECT_EQ(packets[i].bth.solicited, i == 3) << i;
    EXPECT_EQ(packets[i].bth.opcode,
              i == 5 ? Opcode::rc_send_only_invalidate : Opcode::rc_send_only)
        << i;
    EXPECT_EQ(packets[i].payload.size(), i == 5 ? 96u : i == 7 ? 99u : 100u) << i;
  }
}

TEST_F(ShortMessages, FollowOneThatIsAsLongButInSeveralPieces) {
  start();
  const std::array pieces{sge(0, 60), sge(4096, 40)};
  ASSERT_EQ(requester->post({.wr_id = 1, .pieces = pieces}), std::errc{});
  for (std::uint64_t i = 2; i < 5; ++i) {
    const std::array piece{sge(100 * i, 100)};
    ASSERT_EQ(requester->post({.wr_id = i, .pieces = piece}), std::errc{});
  }
  const auto packets = transmit();
  ASSERT_EQ(packets.size(), 4u);
  const auto holds = [&](std::size_t packet, std::size_t from, std::size_t at, std::size_t size) {
    return std::equal(memory.begin() + static_cast<std::ptrdiff_t>(at),
                      memory.begin() + static_cast<std::ptrdiff_t>(at + size),
                      packets[packet].payload.begin() + static_cast<std::ptrdiff_t>(from));
  };
  EXPECT_TRUE(holds(0, 0, 0, 60) && holds(0, 60, 4096, 40));
  for (std::size_t i = 1; i < packets.size(); ++i) {
    ASSERT_EQ(packets[i].payload.size(), 100u);
    EXPECT_TRUE(holds(i, 0, 100 * (i + 1), 100)) << i;
  }
}

TEST_F(ShortMessages, AreNotMoreThanThePeerHasReceivesFor) {
  start();
  ASSERT_EQ(send(100, 1), std::errc{});
  transmit();
  aeth(0, Syndrome::ack(3), 1);  // three credits: wire encoding 3 is 3
  post_many(0, 10);
  EXPECT_EQ(transmit().size(), 3u);
  aeth(3, Syndrome::ack(3), 4);
  EXPECT_EQ(transmit().size(), 3u);
}

TEST_F(ShortMessages, WaitBehindAFence) {
  start();
  ASSERT_EQ(read(100, 64, 4096), std::errc{});
  post_many(0, 3);
  ASSERT_EQ(post({.wr_id = 3, .fence = true}, 0, 100), std::errc{});
  EXPECT_EQ(transmit().size(), 4u) << "the read and what is before the fence";
}

TEST_F(ShortMessages, FailOneByOneWhenTheirMemoryIsNotTheirs) {
  start();
  post_many(0, 3);
  SendRequest request{.wr_id = 3, .signaled = true};
  const std::array pieces{Sge{address(0), 100, LKey{0xBAD}}};
  request.pieces = pieces;
  ASSERT_EQ(requester->post(request), std::errc{});
  EXPECT_EQ(transmit().size(), 3u);
  ack(2);
  transmit();
  ASSERT_EQ(completions.all.size(), 4u);
  EXPECT_EQ(completions.all.back().status, CompletionStatus::kLocalProtectionError);
}

TEST_F(RequesterRun, SaysWhenAThirdOfTheSendQueueWaits) {
  start();
  const std::uint32_t third = (connection.config.max_sends + 2) / 3;
  for (std::uint32_t i = 0; i + 1 < third; ++i)
    ASSERT_EQ(send(i, 8), std::errc{});
  EXPECT_FALSE(requester->queue_fills());
  ASSERT_EQ(send(third, 8), std::errc{});
  EXPECT_TRUE(requester->queue_fills());
  transmit();  // what is not acknowledged does not wait
  EXPECT_FALSE(requester->queue_fills());
}

// So many that are not to be reported.
class RequesterRunOfFewReports : public RequesterTest {
 protected:
  void post_unreported(std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i)
      ASSERT_EQ(post({.wr_id = i}, 0, 8), std::errc{});
  }
  [[nodiscard]] std::uint32_t quarter() const { return connection.config.max_sends / 4; }
};

TEST_F(RequesterRunOfFewReports, SaysWhenWhatTheProgramWaitsForIsThere) {
  start();
  post_unreported(quarter() + 1);
  EXPECT_FALSE(requester->queue_fills());
  ASSERT_EQ(send(100, 8), std::errc{});
  EXPECT_TRUE(requester->queue_fills());
  post_unreported(1);
  EXPECT_FALSE(requester->queue_fills()) << "it is late";
}

TEST_F(RequesterRunOfFewReports, LetsWhatIsReportedOftenGather) {
  start();
  post_unreported(quarter() - 2);
  ASSERT_EQ(send(100, 8), std::errc{});
  EXPECT_FALSE(requester->queue_fills());
  post_unreported(1);
  ASSERT_EQ(send(101, 8), std::errc{});
  EXPECT_FALSE(requester->queue_fills());
}

TEST_F(RequesterRunOfFewReports, LetsFewGatherThoughOneIsReported) {
  start();
  post_unreported(quarter());
  transmit();
  post_unreported(1);
  ASSERT_EQ(send(100, 8), std::errc{});
  EXPECT_FALSE(requester->queue_fills());
}

TEST_F(RequesterRun, WaitsForItsTurnWithWhatIsNewAndSendsAgainWhatIsNot) {
  start_weft();
  ASSERT_EQ(write(1, 4 * kMtu), std::errc{});
  requester->wait_turn(true);
  EXPECT_FALSE(requester->has_work());
  EXPECT_TRUE(transmit().empty());
  EXPECT_FALSE(requester->outstanding());

  requester->wait_turn(false);
  EXPECT_TRUE(requester->has_work());
  EXPECT_EQ(transmit().size(), 4u);
  EXPECT_TRUE(requester->outstanding());
  requester->wait_turn(true);
  ASSERT_EQ(write(2, kMtu), std::errc{});
  EXPECT_TRUE(transmit().empty());
  ASSERT_TRUE(wait());  // nobody answers: a probe
  const auto again = transmit();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].bth.psn, kFirstPsn);
  EXPECT_TRUE(again[0].bth.ack_request);

  weft_ack(3);
  EXPECT_FALSE(requester->outstanding());
  EXPECT_FALSE(requester->has_work());
  requester->wait_turn(false);
  EXPECT_EQ(transmit().size(), 1u);
}

TEST_F(RequesterRun, HasNoMoreToDoForWhatIsPostedBehindWhatTheWindowHoldsBack) {
  start_weft();
  ASSERT_EQ(write(1, 512 * kMtu), std::errc{});
  EXPECT_TRUE(requester->has_work());
  const std::size_t sent = transmit().size();
  ASSERT_LT(sent, 512u);
  EXPECT_FALSE(requester->has_work());
  ASSERT_EQ(write(2, kMtu), std::errc{});
  EXPECT_FALSE(requester->has_work());
  EXPECT_TRUE(transmit().empty());

  weft_ack(static_cast<std::int32_t>(sent) - 1);
  EXPECT_TRUE(requester->has_work());
  EXPECT_FALSE(transmit().empty());
}

// A program in the midst of posting: of what nobody waits for, the peer need not say that it came.
class RequesterThatExpectsMore : public RequesterTest {
 protected:
  void post_unreported(unsigned count) {
    for (unsigned i = 0; i < count; ++i)
      ASSERT_EQ(post({.wr_id = i}, 64 * i, 64), std::errc{});
  }
  static long asks(const std::vector<Seen>& packets) {
    return std::count_if(packets.begin(), packets.end(),
                         [](const Seen& packet) { return packet.bth.ack_request; });
  }
};

TEST_F(RequesterThatExpectsMore, AsksWithWhatFollows) {
  start_weft();
  requester->expect_more(true);
  post_unreported(20);
  EXPECT_EQ(asks(transmit()), 0);
  EXPECT_TRUE(requester->ask_waits());
  EXPECT_FALSE(requester->has_work());
  post_unreported(3);
  requester->expect_more(false);
  const auto packets = transmit();
  EXPECT_THAT(numbers(packets), ElementsAre(20, 21, 22));
  EXPECT_TRUE(packets.back().bth.ack_request);
  EXPECT_FALSE(requester->ask_waits());
  EXPECT_FALSE(requester->has_work());
}

TEST_F(RequesterThatExpectsMore, AsksByItsLastPacketIfNothingFollows) {
  start_weft();
  requester->expect_more(true);
  post_unreported(20);
  transmit();
  requester->expect_more(false);
  EXPECT_TRUE(requester->has_work());
  const auto packets = transmit();
  EXPECT_THAT(numbers(packets), ElementsAre(19));
  EXPECT_TRUE(packets.back().bth.ack_request);
  EXPECT_FALSE(requester->has_work());
}

TEST_F(RequesterThatExpectsMore, AsksForWhatIsReported) {
  start_weft();
  requester->expect_more(true);
  post_unreported(7);
  ASSERT_EQ(send(7, 64), std::errc{});
  post_unreported(7);
  const auto packets = transmit();
  EXPECT_EQ(packets.size(), 15u);
  EXPECT_TRUE(packets.back().bth.ack_request);
}

TEST_F(RequesterThatExpectsMore, AsksAStandardPeer) {
  start();
  requester->expect_more(true);
  post_unreported(20);
  EXPECT_TRUE(transmit().back().bth.ack_request);
}

TEST_F(RequesterThatExpectsMore, AsksOnceAQuarterOfTheWindowIsUsed) {
  start_weft();
  requester->expect_more(true);
  for (unsigned i = 0; i < 512; ++i)
    ASSERT_EQ(post({.wr_id = i}, 0, kMtu), std::errc{});
  EXPECT_GE(asks(transmit()), 4);
}

}  // namespace
}  // namespace weft::hca::test
