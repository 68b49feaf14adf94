// SPDX-License-Identifier: Apache-2.0
// Work that sends nothing: binds and invalidates, in their turn among what does.
#include <gmock/gmock.h>

#include "requester_fixture.h"

namespace weft::hca::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RequesterLocal : public RequesterTest {
 protected:
  std::errc bind(std::uint64_t id, RKey new_key, std::uint32_t access = 0) {
    return requester->post({.wr_id = id,
                            .opcode = SendOpcode::kBindWindow,
                            .signaled = true,
                            .bind = {.region_lkey = bindable.key,
                                     .address = 0x5000,
                                     .length = 16,
                                     .access = access,
                                     .window = window,
                                     .new_key = new_key}});
  }

  const MemoryRegion bindable = *table.add({.base = memory.data(),
                                            .iova = 0x5000,
                                            .length = 4096,
                                            .access = kLocalWrite | kWindowBind,
                                            .pd = kPd});
  const RKey window = *table.add_window(WindowType::kType2, kPd);
};

TEST_F(RequesterLocal, BindsAndInvalidatesInItsTurnWithoutAPacket) {
  start();
  const RKey key{window.value() ^ 1};
  ASSERT_EQ(send(1, 1), std::errc{});
  ASSERT_EQ(bind(2, key, kRemoteRead), std::errc{});
  ASSERT_EQ(requester->post({.wr_id = 3,
                             .opcode = SendOpcode::kLocalInvalidate,
                             .signaled = true,
                             .invalidate = key}),
            std::errc{});
  ASSERT_EQ(send(4, 1), std::errc{});
  EXPECT_THAT(numbers(transmit()), ElementsAre(0, 1));
  EXPECT_THAT(completions.all, IsEmpty());
  ack(0);
  EXPECT_THAT(completed_ids(), ElementsAre(1, 2, 3));
  EXPECT_EQ(completions.all[1].opcode, CompletionOpcode::kBindWindow);
  EXPECT_EQ(completions.all[2].opcode, CompletionOpcode::kLocalInvalidate);
  EXPECT_EQ(table.invalidate(key, kPd, kOwnQpn), std::errc::invalid_argument) << "it is unbound";
  ack(1);
  EXPECT_EQ(completions.all.size(), 4u);
}

TEST_F(RequesterLocal, DoesLocalWorkOnceEvenIfTheWireDoesNotTakeWhatFollows) {
  start();
  ASSERT_EQ(bind(1, window), std::errc{});
  ASSERT_EQ(send(2, 1), std::errc{});
  ASSERT_TRUE(requester->fill(scratch, now));
  requester->sent(scratch, {.outcome = SendOutcome::kWouldBlock}, now);
  EXPECT_THAT(completed_ids(), ElementsAre(1));
  EXPECT_EQ(transmit().size(), 1u);
  ack(0);
  EXPECT_THAT(completed_ids(), ElementsAre(1, 2));
  EXPECT_EQ(requester->queued_packets(), 0u);
}

TEST_F(RequesterLocal, DoesLocalWorkOnceEvenIfWhatGoesBeforeItIsTriedOneByOne) {
  start();
  ASSERT_EQ(send(1, 1), std::errc{});
  ASSERT_EQ(send(2, 1), std::errc{});
  ASSERT_EQ(bind(3, window), std::errc{});
  ASSERT_TRUE(requester->fill(scratch, now));
  ASSERT_EQ(scratch.size(), 2u);
  requester->sent(
      scratch,
      {.outcome = SendOutcome::kRefused, .reason = CompletionStatus::kLocalProtectionError}, now);
  EXPECT_EQ(transmit().size(), 2u);
  EXPECT_THAT(completed_ids(), IsEmpty());
  ack(1);
  EXPECT_THAT(completed_ids(), ElementsAre(1, 2, 3));
  EXPECT_FALSE(requester->has_work());
  EXPECT_EQ(requester->queued_packets(), 0u);
}

TEST_F(RequesterLocal, FailsABindThatIsNotAllowed) {
  start();
  ASSERT_EQ(requester->post({.wr_id = 1, .opcode = SendOpcode::kBindWindow}), std::errc{});
  EXPECT_THAT(transmit(), IsEmpty());
  EXPECT_TRUE(requester->failed());
  EXPECT_THAT(completed(), ElementsAre(std::pair(1u, CompletionStatus::kMemoryWindowBindError)));
}

}  // namespace
}  // namespace weft::hca::test
