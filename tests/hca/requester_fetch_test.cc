// SPDX-License-Identifier: Apache-2.0
// RDMA reads and atomics, to a standard peer unless a test says otherwise.
#include <gmock/gmock.h>

#include "requester_fixture.h"

namespace weft::hca::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::Opcode;

class RequesterFetch : public RequesterTest {
 protected:
  std::errc atomic(std::uint64_t id, SendOpcode opcode, std::uint64_t compare_add,
                   std::uint64_t swap = 0, std::size_t offset = 0) {
    return post({.wr_id = id,
                 .opcode = opcode,
                 .signaled = true,
                 .remote_address = 0x8000,
                 .rkey = RKey{0x99},
                 .compare_add = compare_add,
                 .swap = swap},
                offset, 8);
  }
  static std::string block(char c, std::size_t n = kMtu) { return std::string(n, c); }
  void respond_to(const Seen& request) {
    const auto n = static_cast<std::uint32_t>(Psn::diff(request.bth.psn, kFirstPsn));
    const std::uint32_t length = request.reth().dma_length;
    const std::uint32_t packets = length == 0 ? 1 : (length + kMtu - 1) / kMtu;
    for (std::uint32_t i = 0; i < packets; ++i) {
      Opcode opcode = Opcode::rc_read_response_middle;
      if (i == 0) opcode = Opcode::rc_read_response_first;
      if (i + 1 == packets) opcode = Opcode::rc_read_response_last;
      if (packets == 1) opcode = Opcode::rc_read_response_only;
      read_response(n + i, opcode, block('r', std::min(kMtu, length - i * kMtu)));
    }
  }
};

TEST_F(RequesterFetch, ReadsIntoItsPiecesAndTakesOnePsnForEachPacketOfTheResponse) {
  start();
  const std::array pieces{sge(0, 100), sge(1000, 412)};
  ASSERT_EQ(requester->post({.wr_id = 1,
                             .opcode = SendOpcode::kRdmaRead,
                             .signaled = true,
                             .pieces = pieces,
                             .remote_address = 0x10000,
                             .rkey = RKey{0x77}}),
            std::errc{});
  ASSERT_EQ(send(2, 1), std::errc{});
  const auto packets = transmit();
  EXPECT_THAT(numbers(packets), ElementsAre(0, 2));
  EXPECT_EQ(packets[0].bth.opcode, Opcode::rc_read_request);
  EXPECT_EQ(packets[0].reth(),
            (wire::Reth{.virtual_address = 0x10000, .rkey = RKey{0x77}, .dma_length = 512}));
  read_response(0, Opcode::rc_read_response_first, block('a'));
  EXPECT_THAT(completions.all, IsEmpty());
  read_response(1, Opcode::rc_read_response_last, block('b'));
  ASSERT_THAT(completed_ids(), ElementsAre(1));
  EXPECT_EQ(completions.all[0].opcode, CompletionOpcode::kRdmaRead);
  EXPECT_EQ(completions.all[0].byte_length, 512u);
  EXPECT_EQ(text(0, 100) + text(1000, 412), block('a') + block('b'));
  ack(2);
  EXPECT_THAT(completed_ids(), ElementsAre(1, 2));
}

TEST_F(RequesterFetch, ReadsNothingInOnePacket) {
  start();
  ASSERT_EQ(read(1, 0), std::errc{});
  EXPECT_EQ(transmit().at(0).reth().dma_length, 0u);
  read_response(0, Opcode::rc_read_response_only, "");
  EXPECT_THAT(completed_ids(), ElementsAre(1));
}

