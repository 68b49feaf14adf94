// SPDX-License-Identifier: Apache-2.0
// When a poll of a completion queue reads sockets.
#include "host/completion_queue.h"

#include <functional>
#include <utility>

#include "io/clock.h"
#include "wire_fixture.h"

namespace {

// What happens the next time that this thread lets others run.
thread_local std::function<void()> meanwhile;

}  // namespace

// In the place of that of the C library.
extern "C" int sched_yield() noexcept {
  if (const auto others = std::exchange(meanwhile, nullptr)) others();
  return 0;
}

namespace weft::host {
namespace {

class CompletionQueueTest : public test::OnWire {
 protected:
  void SetUp() override {
    OnWire::SetUp();
    receives_ = context_->create_completion_queue(16, nullptr, nullptr).value();
    QueuePair& queue_pair = connect();
    for (unsigned i = 0; i < 12; ++i)
      post(queue_pair, 100);
    queue_pair.flush(io::now());
    ASSERT_EQ(completions(), 12u);
    wire_.socket->reads = 0;
  }
  // Takes so many completions, one by one; how many of these polls read.
  unsigned reads_in(unsigned polls) {
    const unsigned before = wire_.socket->reads;
    hca::Completion found;
    for (unsigned i = 0; i < polls; ++i)
      EXPECT_EQ(queue_->poll({&found, 1}), 1u);
    return wire_.socket->reads - before;
  }
};

TEST_F(CompletionQueueTest, LooksForMoreNowAndThenWhileAProgramFindsCompletions) {
  EXPECT_EQ(reads_in(3), 0u);
  EXPECT_EQ(reads_in(1), 1u);
  EXPECT_EQ(reads_in(3), 0u);
  EXPECT_EQ(reads_in(1), 1u);
}

TEST_F(CompletionQueueTest, LeavesThatToAnotherPollWhichHasJustReadForIt) {
  EXPECT_EQ(reads_in(3), 0u);
  wire_.socket->waiting = 1;
  hca::Completion none;
  EXPECT_EQ(receives_->poll({&none, 1}), 0u);
  EXPECT_EQ(reads_in(3), 0u);
  EXPECT_EQ(reads_in(1), 1u);
}

TEST_F(CompletionQueueTest, LooksItselfWhereTheOthersReadNothing) {
  EXPECT_EQ(reads_in(3), 0u);
  hca::Completion none;
  EXPECT_EQ(receives_->poll({&none, 1}), 0u);
  EXPECT_EQ(reads_in(1), 1u);
}

class EmptyCompletionQueue : public CompletionQueueTest {
 protected:
  void SetUp() override {
    CompletionQueueTest::SetUp();
    reads_in(12);
    wire_.socket->with_last = [this] { queue_->complete({}); };
  }
  // One poll, for one completion; how many it found.
  std::size_t poll() {
    hca::Completion found;
    return queue_->poll({&found, 1});
  }
  // Polls in vain until one lets others run, who do that meanwhile; how many this poll found.
  std::size_t poll_while(std::function<void()> others) {
    meanwhile = std::move(others);
    std::size_t found = 0;
    for (unsigned polls = 0; meanwhile && polls < 100'000; ++polls) {
      EXPECT_EQ(found, 0u);
      found = poll();
    }
    EXPECT_FALSE(meanwhile) << "it never let others run";
    return found;
  }
};

// To an adapter it makes no difference whether the program has a processor.
TEST_F(EmptyCompletionQueue, HasWhatWasCompletedWhileOthersRan) {
  EXPECT_EQ(poll_while([this] { queue_->complete({}); }), 1u);
}

TEST_F(EmptyCompletionQueue, HasWhatArrivedWhileOthersRan) {
  EXPECT_EQ(poll_while([this] { wire_.socket->waiting = 3; }), 1u);
}

TEST_F(EmptyCompletionQueue, HasWhatArrivedBehindOtherPackets) {
  wire_.socket->waiting = 40;
  EXPECT_EQ(poll(), 1u);
}

TEST_F(EmptyCompletionQueue, ReturnsFromAPollThoughPacketsComeWithoutEnd) {
  wire_.socket->waiting = 1'000'000;
  EXPECT_EQ(poll(), 0u);
  EXPECT_GT(wire_.socket->waiting, 0u);
}

}  // namespace
}  // namespace weft::host
