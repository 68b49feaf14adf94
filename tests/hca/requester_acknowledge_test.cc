// SPDX-License-Identifier: Apache-2.0
// What a standard peer answers, and what it does not.
#include <gmock/gmock.h>

#include "requester_fixture.h"

namespace weft::hca::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::NakCode;
using wire::Syndrome;

class RequesterAcknowledge : public RequesterTest {};

constexpr Duration kTimeout = Duration{4096} * (1 << 14);

TEST_F(RequesterAcknowledge, CompletesAllThatOneAcknowledgementCovers) {
  start();
  for (std::uint64_t i = 1; i <= 4; ++i)
    ASSERT_EQ(send(i, kMtu + 1), std::errc{});
  transmit();
  ack(4);
  EXPECT_THAT(completed_ids(), ElementsAre(1, 2)) << "half of the third is not complete";
  ack(7);
  EXPECT_THAT(completed_ids(), ElementsAre(1, 2, 3, 4));
}

TEST_F(RequesterAcknowledge, CountsGhostAcknowledgementsAndIgnoresThem) {
  start();
  ASSERT_EQ(send(1, 2 * kMtu), std::errc{});
  ASSERT_EQ(send(2, 1), std::errc{});
  transmit();
  ack(3);
  ack(0xFFFFFF);
  nak(3, NakCode::remote_access_error);
  EXPECT_EQ(count(ConnectedCounter::kRxGhostAcks), 3u);
  EXPECT_THAT(completions.all, IsEmpty());
  EXPECT_FALSE(requester->failed());
  ack(1);
  nak(0, NakCode::remote_access_error);
  EXPECT_EQ(count(ConnectedCounter::kRxGhostAcks), 4u);
  EXPECT_THAT(completed_ids(), ElementsAre(1));
}

TEST_F(RequesterAcknowledge, GoesBackToThePacketThatTheResponderMisses) {
  start();
  ASSERT_EQ(send(1, 6 * kMtu), std::errc{});
  ASSERT_EQ(send(2, 1), std::errc{});
  transmit();
  now += 1ms;
  nak(2, NakCode::psn_sequence_error);
  const auto again = transmit();
  EXPECT_THAT(numbers(again), ElementsAre(2, 3, 4, 5, 6));
  EXPECT_EQ(again[0].text(), text(2 * kMtu, kMtu));
  EXPECT_EQ(again[0].bth.opcode, wire::Opcode::rc_send_middle);
  EXPECT_TRUE(again.back().bth.ack_request);
  EXPECT_EQ(count(ConnectedCounter::kRxNaks), 1u);
  EXPECT_EQ(count(ConnectedCounter::kTxRetransmitted), 5u);
  ack(6);
  EXPECT_THAT(completed_ids(), ElementsAre(1, 2));
}

TEST_F(RequesterAcknowledge, SendsNothingAgainThatIsAcknowledgedBeforeItGoes) {
  start();
  ASSERT_EQ(send(1, 5 * kMtu), std::errc{});
  transmit();
  now += 1ms;
  nak(1, NakCode::psn_sequence_error);
  EXPECT_EQ(requester->in_flight(), 0u) << "what is to go again is in flight no more";
  ack(2);
  ack(4);
  EXPECT_EQ(requester->in_flight(), 0u);
  EXPECT_THAT(completed_ids(), ElementsAre(1));
  EXPECT_THAT(transmit(), IsEmpty());
  EXPECT_EQ(count(ConnectedCounter::kTxRetransmitted), 0u);
}

TEST_F(RequesterAcknowledge, CompletesWhatANakAcknowledgesByTheWay) {
  start();
  for (std::uint64_t i = 1; i <= 3; ++i)
    ASSERT_EQ(send(i, 1), std::errc{});
  transmit();
  nak(2, NakCode::psn_sequence_error);
  EXPECT_THAT(completed_ids(), ElementsAre(1, 2));
}

