// SPDX-License-Identifier: Apache-2.0
// What leaves one end of a tunnel, as the other end answers it.
#include "wan/tunnel_sender.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "../link/rig.h"
#include "wan/frame_builder.h"

namespace weft::wan {
namespace {

class Sender : public ::testing::Test {
 protected:
  static constexpr Vl kLane{3};

  void SetUp() override {
    Agreement agreement;
    agreement.capacity[kLane.value()] = 1'000'000;
    sender_.begin(agreement, Pace::kFollowed);
  }

  void accept(std::size_t payload) {
    auto packet = pool_.copy(link::make_packet({.vl = kLane, .payload = payload}));
    ASSERT_NE(packet, nullptr);
    sender_.accept(std::move(packet));
  }
  // The other end grants enough, and says that so many packets have come or never will.
  void hear(std::uint32_t settled) {
    CreditItem item;
    item.credit.vl = kLane;
    item.credit.limit = 1'000;
    item.settled = settled;
    sender_.hear(item);
  }
  void send_frame(std::size_t longest) {
    builder_.begin(longest);
    sender_.fill(builder_, std::nullopt);
    FrameHead head;
    sender_.leaves(head, Time{1ms});
    builder_.finish(head);
    sender_.departed();
  }
  [[nodiscard]] std::uint64_t count(TunnelCounter counter) const { return counters_.get(counter); }

  BufferPool payloads_{link::PacketPool::kPayloadBlock, 16};
  link::PacketPool pool_{16, payloads_};
  TunnelCounters counters_;
  TunnelSender sender_{{}, counters_};
  FrameBuilder builder_;
};

// Without recovery, the other end gives a packet up when it has missed its first piece, which it
// knows by the second, while the third has yet to leave.
TEST_F(Sender, CountsAPacketOnceThatWasGivenUpBeforeItHadLeft) {
  hear(0);
  accept(2048);
  send_frame(kLeastFrame);
  send_frame(kLeastFrame);
  ASSERT_EQ(count(TunnelCounter::kTxPackets), 0) << "it has gone in two frames";
  ASSERT_EQ(sender_.packets(kLane), 1);
  hear(1);
  sender_.end();
  EXPECT_EQ(count(TunnelCounter::kTxUnconfirmed), 0);
  EXPECT_EQ(count(TunnelCounter::kTxSessionLost), 1);
}

TEST_F(Sender, CountsWhatHasLeftAndWhatHasNotOnceEach) {
  hear(0);
  accept(256);
  accept(2048);
  send_frame(kLeastFrame);  // the first, and a piece of the second
  send_frame(kLeastFrame);
  ASSERT_EQ(count(TunnelCounter::kTxPackets), 1);
  ASSERT_EQ(sender_.packets(kLane), 2);
  sender_.end();
  EXPECT_EQ(count(TunnelCounter::kTxUnconfirmed), 1);
  EXPECT_EQ(count(TunnelCounter::kTxSessionLost), 1);
}

}  // namespace
}  // namespace weft::wan
