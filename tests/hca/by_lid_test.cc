// SPDX-License-Identifier: Apache-2.0
// Queue pairs on a fabric: LIDs, P_Key tables, packets with and without a GRH.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "connected_fixture.h"
#include "hca/pkey_table.h"
#include "ud_fixture.h"

namespace weft::hca::test {
namespace {

using testing::ElementsAre;
using enum ConnectedCounter;

constexpr Lid kOwnLid{4};
constexpr Lid kPeerLid{9};
constexpr Lid kOtherLid{17};
constexpr PKey kFull{0x8001};
constexpr PKey kLimited{0x0001};

const Path kByLid{.dlid = kPeerLid, .source_path_bits = 1, .global = false};
const Path kByBoth{
    .sgid = kOwnGid, .dgid = kPeerGid, .dlid = kPeerLid, .source_path_bits = 1, .global = true};

// As a packet without a GRH comes from the peer.
InDatagram from_peer(Bytes transport) {
  return {.transport = transport,
          .global = false,
          .slid = kPeerLid,
          .dlid = Lid{kOwnLid.value() + 1},
          .path_bits = 1,
          .sl = Sl{3}};
}
InDatagram with_gids(InDatagram datagram) {
  datagram.global = true;
  datagram.source = kPeerGid;
  datagram.destination = kOwnGid;
  return datagram;
}

class ConnectedByLid : public ConnectedQp {
 protected:
  void to_rts(const Path& path, const Path& alternate = {}) {
    QpAttributes a = attributes();
    a.path = path;
    a.alternate_path = alternate;
    to_init();
    const auto ready = move(QpState::kRtr, rtr_mask(), a);
    ASSERT_TRUE(ready) << ready.error().message;
    ASSERT_TRUE(move(QpState::kRts, rts_mask(), a));
  }
  // Whether the queue pair takes an RC message that comes so.
  bool takes(InDatagram datagram, const Packet& packet = {}) {
    const auto bytes = encode(packet);
    datagram.transport = bytes;
    const std::uint64_t before = count(kRxPackets);
    qp->receive(datagram, now);
    return count(kRxPackets) == before + 1;
  }
};

TEST_F(ConnectedByLid, PeerIsKnownByItsLidAndByTheOneThatItSendsTo) {
  to_rts(kByLid);
  EXPECT_TRUE(takes(from_peer({})));
  InDatagram stranger = from_peer({});
  stranger.slid = kOtherLid;
  EXPECT_FALSE(takes(stranger));
  InDatagram other_path = from_peer({});
  other_path.path_bits = 0;
  EXPECT_FALSE(takes(other_path));
  EXPECT_EQ(count(kRxBadSource), 2u);
}

TEST_F(ConnectedByLid, PacketsHaveAGrhIfAndOnlyIfThePathIsGlobal) {
  to_rts(kByLid);
  EXPECT_FALSE(takes(with_gids(from_peer({}))));
  ASSERT_TRUE(move(QpState::kReset));
  to_rts(kByBoth);
  EXPECT_FALSE(takes(from_peer({})));
  EXPECT_TRUE(takes(with_gids(from_peer({}))));
  InDatagram stranger = with_gids(from_peer({}));
  stranger.source = kOtherGid;
  EXPECT_FALSE(takes(stranger));
  InDatagram elsewhere = with_gids(from_peer({}));
  elsewhere.destination = kOtherGid;
  EXPECT_FALSE(takes(elsewhere));
  EXPECT_EQ(count(kRxBadSource), 4u);
}

TEST_F(ConnectedByLid, BurstsCarryThePathAsItWasGiven) {
  to_rts(kByLid);
  ASSERT_EQ(post_send(1), std::errc{});
  flush();
  EXPECT_THAT(paths, ElementsAre(kByLid));
}

TEST_F(ConnectedByLid, PathsThatNamePortsOfNobodyAreRefused) {
  for (const std::uint16_t lid : std::array<std::uint16_t, 3>{0xC000, 0xFFFE, 0xFFFF}) {
    QpAttributes a = attributes();
    a.path = {.dlid = Lid{lid}, .global = false};
    ASSERT_TRUE(move(QpState::kReset));
    to_init();
    const auto moved = move(QpState::kRtr, rtr_mask(), a);
    ASSERT_FALSE(moved) << lid;
    EXPECT_THAT(moved.error().message, testing::HasSubstr("is not one of a port"));
  }
}

TEST_F(ConnectedByLid, PeerThatHasMigratedComesFromItsOtherLid) {
  to_rts(kByLid);
  QpAttributes a = attributes();
  a.alternate_path = {.dlid = kOtherLid, .global = false};
  a.migration = PathMigration::kRearm;
  ASSERT_TRUE(move(QpState::kRts, kAttrAlternatePath | kAttrPathMigration, a));
  EXPECT_TRUE(takes(from_peer({}), {.migrated = false}));  // now both are armed
  InDatagram migrated = from_peer({});
  migrated.slid = kOtherLid;
  migrated.path_bits = 0;
  EXPECT_FALSE(takes(migrated, {.psn = Psn{201}, .migrated = false}));
  EXPECT_TRUE(takes(migrated, {.psn = Psn{201}, .migrated = true}));
  EXPECT_EQ(qp->query().path.dlid, kOtherLid);
  EXPECT_EQ(qp->take_events() & kEventPathMigrated, kEventPathMigrated);
}

class ConnectedPartitions : public ConnectedByLid {
 protected:
  ConnectedPartitions() {
    ConnectedConfig with_table = config();
    with_table.pkeys = &pkeys;
    start(with_table);
  }
  void to_rts_at(std::uint16_t index) {
    QpAttributes a = attributes();
    a.path = kByLid;
    a.pkey_index = index;
    ASSERT_TRUE(move(QpState::kInit, kInitMask, a));
    ASSERT_TRUE(move(QpState::kRtr, rtr_mask(), a));
    ASSERT_TRUE(move(QpState::kRts, rts_mask(), a));
  }
  PKey sent_pkey() {
    EXPECT_EQ(post_send(1), std::errc{});
    const auto sent = flush();
    return sent.empty() ? PKey{} : sent.back().bth.pkey;
  }
  PKeyTable pkeys{std::array{kDefaultPKey, PKey{}, kLimited, PKey{}}};
};

TEST_F(ConnectedPartitions, IndexesGoAsFarAsTheTable) {
  QpAttributes a = attributes();
  a.pkey_index = 4;
  const auto refused = move(QpState::kInit, kInitMask, a);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("P_Key index 4: at most 3"));
  a.pkey_index = 3;
  EXPECT_TRUE(move(QpState::kInit, kInitMask, a));
  EXPECT_EQ(qp->query().pkey_index, 3u);
}

TEST_F(ConnectedPartitions, AreThoseOfThePortThatTheQueuePairIsOn) {
  PKeyTable second{std::array{kFull}};
  qp->move_to({.number = 2, .pkeys = &second, .max_mtu = 1024});
  QpAttributes a = attributes();
  EXPECT_THAT(move(QpState::kInit, kInitMask, a).error().message,
              testing::HasSubstr("port 1: the queue pair is on port 2"));
  a.port = 2;
  a.path = kByLid;
  ASSERT_TRUE(move(QpState::kInit, kInitMask, a));
  EXPECT_THAT(move(QpState::kRtr, rtr_mask(), a).error().message,
              testing::HasSubstr("path: port 1: the queue pair is on port 2"));
  a.path.port = 2;
  a.path_mtu = 2048;
  EXPECT_FALSE(move(QpState::kRtr, rtr_mask(), a));
  a.path_mtu = 1024;
  ASSERT_TRUE(move(QpState::kRtr, rtr_mask(), a));
  ASSERT_TRUE(move(QpState::kRts, rts_mask(), a));
  EXPECT_EQ(sent_pkey(), kFull);
}

TEST_F(ConnectedPartitions, PacketsAreOfThePartitionAtTheIndexAsItIsNow) {
  to_rts_at(2);
  EXPECT_EQ(sent_pkey(), kLimited);
  pkeys.assign(std::array{kDefaultPKey, PKey{}, kFull});
  EXPECT_EQ(sent_pkey(), kFull);
}

TEST_F(ConnectedPartitions, ForeignPacketsAreDroppedAndCountedAtThePort) {
  to_rts_at(2);
  EXPECT_TRUE(takes(from_peer({}), {.pkey = kFull}));
  EXPECT_FALSE(takes(from_peer({}), {.psn = Psn{201}, .pkey = kLimited})) << "both are limited";
  EXPECT_FALSE(takes(from_peer({}), {.psn = Psn{201}, .pkey = kDefaultPKey}));
  EXPECT_EQ(count(kRxBadPKey), 2u);
  EXPECT_EQ(pkeys.violations(), 2u);
}

TEST_F(ConnectedPartitions, EntriesThatAreNotInUseMatchNothing) {
  to_rts_at(1);
  EXPECT_FALSE(takes(from_peer({}), {.pkey = PKey{0x8000}}));
  EXPECT_FALSE(takes(from_peer({}), {.pkey = PKey{}}));
  EXPECT_EQ(count(kRxBadPKey), 2u);
}

class UdByLid : public UdTest {
 protected:
  void ready(std::uint16_t pkey_index = 0) {
    UdConfig fabric = config();
    fabric.credits = false;
    fabric.pkeys = &pkeys;
    start(fabric);
    QpAttributes a{.state = QpState::kInit, .pkey_index = pkey_index, .port = 1, .qkey = kQKey};
    ASSERT_TRUE(qp->modify(a, kAttrState | kAttrPKeyIndex | kAttrPort | kAttrQKey));
    ASSERT_TRUE(move(QpState::kRtr));
    a.state = QpState::kRts;
    ASSERT_TRUE(qp->modify(a, kAttrState | kAttrSqPsn));
  }
  PKeyTable pkeys{std::array{kDefaultPKey, kLimited}};
};

TEST_F(UdByLid, CompletionsSayWhoSentItAndOnWhichServiceLevel) {
  ready();
  std::ranges::fill(memory, std::byte{0x55});
  ASSERT_EQ(receive(1, 0, 100), std::errc{});
  const auto bytes = encode({});
  qp->receive(from_peer(bytes), now);
  ASSERT_EQ(receive_cq.all.size(), 1u);
  const Completion& completion = receive_cq.all[0];
  EXPECT_EQ(completion.slid, kPeerLid);
  EXPECT_EQ(completion.path_bits, 1u);
  EXPECT_EQ(completion.sl, 3u);
  EXPECT_FALSE(completion.with_grh);
  EXPECT_EQ(completion.byte_length, kGrhArea + 5);
  EXPECT_EQ(memory[0], std::byte{0x55}) << "the place of the GRH is left alone";
  EXPECT_EQ(memory[kGrhArea], std::byte{'h'});
}

TEST_F(UdByLid, GrhIsLaidBeforeThePayloadWhereThereIsOne) {
  ready();
  ASSERT_EQ(receive(1, 0, 100), std::errc{});
  grh.fill(std::byte{0x66});
  const auto bytes = encode({});
  InDatagram datagram = with_gids(from_peer(bytes));
  datagram.network_header = &grh;
  qp->receive(datagram, now);
  ASSERT_EQ(receive_cq.all.size(), 1u);
  EXPECT_TRUE(receive_cq.all[0].with_grh);
  EXPECT_EQ(receive_cq.all[0].sl, 3u) << "not the kind of IP header";
  EXPECT_EQ(memory[kGrhArea - 1], std::byte{0x66});
}

TEST_F(UdByLid, RunsEndWhereTheLidChanges) {
  ready();
  path = kByLid;
  ASSERT_EQ(send(1, 0, 8), std::errc{});
  path.dlid = kOtherLid;
  ASSERT_EQ(send(2, 0, 8), std::errc{});
  ASSERT_TRUE(qp->next_burst(scratch, now));
  EXPECT_EQ(scratch.size(), 1u);
  EXPECT_EQ(scratch.path, kByLid);
  qp->sent(scratch, {}, now);
  ASSERT_TRUE(qp->next_burst(scratch, now));
  EXPECT_EQ(scratch.path.dlid, kOtherLid);
  qp->sent(scratch, {}, now);
}

TEST_F(UdByLid, DatagramsAreOfThePartitionAtTheIndexAsItIsNow) {
  ready(1);
  ASSERT_EQ(receive(1, 0, 100), std::errc{});
  const auto limited = encode({.pkey = kLimited});
  qp->receive(from_peer(limited), now);
  EXPECT_EQ(count(UdCounter::kRxBadPKey), 1u);
  EXPECT_EQ(pkeys.violations(), 1u);
  pkeys.assign(std::array{kDefaultPKey, kFull});
  qp->receive(from_peer(limited), now);
  EXPECT_EQ(receive_cq.all.size(), 1u);
  path = kByLid;
  ASSERT_EQ(send(2, 0, 8), std::errc{});
  ASSERT_TRUE(transmit());
  EXPECT_EQ(Sent::parse(sink.datagrams().back()).bth.pkey, kFull);
}

}  // namespace
}  // namespace weft::hca::test