TEST_F(RequesterAcknowledge, FailsByTheCodeOfANak) {
  const std::array cases{
      std::pair(NakCode::invalid_request, CompletionStatus::kRemoteInvalidRequest),
      std::pair(NakCode::remote_access_error, CompletionStatus::kRemoteAccessError),
      std::pair(NakCode::remote_operational_error, CompletionStatus::kRemoteOperationError)};
  for (const auto& [code, status] : cases) {
    completions.all.clear();
    start();
    ASSERT_EQ(send(1, 1), std::errc{});
    ASSERT_EQ(send(2, kMtu + 1), std::errc{});
    transmit();
    nak(2, code);
    EXPECT_TRUE(requester->failed());
    EXPECT_THAT(completed(),
                ElementsAre(std::pair(1u, CompletionStatus::kSuccess), std::pair(2u, status)));
    EXPECT_FALSE(requester->has_work());
    EXPECT_EQ(requester->deadline(), std::nullopt);
  }
}

TEST_F(RequesterAcknowledge, DropsASyndromeThatMeansNothing) {
  start();
  ASSERT_EQ(send(1, 1), std::errc{});
  transmit();
  aeth(0, Syndrome{0x40});
  aeth(0, Syndrome{0x60 | 9});
  EXPECT_EQ(count(ConnectedCounter::kRxBadResponses), 2u);
  EXPECT_THAT(completions.all, IsEmpty());
}

TEST_F(RequesterAcknowledge, WaitsAsLongAsTheReceiverAsksAndSendsAgain) {
  start();
  ASSERT_EQ(send(1, 1), std::errc{});
  ASSERT_EQ(send(2, 1), std::errc{});
  ASSERT_EQ(send(3, 1), std::errc{});
  transmit();
  aeth(1, Syndrome::rnr_nak(14));  // 0.96 ms: see IBA table 45
  EXPECT_THAT(completed_ids(), ElementsAre(1));
  EXPECT_FALSE(requester->has_work());
  EXPECT_THAT(transmit(), IsEmpty());
  EXPECT_EQ(requester->deadline(), now + wire::rnr_timer(14));
  aeth(1, Syndrome::rnr_nak(14));
  EXPECT_EQ(requester->deadline(), now + wire::rnr_timer(14)) << "the same NAK once more";
  ASSERT_TRUE(wait());
  EXPECT_THAT(numbers(transmit()), ElementsAre(1, 2));
  EXPECT_EQ(count(ConnectedCounter::kRxRnrNaks), 2u);
}

TEST_F(RequesterAcknowledge, GivesUpWhenTheReceiverIsNotReadyTooOften) {
  start();  // rnr_retry 2
  ASSERT_EQ(send(1, 1), std::errc{});
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(transmit().size(), 1u);
    aeth(0, Syndrome::rnr_nak(1));
    EXPECT_FALSE(requester->failed());
    ASSERT_TRUE(wait());
  }
  EXPECT_EQ(transmit().size(), 1u);
  aeth(0, Syndrome::rnr_nak(1));
  EXPECT_TRUE(requester->failed());
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kRnrRetryExceeded)));
}

TEST_F(RequesterAcknowledge, AsksAReceiverThatIsNotReadyForEverWithARetryCountOfSeven) {
  connection.rnr_retry = 7;
  start();
  ASSERT_EQ(send(1, 1), std::errc{});
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(transmit().size(), 1u);
    aeth(0, Syndrome::rnr_nak(1));
    ASSERT_TRUE(wait());
  }
  transmit();
  ack(0);
  EXPECT_THAT(completed_ids(), ElementsAre(1));
}

TEST_F(RequesterAcknowledge, CountsRnrRetriesAnewForEachMessage) {
  start();
  for (std::uint32_t i = 0; i < 5; ++i) {
    ASSERT_EQ(send(i, 1), std::errc{});
    for (int j = 0; j < 2; ++j) {
      ASSERT_EQ(transmit().size(), 1u);
      aeth(i, Syndrome::rnr_nak(1));
      ASSERT_TRUE(wait());
    }
    transmit();
    ack(i);
  }
  EXPECT_EQ(completed_ids().size(), 5u);
}

TEST_F(RequesterAcknowledge, TakesAnRnrNakThatComesBeforeTheBurstIsReportedSent) {
  start();
  ASSERT_EQ(send(1, 1), std::errc{});
  ASSERT_TRUE(requester->fill(scratch, now));
  aeth(0, Syndrome::rnr_nak(1));
  requester->sent(scratch, {}, now);
  EXPECT_EQ(requester->deadline(), now + wire::rnr_timer(1));
  ASSERT_TRUE(wait());
  EXPECT_THAT(numbers(transmit()), ElementsAre(0));
}

