// SPDX-License-Identifier: Apache-2.0
// Programs on nodes that lie, forge, flood or die: they are cut off or forgotten, which is counted,
// and their neighbours are served as before.
#include <functional>

#include "program_client.h"

namespace weft::daemon {
namespace {

using attach::Request;
using HostilePrograms = AttachedPrograms;

Request request(std::uint32_t action, std::uint32_t qpn = 0, std::uint32_t arena = 0) {
  return {.action = action, .qpn = qpn, .arena = arena, .port = 0, .group = {}};
}

Request move_to(std::uint32_t port, std::uint32_t qpn) {
  Request out = request(attach::kMove, qpn);
  out.port = port;
  return out;
}

TEST_F(HostilePrograms, AreToldWhyTheyGetNoPlace) {
  serve();
  struct Case {
    const char* node;
    const char* message;
  };
  for (const Case& each : {Case{"nobody", "this lab has no node 'nobody'"},
                           Case{"s", "s is a switch, which has no queue pairs"}}) {
    ProgramClient client(config_.socket);
    ASSERT_TRUE(client.say(ProgramClient::hello(each.node)));
    settle();
    const auto welcome = client.hear<attach::Welcome>();
    ASSERT_TRUE(welcome) << each.message;
    EXPECT_EQ(welcome->error, ENODEV);
    EXPECT_STREQ(welcome->message, each.message);
  }
  expect_service();
}

TEST_F(HostilePrograms, OfAnotherVersionAreToldSo) {
  serve();
  attach::Hello hello = ProgramClient::hello("a");
  ++hello.version;
  for (const std::size_t size : {sizeof hello, std::size_t{8}}) {
    ProgramClient client(config_.socket);
    ASSERT_TRUE(client.say(plain::bytes_of(hello).first(size)));
    settle();
    const auto welcome = client.hear<attach::Welcome>();
    ASSERT_TRUE(welcome);
    EXPECT_EQ(welcome->error, EPROTONOSUPPORT);
    EXPECT_STREQ(welcome->message, "the lab's daemon is of another version of Weft");
    EXPECT_TRUE(client.is_dropped());
  }
}

TEST_F(HostilePrograms, AreDroppedWhenTheirFirstWordsMakeNoSense) {
  serve();
  const attach::Hello good = ProgramClient::hello("a");
  attach::Hello magic = good;
  ++magic.magic;
  attach::Hello wish = good;
  ++wish.attach;
  const auto bytes = [](Bytes from) { return std::vector<std::byte>(from.begin(), from.end()); };
  const std::vector<std::vector<std::byte>> greetings{
      std::vector<std::byte>(1, std::byte{0xA5}),
      std::vector<std::byte>(sizeof good, std::byte{0xA5}),
      std::vector<std::byte>(1 << 16, std::byte{0xA5}),
      bytes(plain::bytes_of(good).first(sizeof good - 1)),
      bytes(plain::bytes_of(magic)),
      bytes(plain::bytes_of(wish)),
      bytes(plain::bytes_of(request(attach::kAllocate))),
  };
  for (std::size_t i = 0; i < greetings.size(); ++i) {
    ProgramClient client(config_.socket);
    ASSERT_TRUE(client.say(Bytes(greetings[i])));
    settle();
    EXPECT_TRUE(client.is_dropped()) << i;
    EXPECT_EQ(count(AttachCounter::kNonsense), i + 1);
  }
  expect_service();
}

TEST_F(HostilePrograms, AreDroppedWhenARequestMakesNoSense) {
  serve();
  const std::vector<Request> requests{
      request(0),
      request(10),
      request(attach::kMove),
      move_to(2, 2),
      move_to(2, 257),
      request(attach::kRelease, 0x1000000),
      request(attach::kMapped, 0, 0),
      request(attach::kMapped, 0, 1),
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    ProgramClient client = placed("a");
    ASSERT_TRUE(client.say(requests[i]));
    settle();
    EXPECT_TRUE(client.is_dropped()) << i;
    EXPECT_EQ(count(AttachCounter::kNonsense), i + 1);
  }
  ProgramClient twice = placed("a");
  ASSERT_TRUE(twice.say(ProgramClient::hello("a")));
  settle();
  EXPECT_TRUE(twice.is_dropped());
  expect_service();
}

TEST_F(HostilePrograms, AreRefusedWhatIsNotTheirs) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  EXPECT_EQ(ask(a, request(attach::kRelease, b.qpn.value() + 1)), EINVAL);
  EXPECT_EQ(ask(a, request(attach::kJoin, a.qpn.value())), EINVAL) << "not a multicast GID";
  EXPECT_EQ(ask(a, move_to(1, b.qpn.value() + 1)), EINVAL);
  EXPECT_EQ(ask(a, request(attach::kLeave, a.qpn.value())), EINVAL);
  expect_service();
}

// Each lie that the rings have room for.
struct Lie {
  const char* name;
  std::function<void(ProgramClient&)> tell;  // a packet is in the slot and not published yet
};

TEST_F(HostilePrograms, AreCutOffForEachLieInTheirMemory) {
  const auto slot = [](const char* name, void (*change)(ring::SendSlot&)) {
    return Lie{name, [change](ProgramClient& program) {
                 change(program.ours().slots[0]);
                 program.publish();
               }};
  };
  const std::vector<Lie> lies{
      slot("no header", [](ring::SendSlot& s) { s.header_size = 0; }),
      slot("half an LRH", [](ring::SendSlot& s) { s.header_size = 7; }),
      slot("too long a header", [](ring::SendSlot& s) { s.header_size = 129; }),
      slot("no VCRC", [](ring::SendSlot& s) { s.trailer_size = 1; }),
      slot("too long a trailer", [](ring::SendSlot& s) { s.trailer_size = 10; }),
      slot("too long a payload", [](ring::SendSlot& s) { s.payload_size = ring::kBlock + 1; }),
      slot("a payload of 4 GiB", [](ring::SendSlot& s) { s.payload_size = 0xFFFFFFFF; }),
      slot("no such block", [](ring::SendSlot& s) { s.block = ring::kBlocks; }),
      slot("a payload nowhere", [](ring::SendSlot& s) { s.block = ring::kNoBlock; }),
      slot("a block of nothing", [](ring::SendSlot& s) { s.payload_size = 0; }),
      slot("no such queue pair", [](ring::SendSlot& s) { s.source |= 0x1000000; }),
      {"a count that leaps", [](ProgramClient& p) { p.ours().page.sent.store(ring::kSlots + 1); }},
      {"a count that leaps far",
       [](ProgramClient& p) { p.ours().page.sent.store(std::uint64_t{1} << 63); }},
      {"a count from below zero",
       [](ProgramClient& p) { p.ours().page.sent.store(~std::uint64_t{0}); }},
      {"arrivals taken that never were", [](ProgramClient& p) { p.ours().page.taken.store(1); }},
      {"arrivals given back",
       [](ProgramClient& p) { p.ours().page.taken.store(~std::uint64_t{0}); }},
  };
  serve();
  for (std::size_t i = 0; i < lies.size(); ++i) {
    ProgramClient a = placed("a");
    ProgramClient b = placed("b");
    a.put(packet(a, "a", b, "b"), 0);
    lies[i].tell(a);
    settle();
    EXPECT_TRUE(a.is_dropped()) << lies[i].name;
    EXPECT_EQ(count(AttachCounter::kLied), i + 1) << lies[i].name;
    EXPECT_EQ(b.arrivals().size(), 0u) << lies[i].name;
    EXPECT_FALSE(b.is_dropped()) << lies[i].name;
  }
  expect_service();
  EXPECT_EQ(server_->programs(), 0u);
}

TEST_F(HostilePrograms, AreCutOffWhenTheyUseABlockTwice) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  a.put(packet(a, "a", b, "b", 1), 7);
  a.put(packet(a, "a", b, "b", 1), 7);
  a.publish();
  settle();
  EXPECT_TRUE(a.is_dropped());
  EXPECT_EQ(count(AttachCounter::kLied), 1u);
  EXPECT_EQ(b.arrivals().size(), 1u);
  expect_service();
}