TEST_F(RequesterFetch, SendsAtomicOperandsAndStoresTheResultInHostOrder) {
  start();
  ASSERT_EQ(atomic(1, SendOpcode::kCompareSwap, 0x1111, 0x2222), std::errc{});
  ASSERT_EQ(atomic(2, SendOpcode::kFetchAdd, 5, 0, 64), std::errc{});
  const auto packets = transmit();
  ASSERT_EQ(packets.size(), 2u);
  EXPECT_EQ(packets[0].bth.opcode, Opcode::rc_compare_swap);
  EXPECT_EQ(*wire::AtomicEth::parse(packets[0].extended),
            (wire::AtomicEth{.virtual_address = 0x8000,
                             .rkey = RKey{0x99},
                             .swap_or_add = 0x2222,
                             .compare = 0x1111}));
  EXPECT_EQ(packets[1].bth.opcode, Opcode::rc_fetch_add);
  EXPECT_EQ(wire::AtomicEth::parse(packets[1].extended)->swap_or_add, 5u);
  atomic_response(0, 0x0123456789ABCDEF);
  atomic_response(1, 42);
  ASSERT_THAT(completed_ids(), ElementsAre(1, 2));
  std::uint64_t value = 0;
  std::memcpy(&value, memory.data(), 8);
  EXPECT_EQ(value, 0x0123456789ABCDEFu);
  std::memcpy(&value, memory.data() + 64, 8);
  EXPECT_EQ(value, 42u);
  EXPECT_EQ(completions.all[0].opcode, CompletionOpcode::kCompareSwap);
  EXPECT_EQ(completions.all[0].byte_length, 8u);
  EXPECT_EQ(completions.all[1].opcode, CompletionOpcode::kFetchAdd);
}

TEST_F(RequesterFetch, KeepsNoMoreReadsAndAtomicsOutstandingThanThePeerTakes) {
  connection.max_reads_out = 2;
  start();
  ASSERT_EQ(read(1, 10), std::errc{});
  ASSERT_EQ(atomic(2, SendOpcode::kFetchAdd, 1, 0, 64), std::errc{});
  ASSERT_EQ(read(3, 10), std::errc{});
  ASSERT_EQ(send(4, 1), std::errc{});
  EXPECT_THAT(numbers(transmit()), ElementsAre(0, 1));
  read_response(0, Opcode::rc_read_response_only, block('x', 10));
  EXPECT_THAT(numbers(transmit()), ElementsAre(2, 3));
}

TEST_F(RequesterFetch, CannotReadWhereThePeerTakesNone) {
  connection.max_reads_out = 0;
  start();
  ASSERT_EQ(read(1, 10), std::errc{});
  EXPECT_THAT(transmit(), IsEmpty());
  EXPECT_TRUE(requester->failed());
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kLocalQpOperationError)));
}

TEST_F(RequesterFetch, WaitsAtAFenceUntilTheReadsBeforeAreComplete) {
  start();
  ASSERT_EQ(read(1, 10), std::errc{});
  ASSERT_EQ(post({.wr_id = 2, .signaled = true, .fence = true}, 0, 1), std::errc{});
  EXPECT_THAT(numbers(transmit()), ElementsAre(0));
  EXPECT_THAT(transmit(), IsEmpty());
  read_response(0, Opcode::rc_read_response_only, block('x', 10));
  EXPECT_THAT(numbers(transmit()), ElementsAre(1));
}

TEST_F(RequesterFetch, TakesAResponseAsAcknowledgementOfWhatWasSentBefore) {
  start();
  ASSERT_EQ(send(1, 1), std::errc{});
  ASSERT_EQ(write(2, kMtu + 1), std::errc{});
  ASSERT_EQ(read(3, 10), std::errc{});
  transmit();
  read_response(3, Opcode::rc_read_response_only, block('x', 10));
  EXPECT_THAT(completed_ids(), ElementsAre(1, 2, 3));
}

