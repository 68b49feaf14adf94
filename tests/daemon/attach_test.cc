// SPDX-License-Identifier: Apache-2.0
// Programs that play by the rules, on the nodes of a lab.
#include <cstring>

#include "program_client.h"

namespace weft::daemon {
namespace {

using attach::Request;

Request mapped(std::uint32_t arena) {
  return {.action = attach::kMapped, .qpn = 0, .arena = arena, .port = 0, .group = {}};
}

TEST_F(AttachedPrograms, SendEachOtherPackets) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  const auto first = packet(a, "a", b, "b", 1);
  const auto second = packet(a, "a", b, "b", 2);
  a.put(first, 9);
  a.put(second);
  a.publish();
  settle();
  EXPECT_EQ(b.arrivals(), (Packets{first, second}));
  EXPECT_EQ(a.theirs().page.accepted.load(), 2u);
  ASSERT_EQ(a.theirs().page.freed.load(), 1u);
  EXPECT_EQ(a.theirs().freed[0], 9u);
}

// What a link carries, as it would be on a wire.
class Wiretap final : public link::LinkTap {
 public:
  void sent(std::size_t, const link::Packet& packet, Time) override {
    packet.copy_to(packets.emplace_back(packet.size()));
  }
  void sent(std::size_t, const wire::FlowControl&, Time) override {}
  Packets packets;
};

TEST_F(AttachedPrograms, NeedNoCrcsAmongThemselvesAndGetThemOnAWire) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  const auto sealed = packet(a, "a", b, "b");
  auto bare = sealed;
  std::fill(bare.end() - 6, bare.end(), std::byte{0});
  Wiretap tap;
  link::Link& link = lab_.fabric.link(1);
  link.set_tap(&tap);
  const auto send = [&] {
    a.put(bare, 9).unsealed = 1;
    a.put(bare).unsealed = 1;
    a.publish();
    settle();
  };
  send();
  EXPECT_EQ(b.arrivals(), (Packets{bare, bare}));
  EXPECT_EQ(b.theirs().slots[0].unsealed, 1);
  EXPECT_EQ(tap.packets, (Packets{sealed, sealed}));
  // The same packet, but now it says that it is sealed.
  a.put(sealed);
  a.publish();
  settle();
  EXPECT_EQ(b.theirs().slots[2].unsealed, 0);
  // What a link damages is found.
  link.set_emulation({.bit_errors = 1}, lab_.now);
  send();
  pass(1ms);
  EXPECT_EQ(b.theirs().page.arrived.load(), 3u);
  EXPECT_EQ(
      lab_.fabric.find_adapter("b")->port(1).link().counters().get(link::PortCounter::kRxBadVcrc),
      2u);
  link.set_tap(nullptr);
}

TEST_F(AttachedPrograms, AreToldOfTheAdapterAndThePort) {
  serve();
  ProgramClient client(config_.socket);
  ASSERT_TRUE(client.say(ProgramClient::hello("b")));
  settle();
  const auto welcome = client.hear<attach::Welcome>();
  ASSERT_TRUE(welcome);
  const auto& port = lab_.fabric.find_adapter("b")->port(1);
  EXPECT_EQ(welcome->ports, 1u);
  EXPECT_STREQ(welcome->description, "b");
  const auto news = client.news();
  ASSERT_TRUE(news);
  const auto facts = plain::read<attach::Facts>(*news);
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->epoch, 1u);
  EXPECT_EQ(facts->lid, port.lid().value());
  EXPECT_EQ(facts->state, 4);
  ASSERT_EQ(facts->gids, 1);
  ASSERT_EQ(facts->pkeys, 1);
  ASSERT_EQ(news->size(), sizeof *facts + 16 + 2);
  EXPECT_EQ(wire::load_be64(news->data() + sizeof *facts), facts->gid_prefix);
  EXPECT_EQ(wire::load_be64(news->data() + sizeof *facts + 8), port.guid().value());
  std::uint16_t pkey = 0;
  std::memcpy(&pkey, news->data() + sizeof *facts + 16, sizeof pkey);
  EXPECT_EQ(pkey, kDefaultPKey.value());
}