TEST_F(HostilePrograms, AreCutOffWhenTheirCountGoesBack) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  a.put(packet(a, "a", b, "b"), 0);
  a.publish();
  settle();
  a.ours().page.sent.store(0);
  settle();
  EXPECT_TRUE(a.is_dropped());
  EXPECT_EQ(count(AttachCounter::kLied), 1u);
  expect_service();
}

TEST_F(HostilePrograms, AreCutOffWhenTheySendAsSomebodyElse) {
  serve();
  ProgramClient victim = placed("c");
  const auto forge = [&](const std::function<void(fabric::Datagram&)>& change) {
    ProgramClient a = placed("a");
    ProgramClient b = placed("b");
    fabric::Datagram datagram{
        .slid = lid_of("a"), .dlid = lid_of("b"), .dest = b.qpn, .source = a.qpn};
    change(datagram);
    a.put(datagram.bytes());
    a.publish();
    settle();
    EXPECT_EQ(b.arrivals().size(), 0u);
    return a.is_dropped();
  };
  EXPECT_TRUE(forge([&](auto& datagram) { datagram.slid = lid_of("c"); }));
  EXPECT_TRUE(forge([&](auto& datagram) { datagram.source = victim.qpn; }));
  EXPECT_TRUE(forge([&](auto& datagram) { datagram.dest = kQp0; }));
  EXPECT_TRUE(forge([&](auto& datagram) { datagram.dest = kQp1; }));
  EXPECT_TRUE(forge([&](auto& datagram) { datagram.pkey = PKey{0x1234}; }));
  EXPECT_TRUE(forge([&](auto& datagram) { datagram.vl = Vl{15}; }));
  EXPECT_EQ(count(AttachCounter::kForged), 6u);
  EXPECT_FALSE(victim.is_dropped());
  expect_service();
}