TEST_F(RequesterFetch, AsksAgainFromTheFirstResponseThatIsMissing) {
  start();
  ASSERT_EQ(read(1, 5 * kMtu), std::errc{});
  ASSERT_EQ(send(2, 1), std::errc{});
  transmit();
  read_response(0, Opcode::rc_read_response_first, block('a'));
  read_response(1, Opcode::rc_read_response_middle, block('b'));
  now += 1ms;
  read_response(3, Opcode::rc_read_response_middle, block('d'));
  const auto again = transmit();
  EXPECT_THAT(numbers(again), ElementsAre(2, 5)) << "and what came after it";
  EXPECT_EQ(again[0].bth.opcode, Opcode::rc_read_request);
  EXPECT_EQ(again[0].reth(), (wire::Reth{.virtual_address = 0x10000 + 2 * kMtu,
                                         .rkey = RKey{0x77},
                                         .dma_length = 3 * kMtu}));
  read_response(4, Opcode::rc_read_response_last, block('e'));
  EXPECT_THAT(transmit(), IsEmpty()) << "the rest of the first answer is no second gap";
  EXPECT_EQ(count(ConnectedCounter::kRxOutOfOrder), 2u);
  read_response(2, Opcode::rc_read_response_first, block('c'));
  read_response(3, Opcode::rc_read_response_middle, block('D'));
  read_response(4, Opcode::rc_read_response_last, block('E'));
  EXPECT_THAT(completed_ids(), ElementsAre(1));
  EXPECT_EQ(text(0, 5 * kMtu), block('a') + block('b') + block('c') + block('D') + block('E'));
}

TEST_F(RequesterFetch, TakesAnAcknowledgementBeyondAReadForItsLoss) {
  start();
  ASSERT_EQ(read(1, 10), std::errc{});
  ASSERT_EQ(send(2, 1), std::errc{});
  transmit();
  now += 1ms;
  ack(1);
  EXPECT_THAT(completions.all, IsEmpty());
  EXPECT_THAT(numbers(transmit()), ElementsAre(0)) << "the send needs no repetition";
  read_response(0, Opcode::rc_read_response_only, block('x', 10));
  EXPECT_THAT(completed_ids(), ElementsAre(1, 2));
}

TEST_F(RequesterFetch, ResumesAReadAfterATimeout) {
  start();
  ASSERT_EQ(read(1, 3 * kMtu), std::errc{});
  transmit();
  read_response(0, Opcode::rc_read_response_first, block('a'));
  ASSERT_TRUE(wait());
  const auto again = transmit();
  EXPECT_THAT(numbers(again), ElementsAre(1));
  EXPECT_EQ(again[0].reth().dma_length, 2u * kMtu);
  EXPECT_EQ(again[0].reth().virtual_address, 0x10000u + kMtu);
}

TEST_F(RequesterFetch, CountsAResponseOfPartOfAReadAsProgress) {
  start();  // retry count 3
  ASSERT_EQ(read(1, 20 * kMtu), std::errc{});
  for (std::uint32_t i = 0; i < 20; ++i) {
    transmit();
    ASSERT_TRUE(wait());
    transmit();
    read_response(i, i == 19 ? Opcode::rc_read_response_last : Opcode::rc_read_response_first,
                  block('a'));
  }
  EXPECT_THAT(completed_ids(), ElementsAre(1));
}

TEST_F(RequesterFetch, TakesNoPeerForSilentThatStillAnswersWhatItWasAskedBefore) {
  start();
  ASSERT_EQ(read(1, 20 * kMtu), std::errc{});
  transmit();
  now += 1ms;
  read_response(1, Opcode::rc_read_response_middle, block('b'));
  EXPECT_THAT(numbers(transmit()), ElementsAre(0));
  ASSERT_TRUE(requester->deadline());
  const Duration most_of_timeout = (*requester->deadline() - now) / 4 * 3;
  // A slow peer: the rest of the first answer takes it longer than the timeout.
  for (std::uint32_t i = 2; i < 20; ++i) {
    now += most_of_timeout;
    requester->expire(now);
    read_response(i, i == 19 ? Opcode::rc_read_response_last : Opcode::rc_read_response_middle,
                  block('b'));
    EXPECT_THAT(transmit(), IsEmpty());
  }
  EXPECT_EQ(count(ConnectedCounter::kTxTimeouts), 0u);
  ASSERT_TRUE(wait());
  EXPECT_THAT(numbers(transmit()), ElementsAre(0)) << "then it is silent";
  EXPECT_EQ(count(ConnectedCounter::kTxTimeouts), 1u);
}

