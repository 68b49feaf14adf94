// SPDX-License-Identifier: Apache-2.0
// A path that swallows long packets and tells nobody (RFC 2923): when a connection takes a loss for
// that, and sends pieces instead; and what it makes of pieces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connected_fixture.h"
#include "wire/weft_piece.h"

namespace weft::hca::test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Not;
using wire::Opcode;

class PathMtu : public ConnectedQp {
 protected:
  static constexpr std::size_t kLong = 2000;
  static constexpr unsigned kReplays = 3;  // before a read is doubted

  void connect(bool extensions = true) {
    ConnectedConfig with = config();
    with.extensions = extensions;
    start(with);
    QpAttributes a = attributes();
    a.path_mtu = 2048;
    a.ack_timeout = 20;
    to_init();
    ASSERT_TRUE(move(QpState::kRtr, rtr_mask(), a));
    ASSERT_TRUE(move(QpState::kRts, rts_mask(), a));
  }
  // What is sent now, packet by packet.
  std::vector<Opcode> transmit() {
    RecordingSink sink;
    while (qp->next_burst(burst, now))
      qp->sent(burst, sink.send(burst), now);
    sent = sink.datagrams();
    std::vector<Opcode> opcodes;
    for (const auto& datagram : sent)
      opcodes.push_back(wire::Bth::parse(datagram)->opcode);
    return opcodes;
  }
  // The next transmission of what is outstanding.
  std::vector<Opcode> again() {
    now = std::max(now, qp->deadline().value_or(now));
    return transmit();
  }
  // A short packet has arrived there, and what says so here.
  void answer() {
    now += 1ms;
    arrive({.opcode = Opcode::rc_acknowledge, .psn = Psn{99}, .extended = ack()});
  }

  // Has it send the first long packet in pieces.
  void doubt() {
    ASSERT_EQ(post_send(1, kLong), std::errc{});
    again();
    for (int i = 0; i < 2; ++i) {
      again();
      answer();
    }
    ASSERT_THAT(again(), Each(Opcode::weft_piece));
  }

  std::vector<std::vector<std::byte>> sent;
};

TEST_F(PathMtu, IsDoubtedWhenALongPacketVanishesAndShortOnesDoNot) {
  connect();
  ASSERT_EQ(post_send(1, kLong), std::errc{});
  EXPECT_THAT(again(), ElementsAre(Opcode::rc_send_only));
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(again(), ElementsAre(Opcode::rc_send_only, Opcode::rc_send_only)) << i;
    // The question: without data, under a number that the peer takes for a duplicate.
    EXPECT_EQ(sent[1].size(), wire::Bth::kSize);
    EXPECT_EQ(wire::Bth::parse(sent[1])->psn, Psn{99});
    EXPECT_TRUE(wire::Bth::parse(sent[1])->ack_request);
    answer();
  }
  EXPECT_THAT(again(), ElementsAre(Opcode::weft_piece, Opcode::weft_piece));
  for (const auto& piece : sent) {
    EXPECT_LE(piece.size(), kNarrowPacket);
    EXPECT_EQ(wire::Bth::parse(piece)->psn, Psn{100});
  }
  EXPECT_EQ(count(ConnectedCounter::kTxInPieces), 1u);
  // And so does everything that is long from now on; what is short goes as it is.
  ASSERT_EQ(post_send(2, kLong), std::errc{});
  ASSERT_EQ(post_send(3, 100), std::errc{});
  EXPECT_THAT(transmit(),
              ElementsAre(Opcode::weft_piece, Opcode::weft_piece, Opcode::rc_send_only));
}

TEST_F(PathMtu, IsTriedAgainNowAndThenAndTrustedWhenALongPacketArrives) {
  connect();
  doubt();
  arrive({.opcode = Opcode::rc_acknowledge, .psn = Psn{100}, .extended = ack()});
  // A trial that fails: its packet goes in pieces after all, and the next one comes later.
  now += 50ms;
  ASSERT_EQ(post_send(2, kLong), std::errc{});
  EXPECT_THAT(transmit(), ElementsAre(Opcode::rc_send_only));
  ASSERT_EQ(post_send(3, kLong), std::errc{});
  EXPECT_THAT(transmit(), ElementsAre(Opcode::weft_piece, Opcode::weft_piece));
  EXPECT_THAT(again(), Each(Opcode::weft_piece));
  arrive({.opcode = Opcode::rc_acknowledge, .psn = Psn{102}, .extended = ack()});
  ASSERT_EQ(post_send(4, kLong), std::errc{});
  EXPECT_THAT(transmit(), ElementsAre(Opcode::weft_piece, Opcode::weft_piece));
  arrive({.opcode = Opcode::rc_acknowledge, .psn = Psn{103}, .extended = ack()});
  // One that arrives.
  now += 1s;
  ASSERT_EQ(post_send(5, kLong), std::errc{});
  EXPECT_THAT(transmit(), ElementsAre(Opcode::rc_send_only));
  arrive({.opcode = Opcode::rc_acknowledge, .psn = Psn{104}, .extended = ack()});
  ASSERT_EQ(post_send(6, kLong), std::errc{});
  EXPECT_THAT(transmit(), ElementsAre(Opcode::rc_send_only));
}