TEST_F(AttachedPrograms, LearnFromAWelcomeAloneWhatAnAdapterIs) {
  serve();
  ProgramClient client(config_.socket);
  attach::Hello hello = ProgramClient::hello("a");
  hello.attach = 0;
  ASSERT_TRUE(client.say(hello));
  settle();
  const auto welcome = client.hear<attach::Welcome>();
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->error, 0);
  EXPECT_EQ(welcome->ports, 1u);
  EXPECT_EQ(client.file(attach::kProgramMemory), -1);
  EXPECT_EQ(server_->programs(), 0u);
}

TEST_F(AttachedPrograms, AreToldWhenThePortChanges) {
  serve();
  ProgramClient a = placed("a");
  const std::uint32_t before = a.epoch;
  lab_.fabric.link(0).set_plugged(false, lab_.now);
  settle();
  const attach::Facts facts = AttachedPrograms::facts(a);
  EXPECT_EQ(facts.state, 1);
  EXPECT_GT(facts.epoch, before);
}

TEST_F(AttachedPrograms, UseWhicheverPortOfTheAdapterAQueuePairIsOn) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient d = placed("d");
  const fabric::ChannelAdapter& adapter = *lab_.fabric.find_adapter("d");
  EXPECT_EQ(
      ask(d, {.action = attach::kMove, .qpn = d.qpn.value(), .arena = 0, .port = 2, .group = {}}),
      0);
  const auto to_second =
      fabric::Datagram{
          .slid = lid_of("a"), .dlid = adapter.port(2).lid(), .dest = d.qpn, .source = a.qpn}
          .bytes();
  a.put(to_second);
  a.put(packet(a, "a", d, "d"));
  a.publish();
  settle();
  EXPECT_EQ(d.arrivals(), (Packets{to_second}));
  EXPECT_EQ(d.theirs().slots[0].port, 2);
  EXPECT_EQ(lab_.count("d", fabric::NodeCounter::kNoQueuePair), 1u);

  const auto back =
      fabric::Datagram{
          .slid = adapter.port(2).lid(), .dlid = lid_of("a"), .dest = a.qpn, .source = d.qpn}
          .bytes();
  d.port = 2;
  d.put(back);
  d.publish();
  settle();
  EXPECT_EQ(a.arrivals(), (Packets{back}));
  // Through a port where it is not: it lies.
  d.port = 3;
  d.put(back);
  d.publish();
  settle();
  EXPECT_TRUE(d.is_dropped());
  EXPECT_EQ(count(AttachCounter::kForged), 1u);
}

TEST_F(AttachedPrograms, AreToldOfEachPortAndOfItsChanges) {
  serve();
  ProgramClient client(config_.socket);
  ASSERT_TRUE(client.say(ProgramClient::hello("d")));
  settle();
  const auto welcome = client.hear<attach::Welcome>();
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->ports, 2u);
  const fabric::ChannelAdapter& adapter = *lab_.fabric.find_adapter("d");
  for (const std::uint8_t port : std::array<std::uint8_t, 2>{1, 2}) {
    const auto news = client.news();
    ASSERT_TRUE(news);
    const auto facts = plain::read<attach::Facts>(*news);
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->port, port);
    EXPECT_EQ(facts->lid, adapter.port(port).lid().value());
    EXPECT_EQ(facts->state, 4);
  }
  lab_.fabric.link(4).set_plugged(false, lab_.now);
  settle();
  const attach::Facts changed = facts(client, 2);
  EXPECT_EQ(changed.port, 2);
  EXPECT_EQ(changed.state, 1);
  EXPECT_FALSE(client.news()) << "nothing has happened to port 1";
}

