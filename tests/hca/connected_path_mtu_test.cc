// SPDX-License-Identifier: Apache-2.0
// A path that swallows long packets and tells nobody (RFC 2923): when a connection takes a loss for
// that, and asks the wire for fragments.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connected_fixture.h"

namespace weft::hca::test {
namespace {

class PathMtu : public ConnectedQp {
 protected:
  static constexpr std::size_t kLong = 2000;
  static constexpr unsigned kReplays = 3;  // before a read is doubted

  void connect() {
    ConnectedConfig with = config();
    with.extensions = true;
    start(with);
    QpAttributes a = attributes();
    a.path_mtu = 2048;
    a.ack_timeout = 20;
    to_init();
    ASSERT_TRUE(move(QpState::kRtr, rtr_mask(), a));
    ASSERT_TRUE(move(QpState::kRts, rts_mask(), a));
  }
  // The next transmission of what is outstanding; whether it may leave in fragments.
  bool again() {
    now = std::max(now, qp->deadline().value_or(now));
    EXPECT_EQ(flush().size(), 1u);
    return fragmented;
  }
  void acknowledge(Psn psn) {
    arrive({.opcode = wire::Opcode::rc_acknowledge, .psn = psn, .extended = ack()});
  }
};

TEST_F(PathMtu, IsDoubtedWhenALongPacketIsSentForTheThirdTime) {
  connect();
  ASSERT_EQ(post_send(1, kLong), std::errc{});
  EXPECT_FALSE(again());
  EXPECT_FALSE(again());
  EXPECT_TRUE(again());
  EXPECT_TRUE(again());
}

TEST_F(PathMtu, IsNotDoubtedForAShortPacket) {
  connect();
  ASSERT_EQ(post_send(1, 1000), std::errc{});
  for (int i = 0; i < 6; ++i)
    EXPECT_FALSE(again()) << i;
}

TEST_F(PathMtu, IsNotDoubtedWhileOtherLongPacketsArrive) {
  connect();
  ASSERT_EQ(post_send(1, kLong), std::errc{});
  ASSERT_EQ(post_send(2, kLong), std::errc{});
  flush();
  now += 1ms;
  wire::WeftAck said{.aeth = {.syndrome = wire::Syndrome::ack()}};
  said.set(0);  // the second one has arrived, the first has not
  std::string payload(said.size(), '\0');
  said.write(std::as_writable_bytes(std::span(payload)));
  arrive({.opcode = wire::Opcode::weft_rc_acknowledge, .psn = Psn{99}, .payload = payload});
  for (int i = 0; i < 2; ++i)
    EXPECT_FALSE(again()) << i;
}

TEST_F(PathMtu, IsNotDoubtedForWhatFindsNoReceiveRequest) {
  connect();
  ASSERT_EQ(post_send(1, kLong), std::errc{});
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(again()) << i;
    arrive({.opcode = wire::Opcode::rc_acknowledge,
            .psn = Psn{100},
            .extended = ack(wire::Syndrome::rnr_nak(1))});
  }
  EXPECT_FALSE(again());
}

TEST_F(PathMtu, CountsNoTransmissionThatTheWireDidNotTake) {
  connect();
  ASSERT_EQ(post_send(1, kLong), std::errc{});
  flush();
  now = *qp->deadline();
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(qp->next_burst(burst, now));
    EXPECT_FALSE(burst.fragment) << i;
    qp->sent(burst, {.outcome = SendOutcome::kWouldBlock}, now);
  }
}

TEST_F(PathMtu, IsDoubtedWhenTheStartOfALongReadIsAskedForTheFourthTime) {
  connect();
  Packet read = read_request(kLong);
  for (unsigned i = 0; i <= kReplays; ++i) {
    arrive(read);
    EXPECT_EQ(flush().size(), 1u);
    EXPECT_EQ(fragmented, i == kReplays) << i;
  }
}

TEST_F(PathMtu, IsNotDoubtedWhenOnlyTheEndOfAReadIsAskedForAgain) {
  connect();
  arrive(read_request(2048 + kLong));
  EXPECT_EQ(flush().size(), 2u);
  Packet rest = read_request(0);
  rest.psn = Psn{201};
  std::array<std::byte, wire::Reth::kSize> reth{};
  wire::Reth{.virtual_address = region.iova + 2048, .rkey = RKey{region.key}, .dma_length = kLong}
      .write(reth);
  std::memcpy(rest.extended.data(), reth.data(), reth.size());
  for (int i = 0; i < 6; ++i) {
    arrive(rest);
    EXPECT_EQ(flush().size(), 1u);
    EXPECT_FALSE(fragmented) << i;
  }
}

TEST_F(PathMtu, IsNotDoubtedForAShortRead) {
  connect();
  Packet read = read_request(1000);
  for (int i = 0; i < 6; ++i) {
    arrive(read);
    EXPECT_EQ(flush().size(), 1u);
    EXPECT_FALSE(fragmented) << i;
  }
}

}  // namespace
}  // namespace weft::hca::test
