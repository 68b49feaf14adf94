// SPDX-License-Identifier: Apache-2.0
// When a poll of a completion queue reads sockets.
#include "host/completion_queue.h"

#include "io/clock.h"
#include "wire_fixture.h"

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
  wire_.socket->arrives = true;
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

}  // namespace
}  // namespace weft::host
