// SPDX-License-Identifier: Apache-2.0
// What goes wrong on a connection, and how both ends learn of it (IBA 9.9, 10.10, 11.6.2).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rc_pair.h"

namespace weft::sim::test {
namespace {

using hca::CompletionStatus;
using hca::ConnectedCounter;
using hca::QpState;
using hca::SendOpcode;
using ::testing::ElementsAre;

using Ids = std::vector<std::pair<std::uint64_t, CompletionStatus>>;

Ids ids(const std::vector<hca::Completion>& completions) {
  Ids all;
  for (const hca::Completion& c : completions)
    all.emplace_back(c.wr_id, c.status);
  return all;
}

class RcErrors : public ::testing::TestWithParam<bool> {
 protected:
  RcErrors() : pair({.extensions = GetParam()}) { pair.connect(); }

  // A request with these remote values, and one after it, which is flushed.
  void request(SendOpcode opcode, std::uint64_t address, std::uint32_t rkey, std::uint32_t length) {
    const std::array pieces{pair.piece(0, 0, length)};
    hca::SendRequest request{};
    request.wr_id = 1;
    request.opcode = opcode;
    request.pieces = pieces;
    request.remote_address = address;
    request.rkey = RKey{rkey};
    ASSERT_EQ(pair.host(0).post_send(RcPair::kQpn[0], request), std::errc{});
    ASSERT_EQ(pair.post(0, 2, SendOpcode::kRdmaWrite, 0, 10), std::errc{});
    ASSERT_TRUE(pair.run());
  }
  void expect_refusal(CompletionStatus status, std::uint32_t event) {
    EXPECT_EQ(ids(pair.completions(0)), (Ids{{1, status}, {2, CompletionStatus::kFlushed}}));
    EXPECT_EQ(pair.queue_pair(0).state(), QpState::kErr);
    EXPECT_EQ(pair.queue_pair(1).state(), QpState::kErr);
    EXPECT_EQ(pair.events(1) & ~hca::kEventCommunicationEstablished, event);
  }
  [[nodiscard]] std::uint64_t there(std::size_t offset = 0) { return pair.host(1).address(offset); }
  [[nodiscard]] std::uint32_t their_key() const { return pair.region(1).key; }