TEST_F(RequesterFetch, SendsAnAtomicAgainUnderItsNumber) {
  start();
  ASSERT_EQ(atomic(1, SendOpcode::kFetchAdd, 7), std::errc{});
  const auto first = transmit();
  ASSERT_TRUE(wait());
  const auto again = transmit();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].bth, first[0].bth);
  EXPECT_EQ(again[0].extended, first[0].extended);
}

TEST_F(RequesterFetch, DropsResponsesThatFitNoRequest) {
  start();
  ASSERT_EQ(send(1, 1), std::errc{});
  ASSERT_EQ(read(2, 10), std::errc{});
  transmit();
  const std::string before = text(0, 100);
  read_response(0, Opcode::rc_read_response_only, block('x', 10));  // answers a SEND
  EXPECT_EQ(count(ConnectedCounter::kRxBadResponses), 1u);
  read_response(2, Opcode::rc_read_response_only, block('x', 10));  // nothing was sent
  read_response(0x800000, Opcode::rc_read_response_only, block('x', 10));
  EXPECT_EQ(count(ConnectedCounter::kRxGhostAcks), 2u);
  EXPECT_EQ(text(0, 100), before);
  EXPECT_THAT(completions.all, IsEmpty());
}

TEST_F(RequesterFetch, FailsARequestWhoseResponseDoesNotFit) {
  for (int kind = 0; kind < 4; ++kind) {
    completions.all.clear();
    start();
    if (kind == 3) {
      ASSERT_EQ(atomic(1, SendOpcode::kFetchAdd, 1), std::errc{});
    } else {
      ASSERT_EQ(read(1, kMtu + 10), std::errc{});
    }
    transmit();
    const std::string before = text(0, 1000);
    if (kind == 0) read_response(0, Opcode::rc_read_response_first, block('x', kMtu - 1));
    if (kind == 1) {
      read_response(0, Opcode::rc_read_response_first, block('x'));
      read_response(1, Opcode::rc_read_response_last, block('x', 11));
    }
    if (kind == 2) atomic_response(0, 1);
    if (kind == 3) read_response(0, Opcode::rc_read_response_only, block('x', 8));
    EXPECT_TRUE(requester->failed()) << kind;
    EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kBadResponse)));
    EXPECT_EQ(text(kMtu, 700), before.substr(kMtu, 700));
    EXPECT_EQ(count(ConnectedCounter::kRxBadResponses), static_cast<std::uint64_t>(kind) + 1);
  }
}

TEST_F(RequesterFetch, FailsAReadIntoMemoryThatMayNotBeWritten) {
  const MemoryRegion readonly =
      *table.add({.base = memory.data(), .iova = 0x5000, .length = 4096, .access = 0, .pd = kPd});
  start();
  const std::array pieces{Sge{.address = 0x5000, .length = 8, .lkey = LKey{readonly.key}}};
  ASSERT_EQ(requester->post({.wr_id = 1, .opcode = SendOpcode::kRdmaRead, .pieces = pieces}),
            std::errc{});
  EXPECT_THAT(transmit(), IsEmpty());
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kLocalProtectionError)));
}

TEST_F(RequesterFetch, FailsAReadWhoseMemoryWasDeregisteredMeanwhile) {
  start();
  ASSERT_EQ(read(1, 8), std::errc{});
  transmit();
  ASSERT_TRUE(table.remove(region.key));
  read_response(0, Opcode::rc_read_response_only, block('x', 8));
  EXPECT_TRUE(requester->failed());
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kLocalProtectionError)));
}