TEST_F(RequesterAcknowledge, SendsEverythingAgainAfterTheLocalAckTimeout) {
  start();
  ASSERT_EQ(send(1, 2 * kMtu), std::errc{});
  const Time sent_at = now;
  transmit();
  EXPECT_EQ(requester->deadline(), sent_at + kTimeout);
  now = sent_at + kTimeout - 1ns;
  requester->expire(now);
  EXPECT_THAT(transmit(), IsEmpty());
  ASSERT_TRUE(wait());
  EXPECT_THAT(numbers(transmit()), ElementsAre(0, 1));
  EXPECT_EQ(count(ConnectedCounter::kTxTimeouts), 1u);
  ack(1);
  EXPECT_THAT(completed_ids(), ElementsAre(1));
  EXPECT_EQ(requester->deadline(), std::nullopt);
}

TEST_F(RequesterAcknowledge, GivesUpWhenNothingComesForTooLong) {
  start();  // retry count 3
  ASSERT_EQ(send(1, 1), std::errc{});
  ASSERT_EQ(send(2, 1), std::errc{});
  for (int i = 0; i < 4; ++i) {
    EXPECT_FALSE(requester->failed());
    EXPECT_EQ(transmit().size(), 2u);
    ASSERT_TRUE(wait());
  }
  EXPECT_TRUE(requester->failed());
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kTransportRetryExceeded)));
  requester->flush();
  EXPECT_EQ(completions.all.at(1).status, CompletionStatus::kFlushed);
}

TEST_F(RequesterAcknowledge, DoesNotTakeForSilenceThatItWasNotRunItself) {
  start();  // retry count 3
  for (std::uint32_t i = 0; i < 10; ++i) {
    ASSERT_EQ(send(i, 1), std::errc{});
    transmit();
    now = *requester->deadline() + 20ms;
    requester->expire(now);
    EXPECT_THAT(transmit(), IsEmpty());
    EXPECT_EQ(requester->deadline(), now + kTimeout);
    ack(i);
  }
  EXPECT_EQ(count(ConnectedCounter::kTxTimeouts), 0u);
  ASSERT_EQ(send(10, 1), std::errc{});
  transmit();
  // As late as a deadline can be met by one that is run.
  now = *requester->deadline() + 1ms;
  requester->expire(now);
  EXPECT_THAT(numbers(transmit()), ElementsAre(10));
  EXPECT_EQ(count(ConnectedCounter::kTxTimeouts), 1u);
}

TEST_F(RequesterAcknowledge, TakesForSilenceWhatItDoesNotHearHoweverLateItIsRun) {
  start();
  ASSERT_EQ(send(1, 1), std::errc{});
  transmit();
  for (std::uint64_t late = 0; late < 5; ++late) {
    EXPECT_EQ(count(ConnectedCounter::kTxTimeouts), std::max<std::uint64_t>(late, 1) - 1);
    now = *requester->deadline() + 20ms;
    requester->expire(now);
    transmit();
  }
  EXPECT_EQ(completions.all.at(0).status, CompletionStatus::kTransportRetryExceeded);
}

TEST_F(RequesterAcknowledge, CountsRetriesAnewAfterProgress) {
  start();
  ASSERT_EQ(send(1, 3 * kMtu), std::errc{});
  for (std::uint32_t i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      transmit();
      ASSERT_TRUE(wait());
    }
    transmit();
    ack(i);
  }
  EXPECT_THAT(completed_ids(), ElementsAre(1));
}

TEST_F(RequesterAcknowledge, WaitsForEverWithATimeoutOfZero) {
  connection.ack_timeout = 0;
  start();
  ASSERT_EQ(send(1, 1), std::errc{});
  transmit();
  EXPECT_EQ(requester->deadline(), std::nullopt);
}

TEST_F(RequesterAcknowledge, FailsWithoutRetriesAtTheFirstTimeout) {
  connection.retry_count = 0;
  start();
  ASSERT_EQ(send(1, 1), std::errc{});
  transmit();
  ASSERT_TRUE(wait());
  EXPECT_TRUE(requester->failed());
}