TEST_F(AttachedPrograms, ReadPayloadsWhereTheyAreOnceTheyHaveMappedThem) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  const auto bytes = packet(a, "a", b, "b");
  a.put(bytes, 5);
  a.publish();
  settle();
  EXPECT_EQ(b.theirs().slots[0].arena, ring::kDaemonArena);
  EXPECT_EQ(count(AttachCounter::kCopied), 1u);
  const auto news = b.news();
  ASSERT_TRUE(news);
  const auto offer = plain::read<attach::Arena>(*news);
  ASSERT_TRUE(offer && offer->kind == attach::kArena);
  EXPECT_EQ(offer->arena, a.arena);
  b.map_arena(offer->arena);
  EXPECT_FALSE(io::SharedMapping::map(b.news_file(), 4096, io::Access::kWrite));
  EXPECT_EQ(ask(b, mapped(offer->arena)), 0);
  b.take_all();

  a.put(bytes, 6);
  a.publish();
  settle();
  EXPECT_EQ(b.theirs().slots[1].arena, a.arena);
  EXPECT_EQ(b.theirs().slots[1].block, 6u);
  EXPECT_EQ(b.arrivals(), Packets{bytes});
  EXPECT_EQ(count(AttachCounter::kCopied), 1u);
  // The block is b's until it has taken the packet.
  EXPECT_EQ(a.theirs().page.freed.load(), 1u);
  b.take_all();
  settle();
  EXPECT_EQ(a.theirs().page.freed.load(), 2u);

  // When a is gone, b may let go of its memory.
  a.die();
  settle();
  settle();
  const auto gone = b.news();
  ASSERT_TRUE(gone);
  EXPECT_EQ(plain::read<attach::Arena>(*gone)->kind, attach::kArenaGone);
  EXPECT_EQ(plain::read<attach::Arena>(*gone)->arena, offer->arena);
}

TEST_F(AttachedPrograms, FindInTheirOwnMemoryWhatTheySendThemselves) {
  serve();
  ProgramClient a = placed("a");
  const auto bytes = packet(a, "a", a, "a");
  a.put(bytes, 8);
  a.publish();
  settle();
  ASSERT_EQ(a.arrivals(), Packets{bytes});
  EXPECT_EQ(a.theirs().slots[0].arena, a.arena);
}

TEST_F(AttachedPrograms, AreWokenOnceForEachTimeTheyWait) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  const auto send = [&] {
    a.put(packet(a, "a", b, "b"));
    a.publish();
    settle();
  };
  const int arrivals = b.file(attach::kArrivals);
  send();
  EXPECT_FALSE(is_readable(arrivals)) << "nobody waited";
  b.ours().page.waits.fetch_add(1);
  send();
  EXPECT_TRUE(is_readable(arrivals));
  std::array<char, 64> bytes;
  EXPECT_EQ(read(arrivals, bytes.data(), bytes.size()), 1);
  send();
  EXPECT_FALSE(is_readable(arrivals));
}

TEST_F(AttachedPrograms, AreWokenWhenThereIsRoomAgain) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  a.put(packet(a, "a", b, "b"), 4);
  a.publish();
  a.ours().page.stalls.fetch_add(1);
  settle();
  EXPECT_TRUE(is_readable(a.file(attach::kArrivals)));
  EXPECT_FALSE(is_readable(b.file(attach::kArrivals)));
}

TEST_F(AttachedPrograms, RingWhenTheDaemonSleeps) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  ASSERT_TRUE(server_->sleep());
  EXPECT_EQ(a.theirs().page.sleeps.load(), ring::kUntilSent);
  a.put(packet(a, "a", b, "b"));
  a.publish_silently();
  EXPECT_FALSE(server_->sleep()) << "it looks once more before it sleeps";
  EXPECT_EQ(a.theirs().page.sleeps.load(), 0u);
  settle();
  pass(1s);
  EXPECT_FALSE(server_->any_active()) << "nobody looks at the rings of who has been quiet";
  EXPECT_EQ(a.theirs().page.sleeps.load(), ring::kUntilSent);
  a.put(packet(a, "a", b, "b"));
  a.publish_silently();
  settle();
  EXPECT_EQ(b.arrivals().size(), 1u);
  a.ring_doorbell();
  settle();
  EXPECT_EQ(b.arrivals().size(), 2u);
  EXPECT_EQ(a.theirs().page.sleeps.load(), 0u);
}