TEST_F(PathMtu, IsNotTrustedForAPacketThatTheWireDidNotTakeWhole) {
  connect();
  doubt();
  arrive({.opcode = Opcode::rc_acknowledge, .psn = Psn{100}, .extended = ack()});
  now += 50ms;
  ASSERT_EQ(post_send(2, kLong), std::errc{});
  ASSERT_TRUE(qp->next_burst(burst, now));
  ASSERT_EQ(burst.size(), 1u);
  qp->sent(burst, {.outcome = SendOutcome::kWouldBlock}, now);
  // It goes in pieces now, and that it arrives so proves nothing.
  EXPECT_THAT(transmit(), ElementsAre(Opcode::weft_piece, Opcode::weft_piece));
  arrive({.opcode = Opcode::rc_acknowledge, .psn = Psn{101}, .extended = ack()});
  ASSERT_EQ(post_send(3, kLong), std::errc{});
  EXPECT_THAT(transmit(), ElementsAre(Opcode::weft_piece, Opcode::weft_piece));
}

TEST_F(PathMtu, IsNotDoubtedWhenThePeerStandsStill) {
  connect();
  ASSERT_EQ(post_send(1, kLong), std::errc{});
  for (int i = 0; i < 5; ++i)
    EXPECT_THAT(again(), Each(Opcode::rc_send_only)) << i;
}

TEST_F(PathMtu, IsNotDoubtedForAShortPacket) {
  connect();
  ASSERT_EQ(post_send(1, 1000), std::errc{});
  for (int i = 0; i < 6; ++i) {
    EXPECT_THAT(again(), ElementsAre(Opcode::rc_send_only)) << i << ": nor is a question asked";
    answer();
  }
}

TEST_F(PathMtu, IsNotDoubtedByAConnectionWithoutExtensions) {
  connect(false);
  ASSERT_EQ(post_send(1, kLong), std::errc{});
  for (int i = 0; i < 3; ++i) {
    EXPECT_THAT(again(), ElementsAre(Opcode::rc_send_only)) << i;
    answer();
  }
}

TEST_F(PathMtu, IsNotDoubtedWhileOtherLongPacketsArrive) {
  connect();
  ASSERT_EQ(post_send(1, kLong), std::errc{});
  ASSERT_EQ(post_send(2, kLong), std::errc{});
  transmit();
  now += 1ms;
  wire::WeftAck said{.aeth = {.syndrome = wire::Syndrome::ack()}};
  said.set(0);  // the second one has arrived, the first has not
  std::string payload(said.size(), '\0');
  said.write(std::as_writable_bytes(std::span(payload)));
  arrive({.opcode = Opcode::weft_rc_acknowledge, .psn = Psn{99}, .payload = payload});
  EXPECT_THAT(again(), ElementsAre(Opcode::rc_send_only));
}

TEST_F(PathMtu, IsNotDoubtedForWhatFindsNoReceiveRequest) {
  connect();
  ASSERT_EQ(post_send(1, kLong), std::errc{});
  for (int i = 0; i < 4; ++i) {
    EXPECT_THAT(again(), ElementsAre(Opcode::rc_send_only)) << i;
    arrive({.opcode = Opcode::rc_acknowledge,
            .psn = Psn{100},
            .extended = ack(wire::Syndrome::rnr_nak(1))});
  }
}

TEST_F(PathMtu, CountsNoTransmissionThatTheWireDidNotTake) {
  connect();
  ASSERT_EQ(post_send(1, kLong), std::errc{});
  transmit();
  answer();
  now = *qp->deadline();
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(qp->next_burst(burst, now));
    EXPECT_EQ(wire::Bth::parse(burst.packets()[0].header)->opcode, Opcode::rc_send_only) << i;
    qp->sent(burst, {.outcome = SendOutcome::kWouldBlock}, now);
  }
}

TEST_F(PathMtu, IsDoubtedWhenTheStartOfALongReadIsAskedForTheFourthTime) {
  connect();
  const Packet read = read_request(kLong);
  for (unsigned i = 0; i <= kReplays; ++i) {
    arrive(read);
    const auto opcodes = transmit();
    if (i < kReplays) {
      EXPECT_THAT(opcodes, ElementsAre(Opcode::rc_read_response_only)) << i;
    } else {
      EXPECT_THAT(opcodes, ElementsAre(Opcode::weft_piece, Opcode::weft_piece));
    }
  }
}