TEST_F(HostilePrograms, CannotChangeAHeaderAfterItWasChecked) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  const auto honest = packet(a, "a", b, "b", 1);
  ring::SendSlot& slot = a.put(honest);
  a.publish();
  ASSERT_TRUE(server_->poll(lab_.now));
  slot.header.fill(std::byte{0xFF});
  slot.trailer.fill(std::byte{0xFF});
  slot.header_size = 255;
  settle();
  EXPECT_EQ(b.arrivals(), Packets{honest});
  EXPECT_FALSE(a.is_dropped());
}

TEST_F(HostilePrograms, CannotShrinkOrUnsealOrPunchHolesIntoWhatIsShared) {
  serve();
  ProgramClient a = placed("a");
  for (const attach::File file : {attach::kProgramMemory, attach::kDaemonMemory}) {
    EXPECT_EQ(ftruncate(a.file(file), 0), -1);
    EXPECT_EQ(ftruncate(a.file(file), sizeof(ring::DaemonMemory) * 2), -1);
    EXPECT_EQ(fcntl(a.file(file), F_ADD_SEALS, F_SEAL_WRITE), -1);
  }
  EXPECT_FALSE(io::SharedMapping::map(a.file(attach::kDaemonMemory), 4096, io::Access::kWrite));
  EXPECT_EQ(fallocate(a.file(attach::kDaemonMemory), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                      sizeof(ring::DaemonMemory)),
            -1);
  // Its own it may empty: that is a program that has sent nothing.
  EXPECT_EQ(fallocate(a.file(attach::kProgramMemory), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
                      sizeof(ring::ProgramMemory)),
            0);
  settle();
  expect_service();
}

TEST_F(HostilePrograms, DoNotHoldUpTheDaemonByFillingWhatItWritesTo) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  // Both ends of the doorbell are one file: a program can have it wait, and leave it unread.
  EXPECT_EQ(fcntl(b.file(attach::kDoorbell), F_SETFL, 0), 0);
  EXPECT_EQ(fcntl(b.file(attach::kArrivals), F_SETFL, 0), 0);
  EXPECT_EQ(fcntl(b.file(attach::kNews), F_SETFL, 0), 0);
  for (int i = 0; i < 70'000; ++i) {  // more than the pipe holds
    b.ours().page.waits.fetch_add(1);
    a.put(packet(a, "a", b, "b", 0, 4));
    a.publish();
    server_->poll(lab_.now);
    lab_.settle();
    server_->flush(lab_.now);
    b.take_all();
  }
  EXPECT_EQ(b.taken, 70'000u);
  for (int i = 0; i < 1000; ++i) {  // more than the socket holds
    for (std::size_t link = 0; link < lab_.fabric.link_count(); ++link)
      lab_.fabric.link(link).set_plugged(i % 2 != 0, lab_.now);
    settle();
  }
  EXPECT_FALSE(b.is_dropped());
  lab_.bring_up();
  expect_service();
}

TEST_F(HostilePrograms, WhoDoNotReadTheirAnswersAreDropped) {
  serve();
  ProgramClient a = placed("a");
  for (int i = 0; i < 100'000 && count(AttachCounter::kUnread) == 0; ++i) {
    if (!a.say(request(attach::kRelease, 5))) settle();
  }
  settle();
  EXPECT_EQ(count(AttachCounter::kUnread), 1u);
  EXPECT_TRUE(a.is_dropped());
  expect_service();
}

TEST_F(HostilePrograms, WhoTakeNothingHoldUpTheirNeighboursOnlyForAWhile) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  ProgramClient c = placed("c");
  for (std::uint32_t block = 0; block < ring::kBlocks; ++block)
    a.put(packet(a, "a", b, "b"), block);
  a.publish();
  settle();
  // b's ring is full, and what comes now waits for it.
  std::uint64_t freed = 0;
  for (int round = 0; round < 20; ++round) {
    for (; freed != a.theirs().page.freed.load(); ++freed) {
      if (a.ours().page.sent.load() + 1 - a.theirs().page.accepted.load() >= ring::kSlots) break;
      a.put(packet(a, "a", b, "b"), a.theirs().freed[freed % ring::kBlocks]);
      a.publish();
    }
    pass(50ms);
  }
  ASSERT_NE(freed, a.theirs().page.freed.load()) << "all blocks are stuck";
  a.put(packet(a, "a", c, "c"), a.theirs().freed[freed % ring::kBlocks]);
  a.publish();
  pass(1ms);
  EXPECT_EQ(c.arrivals().size(), 1u);
  EXPECT_GT(lab_.count("b", fabric::NodeCounter::kProgramStuck), 0u);
  b.take_all();
  settle();
  EXPECT_FALSE(b.is_dropped()) << "it was slow, which is no lie";
}

