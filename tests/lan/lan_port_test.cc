// SPDX-License-Identifier: Apache-2.0
#include "lan/lan_port.h"

#include "group_frames.h"
#include "lan/group_query.h"
#include "lan/segments.h"
#include "lan_port_fixture.h"

namespace weft::lan::test {
namespace {

TEST_F(LanPortTest, SendsToThePortWhoseLidIsInTheAddress) {
  const Frame frame = to(mac_at(6));
  send(frame);
  EXPECT_EQ(host.new_deeds(), Deeds{"datagrams 6"});
  EXPECT_EQ(host.sent.data(), frame.data());  // it is not copied
  send(to(mac_of({.base = Lid{8}, .lmc = 2})));
  EXPECT_EQ(host.new_deeds(), Deeds{"datagrams 8"});
  // LIDs that nobody has, or that are those of the peer with another LMC.
  send(to(mac_at(9)));
  send(to(mac_at(12)));
  EXPECT_EQ(count(LanCounter::kTxNoPeer), 2u);
  EXPECT_TRUE(host.new_deeds().empty());
}

TEST_F(LanPortTest, RefusesFramesOfTheHostThatCannotBe) {
  send(Frame(13));
  EXPECT_EQ(count(LanCounter::kTxTooShort), 1u);
  Frame cut = to(mac_at(6), 16, 0x8100);
  send(cut);
  EXPECT_EQ(count(LanCounter::kTxTooShort), 2u);
  send(to(mac_at(6), 1515));
  EXPECT_EQ(count(LanCounter::kTxTooLong), 1u);
  send(to(mac_at(6), 100), {.needs_checksum = true, .checksum_start = 99});
  EXPECT_EQ(count(LanCounter::kTxMalformed), 1u);
  send(frame_of(mac_at(6), mac_at(7)));
  EXPECT_EQ(count(LanCounter::kTxForeignSource), 1u);
  send(to({0x52, 0x54, 0, 1, 2, 3}));
  EXPECT_EQ(count(LanCounter::kTxForeignDestination), 1u);
  send(to(port.mac()));
  EXPECT_EQ(count(LanCounter::kTxToSelf), 1u);
  EXPECT_TRUE(host.new_deeds().empty());
  EXPECT_EQ(count(LanCounter::kTxFrames), 0u);
}

TEST_F(LanPortTest, TakesTheMtuWithTagsAndLongerFramesThatAreToBeCut) {
  send(to(mac_at(6), 1514));
  send(to(mac_at(6), 1518, 0x8100));
  send(to(mac_at(6), 65'000), {.gso = Offload::Gso::kTcpv4, .gso_size = 1448});
  EXPECT_EQ(count(LanCounter::kTxFrames), 3u);
  port.set_mtu(kMostMtu);
  send(to(mac_at(6), kMostMtu + kEthernetHeader));
  EXPECT_EQ(count(LanCounter::kTxFrames), 4u);
  send(to(mac_at(6), kMostMtu + kEthernetHeader + 1));
  EXPECT_EQ(count(LanCounter::kTxTooLong), 1u);
}

TEST_F(LanPortTest, SendsBroadcastsToAllFromOneBuffer) {
  const Frame frame = to(kBroadcast);
  send(frame);
  Deeds deeds = host.new_deeds();
  std::ranges::sort(deeds);
  EXPECT_EQ(deeds, (Deeds{"datagrams 6", "datagrams 7", "datagrams 8"}));
  EXPECT_EQ(host.sent.data(), frame.data());
  EXPECT_EQ(count(LanCounter::kTxCopies), 3u);
  EXPECT_EQ(count(LanCounter::kTxFrames), 1u);
}

TEST_F(LanPortTest, LimitsStormsFromEitherSide) {
  for (int i = 0; i < 5000; ++i)
    send(to(kBroadcast));
  EXPECT_EQ(count(LanCounter::kTxToAll), 1000u);
  EXPECT_EQ(count(LanCounter::kTxStorm), 4000u);
  for (int i = 0; i < 5000; ++i)
    receive(6, frame_of(kBroadcast, mac_at(6)));
  EXPECT_EQ(host.came.size(), 1000u);
  EXPECT_EQ(count(LanCounter::kRxStorm), 4000u);
  // Of another one, and later.
  receive(7, frame_of(kBroadcast, mac_at(7)));
  now += 100ms;
  receive(6, frame_of(kBroadcast, mac_at(6)));
  EXPECT_EQ(host.came.size(), 1002u);
}

TEST_F(LanPortTest, LimitsFramesToGroupsThatGoToAllAndNoOthers) {
  constexpr MacAddress kOfThisLink{0x01, 0x00, 0x5E, 0, 0, 251};
  for (int i = 0; i < 2000; ++i) {
    send(to(kOfThisLink));
    send(to(kGroup));
    receive(6, frame_of(kOfThisLink, mac_at(6)));
    receive(6, frame_of(kGroup, mac_at(6)));
  }
  EXPECT_EQ(count(LanCounter::kTxToGroup), 3000u);
  EXPECT_EQ(count(LanCounter::kTxStorm), 1000u);
  EXPECT_EQ(host.came.size(), 3000u);
  EXPECT_EQ(count(LanCounter::kRxStorm), 1000u);
}

TEST_F(LanPortTest, AsksForAChannelWhenAddressesAreResolvedAndThenUsesIt) {
  send(to(mac_at(6)));
  EXPECT_EQ(host.new_deeds(), Deeds{"datagrams 6"});
  send(to(mac_at(6), 60, EthernetFrame::kArp));
  EXPECT_EQ(host.new_deeds(), (Deeds{"connect 6", "datagrams 6"}));
  EXPECT_TRUE(port.channel_up(peer(6), now));
  const Frame frame = to(mac_at(6), 1514);
  const Offload offload{.needs_checksum = true, .checksum_start = 34, .checksum_offset = 16};
  send(frame, offload);
  EXPECT_EQ(host.new_deeds(), Deeds{"message 6"});
  const auto message = LanMessage::parse(host.message);
  ASSERT_TRUE(message);
  EXPECT_TRUE(message->whole());
  EXPECT_EQ(message->header.offload, offload);
  EXPECT_TRUE(std::ranges::equal(message->part, frame));
  EXPECT_EQ(count(LanCounter::kTxByChannel), 1u);
}

TEST_F(LanPortTest, AsksForAChannelForFramesLongerThanADatagram) {
  port.set_mtu(9000);
  send(to(mac_at(6), 2024));
  EXPECT_EQ(host.new_deeds(), Deeds{"datagrams 6"});
  send(to(mac_at(6), 2025));
  EXPECT_EQ(host.new_deeds(), (Deeds{"connect 6", "datagrams 6"}));
}

TEST_F(LanPortTest, FallsBackToDatagramsWhenTheChannelGoes) {
  send(to(mac_at(6), 60, EthernetFrame::kArp));
  EXPECT_TRUE(port.channel_up(peer(6), now));
  host.new_deeds();
  port.channel_down(peer(6), now);
  send(to(mac_at(6)));
  EXPECT_EQ(host.new_deeds(), Deeds{"datagrams 6"});
}

TEST_F(LanPortTest, GivesChannelsUpThatNobodyUses) {
  EXPECT_TRUE(port.accept_channel(peer(6), now));
  EXPECT_TRUE(port.channel_up(peer(6), now));
  now += 200s;
  // What comes by it is use enough.
  const Frame frame = frame_of(port.mac(), mac_at(6));
  Segments whole({}, frame, 4096);
  port.from_channel(peer(6), datagram_of(whole.head(), whole.part()), now);
  now += 299s;
  run();
  EXPECT_TRUE(host.new_deeds().empty());
  now += 1s;
  run();
  EXPECT_EQ(host.new_deeds(), Deeds{"disconnect 6"});
}

TEST_F(LanPortTest, CountsWhatThereIsNoRoomFor) {
  host.full = true;
  send(to(mac_at(6)));
  EXPECT_EQ(count(LanCounter::kTxNoRoom), 1u);
  send(to(kBroadcast));
  EXPECT_EQ(count(LanCounter::kTxNoRoom), 4u);
  EXPECT_TRUE(port.accept_channel(peer(6), now));
  EXPECT_TRUE(port.channel_up(peer(6), now));
  send(to(mac_at(6)));
  EXPECT_EQ(count(LanCounter::kTxNoRoom), 5u);
}

TEST_F(LanPortTest, GivesTheHostWhatIsForIt) {
  const Offload offload{.gso = Offload::Gso::kTcpv6, .gso_size = 1400};
  receive(6, frame_of(port.mac(), mac_at(6), 1900), {.offload = offload});
  ASSERT_EQ(host.came.size(), 1u);
  EXPECT_EQ(host.came[0], frame_of(port.mac(), mac_at(6), 1900));
  EXPECT_EQ(host.offloads[0], offload);
  // By any LID of the sender.
  receive(10, frame_of(port.mac(), mac_of({.base = Lid{8}, .lmc = 2})));
  receive(6, frame_of(kBroadcast, mac_at(6)));
  receive(6, frame_of(kGroup, mac_at(6)));
  EXPECT_EQ(host.came.size(), 4u);
  EXPECT_EQ(count(LanCounter::kRxByDatagram), 4u);
  EXPECT_EQ(count(LanCounter::kRxFrames), 4u);
}

TEST_F(LanPortTest, RefusesFramesOfPeersThatLie) {
  receive(6, frame_of(port.mac(), mac_at(7)));
  EXPECT_EQ(count(LanCounter::kRxForgedSource), 1u);
  receive(6, frame_of(port.mac(), port.mac()));
  EXPECT_EQ(count(LanCounter::kRxForgedSource), 2u);
  receive(6, frame_of(port.mac(), {0x52, 0x54, 0, 1, 2, 3}));
  receive(6, frame_of(port.mac(), kBroadcast));
  EXPECT_EQ(count(LanCounter::kRxForeignSource), 2u);
  receive(6, frame_of(mac_at(7), mac_at(6)));
  receive(6, frame_of({0x52, 0x54, 0, 1, 2, 3}, mac_at(6)));
  EXPECT_EQ(count(LanCounter::kRxNotOurs), 2u);
  receive(6, Frame(13));
  EXPECT_EQ(count(LanCounter::kRxTooShort), 1u);
  receive(6, frame_of(port.mac(), mac_at(6), 1515));
  EXPECT_EQ(count(LanCounter::kRxTooLong), 1u);
  port.from_datagram({.lid = Lid{6}}, Qpn{106}, Frame(30), now);
  EXPECT_EQ(count(LanCounter::kRxNotLan), 1u);
  EXPECT_TRUE(host.came.empty());
}

TEST_F(LanPortTest, RefusesMessagesOfWhoIsNoPeer) {
  receive(60, frame_of(port.mac(), mac_at(60)));
  EXPECT_EQ(count(LanCounter::kRxStranger), 1u);
  // It may be one that has just come.
  EXPECT_LE(port.deadline(), now + 500ms);
  const Frame frame = frame_of(port.mac(), mac_at(6));
  Frame head(LanHeader::kSize);
  LanHeader{.total = static_cast<std::uint32_t>(frame.size())}.write(head);
  port.from_datagram({.lid = Lid{6}}, Qpn{99}, datagram_of(head, frame), now);
  EXPECT_EQ(count(LanCounter::kRxForgedQueuePair), 1u);
  EXPECT_TRUE(host.came.empty());
}

// What comes through a data service has its LID, whoever sent it.
TEST_F(LanPortTest, KnowsPeersBehindADataServiceByTheirGrh) {
  const auto come = [&](Lid lid, std::optional<Guid> guid, std::uint16_t from) {
    const Frame frame = frame_of(port.mac(), mac_at(from));
    Frame head(LanHeader::kSize);
    LanHeader{.number = ++number, .total = static_cast<std::uint32_t>(frame.size())}.write(head);
    port.from_datagram({.lid = lid, .port = guid}, Qpn{100U + from}, datagram_of(head, frame), now);
  };
  come(Lid{0x40}, Guid{6}, 6);
  EXPECT_EQ(count(LanCounter::kRxStranger), 1u) << "our own way to it leads through no service";
  service = Lid{0x40};
  port.directory().ways_changed(now);
  for (int i = 0; i < 5; ++i) {
    now += 200ms;
    run();
  }
  EXPECT_TRUE(port.peers().get(peer(6)).path().global);
  come(Lid{0x40}, Guid{6}, 6);
  come(Lid{0x40}, Guid{7}, 7);
  EXPECT_EQ(host.came.size(), 2u);
  come(Lid{0x40}, Guid{6}, 7);
  EXPECT_EQ(count(LanCounter::kRxForgedQueuePair), 1u);
  come(Lid{0x40}, std::nullopt, 6);
  come(Lid{0x41}, Guid{6}, 6);
  EXPECT_EQ(count(LanCounter::kRxStranger), 3u);
  // The way back may be direct.
  come(Lid{6}, Guid{6}, 6);
  come(Lid{6}, std::nullopt, 6);
  EXPECT_EQ(host.came.size(), 4u);
}

TEST_F(LanPortTest, TakesWholeFramesOnlyFromChannels) {
  const Frame frame = frame_of(port.mac(), mac_at(6), 1000);
  for (Segments segments({}, frame, 512); !segments.done(); segments.next())
    port.from_channel(peer(6), datagram_of(segments.head(), segments.part()), now);
  EXPECT_EQ(count(LanCounter::kRxNotWhole), 3u);
  Segments whole({}, frame, 4096);
  port.from_channel(peer(6), datagram_of(whole.head(), whole.part()), now);
  EXPECT_EQ(host.came.size(), 1u);
  EXPECT_EQ(count(LanCounter::kRxByChannel), 1u);
  // The check of the source is the same.
  const Frame forged = frame_of(port.mac(), mac_at(7));
  Segments other({}, forged, 4096);
  port.from_channel(peer(6), datagram_of(other.head(), other.part()), now);
  EXPECT_EQ(count(LanCounter::kRxForgedSource), 1u);
}

TEST_F(LanPortTest, SendsGroupsWhereTheyAreWanted) {
  send(to(kGroup));  // nobody has said anything yet
  EXPECT_EQ(host.new_deeds().size(), 3u);
  wants(6, {.all = false, .groups = {kGroup}});
  wants(7, {.all = false, .groups = {}});
  wants(8, {.all = true, .groups = {}});
  send(to(kGroup));
  EXPECT_EQ(host.new_deeds().size(), 2u);
  EXPECT_FALSE(port.peer_wants(peer(7), kGroup));
  // Groups that are not reported, of IP and of others.
  send(to({0x01, 0x00, 0x5E, 0, 0, 251}));
  send(to({0x01, 0x80, 0xC2, 0, 0, 0x0E}));
  EXPECT_EQ(host.new_deeds().size(), 6u);
  wants(8, {.all = false, .groups = {}});
  wants(6, {.all = false, .groups = {}});
  send(to(kGroup));
  EXPECT_EQ(count(LanCounter::kTxNoMember), 1u);
  // What is not said again is not known any more.
  now += 36s;
  run();
  send(to(kGroup));
  EXPECT_EQ(host.new_deeds().size(), 3u);
}

TEST_F(LanPortTest, TellsPeersWhatItsHostWants) {
  EXPECT_FALSE(host.groups.all);
  now += 10s;  // until what it has said at first is said
  for (int i = 0; i < 3; ++i) {
    run();
    now += 1s;
  }
  const std::size_t before = host.groups_said;
  send(bytes_of(kIgmp2Join));
  now += 20ms;
  run();
  EXPECT_EQ(host.groups.groups, std::vector<MacAddress>{kGroup});
  EXPECT_EQ(host.groups_said - before, 3u);
  // Soon again, since it may have been lost, and then every now and then.
  for (const Duration wait : {Duration(1s), Duration(1s), Duration(10s)}) {
    now += wait - 1ns;
    run();
    const std::size_t said = host.groups_said;
    now += 1ns;
    run();
    EXPECT_EQ(host.groups_said - said, 3u);
  }
  EXPECT_EQ(host.groups_said - before, 12u);
}

TEST_F(LanPortTest, AsksItsHostForItsGroupsAndNobodyElse) {
  now += 126s;
  run();
  ASSERT_EQ(host.came.size(), 2u);
  EXPECT_EQ(EthernetFrame::read(host.came[0])->type, EthernetFrame::kIpv4);
  EXPECT_EQ(EthernetFrame::read(host.came[1])->type, EthernetFrame::kIpv6);
  EXPECT_TRUE(host.new_deeds().empty());
}

TEST_F(LanPortTest, SendsReportsToMulticastRoutersOnly) {
  wants(6, {.all = false, .groups = {kGroup}});
  wants(7, {.all = false, .groups = {}});
  wants(8, {.all = true, .groups = {}});
  send(bytes_of(kIgmp2Join));
  EXPECT_EQ(host.new_deeds(), Deeds{"datagrams 8"});
  Frame theirs = bytes_of(kIgmp2Join);
  theirs[11] = std::byte{6};
  receive(6, theirs);
  EXPECT_EQ(count(LanCounter::kRxReport), 1u);
  EXPECT_TRUE(host.came.empty());
  // A query of the host's makes it a router.
  const GroupQueries queries(port.mac(), 1s);
  send({queries.mld().begin(), queries.mld().end()});
  receive(6, theirs);
  EXPECT_EQ(host.came.size(), 1u);
  now += 20ms;
  run();
  EXPECT_TRUE(host.groups.all);
}

TEST_F(LanPortTest, ForgetsAPeerThatGoes) {
  EXPECT_TRUE(port.accept_channel(peer(6), now));
  EXPECT_TRUE(port.channel_up(peer(6), now));
  port.directory().out_of_service(Guid{6}, now);
  EXPECT_EQ(host.new_deeds(), (Deeds{"disconnect 6", "went 6"}));
  send(to(mac_at(6)));
  EXPECT_EQ(count(LanCounter::kTxNoPeer), 1u);
}

TEST_F(LanPortTest, HasAnotherAddressWhenItsLidChanges) {
  port.port_changed({.base = Lid{16}, .lmc = 1}, now);
  EXPECT_EQ(port.mac(), mac_of({.base = Lid{16}, .lmc = 1}));
  send(frame_of(mac_at(6), mac_at(5)));
  EXPECT_EQ(count(LanCounter::kTxForeignSource), 1u);
  send(to(mac_at(6)));
  EXPECT_EQ(host.new_deeds(), Deeds{"datagrams 6"});
}

}  // namespace
}  // namespace weft::lan::test