TEST_F(RequesterFetch, LetsGoOfTheMemoryOfAResponseWhenAllIsReadThatHasCome) {
  start();
  ASSERT_EQ(read(1, 3 * kMtu), std::errc{});
  transmit();
  read_response(0, Opcode::rc_read_response_first, block('a'));
  read_response(1, Opcode::rc_read_response_middle, block('b'));
  requester->end_run();
  ASSERT_TRUE(table.remove(region.key)) << "waits for whoever still refers to it";
  read_response(2, Opcode::rc_read_response_last, block('c'));
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kLocalProtectionError)));
  EXPECT_EQ(text(0, 2 * kMtu), block('a') + block('b'));
}

TEST_F(RequesterFetch, FailsAReadWhoseMemoryIsNotThere) {
  connection.config.copy = [](void*, const void*, std::size_t) { return false; };
  start();
  ASSERT_EQ(read(1, 8), std::errc{});
  transmit();
  read_response(0, Opcode::rc_read_response_only, block('x', 8));
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kLocalAccessError)));
}

TEST_F(RequesterFetch, FailsAnAtomicOfAnotherLengthThanEight) {
  start();
  ASSERT_EQ(post({.wr_id = 1, .opcode = SendOpcode::kFetchAdd}, 0, 4), std::errc{});
  EXPECT_THAT(transmit(), IsEmpty());
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kLocalLengthError)));
}

TEST_F(RequesterFetch, FailsAReadThatThePeerRefuses) {
  start();
  ASSERT_EQ(read(1, 3 * kMtu), std::errc{});
  transmit();
  nak(0, wire::NakCode::remote_access_error);
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kRemoteAccessError)));
}

TEST_F(RequesterFetch, TakesBackAReadThatTheWireDoesNotTake) {
  start();
  ASSERT_EQ(read(1, 3 * kMtu), std::errc{});
  ASSERT_TRUE(requester->fill(scratch, now));
  requester->sent(scratch, {.outcome = SendOutcome::kWouldBlock}, now);
  EXPECT_EQ(requester->queued_packets(), 1u);
  EXPECT_TRUE(requester->idle());
  const auto packets = transmit();
  EXPECT_THAT(numbers(packets), ElementsAre(0));
  respond_to(packets[0]);
  EXPECT_THAT(completed_ids(), ElementsAre(1));
}

TEST_F(RequesterFetch, TakesBackARepeatedReadThatTheWireDoesNotTake) {
  start();
  ASSERT_EQ(read(1, 3 * kMtu), std::errc{});
  transmit();
  read_response(0, Opcode::rc_read_response_first, block('a'));
  ASSERT_TRUE(wait());
  ASSERT_TRUE(requester->fill(scratch, now));
  requester->sent(scratch, {.outcome = SendOutcome::kWouldBlock}, now);
  EXPECT_THAT(numbers(transmit()), ElementsAre(1));
}