TEST_F(PathMtu, IsNotDoubtedWhenOnlyTheEndOfAReadIsAskedForAgain) {
  connect();
  arrive(read_request(2048 + kLong));
  EXPECT_EQ(transmit().size(), 2u);
  Packet rest = read_request(0);
  rest.psn = Psn{201};
  std::array<std::byte, wire::Reth::kSize> reth{};
  wire::Reth{.virtual_address = region.iova + 2048, .rkey = RKey{region.key}, .dma_length = kLong}
      .write(reth);
  std::memcpy(rest.extended.data(), reth.data(), reth.size());
  for (int i = 0; i < 6; ++i) {
    arrive(rest);
    EXPECT_THAT(transmit(), Not(Contains(Opcode::weft_piece))) << i;
  }
}

TEST_F(PathMtu, IsNotDoubtedForAShortRead) {
  connect();
  const Packet read = read_request(1000);
  for (int i = 0; i < 6; ++i) {
    arrive(read);
    EXPECT_THAT(transmit(), Not(Contains(Opcode::weft_piece))) << i;
  }
}

TEST_F(PathMtu, IsTrustedAgainAfterAReset) {
  connect();
  for (unsigned i = 0; i <= kReplays; ++i) {
    arrive(read_request(kLong));
    transmit();
  }
  ASSERT_TRUE(qp->connection().narrow);
  ASSERT_TRUE(move(QpState::kReset));
  EXPECT_FALSE(qp->connection().narrow);
}

// As the peer's queue pair makes them, of a message without end in the middle of the buffer.
class PathMtuPieces : public PathMtu {
 protected:
  std::vector<std::vector<std::byte>> pieces_of(const Packet& packet) {
    const auto whole = encode(packet);
    Burst cut;
    OutPacket& out = cut.open();
    std::copy_n(whole.begin(), wire::Bth::kSize, out.header.begin());
    out.header_length = wire::Bth::kSize;
    cut.add_piece(out, Bytes(whole).subspan(wire::Bth::kSize));
    cut.close(out, 4);
    cutter.cut(cut);
    RecordingSink sink;
    sink.send(cut);
    return sink.datagrams();
  }
  PacketCutter cutter;
};

TEST_F(PathMtuPieces, AreJoinedAndDoneAsOnePacketInWhateverOrderTheyCome) {
  connect();
  ASSERT_EQ(post_receive(1, 4096), std::errc{});
  std::string text;
  for (int i = 0; text.size() < 2048; ++i)
    text += std::to_string(i);
  text.resize(2048);
  const Packet message{.payload = text};
  auto pieces = pieces_of(message);
  ASSERT_EQ(pieces.size(), 2u);
  arrive(pieces[1], message);
  arrive(pieces[1], message);
  EXPECT_TRUE(receive_cq.all.empty());
  arrive(pieces[0], message);
  ASSERT_EQ(receive_cq.all.size(), 1u);
  EXPECT_EQ(receive_cq.all[0].status, CompletionStatus::kSuccess);
  EXPECT_EQ(this->text(0, text.size()), text);
  EXPECT_EQ(count(ConnectedCounter::kRxPieces), 3u);
  EXPECT_EQ(count(ConnectedCounter::kRxPackets), 1u);
}

TEST_F(PathMtuPieces, OfPiecesAreMalformed) {
  connect();
  const Packet inner{.opcode = Opcode::weft_piece, .payload = std::string(2000, 'x')};
  for (const auto& piece : pieces_of(inner))
    arrive(piece, inner);
  EXPECT_EQ(count(ConnectedCounter::kRxMalformed), 1u);
  EXPECT_EQ(count(ConnectedCounter::kRxPieces), 2u) << "what was in them is not taken apart again";
}

TEST_F(PathMtuPieces, AreSignsOfCongestionEachByItself) {
  connect();
  Packet message{.payload = std::string(2000, 'x')};
  message.traffic_class = 3;  // congestion experienced
  arrive(pieces_of(message)[0], message);
  EXPECT_THAT(transmit(), ElementsAre(Opcode::cnp));
}

TEST_F(PathMtuPieces, FromSomebodyElseAreNotJoined) {
  connect();
  Packet message{.payload = std::string(2000, 'x')};
  message.source = kGroup;
  for (const auto& piece : pieces_of(message))
    arrive(piece, message);
  EXPECT_EQ(count(ConnectedCounter::kRxBadSource), 2u);
  EXPECT_EQ(count(ConnectedCounter::kRxPieces), 0u);
}

}  // namespace
}  // namespace weft::hca::test