TEST_F(AttachedPrograms, GoOnWhenAReceiverTakesItsPacketsLate) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  for (std::uint32_t i = 0; i < ring::kSlots; ++i)
    a.put(packet(a, "a", b, "b", i));
  a.publish();
  settle();
  EXPECT_EQ(b.theirs().page.arrived.load(), ring::kSlots);
  const auto one_more = packet(a, "a", b, "b", 2000);
  a.put(one_more);
  a.publish();
  settle();
  EXPECT_EQ(b.theirs().page.arrived.load(), ring::kSlots);
  EXPECT_NE(b.theirs().page.sleeps.load() & ring::kUntilTaken, 0u);
  b.take_all();
  settle();
  EXPECT_EQ(b.arrivals(), Packets{one_more});
  EXPECT_EQ(b.theirs().page.sleeps.load() & ring::kUntilTaken, 0u);
}

TEST_F(AttachedPrograms, HaveBlocksForOthersWhileOneKeepsWhatItWasSent) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  ProgramClient c = placed("c");
  a.put(packet(a, "a", b, "b"), 0);
  a.publish();
  settle();
  ASSERT_TRUE(b.news());
  b.map_arena(a.arena);
  EXPECT_EQ(ask(b, mapped(a.arena)), 0);
  b.take_all();
  for (std::uint32_t block = 0; block < ring::kBlocks; ++block)
    a.put(packet(a, "a", b, "b"), block);
  a.publish();
  settle();
  EXPECT_EQ(b.theirs().page.arrived.load(), 1 + ring::kBlocks);
  const std::uint64_t freed = a.theirs().page.freed.load();
  EXPECT_EQ(freed, 1 + ring::kBlocks / 4) << "b may not keep them all";
  a.put(packet(a, "a", c, "c"), a.theirs().freed[(freed - 1) % ring::kBlocks]);
  a.publish();
  settle();
  EXPECT_EQ(c.arrivals().size(), 1u);
  // Who waits for blocks has those asked back that are taken unseen.
  pass(1s);
  a.ours().page.stalls.fetch_add(1);
  a.ring_doorbell();
  settle();
  EXPECT_NE(b.theirs().page.sleeps.load() & ring::kUntilTaken, 0u);
  b.take_all();
  b.ring_doorbell();
  settle();
  EXPECT_EQ(a.theirs().page.freed.load(), 2 + ring::kBlocks);
  EXPECT_TRUE(is_readable(a.file(attach::kArrivals)));
}

TEST_F(AttachedPrograms, StillSendWhatTheyHandedOverBeforeTheyGaveTheQueuePairBack) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  pass(1s);
  for (std::uint32_t i = 0; i < ring::kSlots; ++i)
    a.put(packet(a, "a", b, "b", i));
  a.publish_silently();
  const Request release{
      .action = attach::kRelease, .qpn = a.qpn.value(), .arena = 0, .port = 0, .group = {}};
  EXPECT_EQ(ask(a, release), 0);
  EXPECT_EQ(b.arrivals().size(), ring::kSlots);
  EXPECT_EQ(lab_.count("a", fabric::NodeCounter::kOutdated), 0u);
  // It goes on as before.
  EXPECT_EQ(ask(a, release), EINVAL);
}

TEST_F(AttachedPrograms, AreListedWithWhatTheyHave) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  a.put(packet(a, "a", b, "b"));
  a.publish();
  settle();
  const nlohmann::json report = server_->report();
  ASSERT_EQ(report.size(), 2u);
  EXPECT_EQ(report[0], (nlohmann::json{{"pid", getpid()},
                                       {"uid", geteuid()},
                                       {"node", "a"},
                                       {"qps", 1},
                                       {"sent", 1},
                                       {"arrived", 0}}));
  EXPECT_EQ(report[1]["arrived"], 1);
}

}  // namespace
}  // namespace weft::daemon
