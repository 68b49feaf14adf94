// SPDX-License-Identifier: Apache-2.0
// A connection that was not permitted has no data, whatever somebody sends. Each row of the table
// of attacks in docs/firewall.md has a test here or in firewall_inside_test.cc.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "firewall_world.h"
#include "service/firewall/refusal.h"

namespace weft::service::firewall {
namespace {

constexpr const char* kByState =
    "ct state established accept\nservice 0x1000 cm message req accept";

TEST(FirewallState, LetsDataThroughOfAConnectionThatWasPermitted) {
  for (const bool global : {true, false}) {
    World world(kByState);
    Exchange exchange;
    exchange.global = global;
    EXPECT_FALSE(world.passes(exchange.data()));
    ASSERT_TRUE(world.passes(exchange.req()));
    EXPECT_FALSE(world.passes(exchange.data()));
    ASSERT_TRUE(world.passes(exchange.rep()));
    EXPECT_TRUE(world.passes(exchange.data()));
    EXPECT_TRUE(world.passes(exchange.data(true, wire::Opcode::rc_acknowledge)));
    ASSERT_TRUE(world.passes(exchange.rtu()));
    EXPECT_TRUE(world.passes(exchange.data(true)));
    EXPECT_EQ(world.firewall.connections(), 1u);
    EXPECT_EQ(world.firewall.half_open(), 0u);
  }
}

// Of two subnets, each of which has given its end LID 2, and whose queue pair numbers are the same
// ones the other way round.
TEST(FirewallState, KeepsConnectionsApartWhoseEndsHaveTheSameLid) {
  World world(kByState);
  Exchange one;
  one.routed = true;
  one.a = one.b = Lid{2};
  Exchange other = one;
  other.a_id = 0x12;
  other.b_id = 0x23;
  std::swap(other.a_qp, other.b_qp);
  ASSERT_TRUE(world.connects(one));
  ASSERT_TRUE(world.connects(other));
  EXPECT_EQ(world.firewall.connections(), 2u);
  for (const Exchange& exchange : {one, other}) {
    EXPECT_TRUE(world.passes(exchange.data()));
    EXPECT_TRUE(world.passes(exchange.data(true)));
  }
}

// Ends whose path has a GRH name no LIDs in their requests.
TEST(FirewallState, TakesTheLidOfThePacketWhereARequestNamesThePermissiveOne) {
  World world("cm message req accept\nct state established accept");
  Exchange exchange;
  exchange.permissive = true;
  EXPECT_TRUE(world.connects(exchange));
  EXPECT_TRUE(world.passes(exchange.data()));
  Exchange local = exchange;
  local.a_id = 0x12;
  local.global = false;
  EXPECT_EQ(world.decide(local.req()).doubt, Doubt::cm_forged);
}

TEST(FirewallState, LetsNoDataThroughOfAConnectionThatWasNotPermitted) {
  World world(kByState);
  Exchange other;
  other.service = wire::ServiceId{0x2000};
  EXPECT_FALSE(world.connects(other));
  EXPECT_FALSE(world.passes(other.rep()));
  EXPECT_FALSE(world.passes(other.data()));
  EXPECT_EQ(world.firewall.connections(), 0u);
}

TEST(FirewallState, LetsNoDataThroughByAPolicyAlone) {
  World world("service 0x2000 drop", "accept");
  const Exchange exchange;
  const Decision before = world.decide(exchange.data());
  EXPECT_EQ(before.action, Action::drop);
  EXPECT_EQ(before.state, ConnectionState::untracked);
  ASSERT_TRUE(world.connects(exchange));
  EXPECT_TRUE(world.passes(exchange.data()));
}

TEST(FirewallState, LetsConnectionsThroughThatAreMadeWithoutMessagesIfARuleSaysSo) {
  World world("ct state untracked slid 1 dlid 2 accept");
  EXPECT_TRUE(world.passes(Exchange{}.data()));
  EXPECT_FALSE(world.passes(Exchange{}.data(true)));
}

TEST(FirewallState, EndsAConnectionWithItsDisconnection) {
  World world(kByState);
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  ASSERT_TRUE(world.passes(exchange.dreq()));
  EXPECT_TRUE(world.passes(exchange.data()));  // what was under way
  ASSERT_TRUE(world.passes(exchange.drep()));
  EXPECT_FALSE(world.passes(exchange.data()));
  EXPECT_EQ(world.firewall.connections(), 0u);
}

TEST(FirewallState, EndsAConnectionWhoseDisconnectionNobodyAnswers) {
  World world(kByState);
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  ASSERT_TRUE(world.passes(exchange.dreq()));
  world.now += 11s;
  EXPECT_FALSE(world.passes(exchange.data()));
}

TEST(FirewallState, EndsAConnectionThatIsRefused) {
  World world(kByState);
  const Exchange exchange;
  ASSERT_TRUE(world.passes(exchange.req()));
  ASSERT_TRUE(world.passes(exchange.rej()));
  EXPECT_FALSE(world.passes(exchange.rep()));
}

TEST(FirewallState, ForgetsWhatIsSilent) {
  World world(kByState);
  const Exchange exchange;
  Exchange asked;
  asked.a_id = 0x99;
  ASSERT_TRUE(world.connects(exchange));
  ASSERT_TRUE(world.passes(asked.req()));
  world.now += 61s;
  EXPECT_FALSE(world.passes(asked.rep()));
  EXPECT_TRUE(world.passes(exchange.data()));
  world.now += 25h;
  world.firewall.run(world.now);
  EXPECT_EQ(world.firewall.connections(), 0u);
  EXPECT_FALSE(world.passes(exchange.data()));
}

TEST(FirewallState, GuessedQueuePairsHaveNoConnection) {
  World world(kByState);
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  unsigned through = 0;
  for (std::uint32_t qpn = 2; qpn < 0x400; ++qpn) {
    Made guess = exchange.data();
    guess.bth.dest_qp = Qpn{qpn};
    if (world.passes(guess)) ++through;
  }
  EXPECT_EQ(through, 1u);
  EXPECT_EQ(world.firewall.doubted(Doubt::no_connection), 0x400u - 3);
}

TEST(FirewallState, AForgedSourceLidIsNotTheConnections) {
  World world(kByState);
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  // With the GIDs of the connection, which anybody can write.
  Made forged = exchange.data();
  forged.slid = Lid{7};
  const Decision decision = world.decide(forged);
  EXPECT_EQ(decision.action, Action::drop);
  EXPECT_EQ(decision.doubt, Doubt::source_lid);
  // Without GIDs.
  forged.gids.reset();
  EXPECT_FALSE(world.passes(forged));
}

TEST(FirewallState, AForgedPartitionIsNotTheConnections) {
  World world(kByState);
  Exchange exchange;
  exchange.pkey = PKey{0x8005};
  ASSERT_TRUE(world.connects(exchange));
  Made forged = exchange.data();
  forged.bth.pkey = PKey{0xFFFF};
  EXPECT_EQ(world.decide(forged).doubt, Doubt::partition);
  // A limited member of the same is of it.
  forged.bth.pkey = PKey{0x0005};
  EXPECT_TRUE(world.passes(forged));
}

TEST(FirewallState, AnotherTransportIsNotTheConnections) {
  World world(kByState);
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  EXPECT_EQ(world.decide(exchange.data(false, wire::Opcode::uc_send_only)).doubt, Doubt::transport);
}

TEST(FirewallState, AWrongDestinationGidHasNoConnection) {
  World world(kByState);
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  Made wrong = exchange.data();
  wrong.gids = {Exchange::gid_of(Lid{1}), Exchange::gid_of(Lid{3})};
  EXPECT_EQ(world.decide(wrong).doubt, Doubt::no_connection);
  wrong.gids = {Exchange::gid_of(Lid{3}), Exchange::gid_of(Lid{2})};
  EXPECT_EQ(world.decide(wrong).doubt, Doubt::no_connection);
}

TEST(FirewallState, ARequestInAnothersNameIsForged) {
  World world("accept");
  const Exchange exchange;
  Made lid = exchange.req();
  lid.slid = Lid{7};
  EXPECT_EQ(world.decide(lid).doubt, Doubt::cm_forged);
  Made gid = exchange.req();
  gid.gids = {Exchange::gid_of(Lid{7}), Exchange::gid_of(Lid{2})};
  EXPECT_EQ(world.decide(gid).doubt, Doubt::cm_forged);
  // A program's datagram to QP1: with neither QP1 as its source nor its Q_Key.
  Made program = exchange.req();
  program.deth.src_qp = Qpn{0x42};
  EXPECT_EQ(world.decide(program).doubt, Doubt::cm_forged);
  EXPECT_FALSE(world.passes(program));
  program = exchange.req();
  program.deth.qkey = QKey{0x1234};
  EXPECT_EQ(world.decide(program).doubt, Doubt::cm_forged);
  // To another queue pair, as redirected management.
  Made redirected = exchange.req();
  redirected.bth.dest_qp = Qpn{0x55};
  EXPECT_EQ(world.decide(redirected).doubt, Doubt::cm_forged);
  EXPECT_EQ(world.firewall.connections(), 0u);
}

TEST(FirewallState, AnAnswerFromAnotherThanWasAskedIsUnknown) {
  World world(kByState);
  const Exchange exchange;
  ASSERT_TRUE(world.passes(exchange.req()));
  Exchange intruder = exchange;
  intruder.b = Lid{7};
  EXPECT_EQ(world.decide(intruder.rep()).doubt, Doubt::cm_unknown);
  EXPECT_FALSE(world.passes(intruder.data()));
  Exchange guessed = exchange;
  guessed.a_id = 0x12;
  EXPECT_EQ(world.decide(guessed.rep()).doubt, Doubt::cm_unknown);
  EXPECT_TRUE(world.passes(exchange.rep()));
}

TEST(FirewallState, AnEstablishedConnectionTakesNoOtherAnswerAndNoOtherRequest) {
  World world(kByState);
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  Exchange other = exchange;
  other.b_qp = Qpn{0xBAD};
  EXPECT_EQ(world.decide(other.rep()).doubt, Doubt::cm_unknown);
  EXPECT_FALSE(world.passes(other.data()));
  Exchange again = exchange;
  again.a_qp = Qpn{0xBAD};
  EXPECT_EQ(world.decide(again.req()).doubt, Doubt::cm_forged);
  EXPECT_TRUE(world.passes(exchange.data()));
}

TEST(FirewallState, OnlyItsEndsEndAConnection) {
  World world(kByState);
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  Exchange intruder = exchange;
  intruder.a = Lid{7};
  EXPECT_FALSE(world.passes(intruder.dreq()));
  Exchange guess = exchange;
  guess.b_id = 0x23;
  EXPECT_FALSE(world.passes(guess.dreq()));
  EXPECT_FALSE(world.passes(guess.drep()));
  guess = exchange;
  guess.b_qp = Qpn{0xB2};
  EXPECT_FALSE(world.passes(guess.dreq()));
  EXPECT_FALSE(world.passes(intruder.rej()));
  EXPECT_TRUE(world.passes(exchange.data()));
}

TEST(FirewallState, NothingIsBelievedOfWhatARuleLetsThroughInDoubt) {
  World world("ct state invalid accept\nct state established accept");
  Made forged = Exchange{}.req();
  forged.slid = Lid{7};
  EXPECT_TRUE(world.passes(forged));
  EXPECT_EQ(world.firewall.connections(), 0u);
  EXPECT_FALSE(world.passes(Exchange{}.data()));
}

TEST(FirewallState, AMessageInAnEndsNameComesFromItsLid) {
  World world(kByState);
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  // With its GID and all numbers, which somebody may have seen.
  for (Made forged : {exchange.dreq(), exchange.drep(), exchange.rtu()}) {
    forged.slid = Lid{7};
    EXPECT_EQ(world.decide(forged).doubt, Doubt::cm_unknown);
  }
  EXPECT_TRUE(world.passes(exchange.data()));
}

TEST(FirewallState, NobodyAnswersHisOwnRequest) {
  World world(kByState);
  const Exchange exchange;
  ASSERT_TRUE(world.passes(exchange.req()));
  wire::CmRep rep{.local_comm_id = wire::CommId{exchange.a_id},
                  .remote_comm_id = wire::CommId{exchange.b_id}};
  rep.local_qpn = Qpn{0xBAD};
  EXPECT_EQ(world.decide(exchange.addressed(test::cm(rep), false)).doubt, Doubt::cm_unknown);
}

TEST(FirewallState, NothingFollowsARequestBeforeItsAnswer) {
  World world(kByState);
  const Exchange exchange;
  ASSERT_TRUE(world.passes(exchange.req()));
  for (const Made& early : {exchange.rtu(), exchange.dreq(), exchange.drep()})
    EXPECT_EQ(world.decide(early).doubt, Doubt::cm_unknown);
  EXPECT_EQ(world.firewall.half_open(), 1u);
  EXPECT_FALSE(world.passes(exchange.data()));
  EXPECT_TRUE(world.passes(exchange.rep()));
}

TEST(FirewallState, ForbidsReadsOfOneServiceOnly) {
  World world(
      "service 0x1000 opcode rdma-read drop\nct state established accept\n"
      "cm message req accept");
  Exchange one;
  Exchange two;
  two.service = wire::ServiceId{0x2000};
  two.a_id = 0x33;
  two.b_id = 0x44;
  two.a_qp = Qpn{0xA2};
  two.b_qp = Qpn{0xB2};
  ASSERT_TRUE(world.connects(one));
  ASSERT_TRUE(world.connects(two));
  EXPECT_FALSE(world.passes(one.data(false, wire::Opcode::rc_read_request)));
  EXPECT_TRUE(world.passes(one.data(false, wire::Opcode::rc_write_only)));
  EXPECT_TRUE(world.passes(two.data(false, wire::Opcode::rc_read_request)));
}

TEST(FirewallState, LooksAtThePrivateDataOfARequestAndWhatFollows) {
  World world(
      "cm private-data 0/2 0x4142 opcode rdma-write drop\nct state established accept\n"
      "cm private-data 1/2 0x4243 cm message req accept");
  Exchange exchange;
  EXPECT_FALSE(world.passes(exchange.req()));
  exchange.private_data = {0x41, 0x42, 0x43, 0};
  ASSERT_TRUE(world.connects(exchange));
  EXPECT_FALSE(world.passes(exchange.data(false, wire::Opcode::rc_write_only)));
  EXPECT_TRUE(world.passes(exchange.data(false, wire::Opcode::rc_send_only)));
}

TEST(FirewallState, TellsTheEndsOfAConnectionApart) {
  World world(
      "ct state established opcode rdma-write ct direction reply drop\n"
      "ct state established accept\ncm message req accept");
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  EXPECT_TRUE(world.passes(exchange.data(false, wire::Opcode::rc_write_only)));
  EXPECT_FALSE(world.passes(exchange.data(true, wire::Opcode::rc_write_only)));
}

TEST(FirewallState, FollowsDatagramsToAServiceThatWasResolved) {
  World world("ct state established accept\nservice 0x1000 cm message sidr-req accept");
  Exchange exchange;
  const auto request = [&](std::uint64_t service) {
    return exchange.addressed(test::cm(wire::CmSidrReq{.request_id = wire::CommId{5},
                                                       .pkey = exchange.pkey,
                                                       .service_id = wire::ServiceId{service}}),
                              false);
  };
  const auto reply =
      exchange.addressed(test::cm(wire::CmSidrRep{.request_id = wire::CommId{5},
                                                  .qpn = exchange.b_qp,
                                                  .service_id = wire::ServiceId{0x1000},
                                                  .qkey = QKey{0x77}}),
                         true);
  const auto datagram = [&](bool back, std::uint32_t qkey) {
    Made made =
        exchange.addressed(test::datagram(Buffer(64), back ? Qpn{0x300} : exchange.b_qp), back);
    made.deth = {.qkey = QKey{qkey}, .src_qp = back ? exchange.b_qp : Qpn{0x300}};
    return made;
  };
  EXPECT_FALSE(world.passes(request(0x2000)));
  EXPECT_FALSE(world.passes(datagram(false, 0x77)));
  ASSERT_TRUE(world.passes(request(0x1000)));
  ASSERT_TRUE(world.passes(reply));
  EXPECT_TRUE(world.passes(datagram(false, 0x77)));
  EXPECT_TRUE(world.passes(datagram(true, 0x99)));
  EXPECT_EQ(world.decide(datagram(false, 0x78)).doubt, Doubt::qkey);
}

TEST(FirewallState, AFloodOfRequestsPushesOutRequestsOnly) {
  FirewallOptions options;
  options.connections.most = 100;
  options.connections.most_half_open = 50;
  World world(kByState, "drop", options);
  const Exchange good;
  ASSERT_TRUE(world.connects(good));
  for (std::uint32_t i = 0; i < 1000; ++i) {
    Exchange flood;
    flood.a = Lid{9};
    flood.a_id = 1000 + i;
    ASSERT_TRUE(world.passes(flood.req()));
  }
  EXPECT_EQ(world.firewall.half_open(), 50u);
  EXPECT_EQ(world.firewall.connections(), 51u);
  EXPECT_TRUE(world.passes(good.data()));
  // Whoever is answered soon is not pushed out.
  Exchange another;
  another.a_id = 0x55;
  another.b_id = 0x56;
  another.a_qp = Qpn{0xA5};
  another.b_qp = Qpn{0xB5};
  EXPECT_TRUE(world.connects(another));
  EXPECT_TRUE(world.passes(another.data()));
}

TEST(FirewallState, AFullTableTakesNoOtherConnectionsButKeepsThoseItHas) {
  FirewallOptions options;
  options.connections.most = 10;
  options.connections.most_half_open = 5;
  World world(kByState, "drop", options);
  std::vector<Exchange> all;
  for (std::uint32_t i = 0; i < 10; ++i) {
    Exchange exchange;
    exchange.a_id = 100 + i;
    exchange.b_id = 200 + i;
    exchange.a_qp = Qpn{0x100 + i};
    exchange.b_qp = Qpn{0x200 + i};
    ASSERT_TRUE(world.connects(exchange));
    all.push_back(exchange);
  }
  Exchange late;
  late.a_id = 999;
  EXPECT_EQ(world.decide(late.req()).doubt, Doubt::table_full);
  for (const Exchange& exchange : all)
    EXPECT_TRUE(world.passes(exchange.data()));
}

TEST(FirewallState, AnswersARequestThatItRejects) {
  World world("service 0x1000 reject");
  const Exchange exchange;
  const Buffer bytes = test::make(exchange.req());
  const Fields fields = Fields::parse(bytes);
  EXPECT_EQ(world.decide(bytes).action, Action::reject);
  Buffer room(kMostRefusal);
  const auto refusal = refusal_of(fields, room);
  ASSERT_TRUE(refusal);
  EXPECT_TRUE(wire::check_link_crcs(*refusal).good());
  const Fields answer = Fields::parse(*refusal);
  EXPECT_EQ(answer.problem, Problem::kNone);
  EXPECT_EQ(answer.dlid, Lid{1});
  EXPECT_EQ(answer.dgid, Exchange::gid_of(Lid{1}));
  EXPECT_EQ(answer.cm.message, wire::CmMessage::kRej);
  EXPECT_EQ(answer.cm.remote_comm_id.value(), 0x11u);
  EXPECT_EQ(answer.cm.reason, 28);
  EXPECT_EQ(answer.mad.transaction, fields.mad.transaction);
  // Nothing else is answered: not even a refusal.
  EXPECT_FALSE(refusal_of(answer, room));
  EXPECT_FALSE(refusal_of(Fields::parse(test::make(exchange.data())), room));
}

}  // namespace
}  // namespace weft::service::firewall