TEST_F(RequesterAcknowledge, SendsOneMessageBeyondItsCredits) {
  start();
  ASSERT_EQ(send(1, 1), std::errc{});
  transmit();
  aeth(0, Syndrome::ack(2), 1);  // one message complete, two receives posted: up to the third
  for (std::uint64_t i = 2; i <= 6; ++i)
    ASSERT_EQ(send(i, 1), std::errc{});
  const auto packets = transmit();
  EXPECT_THAT(numbers(packets), ElementsAre(1, 2));
  EXPECT_TRUE(packets.back().bth.ack_request);
  aeth(2, Syndrome::ack(0), 3);
  EXPECT_THAT(numbers(transmit()), ElementsAre(3)) << "one goes to learn more";
  EXPECT_THAT(transmit(), IsEmpty());
  aeth(3, Syndrome::ack(31), 4);
  EXPECT_THAT(numbers(transmit()), ElementsAre(4, 5)) << "no limit any more";
}

TEST_F(RequesterAcknowledge, NeedsNoCreditForAWrite) {
  start();
  ASSERT_EQ(send(1, 1), std::errc{});
  transmit();
  aeth(0, Syndrome::ack(0), 1);
  for (std::uint64_t i = 0; i < 4; ++i)
    ASSERT_EQ(write(i, 1), std::errc{});
  EXPECT_EQ(transmit().size(), 4u);
}

TEST_F(RequesterAcknowledge, TakesNewCreditsFromAnAcknowledgementThatSaysNothingElse) {
  start();
  ASSERT_EQ(send(1, 1), std::errc{});
  transmit();
  aeth(0, Syndrome::ack(0), 1);
  ASSERT_EQ(send(2, 1), std::errc{});
  ASSERT_EQ(send(3, 1), std::errc{});
  EXPECT_THAT(numbers(transmit()), ElementsAre(1));
  aeth(0, Syndrome::ack(4), 1);
  EXPECT_THAT(numbers(transmit()), ElementsAre(2));
  EXPECT_EQ(count(ConnectedCounter::kRxGhostAcks), 0u);
}

TEST_F(RequesterAcknowledge, ShowsNothingNonstandardToAStandardPeer) {
  start();
  ASSERT_EQ(read(1, 300 * 1024), std::errc{});
  ASSERT_EQ(send(2, 1), std::errc{});
  const auto packets = transmit();
  ASSERT_EQ(packets.size(), 2u);
  EXPECT_EQ(packets[0].reth().dma_length, 300u * 1024) << "one work request, one READ";
  EXPECT_EQ(requester->deadline(), now + kTimeout) << "no probe before";
}

TEST_F(RequesterAcknowledge, AsksAgainWhenTheWindowClosesOnWhatDidNotAsk) {
  start();
  std::uint32_t sent = 0;
  ASSERT_EQ(send(1, 512 * 1024), std::errc{});
  const auto first = transmit();
  sent = static_cast<std::uint32_t>(first.size());
  // All but the last asking packet and what came after it arrive, then the window shrinks.
  ack(sent / 2);
  ASSERT_TRUE(requester->fill(scratch, now));
  requester->sent(scratch, {}, now);
  sent += static_cast<std::uint32_t>(scratch.size());
  for (int i = 0; i < 40; ++i) {
    now += 10ms;
    requester->congested(now);
  }
  const auto more = transmit();
  const bool asked = wire::Bth::parse(scratch.packets()[scratch.size() - 1].header)->ack_request;
  ASSERT_TRUE(asked || (more.size() == 1 && more[0].bth.ack_request))
      << "somebody must ask for the newest packet";
}

TEST_F(RequesterAcknowledge, IgnoresAnswersOnAnUnreliableConnection) {
  connection.config.type = QpType::kUc;
  start();
  ASSERT_EQ(send(1, 1), std::errc{});
  ASSERT_TRUE(requester->fill(scratch, now));
  nak(0, NakCode::remote_access_error);
  requester->sent(scratch, {}, now);
  EXPECT_THAT(completed_ids(), ElementsAre(1));
  EXPECT_EQ(count(ConnectedCounter::kRxBadResponses), 1u);
}

TEST_F(RequesterAcknowledge, KeepsNothingOfWhatIsComplete) {
  start();
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(send(i, kMtu), std::errc{});
    ASSERT_EQ(transmit().size(), 1u);
    ack(i);
  }
  EXPECT_EQ(completions.all.size(), 1000u);
  EXPECT_THAT(completions.all,
              Each(::testing::Field(&Completion::status, CompletionStatus::kSuccess)));
  EXPECT_EQ(requester->in_flight(), 0u);
}

}  // namespace
}  // namespace weft::hca::test
