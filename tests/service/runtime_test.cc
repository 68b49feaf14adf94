// SPDX-License-Identifier: Apache-2.0
#include "service/runtime.h"

#include "runtime_fixture.h"

namespace weft::service::test {
namespace {

using enum RuntimeCounter;
using wire::Opcode;

class Chains : public RuntimeTest {};

TEST_F(Chains, AddressMappingGivesTheTrueLidOfAGid) {
  // A packet to GID 0xBBBB that came to the service's LID 0xF goes on to LID 0xB.
  runtime->set_chain(kService, {});
  runtime->pin_path(b, {.dlid = kB});
  const Buffer sent = make(from_a({}));
  Buffer packet = sent;
  ASSERT_EQ(handle(packet), Fate::kForward);
  const Fields before = Fields::parse(sent);
  const Fields after = Fields::parse(packet);
  EXPECT_EQ(before.dlid, Lid{0xF});
  EXPECT_EQ(after.dlid, Lid{0xB});
  EXPECT_EQ(after.dgid, b);
  EXPECT_EQ(after.slid, kA);
  // The LRH alone has changed: the ICRC is its sender's.
  EXPECT_EQ(wire::walk_link_packet(packet)->transport->icrc,
            wire::walk_link_packet(sent)->transport->icrc);
  EXPECT_EQ(count(kIcrcKept), 1u);
}

TEST_F(Chains, PathIsAskedForOnceAndPacketsWaitForItInOrder) {
  runtime->set_chain(kService, {});
  for (std::uint32_t psn = 0; psn < 3; ++psn) {
    Made made = from_a({});
    made.bth.psn = Psn{psn};
    Buffer packet = make(made);
    EXPECT_EQ(handle(packet), Fate::kHeld);
  }
  ASSERT_EQ(questions.size(), 1u);
  const PathQuestion question = questions.front().second;
  EXPECT_EQ(question.sgid, a);
  EXPECT_EQ(question.dgid, b);
  EXPECT_EQ(question.via, kService);
  answer_all();
  ASSERT_EQ(out.size(), 3u);
  for (std::uint32_t psn = 0; psn < 3; ++psn) {
    const Fields fields = Fields::parse(out[psn]);
    EXPECT_EQ(fields.psn, Psn{psn});
    EXPECT_EQ(fields.dlid, kB);
    EXPECT_EQ(fields.slid, kService);
  }
  EXPECT_EQ(runtime->held(), 0u);
  EXPECT_FALSE(through(from_a({})).empty());
  EXPECT_EQ(count(kPathQuestions), 1u);
}

TEST_F(Chains, HeldPacketsAreBoundedAndDroppedWhenNobodyAnswers) {
  restart({.hold = {.packets = 100, .packets_each = 4, .bytes = 10'000}});
  runtime->set_chain(kService, {});
  for (int i = 0; i < 6; ++i) {
    Buffer packet = make(from_a({}));
    handle(packet);
  }
  EXPECT_EQ(runtime->held(), 4u);
  EXPECT_EQ(count(kDropHoldFull), 2u);
  now += PathCache::Options{}.patience;
  runtime->run(now);
  EXPECT_EQ(runtime->held(), 0u);
  EXPECT_EQ(count(kDropNoPath), 4u);
  EXPECT_TRUE(out.empty());
}

TEST_F(Chains, RefusalIsRememberedForAWhile) {
  runtime->set_chain(kService, {});
  Made made = from_a({});
  made.gids->second = gid(0xDEAD);
  EXPECT_TRUE(through(made).empty());
  EXPECT_TRUE(through(made).empty());
  EXPECT_EQ(count(kPathQuestions), 1u);
  EXPECT_EQ(count(kDropNoPath), 2u);
  now += PathCache::Options{}.refusal_lifetime;
  EXPECT_TRUE(through(made).empty());
  EXPECT_EQ(count(kPathQuestions), 2u);
}

TEST_F(Chains, ChangeOfPolicyAsksAgainAlsoForKnownFlowsAndOpenQuestions) {
  runtime->set_chain(kService, {});
  ASSERT_FALSE(through(from_a({})).empty());
  ASSERT_FALSE(through(from_a({})).empty());
  EXPECT_EQ(count(kForwardedByFlow), 0u);  // the first was held, the second is kept
  ASSERT_FALSE(through(from_a({})).empty());
  EXPECT_EQ(count(kForwardedByFlow), 1u);
  runtime->paths_changed(b);
  Buffer packet = make(from_a({}));
  EXPECT_EQ(handle(packet), Fate::kHeld);
  const std::uint64_t old = questions.front().first;
  runtime->paths_changed();  // while it is being asked
  ASSERT_EQ(questions.size(), 2u);
  runtime->path_answered(old, Path{.dlid = Lid{0xBAD}}, now);
  EXPECT_TRUE(out.empty());
  runtime->path_answered(questions.back().first, Path{.dlid = Lid{0xB0}}, now);
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(Fields::parse(out[0]).dlid, Lid{0xB0});
}

TEST_F(Chains, LimitedMembersReachEachOtherThroughAFullOne) {
  runtime->set_chain(kService, {.pkeys = {{.from = PKey{0x0001}, .to = PKey{0x8001}}}});
  Made made = from_a({});
  made.bth.pkey = PKey{0x0001};
  for (int i = 0; i < 3; ++i) {
    const Buffer packet = through(made);
    ASSERT_FALSE(packet.empty());
    EXPECT_EQ(Fields::parse(packet).pkey, PKey{0x8001});
    EXPECT_TRUE(wire::check_link_crcs(packet).good());
  }
  EXPECT_EQ(count(kForwardedByFlow), 1u);
  EXPECT_EQ(count(kIcrcCorrectedPKey), 3u);
  made.bth.pkey = PKey{0x0002};
  EXPECT_EQ(Fields::parse(through(made)).pkey, PKey{0x0002});
}

TEST_F(Chains, LocalPacketsHaveTheirIcrcCorrectedForTheirLids) {
  runtime->set_chain(kService, {.without_gids = Path{.dlid = kB, .slid = kService}});
  Made made = from_a({});
  made.gids.reset();
  for (int i = 0; i < 3; ++i) {
    const Buffer packet = through(made);
    ASSERT_FALSE(packet.empty());
    EXPECT_EQ(Fields::parse(packet).dlid, kB);
    EXPECT_TRUE(wire::check_link_crcs(packet).good());
  }
  runtime->set_chain(kService, {});
  EXPECT_TRUE(through(made).empty());
  EXPECT_EQ(count(kDropNoGids), 1u);
}

TEST_F(Chains, VerdictForAFlowIsNotAskedForAgainUntilItIsTakenBack) {
  Tally tally;
  bool pass = true;
  Scripted service(
      [&](Packet&) { return (pass ? Verdict::forward() : Verdict::drop(1)).for_flow(7, &tally); });
  runtime->set_chain(kService, {.services = {&service}});
  runtime->pin_path(b, {.dlid = kB});
  for (int i = 0; i < 5; ++i)
    EXPECT_FALSE(through(from_a({})).empty());
  EXPECT_EQ(service.asked, 1);
  EXPECT_EQ(tally.packets, 5u);
  EXPECT_EQ(tally.bytes, 5 * make(from_a({})).size());
  pass = false;
  service.runtime().revoke(8);
  EXPECT_FALSE(through(from_a({})).empty());
  service.runtime().revoke(7);
  for (int i = 0; i < 5; ++i)
    EXPECT_TRUE(through(from_a({})).empty());
  EXPECT_EQ(service.asked, 2);
  EXPECT_EQ(tally.packets, 11u);
  EXPECT_EQ(count(kDropByService), 5u);
  EXPECT_EQ(runtime->drops(service)[0].value, 0u);
  EXPECT_EQ(runtime->drops(service)[1].value, 5u);
}

TEST_F(Chains, OtherFlowsAreAskedAbout) {
  Scripted service([](Packet&) { return Verdict::forward().for_flow(7); });
  runtime->set_chain(kService, {.services = {&service}});
  runtime->pin_path(b, {.dlid = kB});
  int flows = 0;
  const auto try_one = [&](const auto& change) {
    Made made = from_a({});
    change(made);
    EXPECT_FALSE(through(made).empty());
    EXPECT_FALSE(through(made).empty());
    EXPECT_EQ(service.asked, ++flows);
  };
  try_one([](Made&) {});
  try_one([](Made& made) { made.slid = Lid{77}; });
  try_one([](Made& made) { made.sl = Sl{3}; });
  try_one([this](Made& made) { made.gids = {gid(5), b}; });
  try_one([](Made& made) { made.bth.pkey = PKey{3}; });
  try_one([](Made& made) { made.bth.dest_qp = Qpn{3}; });
  try_one([](Made& made) { made.bth.opcode = Opcode::rc_send_only_invalidate; });
  try_one([](Made& made) { made.bth.opcode = Opcode::ud_send_only; });
  try_one([](Made& made) {
    made.bth.opcode = Opcode::ud_send_only;
    made.deth.src_qp = Qpn{3};
  });
  try_one([](Made& made) {
    made.bth.opcode = Opcode::ud_send_only;
    made.deth.qkey = QKey{3};
  });
  // The same flow, with what changes from packet to packet.
  Made made = from_a({});
  made.bth.psn = Psn{99};
  made.bth.ack_request = true;
  made.vl = Vl{3};
  made.payload = Buffer(33);
  EXPECT_FALSE(through(made).empty());
  EXPECT_EQ(service.asked, flows);
}

TEST_F(Chains, ManagementAndStrangePacketsAreAlwaysAskedAbout) {
  Scripted service([](Packet&) { return Verdict::forward().for_flow(7); });
  runtime->set_chain(kService, {.services = {&service}});
  runtime->pin_path(b, {.dlid = kB});
  int asked = 0;
  const auto try_one = [&](const Made& made) {
    for (int i = 0; i < 2; ++i) {
      EXPECT_FALSE(through(from_a(made)).empty());
      EXPECT_EQ(service.asked, ++asked);
    }
  };
  try_one(cm(wire::CmRtu{}));
  try_one(datagram(Buffer(256), kQp0));
  try_one(datagram(Buffer(256), kQp1));
  Made made;
  made.bth.opcode = static_cast<Opcode>(0x1F);
  try_one(made);
  made.bth.opcode = Opcode::rd_send_only;
  try_one(made);
}

TEST_F(Chains, ServiceThatLooksAtEachPacketSeesAllOfAKnownFlow) {
  Scripted looks([](Packet& packet) {
    return packet.fields().psn.value() % 2 == 0 ? Verdict::forward() : Verdict::drop(0);
  });
  Scripted decides([](Packet&) { return Verdict::forward().for_flow(1); });
  runtime->set_chain(kService, {.services = {&looks, &decides}});
  runtime->pin_path(b, {.dlid = kB});
  for (std::uint32_t psn = 0; psn < 10; ++psn) {
    Made made = from_a({});
    made.bth.psn = Psn{psn};
    EXPECT_EQ(through(made).empty(), psn % 2 != 0);
  }
  EXPECT_EQ(looks.asked, 10);
  EXPECT_EQ(decides.asked, 1);
}

TEST_F(Chains, MalformedPacketsAndThoseToNobodyAreDropped) {
  Scripted service([](Packet&) { return Verdict::forward(); });
  runtime->set_chain(kService, {.services = {&service}});
  Buffer packet = make(from_a({}));
  packet.resize(packet.size() - 4);
  EXPECT_EQ(handle(packet), Fate::kDropped);
  packet.resize(5);
  EXPECT_EQ(handle(packet), Fate::kDropped);
  EXPECT_EQ(count(kDropMalformed), 2u);
  Made made = from_a({});
  made.dlid = Lid{0xE};
  EXPECT_TRUE(through(made).empty());
  EXPECT_EQ(count(kDropNoChain), 1u);
  EXPECT_EQ(service.asked, 0);
}

TEST_F(Chains, PacketThatWouldComeBackIsDropped) {
  runtime->set_chain(kService, {});
  runtime->pin_path(b, {.dlid = kService});
  EXPECT_TRUE(through(from_a({})).empty());
  EXPECT_EQ(count(kDropLoop), 1u);
}

TEST_F(Chains, TappedPacketsAreLookedAtAndGoNowhere) {
  Scripted service([](Packet&) { return Verdict::forward().mirrored(); });
  runtime->set_chain(Lid{}, {.services = {&service}});
  Buffer packet = make(from_a({}));
  const Buffer before = packet;
  EXPECT_EQ(handle(packet, {.tapped = true}), Fate::kTapped);
  EXPECT_EQ(packet, before);
  EXPECT_EQ(service.asked, 1);
  EXPECT_EQ(mirrored.size(), 1u);
  EXPECT_TRUE(questions.empty());
}

TEST_F(Chains, HeldPacketsAreShownAgainInOrderWhenTheirServiceLetsGo) {
  bool decided = false;
  Scripted service(
      [&](Packet&) { return decided ? Verdict::forward() : Verdict::hold(5, now + 1s); });
  runtime->set_chain(kService, {.services = {&service}});
  runtime->pin_path(b, {.dlid = kB});
  for (std::uint32_t psn = 0; psn < 3; ++psn) {
    Made made = from_a({});
    made.bth.psn = Psn{psn};
    Buffer packet = make(made);
    EXPECT_EQ(handle(packet), Fate::kHeld);
  }
  decided = true;
  service.runtime().release(5);
  runtime->run(now);
  ASSERT_EQ(out.size(), 3u);
  for (std::uint32_t psn = 0; psn < 3; ++psn)
    EXPECT_EQ(Fields::parse(out[psn]).psn, Psn{psn});
  EXPECT_EQ(service.asked, 6);
}

TEST_F(Chains, HeldPacketsAreDroppedWhenTheirTimeIsOver) {
  Scripted service([&](Packet&) { return Verdict::hold(5, now + 1s); });
  runtime->set_chain(kService, {.services = {&service}});
  Buffer packet = make(from_a({}));
  EXPECT_EQ(handle(packet), Fate::kHeld);
  ASSERT_LE(runtime->deadline(), now + 1s);
  now += 1s;
  runtime->run(now);
  EXPECT_EQ(count(kDropHoldExpired), 1u);
  EXPECT_EQ(runtime->held(), 0u);
}

TEST_F(Chains, ServiceThatHoldsAgainWhatItLetsGoDoesNotStopTheWorker) {
  Scripted* self = nullptr;
  Scripted service([&](Packet&) {
    self->runtime().release(5);
    return Verdict::hold(5, now + 1s);
  });
  self = &service;
  runtime->set_chain(kService, {.services = {&service}});
  Buffer packet = make(from_a({}));
  EXPECT_EQ(handle(packet), Fate::kHeld);
  EXPECT_LT(service.asked, 10);
}

TEST_F(Chains, ChangedPayloadHasItsIcrcReadAnew) {
  Scripted service([](Packet& packet) {
    packet.write(packet.fields().payload_at, hex("ff00ff00"));
    return Verdict::forward();
  });
  runtime->set_chain(kService, {.services = {&service}});
  runtime->pin_path(b, {.dlid = kB});
  Made made = from_a({});
  made.payload = Buffer(40);
  for (int i = 0; i < 2; ++i) {
    const Buffer packet = through(made);
    ASSERT_FALSE(packet.empty());
    EXPECT_TRUE(wire::check_link_crcs(packet).good());
    EXPECT_EQ(packet[Fields::parse(packet).payload_at], std::byte{0xFF});
  }
  EXPECT_EQ(service.asked, 2);
  EXPECT_EQ(count(kIcrcAnew), 2u);
}

TEST_F(Chains, BufferThatIsDamagedOnTheWayThroughIsNotSealedAnew) {
  Buffer packet;
  Scripted service([&](Packet& seen) {
    seen.write(seen.fields().payload_at, hex("ff00ff00"));
    packet[packet.size() - 12] ^= std::byte{1};
    return Verdict::forward();
  });
  runtime->set_chain(kService, {.services = {&service}});
  runtime->pin_path(b, {.dlid = kB});
  Made made = from_a({});
  made.payload = Buffer(40);
  packet = make(made);
  EXPECT_EQ(handle(packet), Fate::kDropped);
  EXPECT_EQ(count(kDropBufferDamaged), 1u);
}

TEST_F(Chains, RedirectedPacketsGoWhereTheServiceSays) {
  Scripted service([this](Packet& packet) {
    packet.redirect(b);
    packet.set_dgid(b);
    return Verdict::forward();
  });
  runtime->set_chain(kService, {.services = {&service}});
  Made made = from_a({});
  made.gids->second = gid(0x5E);
  const Buffer packet = through(made);
  ASSERT_FALSE(packet.empty());
  EXPECT_EQ(Fields::parse(packet).dlid, kB);
  EXPECT_EQ(Fields::parse(packet).dgid, b);
  EXPECT_TRUE(wire::check_link_crcs(packet).good());
}

TEST_F(Chains, PacketsWithoutCrcsAreChangedWithoutThem) {
  runtime->set_chain(kService, {.pkeys = {{.from = kDefaultPKey, .to = PKey{0x8001}}}});
  runtime->pin_path(b, {.dlid = kB});
  for (int i = 0; i < 2; ++i) {
    Buffer packet = make(from_a({}));
    std::fill(packet.end() - 6, packet.end(), std::byte{});
    EXPECT_EQ(handle(packet, {.sealed = false}), Fate::kForward);
    EXPECT_EQ(Fields::parse(packet).dlid, kB);
    EXPECT_EQ(Fields::parse(packet).pkey, PKey{0x8001});
    EXPECT_TRUE(std::all_of(packet.end() - 6, packet.end(),
                            [](std::byte byte) { return byte == std::byte{}; }));
  }
}

TEST_F(Chains, ServicesSayNoMoreThanTheyAreTold) {
  Scripted* self = nullptr;
  const Buffer answer = make({});
  Scripted service([&](Packet&) {
    EXPECT_TRUE(self->runtime().send(answer, 1));
    EXPECT_FALSE(self->runtime().send(answer, 1));
    return Verdict::drop(0);
  });
  self = &service;
  runtime->set_chain(kService, {.services = {&service}});
  Buffer packet = make(from_a({}));
  EXPECT_EQ(handle(packet), Fate::kDropped);
  EXPECT_EQ(out.size(), 1u);
  EXPECT_EQ(count(kServicePackets), 1u);
  EXPECT_EQ(count(kServicePacketsRefused), 1u);
}

TEST_F(Chains, FloodOfNewFlowsDoesNotPushOutThoseInUse) {
  restart({.flows = 64});
  Scripted service([](Packet&) { return Verdict::forward().for_flow(7); });
  runtime->set_chain(kService, {.services = {&service}});
  runtime->pin_path(b, {.dlid = kB});
  Random random(3);
  const auto pass = [this](std::uint32_t qp) {
    Made made = from_a({});
    made.bth.dest_qp = Qpn{qp};
    through(made);
  };
  // As many as there is room for: where four of them share a place, nobody else has one.
  constexpr std::uint32_t kInUse = 64;
  const auto pass_all = [&] {
    for (std::uint32_t qp = 100; qp < 100 + kInUse; ++qp)
      pass(qp);
    return service.asked;
  };
  for (int i = 0; i < 200; ++i)
    pass_all();
  const int before = service.asked;
  const int each = pass_all() - before;  // those that have no place by themselves
  EXPECT_LT(each, 24);
  int again = 0;
  constexpr int kRounds = 1000;
  for (int i = 0; i < kRounds; ++i) {
    for (int flood = 0; flood < 4; ++flood)
      pass(static_cast<std::uint32_t>(random.between(1000, 1 << 20)));
    const int asked = service.asked;
    again += pass_all() - asked;
  }
  EXPECT_LE(again, kRounds * (each + 2));
}

TEST_F(Chains, BurstsAreDecidedAboutPacketByPacket) {
  Scripted service([](Packet& packet) {
    return packet.fields().dest_qp.value() % 2 == 0 ? Verdict::forward().for_flow(1)
                                                    : Verdict::drop(0).for_flow(1);
  });
  runtime->set_chain(kService, {.services = {&service}});
  runtime->pin_path(b, {.dlid = kB});
  for (int turn = 0; turn < 3; ++turn) {
    std::vector<Buffer> packets;
    std::vector<Item> burst;
    for (std::uint32_t i = 0; i < Runtime::kBurst; ++i) {
      Made made = from_a({});
      made.bth.dest_qp = Qpn{100 + i};
      packets.push_back(make(made));
    }
    for (Buffer& packet : packets)
      burst.push_back({.bytes = packet});
    runtime->handle(burst, now);
    for (std::size_t i = 0; i < burst.size(); ++i)
      EXPECT_EQ(burst[i].fate, i % 2 == 0 ? Fate::kForward : Fate::kDropped);
  }
  EXPECT_EQ(service.asked, 64);
}

}  // namespace
}  // namespace weft::service::test