TEST_F(RequesterFetch, SplitsALargeReadFromAWeftPeerByWhatItsPortHolds) {
  connection.config.receive_budget = 40'000;
  start_weft();
  constexpr std::size_t kLength = 200'001;
  ASSERT_EQ(read(1, kLength), std::errc{});
  std::size_t asked = 0;
  std::size_t most = 0;
  std::uint64_t next = 0x10000;
  std::vector<Seen> open;
  while (completions.all.empty()) {
    for (Seen& packet : transmit()) {
      EXPECT_EQ(packet.reth().virtual_address, next);
      next += packet.reth().dma_length;
      asked += packet.reth().dma_length;
      EXPECT_TRUE(packet.reth().dma_length % kMtu == 0 || next == 0x10000 + kLength);
      open.push_back(std::move(packet));
    }
    ASSERT_FALSE(open.empty());
    most = std::max(most, open.size());
    std::size_t under_way = 0;
    for (const Seen& packet : open)
      under_way += packet.reth().dma_length;
    EXPECT_LE(under_way, 40'000u);
    respond_to(open.front());
    open.erase(open.begin());
  }
  EXPECT_EQ(asked, kLength);
  EXPECT_GE(most, 2u);
  EXPECT_EQ(completions.all[0].byte_length, kLength);
  EXPECT_EQ(text(0, kLength), block('r', kLength));
}

TEST_F(RequesterFetch, PlacesResponsesOfAWeftPeerInAnyOrderAndAsksForTheMissingOnly) {
  start_weft();
  ASSERT_EQ(read(1, 8 * kMtu), std::errc{});
  transmit();
  now += 1ms;
  read_response(0, Opcode::rc_read_response_first, block('0'));
  for (const std::uint32_t i : {2u, 3u, 5u, 6u, 7u}) {
    read_response(i, i == 7 ? Opcode::rc_read_response_last : Opcode::rc_read_response_middle,
                  block(static_cast<char>('0' + i)));
  }
  EXPECT_THAT(transmit(), IsEmpty()) << "they may only be late";
  const Time noticed = now;
  ASSERT_TRUE(wait());
  EXPECT_LT(now - noticed, 1ms) << "a fraction of a round trip";
  const auto again = transmit();
  EXPECT_THAT(numbers(again), ElementsAre(1, 4));
  EXPECT_EQ(again[0].reth().dma_length, kMtu);
  EXPECT_EQ(again[1].reth().virtual_address, 0x10000u + 4 * kMtu);
  read_response(4, Opcode::rc_read_response_only, block('4'));
  read_response(1, Opcode::rc_read_response_only, block('1'));
  EXPECT_THAT(completed_ids(), ElementsAre(1));
  for (std::size_t i = 0; i < 8; ++i)
    EXPECT_EQ(text(i * kMtu, kMtu), block(static_cast<char>('0' + i)));
}

TEST_F(RequesterFetch, CompletesReadsOfAWeftPeerInOrderWhateverComesFirst) {
  start_weft();
  ASSERT_EQ(read(1, 10), std::errc{});
  ASSERT_EQ(read(2, 10, 100), std::errc{});
  transmit();
  now += 1ms;
  read_response(1, Opcode::rc_read_response_only, block('b', 10));
  EXPECT_THAT(completions.all, IsEmpty());
  ASSERT_TRUE(wait());
  EXPECT_THAT(numbers(transmit()), ElementsAre(0));
  read_response(0, Opcode::rc_read_response_only, block('a', 10));
  EXPECT_THAT(completed_ids(), ElementsAre(1, 2));
}

// What was asked for twice may not be there any more when it is asked for again.
TEST_F(RequesterFetch, TakesNoNoticeOfARefusalOfWhatItHas) {
  start_weft();
  ASSERT_EQ(read(1, 10), std::errc{});
  ASSERT_EQ(read(2, 10, 100), std::errc{});
  transmit();
  now += 1ms;
  read_response(1, Opcode::rc_read_response_only, block('b', 10));
  nak(1, wire::NakCode::remote_access_error);
  EXPECT_EQ(count(ConnectedCounter::kRxGhostAcks), 1u);
  read_response(0, Opcode::rc_read_response_only, block('a', 10));
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kSuccess),
                                       std::pair(2u, CompletionStatus::kSuccess)));
}

TEST_F(RequesterFetch, ProbesForAResponseWhoseEndIsLost) {
  start_weft();
  ASSERT_EQ(read(1, 4 * kMtu), std::errc{});
  transmit();
  now += 100us;
  read_response(0, Opcode::rc_read_response_first, block('a'));
  const Time last = now;
  ASSERT_TRUE(wait());
  EXPECT_EQ(now - last, Requester::kLeastProbe);
  const auto again = transmit();
  EXPECT_THAT(numbers(again), ElementsAre(1));
  EXPECT_EQ(again[0].reth().dma_length, 3u * kMtu);
  EXPECT_EQ(count(ConnectedCounter::kTxProbes), 1u);
  EXPECT_EQ(count(ConnectedCounter::kTxTimeouts), 0u);
}

}  // namespace
}  // namespace weft::hca::test