  RcPair pair;
};

TEST_P(RcErrors, RefusesAWriteWithAKeyThatIsNone) {
  request(SendOpcode::kRdmaWrite, there(), their_key() + 1, 3000);
  expect_refusal(CompletionStatus::kRemoteAccessError, hca::kEventAccessError);
}

TEST_P(RcErrors, RefusesAReadWithAKeyThatIsNone) {
  request(SendOpcode::kRdmaRead, there(), their_key() + 1, 3000);
  expect_refusal(CompletionStatus::kRemoteAccessError, hca::kEventAccessError);
}

TEST_P(RcErrors, RefusesAWriteThatEndsBehindTheRegionBeforeItsFirstByte) {
  const auto before = pair.host(1).memory()[(1 << 20) - 100];
  request(SendOpcode::kRdmaWrite, there((1 << 20) - 100), their_key(), 101);
  expect_refusal(CompletionStatus::kRemoteAccessError, hca::kEventAccessError);
  EXPECT_EQ(pair.host(1).memory()[(1 << 20) - 100], before);
}

TEST_P(RcErrors, RefusesARangeThatWraps) {
  request(SendOpcode::kRdmaWrite, ~std::uint64_t{0} - 10, their_key(), 100);
  expect_refusal(CompletionStatus::kRemoteAccessError, hca::kEventAccessError);
}

TEST_P(RcErrors, RefusesAReadOfARegionThatMayOnlyBeWritten) {
  const auto region = pair.host(1).add_region(0, 4096, hca::kLocalWrite | hca::kRemoteWrite);
  request(SendOpcode::kRdmaRead, there(), region.key, 100);
  expect_refusal(CompletionStatus::kRemoteAccessError, hca::kEventAccessError);
}

TEST_P(RcErrors, RefusesAnAtomicOnAnAddressThatIsNotAligned) {
  request(SendOpcode::kFetchAdd, there(4), their_key(), 8);
  expect_refusal(CompletionStatus::kRemoteInvalidRequest, hca::kEventInvalidRequest);
}

TEST_P(RcErrors, RefusesWhatTheQueuePairItselfForbids) {
  PairOptions options{.extensions = GetParam()};
  options.setup.access = hca::kRemoteRead;
  RcPair other(options);
  other.connect();
  ASSERT_EQ(other.post(0, 1, SendOpcode::kRdmaRead, 0, 100), std::errc{});
  ASSERT_EQ(other.post(0, 2, SendOpcode::kRdmaWrite, 0, 100), std::errc{});
  ASSERT_TRUE(other.run());
  // IBA 9.7.4.1.5 and table 59: a right that the queue pair does not give is an invalid request;
  // implementations (rxe among them) also answer with a remote access error.
  ASSERT_EQ(other.completions(0).size(), 2u);
  EXPECT_EQ(other.completions(0)[0].status, CompletionStatus::kSuccess);
  EXPECT_THAT(other.completions(0)[1].status,
              ::testing::AnyOf(CompletionStatus::kRemoteInvalidRequest,
                               CompletionStatus::kRemoteAccessError));
  EXPECT_EQ(other.queue_pair(1).state(), QpState::kErr);
}

TEST_P(RcErrors, TellsBothEndsOfASendThatIsTooLong) {
  for (const std::uint64_t id : {11u, 12u})
    ASSERT_EQ(pair.post_receive(1, id, 0, 999), std::errc{});
  request(SendOpcode::kSend, 0, 0, 1000);
  EXPECT_EQ(ids(pair.completions(0)),
            (Ids{{1, CompletionStatus::kRemoteInvalidRequest}, {2, CompletionStatus::kFlushed}}));
  EXPECT_EQ(ids(pair.completions(1)),
            (Ids{{11, CompletionStatus::kLocalLengthError}, {12, CompletionStatus::kFlushed}}));
  EXPECT_EQ(pair.queue_pair(1).state(), QpState::kErr);
}

TEST_P(RcErrors, TellsBothEndsOfAReceiveIntoMemoryThatIsNotItsOwn) {
  const std::array pieces{hca::Sge{pair.host(1).address(0), 1000, LKey{their_key() + 1}}};
  ASSERT_EQ(pair.host(1).post_receive(RcPair::kQpn[1], {.wr_id = 11, .pieces = pieces}),
            std::errc{});
  request(SendOpcode::kSend, 0, 0, 1000);
  EXPECT_EQ(ids(pair.completions(0)),
            (Ids{{1, CompletionStatus::kRemoteOperationError}, {2, CompletionStatus::kFlushed}}));
  EXPECT_EQ(ids(pair.completions(1)), (Ids{{11, CompletionStatus::kLocalProtectionError}}));
}

TEST_P(RcErrors, FailsASendFromMemoryThatIsNotItsOwnAndTellsNobody) {
  const std::array pieces{hca::Sge{pair.host(0).address(0), 1000, LKey{pair.region(0).key + 1}}};
  hca::SendRequest request{};
  request.wr_id = 1;
  request.pieces = pieces;
  ASSERT_EQ(pair.host(0).post_send(RcPair::kQpn[0], request), std::errc{});
  ASSERT_EQ(pair.post(0, 2, SendOpcode::kRdmaWrite, 0, 10), std::errc{});
  ASSERT_TRUE(pair.run());
  EXPECT_EQ(ids(pair.completions(0)),
            (Ids{{1, CompletionStatus::kLocalProtectionError}, {2, CompletionStatus::kFlushed}}));
  EXPECT_EQ(pair.queue_pair(1).state(), QpState::kRts);
}

TEST_P(RcErrors, CompletesWhatSucceededBeforeAnError) {
  ASSERT_EQ(pair.post(0, 5, SendOpcode::kRdmaWrite, 0, 5000), std::errc{});
  ASSERT_EQ(pair.post(0, 6, SendOpcode::kRdmaRead, 8192, 5000), std::errc{});
  ASSERT_EQ(pair.post(0, 7, SendOpcode::kRdmaWrite, 0, 100, false), std::errc{});
  request(SendOpcode::kRdmaWrite, there(), their_key() + 1, 100);
  EXPECT_EQ(ids(pair.completions(0)), (Ids{{5, CompletionStatus::kSuccess},
                                           {6, CompletionStatus::kSuccess},
                                           {1, CompletionStatus::kRemoteAccessError},
                                           {2, CompletionStatus::kFlushed}}));
}

TEST_P(RcErrors, GivesUpOnAPeerThatHasVanished) {
  ASSERT_EQ(pair.post(0, 1, SendOpcode::kRdmaWrite, 0, 100), std::errc{});
  ASSERT_TRUE(pair.run());
  pair.forget_completions();
  pair.host(1).vanish();
  ASSERT_EQ(pair.post(0, 2, SendOpcode::kRdmaWrite, 0, 5000), std::errc{});
  ASSERT_EQ(pair.post(0, 3, SendOpcode::kRdmaWrite, 0, 5000, false), std::errc{});
  ASSERT_EQ(pair.post_receive(0, 4, 0, 10), std::errc{});
  const Time before = pair.scheduler().now();
  ASSERT_TRUE(pair.run());
  EXPECT_EQ(ids(pair.completions(0)).front(), (std::pair<std::uint64_t, CompletionStatus>{
                                                  2, CompletionStatus::kTransportRetryExceeded}));
  EXPECT_THAT(ids(pair.completions(0)),
              ::testing::UnorderedElementsAre(
                  std::pair{std::uint64_t{2}, CompletionStatus::kTransportRetryExceeded},
                  std::pair{std::uint64_t{3}, CompletionStatus::kFlushed},
                  std::pair{std::uint64_t{4}, CompletionStatus::kFlushed}));
  // IBA 9.7.6.1.3: the timeout is between one and four times 4.096 us * 2^10; eight of them.
  const Duration timeout = Duration(4096 << 10);
  EXPECT_GE(pair.completions(0).front().at - before, 8 * timeout);
  EXPECT_LE(pair.completions(0).front().at - before, 8 * 4 * timeout + 100ms);
}

TEST_P(RcErrors, GivesUpOnAPeerThatPostsNoReceive) {
  PairOptions options{.extensions = GetParam()};
  options.setup.rnr_retry = 2;
  options.setup.rnr_timer = 14;  // 1.28 ms
  RcPair other(options);
  other.connect();
  ASSERT_EQ(other.post(0, 1, SendOpcode::kSend, 0, 3000), std::errc{});
  ASSERT_EQ(other.post(0, 2, SendOpcode::kSend, 0, 3000), std::errc{});
  ASSERT_TRUE(other.run());
  EXPECT_EQ(ids(other.completions(0)),
            (Ids{{1, CompletionStatus::kRnrRetryExceeded}, {2, CompletionStatus::kFlushed}}));
  EXPECT_EQ(other.counter(0, ConnectedCounter::kRxRnrNaks), 3u);
  EXPECT_EQ(other.queue_pair(1).state(), QpState::kRts) << "no fault of the responder";
}

TEST_P(RcErrors, FlushesBothQueuesInOrderWhenMovedToError) {
  for (std::uint64_t n = 0; n < 20; ++n)
    ASSERT_EQ(pair.post_receive(0, 100 + n, n * 8, 8), std::errc{});
  for (std::uint64_t n = 0; n < 20; ++n)
    ASSERT_EQ(pair.post(0, n, SendOpcode::kRdmaWrite, 0, 30'000), std::errc{});
  pair.scheduler().after(150us, [&] {
    (void)pair.host(0).modify(RcPair::kQpn[0], {.state = QpState::kErr}, hca::kAttrState);
  });
  ASSERT_TRUE(pair.run());
  std::vector<std::uint64_t> sends;
  std::vector<std::uint64_t> receives;
  bool flushed = false;
  for (const hca::Completion& c : pair.completions(0)) {
    (c.wr_id < 100 ? sends : receives).push_back(c.wr_id);
    if (c.status != CompletionStatus::kSuccess) {
      EXPECT_EQ(c.status, CompletionStatus::kFlushed);
      flushed = true;
    } else {
      EXPECT_FALSE(flushed);
    }
  }
  EXPECT_EQ(sends.size(), 20u);
  EXPECT_EQ(receives.size(), 20u);
  EXPECT_TRUE(std::is_sorted(sends.begin(), sends.end()));
  EXPECT_TRUE(std::is_sorted(receives.begin(), receives.end()));
  EXPECT_EQ(pair.queue_pair(1).state(), QpState::kRts);
  // What is posted from now on is flushed too (IBA 10.3.1.6).
  pair.forget_completions();
  ASSERT_EQ(pair.post(0, 50, SendOpcode::kSend, 0, 10), std::errc{});
  ASSERT_EQ(pair.post_receive(0, 51, 0, 10), std::errc{});
  ASSERT_TRUE(pair.run());
  EXPECT_THAT(
      ids(pair.completions(0)),
      ::testing::UnorderedElementsAre(std::pair{std::uint64_t{50}, CompletionStatus::kFlushed},
                                      std::pair{std::uint64_t{51}, CompletionStatus::kFlushed}));
}

TEST_P(RcErrors, GivesUpOnAPeerWhoseQueuePairIsInError) {
  ASSERT_TRUE(
      pair.host(1).modify(RcPair::kQpn[1], {.state = QpState::kErr}, hca::kAttrState).has_value());
  ASSERT_EQ(pair.post(0, 1, SendOpcode::kRdmaWrite, 0, 100), std::errc{});
  ASSERT_TRUE(pair.run());
  EXPECT_EQ(ids(pair.completions(0)), (Ids{{1, CompletionStatus::kTransportRetryExceeded}}));
  EXPECT_GT(pair.counter(1, ConnectedCounter::kRxWrongState), 0u);
}

TEST_P(RcErrors, FailsWhenTheTargetIsDeregisteredInTheMidst) {
  const auto region = pair.host(1).add_region(0, 600'000, RcPair::kAll);
  const std::array pieces{pair.piece(0, 0, 500'000)};
  hca::SendRequest request{};
  request.wr_id = 1;
  request.opcode = SendOpcode::kRdmaWrite;
  request.pieces = pieces;
  request.remote_address = there();
  request.rkey = RKey{region.key};
  ASSERT_EQ(pair.host(0).post_send(RcPair::kQpn[0], request), std::errc{});
  pair.scheduler().after(200us, [&] {
    EXPECT_TRUE(pair.host(1).memory_table().remove(region.key).has_value());
    std::fill_n(pair.host(1).memory().begin(), 600'000, std::byte{0x77});
  });
  ASSERT_TRUE(pair.run());
  EXPECT_EQ(ids(pair.completions(0)), (Ids{{1, CompletionStatus::kRemoteAccessError}}));
  const auto memory = pair.host(1).memory().first(600'000);
  EXPECT_TRUE(std::all_of(memory.begin(), memory.end(), [](std::byte b) {
    return b == std::byte{0x77};
  })) << "written after it was deregistered";
}

TEST_P(RcErrors, FailsWhenTheSourceIsDeregisteredInTheMidst) {
  const auto region = pair.host(0).add_region(0, 600'000, RcPair::kAll);
  const std::array pieces{hca::Sge{pair.host(0).address(0), 500'000, LKey{region.key}}};
  hca::SendRequest request{};
  request.wr_id = 1;
  request.opcode = SendOpcode::kRdmaWrite;
  request.pieces = pieces;
  request.remote_address = there();
  request.rkey = RKey{their_key()};
  ASSERT_EQ(pair.host(0).post_send(RcPair::kQpn[0], request), std::errc{});
  // The wire takes 500 kB in 400 us, and 200 us of that ahead.
  pair.scheduler().after(
      50us, [&] { EXPECT_TRUE(pair.host(0).memory_table().remove(region.key).has_value()); });
  ASSERT_TRUE(pair.run());
  EXPECT_EQ(ids(pair.completions(0)), (Ids{{1, CompletionStatus::kLocalProtectionError}}));
}

TEST_P(RcErrors, FailsWhenTheResultsOfAReadHaveNoPlaceAnyMore) {
  const auto region = pair.host(0).add_region(0, 600'000, RcPair::kAll);
  const std::array pieces{hca::Sge{pair.host(0).address(0), 500'000, LKey{region.key}}};
  hca::SendRequest request{};
  request.wr_id = 1;
  request.opcode = SendOpcode::kRdmaRead;
  request.pieces = pieces;
  request.remote_address = there();
  request.rkey = RKey{their_key()};
  ASSERT_EQ(pair.host(0).post_send(RcPair::kQpn[0], request), std::errc{});
  pair.scheduler().after(200us, [&] {
    EXPECT_TRUE(pair.host(0).memory_table().remove(region.key).has_value());
    std::fill_n(pair.host(0).memory().begin(), 600'000, std::byte{0x77});
  });
  ASSERT_TRUE(pair.run());
  EXPECT_EQ(ids(pair.completions(0)), (Ids{{1, CompletionStatus::kLocalProtectionError}}));
  const auto memory = pair.host(0).memory().first(600'000);
  EXPECT_TRUE(std::all_of(memory.begin(), memory.end(), [](std::byte b) {
    return b == std::byte{0x77};
  })) << "written after it was deregistered";
}

TEST_P(RcErrors, FailsWhatTheWireRefusesForItsMemory) {
  pair.host(0).on_send = [](Qpn, const hca::Burst&) {
    return hca::SendResult{.outcome = hca::SendOutcome::kRefused,
                           .reason = CompletionStatus::kLocalProtectionError};
  };
  request(SendOpcode::kRdmaWrite, there(), their_key(), 100);
  EXPECT_EQ(ids(pair.completions(0)),
            (Ids{{1, CompletionStatus::kLocalProtectionError}, {2, CompletionStatus::kFlushed}}));
}

TEST_P(RcErrors, GivesUpWhenThereIsNoRoute) {
  pair.host(0).on_send = [](Qpn, const hca::Burst&) {
    return hca::SendResult{.outcome = hca::SendOutcome::kRefused};
  };
  request(SendOpcode::kRdmaWrite, there(), their_key(), 100);
  EXPECT_EQ(ids(pair.completions(0)),
            (Ids{{1, CompletionStatus::kTransportRetryExceeded}, {2, CompletionStatus::kFlushed}}));
}

TEST_P(RcErrors, ServesANewConnectionAfterReset) {
  request(SendOpcode::kRdmaWrite, there(), their_key() + 1, 3000);
  pair.forget_completions();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(pair.host(i)
                    .modify(RcPair::kQpn[i], {.state = QpState::kReset}, hca::kAttrState)
                    .has_value());
  }
  pair.connect();
  ASSERT_EQ(pair.post(0, 7, SendOpcode::kRdmaWrite, 0, 30'000), std::errc{});
  ASSERT_EQ(pair.post(0, 8, SendOpcode::kRdmaRead, 40'000, 30'000), std::errc{});
  ASSERT_TRUE(pair.run());
  EXPECT_EQ(ids(pair.completions(0)),
            (Ids{{7, CompletionStatus::kSuccess}, {8, CompletionStatus::kSuccess}}));
}

INSTANTIATE_TEST_SUITE_P(Extensions, RcErrors, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "On" : "Off"; });

}  // namespace
}  // namespace weft::sim::test
