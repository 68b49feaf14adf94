// SPDX-License-Identifier: Apache-2.0
#include "ud_fixture.h"

namespace weft::hca::test {
namespace {

class UdReceive : public UdTest {
 protected:
  void ready(std::size_t buffer = 4136) {
    to_rtr();
    ASSERT_EQ(receive(7, 0, buffer), std::errc{});
  }
  // The datagram is dropped for exactly this reason, and nothing else happens.
  void expect_drop(UdCounter reason, Bytes transport, bool multicast = false) {
    std::vector<std::uint64_t> before;
    for (std::size_t i = 0; i < UdCounters::kSize; ++i)
      before.push_back(count(static_cast<UdCounter>(i)));
    const std::size_t completions = receive_cq.all.size();
    arrive(transport, multicast);
    for (std::size_t i = 0; i < UdCounters::kSize; ++i) {
      const auto counter = static_cast<UdCounter>(i);
      EXPECT_EQ(count(counter), before[i] + (counter == reason ? 1 : 0))
          << kUdCounters[i].name << " when expecting "
          << kUdCounters[static_cast<std::size_t>(reason)].name;
    }
    EXPECT_EQ(receive_cq.all.size(), completions);
  }
  void expect_drop(UdCounter reason, const Packet& packet, bool multicast = false) {
    expect_drop(reason, encode(packet), multicast);
  }
};

TEST_F(UdReceive, PutsTheNetworkHeaderAndTheMessageIntoTheBuffer) {
  ready();
  for (std::size_t i = 0; i < grh.size(); ++i)
    grh[i] = static_cast<std::byte>('A' + i % 26);
  now += 5ms;
  arrive(Packet{.payload = "hello", .solicited = true});
  ASSERT_EQ(receive_cq.all.size(), 1u);
  const Completion& c = receive_cq.all[0];
  EXPECT_EQ(c.wr_id, 7u);
  EXPECT_EQ(c.status, CompletionStatus::kSuccess);
  EXPECT_EQ(c.opcode, CompletionOpcode::kReceive);
  EXPECT_TRUE(c.with_grh);
  EXPECT_TRUE(c.solicited);
  EXPECT_FALSE(c.with_immediate);
  EXPECT_EQ(c.byte_length, 45u);
  EXPECT_EQ(c.qpn, kOwnQpn);
  EXPECT_EQ(c.source_qpn, kPeerQpn);
  EXPECT_EQ(c.at, now);
  EXPECT_EQ(text(0, 46), "ABCDEFGHIJKLMNOPQRSTUVWXYZABCDEFGHIJKLMNhello" + std::string(1, '\0'));
  EXPECT_EQ(count(UdCounter::kRxPackets), 1u);
  EXPECT_EQ(count(UdCounter::kRxBytes), 5u);
}

TEST_F(UdReceive, SaysThatThereIsNoNetworkHeaderWhenThePortHasNone) {
  ready();
  store(0, "untouched");
  const auto transport = encode({});
  qp->receive({.transport = transport, .source = kPeerGid, .destination = kOwnGid}, now);
  ASSERT_EQ(receive_cq.all.size(), 1u);
  EXPECT_FALSE(receive_cq.all[0].with_grh);
  EXPECT_EQ(receive_cq.all[0].byte_length, 45u);
  EXPECT_EQ(text(0, 9), "untouched");
  EXPECT_EQ(text(40, 5), "hello");
}

TEST_F(UdReceive, HandsOnTheImmediateInMemoryOrder) {
  ready();
  std::uint32_t immediate = 0;
  std::memcpy(&immediate, "wxyz", 4);
  arrive(Packet{.opcode = wire::Opcode::ud_send_only_imm, .immediate = immediate});
  ASSERT_EQ(receive_cq.all.size(), 1u);
  EXPECT_TRUE(receive_cq.all[0].with_immediate);
  EXPECT_EQ(receive_cq.all[0].immediate, immediate);
  EXPECT_EQ(receive_cq.all[0].byte_length, 45u) << "the immediate is no part of the message";
}

TEST_F(UdReceive, ScattersOverAnySplitOfTheBuffer) {
  to_rtr();
  const std::string payload = "The quick brown fox jumps over the lazy dog.";
  const std::size_t total = kGrhArea + payload.size();
  for (std::size_t i = 0; i < grh.size(); ++i)
    grh[i] = static_cast<std::byte>(i + 1);
  std::string whole(total, '\0');
  std::memcpy(whole.data(), grh.data(), grh.size());
  std::memcpy(whole.data() + kGrhArea, payload.data(), payload.size());
  for (std::size_t a = 0; a <= total; a += 3) {
    for (std::size_t b = 0; a + b <= total; b += 7) {
      std::fill(memory.begin(), memory.end(), std::byte{0});
      const std::array pieces{sge(0, a), Sge{}, sge(1000, b), sge(2000, total - a - b + 5)};
      ASSERT_EQ(qp->post_receive({.wr_id = 1, .pieces = pieces}), std::errc{});
      arrive(Packet{.payload = payload});
      EXPECT_EQ(text(0, a) + text(1000, b) + text(2000, total - a - b), whole) << a << "+" << b;
      EXPECT_EQ(text(2000 + total - a - b, 5), std::string(5, '\0')) << "no byte too many";
    }
  }
}

TEST_F(UdReceive, DropsWhatIsTruncated) {
  ready();
  const auto good = encode({.payload = "12345678"});
  for (std::size_t n = 0; n < wire::Bth::kSize + wire::Deth::kSize; ++n)
    expect_drop(UdCounter::kRxMalformed, Bytes(good).first(n));
  for (std::size_t n = 21; n < good.size(); ++n) {
    if (n % 4 != 0) expect_drop(UdCounter::kRxMalformed, Bytes(good).first(n));
  }
  auto padded = encode({.payload = ""});
  padded[1] |= std::byte{0x30};
  expect_drop(UdCounter::kRxMalformed, padded);
  auto no_immediate = encode({.payload = ""});
  no_immediate[0] = std::byte{0x65};
  expect_drop(UdCounter::kRxMalformed, no_immediate);
  expect_drop(UdCounter::kRxMalformed, {.payload = std::string(4100, 'x')});
}

TEST_F(UdReceive, CountsEachDropUnderItsOwnReason) {
  ready(45);
  expect_drop(UdCounter::kRxBadVersion, {.version = 1});
  expect_drop(UdCounter::kRxBadOpcode, {.opcode = wire::Opcode::rc_send_only});
  expect_drop(UdCounter::kRxBadDestination, {.destination = Qpn{1}});
  expect_drop(UdCounter::kRxBadDestination, {.destination = kMulticastQpn});
  expect_drop(UdCounter::kRxBadPKey, {.pkey = PKey{0x8001}});
  expect_drop(UdCounter::kRxBadQKey, {.qkey = QKey{1}});
  expect_drop(UdCounter::kRxTooLong, {.payload = "123456"});
  arrive(Packet{.payload = "12345", .pkey = PKey{0x7FFF}});
  EXPECT_EQ(receive_cq.all.size(), 1u) << "a limited member may talk to a full one, and the "
                                          "receive is still there for it";
  expect_drop(UdCounter::kRxNoReceive, Packet{});
}

TEST_F(UdReceive, ChecksInTheDocumentedOrder) {
  // Everything is wrong with this one; each repair uncovers the next reason.
  to_init();
  auto transport = encode(
      {.opcode = wire::Opcode::rc_send_only, .version = 3, .pkey = PKey{0x8001}, .qkey = QKey{1}});
  expect_drop(UdCounter::kRxMalformed, Bytes(transport).first(transport.size() - 1), true);
  expect_drop(UdCounter::kRxBadVersion, transport, true);
  transport[1] &= std::byte{0xF0};
  expect_drop(UdCounter::kRxBadOpcode, transport, true);
  transport[0] = std::byte{0x64};
  expect_drop(UdCounter::kRxBadDestination, transport, true);
  transport[5] = transport[6] = transport[7] = std::byte{0xFF};
  expect_drop(UdCounter::kRxWrongState, transport, true);
  ASSERT_TRUE(move(QpState::kRtr));
  expect_drop(UdCounter::kRxBadPKey, transport, true);
  transport[2] = transport[3] = std::byte{0xFF};
  expect_drop(UdCounter::kRxNotAttached, transport, true);
  ASSERT_TRUE(qp->attach(kGroup));
  expect_drop(UdCounter::kRxBadQKey, transport, true);
  const auto good = encode({.destination = kMulticastQpn});
  expect_drop(UdCounter::kRxNoReceive, good, true);
  ASSERT_EQ(receive(1, 0, 44), std::errc{});
  expect_drop(UdCounter::kRxTooLong, good, true);
}

TEST_F(UdReceive, TwoLimitedMembersDoNotHearEachOther) {
  UdConfig limited = config();
  limited.pkey = PKey{0x7FFF};
  start(limited);
  ready();
  expect_drop(UdCounter::kRxBadPKey, {.pkey = PKey{0x7FFF}});
  arrive(Packet{.pkey = PKey{0xFFFF}});
  EXPECT_EQ(receive_cq.all.size(), 1u);
}

TEST_F(UdReceive, TakesDatagramsFromRtrToSqe) {
  expect_drop(UdCounter::kRxWrongState, Packet{});
  to_init();
  ASSERT_EQ(receive(1, 0, 100), std::errc{}) << "posted in INIT, used in RTR";
  expect_drop(UdCounter::kRxWrongState, Packet{});
  ASSERT_TRUE(move(QpState::kRtr));
  arrive(Packet{});
  EXPECT_EQ(receive_cq.all.size(), 1u);
  ASSERT_TRUE(move(QpState::kErr));
  expect_drop(UdCounter::kRxWrongState, Packet{});
}

TEST_F(UdReceive, GetsMulticastOnlyOfItsGroups) {
  ready();
  EXPECT_FALSE(qp->attach(kPeerGid)) << "not a multicast address";
  EXPECT_FALSE(qp->detach(kGroup));
  ASSERT_TRUE(qp->attach(kGroup));
  ASSERT_TRUE(qp->attach(kGroup));
  EXPECT_EQ(qp->groups().size(), 1u);
  arrive(Packet{.destination = kMulticastQpn, .ack_request = true}, true);
  EXPECT_EQ(receive_cq.all.size(), 1u);
  EXPECT_EQ(count(UdCounter::kRxMulticast), 1u);
  EXPECT_FALSE(qp->has_work()) << "multicast gets no credit";
  ASSERT_TRUE(qp->detach(kGroup));
  expect_drop(UdCounter::kRxNotAttached, {.destination = kMulticastQpn}, true);
}

TEST_F(UdReceive, FailsAReceiveIntoMemoryItMayNotWrite) {
  to_rtr();
  std::vector<std::byte> constant(100);
  const MemoryRegion read_only = *table.add(describe(constant, 0));
  const std::array pieces{
      sge(0, 40), Sge{.address = read_only.iova, .length = 100, .lkey = LKey{read_only.key}}};
  ASSERT_EQ(qp->post_receive({.wr_id = 1, .pieces = pieces}), std::errc{});
  ASSERT_EQ(receive(2, 0, 100), std::errc{});
  arrive(Packet{});
  ASSERT_EQ(receive_cq.all.size(), 2u);
  EXPECT_EQ(receive_cq.all[0].status, CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(receive_cq.all[1].status, CompletionStatus::kFlushed);
  EXPECT_EQ(qp->state(), QpState::kErr);
  EXPECT_EQ(constant, std::vector<std::byte>(100));
  EXPECT_EQ(count(UdCounter::kRxPackets), 0u);
}

TEST_F(UdReceive, ChecksEveryPost) {
  EXPECT_EQ(receive(1, 0, 1), std::errc::invalid_argument) << "RESET";
  to_init();
  const std::array<Sge, 9> many{};
  EXPECT_EQ(qp->post_receive({.pieces = many}), std::errc::invalid_argument);
  for (std::uint32_t i = 0; i < config().max_receives; ++i)
    ASSERT_EQ(receive(i, 0, 1), std::errc{});
  EXPECT_EQ(receive(1, 0, 1), std::errc::not_enough_memory);
  ASSERT_TRUE(move(QpState::kErr));
  EXPECT_EQ(receive_cq.all.size(), 256u);
  EXPECT_EQ(receive(1, 0, 1), std::errc{});
  EXPECT_EQ(receive_cq.all.back().status, CompletionStatus::kFlushed);
  ASSERT_TRUE(move(QpState::kReset));
  EXPECT_EQ(receive_cq.all.size(), 257u);
}

TEST_F(UdReceive, TakesAWholeDatagramAsTheMessageOnABareWire) {
  UdConfig bare = config();
  bare.framing = UdFraming::kBare;
  start(bare);
  expect_drop(UdCounter::kRxWrongState, bytes_of("x"));
  ready(45);
  expect_drop(UdCounter::kRxMalformed, std::vector<std::byte>(4097));
  expect_drop(UdCounter::kRxNotAttached, bytes_of("x"), true);
  expect_drop(UdCounter::kRxTooLong, bytes_of("123456"));
  arrive(bytes_of("odd"));
  ASSERT_EQ(receive_cq.all.size(), 1u);
  EXPECT_EQ(receive_cq.all[0].byte_length, 43u);
  EXPECT_EQ(receive_cq.all[0].source_qpn, kPeerQpn);
  EXPECT_EQ(text(40, 3), "odd");
  expect_drop(UdCounter::kRxNoReceive, bytes_of("x"));
}

TEST_F(UdReceive, AnswersARequestForCreditOnceForEachFlow) {
  ready();
  ASSERT_EQ(receive(8, 0, 100), std::errc{});
  arrive(Packet{.ack_request = true, .psn = Psn{50}});
  arrive(Packet{.ack_request = true, .psn = Psn{52}});
  ASSERT_EQ(receive(9, 0, 100), std::errc{});
  EXPECT_TRUE(qp->has_work());
  transmit();
  ASSERT_EQ(sink.bursts.size(), 1u);
  EXPECT_EQ(sink.bursts[0].path.dgid, kPeerGid);
  EXPECT_EQ(sink.bursts[0].path.sgid, kOwnGid);
  EXPECT_EQ(sink.bursts[0].destination, kPeerQpn);
  const auto& datagram = sink.bursts[0].datagrams[0];
  EXPECT_EQ(wire::Bth::parse(datagram)->opcode, wire::Opcode::weft_ud_credit);
  EXPECT_EQ(wire::Deth::parse(Bytes(datagram).subspan(12))->qkey, kQKey);
  const auto credit = Credit::parse(Bytes(datagram).subspan(20));
  ASSERT_TRUE(credit);
  EXPECT_EQ(credit->seen, Psn{52});
  EXPECT_EQ(credit->receives, 1u);
  EXPECT_EQ(credit->lost, 1u);
  EXPECT_EQ(count(UdCounter::kRxLost), 1u);
  EXPECT_EQ(count(UdCounter::kTxCredits), 1u);
  arrive(Packet{.psn = Psn{51}});
  EXPECT_EQ(count(UdCounter::kRxLost), 0u) << "it was only late";
}

TEST_F(UdReceive, OffersACreditAgainThatTheWireDidNotTake) {
  ready();
  arrive(Packet{.ack_request = true});
  sink.answers = {{.outcome = SendOutcome::kWouldBlock}};
  EXPECT_FALSE(transmit());
  EXPECT_TRUE(qp->has_work());
  EXPECT_TRUE(transmit());
  EXPECT_EQ(count(UdCounter::kTxCredits), 1u);
}

TEST_F(UdReceive, GivesCreditUnaskedWhenReceivesArePostedAtLast) {
  ready();
  arrive(Packet{.ack_request = true});
  transmit();
  ASSERT_EQ(sink.bursts.size(), 1u);
  EXPECT_EQ(Credit::parse(Bytes(sink.datagrams()[0]).subspan(20))->receives, 0u);
  ASSERT_EQ(receive(8, 0, 100), std::errc{});
  EXPECT_TRUE(qp->has_work());
  transmit();
  ASSERT_EQ(sink.bursts.size(), 2u);
  EXPECT_EQ(Credit::parse(Bytes(sink.datagrams()[1]).subspan(20))->receives, 1u);
}

TEST_F(UdReceive, HasNoCreditsWhereTheWireHasNone) {
  UdConfig standard = config();
  standard.credits = false;
  start(standard);
  ready();
  expect_drop(UdCounter::kRxBadOpcode,
              {.opcode = wire::Opcode::weft_ud_credit, .payload = "0123456789abcdef"});
  arrive(Packet{.ack_request = true});
  EXPECT_EQ(receive_cq.all.size(), 1u);
  EXPECT_FALSE(qp->has_work());
}

TEST_F(UdReceive, DropsACreditOfTheWrongShape) {
  ready();
  const Packet shorter{.opcode = wire::Opcode::weft_ud_credit, .payload = "0123456789ab"};
  expect_drop(UdCounter::kRxMalformed, shorter);
  const Packet reserved{.opcode = wire::Opcode::weft_ud_credit, .payload = "x123456789abcdef"};
  expect_drop(UdCounter::kRxMalformed, reserved);
  const std::string fine(16, '\0');
  const Packet group{
      .opcode = wire::Opcode::weft_ud_credit, .payload = fine, .destination = kMulticastQpn};
  expect_drop(UdCounter::kRxBadOpcode, group, true);
}

}  // namespace
}  // namespace weft::hca::test
