// SPDX-License-Identifier: Apache-2.0
// Bursts of several queue pairs in one call to the wire. On a port of the test's own, whose calls
// are kept.
#include "host/departures.h"

#include <algorithm>
#include <array>
#include <thread>
#include <vector>

#include "io/clock.h"
#include "wire_fixture.h"

namespace weft::host {
namespace {

using namespace test;

class DeparturesTest : public OnWire {};

TEST_F(DeparturesTest, LeaveTogetherThoughTheyAreOfSeveralQueuePairs) {
  Departures departures(io::now());
  for (unsigned i = 0; i < 3; ++i) {
    QueuePair& queue_pair = connect();
    post(queue_pair, 500);
    if (i == 1) post(queue_pair, 500);
    EXPECT_TRUE(departures.flush(queue_pair));
  }
  EXPECT_TRUE(wire_.take_calls().empty());
  departures.go();
  EXPECT_EQ(wire_.take_calls(), (std::vector<Call>{{{500}, {500, 500}, {500}}}));
  EXPECT_EQ(completions(), 4u);
}

TEST_F(DeparturesTest, LeaveBeforeWhatGoesElsewhere) {
  QueuePair& here = connect();
  QueuePair& there = connect(kOtherGid);
  post(here, 500);
  post(there, 500);
  {
    Departures departures(io::now());
    departures.flush(here);
    departures.flush(there);
    EXPECT_EQ(wire_.take_calls(), (std::vector<Call>{{{500}}}));
  }
  EXPECT_EQ(wire_.take_calls(), (std::vector<Call>{{{500}}}));
  EXPECT_EQ(completions(), 2u);
}

TEST_F(DeparturesTest, EndWithAShorterPacketAndNeverHoldALongerOne) {
  Departures departures(io::now());
  for (const std::uint32_t length : {500u, 400u, 400u, 500u}) {
    QueuePair& queue_pair = connect();
    post(queue_pair, length);
    departures.flush(queue_pair);
  }
  departures.go();
  EXPECT_EQ(wire_.take_calls(), (std::vector<Call>{{{500}, {400}}, {{400}}, {{500}}}));
}

TEST_F(DeparturesTest, HoldNoMorePacketsThanOneCallMay) {
  Departures departures(io::now());
  for (unsigned i = 0; i < hca::Burst::kMaxPackets + 2; ++i) {
    QueuePair& queue_pair = connect();
    post(queue_pair, 100);
    departures.flush(queue_pair);
  }
  departures.go();
  const std::vector<Call> calls = wire_.take_calls();
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(calls[0].size(), hca::Burst::kMaxPackets);
  EXPECT_EQ(calls[1].size(), 2u);
}

TEST_F(DeparturesTest, HoldNoMoreBytesThanOneCallMay) {
  std::vector<std::byte> memory(10 * kMtu);
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const auto region =
      context_->register_memory(pd_, memory.data(), memory.size(), address, hca::kLocalWrite)
          .value();
  {
    Departures departures(io::now());
    for (unsigned i = 0; i < 4; ++i) {
      QueuePair& queue_pair = connect();
      const hca::Sge piece{address, 10 * kMtu, LKey{region.key}};
      hca::SendRequest request;
      request.pieces = {&piece, 1};
      ASSERT_EQ(queue_pair.post_send(request, true), std::errc{});
      departures.flush(queue_pair);
    }
  }
  const std::vector<std::size_t> each(10, kMtu);
  EXPECT_EQ(wire_.take_calls(), (std::vector<Call>{{each, each, each}, {each}}));
  EXPECT_TRUE(context_->deregister_memory(region));
}

TEST_F(DeparturesTest, GoOneByOneWhenTheWireObjectsToThemTogether) {
  wire_.together.reset();
  Departures departures(io::now());
  for (unsigned i = 0; i < 2; ++i) {
    QueuePair& queue_pair = connect();
    post(queue_pair, 500);
    departures.flush(queue_pair);
  }
  departures.go();
  EXPECT_EQ(wire_.take_calls(), (std::vector<Call>{{{500}, {500}}, {{500}}, {{500}}}));
  EXPECT_EQ(completions(), 2u);
}

TEST_F(DeparturesTest, WaitAndGoAgainWhenTheWireIsFull) {
  wire_.together = hca::SendResult{hca::SendOutcome::kWouldBlock};
  Departures departures(io::now());
  for (unsigned i = 0; i < 2; ++i) {
    QueuePair& queue_pair = connect();
    post(queue_pair, 500);
    departures.flush(queue_pair);
  }
  departures.go();
  EXPECT_EQ(completions(), 0u);
  for (const auto& queue_pair : queue_pairs_)
    EXPECT_TRUE(queue_pair->has_deferred_sends());
  wire_.together = hca::SendResult{};
  hca::Completion completion;
  while (completions() < 2)
    queue_->poll({&completion, 0});
  for (const auto& queue_pair : queue_pairs_)
    EXPECT_FALSE(queue_pair->has_deferred_sends());
}

// What several queue pairs were posted since the last poll goes at the next one, in one call; and
// so does the first post to each, once the program has been seen to post many between two polls.
TEST_F(DeparturesTest, AreMadeOfWhatAProgramPostsToManyQueuePairsBetweenPolls) {
  for (unsigned i = 0; i < 20; ++i)
    connect();
  std::vector<hca::Completion> done(64);
  const auto round = [&] {
    post_to_all();
    for (std::size_t count = 0; count < queue_pairs_.size();)
      count += queue_->poll(done);
  };
  // The thread that sees to what waits too long may be the first to send, now and then.
  std::size_t most = 0;
  for (unsigned rounds = 0; most < 20 && rounds < 1000; ++rounds) {
    round();
    for (const Call& call : wire_.take_calls())
      most = std::max(most, call.size());
  }
  EXPECT_EQ(most, 20u);
}

// The same by the thread, of a program that does not poll.
TEST_F(DeparturesTest, AreMadeOfWhatWaitsThoughNobodyPolls) {
  for (unsigned i = 0; i < 20; ++i)
    connect();
  std::vector<hca::Completion> done(64);
  std::size_t most = 0;
  for (unsigned rounds = 0; most < 2 && rounds < 1000; ++rounds) {
    post_to_all();
    for (std::size_t sent = 0; sent < queue_pairs_.size();) {
      for (const Call& call : wire_.take_calls()) {
        sent += call.size();
        most = std::max(most, call.size());
      }
      std::this_thread::yield();
    }
    for (std::size_t count = 0; count < queue_pairs_.size();)
      count += queue_->poll(done);
  }
  EXPECT_GE(most, 2u);
}

// A run goes as soon as it is a third of the send queue. More is to come, or a poll: that one asks.
TEST_F(DeparturesTest, AskForNoAnswerInTheMidstOfARunOfPosts) {
  constexpr unsigned kThird = 22;  // of connect()'s 64
  bool seen = false;
  // The thread that sees to what waits too long may be the first to send, now and then.
  for (unsigned rounds = 0; !seen && rounds < 100; ++rounds) {
    QueuePair& queue_pair = connect(kPeerGid, hca::QpType::kRc);
    post_run(queue_pair, 1);  // goes at once, alone
    wire_.take_calls();
    wire_.asks = 0;
    post_run(queue_pair, kThird);
    seen = wire_.take_calls() == std::vector<Call>{{std::vector<std::size_t>(kThird, 100)}} &&
           wire_.asks == 0;
    hca::Completion none;
    while (wire_.asks == 0)
      EXPECT_EQ(queue_->poll({&none, 1}), 0u);
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace weft::host