TEST_F(HostilePrograms, WaitForTheirQueuePairToBeGivenBackOnlyForAWhile) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  ProgramClient c = placed("c");
  // The switch's way to b takes nothing, so that a's port cannot send.
  link::Emulation slow;
  slow.rate_bytes_per_s = 1;
  for (std::size_t link = 0; link < lab_.fabric.link_count(); ++link)
    lab_.fabric.link(link).set_emulation(slow, lab_.now);
  constexpr std::size_t kPayload = 96;  // bytes: three blocks a packet, more than may wait
  for (ProgramClient* const program : {&a, &c}) {
    for (std::uint32_t i = 0; i < ring::kSlots; ++i)
      program->put(packet(*program, program == &a ? "a" : "c", b, "b", i, kPayload));
    program->publish();
    settle();
    ASSERT_TRUE(program->say(request(attach::kRelease, program->qpn.value())));
    settle();
    EXPECT_FALSE(program->hear<attach::Answer>()) << "some are still to be sent";
  }
  c.die();
  pass(999ms);
  EXPECT_FALSE(a.hear<attach::Answer>());
  EXPECT_EQ(server_->programs(), 2u);
  pass(2ms);
  const auto answer = a.hear<attach::Answer>();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->error, 0);
}

TEST_F(HostilePrograms, WhoHaveDiedStillHaveSentWhatTheySent) {
  serve();
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  std::vector<std::vector<std::byte>> sent;
  for (std::uint32_t i = 0; i < 200; ++i) {
    sent.push_back(packet(a, "a", b, "b", i));
    a.put(sent.back(), i);
  }
  a.publish();
  a.die();
  settle();
  EXPECT_EQ(b.arrivals(), sent);
  EXPECT_EQ(server_->programs(), 1u);
}

TEST_F(HostilePrograms, MayDieAtEveryStep) {
  serve();
  ProgramClient b = placed("b");
  const std::vector<std::function<void(ProgramClient&)>> steps{
      [](ProgramClient&) {},
      [](ProgramClient& a) { a.say(ProgramClient::hello("a")); },
      [&](ProgramClient& a) {
        a.say(ProgramClient::hello("a"));
        settle();
      },
      [&](ProgramClient& a) { a = placed("a"); },
      [&](ProgramClient& a) {
        a = placed("a");
        a.say(request(attach::kAllocate));
      },
      [&](ProgramClient& a) {
        a = placed("a");
        a.put(packet(a, "a", b, "b"), 0);
      },
      [&](ProgramClient& a) {
        a = placed("a");
        a.put(packet(a, "a", b, "b"), 0);
        a.publish();
        server_->poll(lab_.now);
      },
      [&](ProgramClient& a) {
        a = placed("a");
        b.put(packet(b, "b", a, "a"), 0);
        b.publish();
        server_->poll(lab_.now);
      },
      [&](ProgramClient& a) {
        a = placed("a");
        b.put(packet(b, "b", a, "a"), static_cast<std::uint32_t>(b.theirs().page.freed.load()));
        b.publish();
        settle();
      },
  };
  for (const auto& step : steps) {
    ProgramClient a(config_.socket);
    step(a);
    a.die();
    settle();
    settle();
    EXPECT_EQ(server_->programs(), 1u);
    b.take_all();
    settle();
  }
  EXPECT_EQ(b.theirs().page.freed.load(), 2u) << "what it sent to the dead came back";
  EXPECT_EQ(lab_.fabric.packets_in_use(), 0u);
  expect_service();
}

TEST_F(HostilePrograms, AreTurnedAwayWhenThereAreTooMany) {
  config_.max_programs = 3;
  config_.max_connections = 5;
  serve();
  std::vector<ProgramClient> programs;
  for (int i = 0; i < 3; ++i)
    programs.push_back(placed("a"));
  ProgramClient fourth(config_.socket);
  ASSERT_TRUE(fourth.say(ProgramClient::hello("a")));
  settle();
  const auto welcome = fourth.hear<attach::Welcome>();
  ASSERT_TRUE(welcome);
  EXPECT_STREQ(welcome->message, "3 programs are on nodes of this lab, and no more may be");
  ProgramClient fifth(config_.socket);
  ProgramClient sixth(config_.socket);
  settle();
  EXPECT_TRUE(sixth.is_dropped());
  EXPECT_FALSE(fifth.is_dropped());
  EXPECT_EQ(count(AttachCounter::kTurnedAway), 2u);
}

}  // namespace
}  // namespace weft::daemon
