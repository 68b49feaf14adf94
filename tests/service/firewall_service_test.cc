// SPDX-License-Identifier: Apache-2.0
// The firewall in the hands of a runtime: verdicts for flows, counters, log, dry run, other rules.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "firewall_world.h"

namespace weft::service::firewall {
namespace {

constexpr const char* kRules =
    "ct state established opcode rdma-read drop\nct state established accept\n"
    "cm message req log prefix \"asked \" accept\nlog drop";

class Lines : public LogSink {
 public:
  void log(const Line& line, Time) override {
    lines.push_back(line.rule.log_prefix + std::string(line.chain));
    swallowed += line.swallowed;
  }
  std::vector<std::string> lines;
  std::uint64_t swallowed = 0;
};

Verdict handle(World& world, const Made& made) {
  Buffer bytes = test::make(made);
  Packet packet(bytes, {});
  return world.firewall.handle(packet, world.now);
}

TEST(FirewallService, IsAskedOncePerFlowOfAConnectionAndCountsWhatGoesBy) {
  World world(kRules);
  RecordingHost host;
  world.firewall.attach(host);
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  const Verdict first = handle(world, exchange.data());
  ASSERT_EQ(first.action(), Verdict::Action::kForward);
  ASSERT_TRUE(first.whole_flow());
  ASSERT_NE(first.tally(), nullptr);
  // REP and RTU, and this one.
  EXPECT_EQ(world.firewall.matched(1).packets, 3u);
  first.tally()->packets += 10;
  first.tally()->bytes += 3000;
  EXPECT_EQ(world.firewall.matched(1).packets, 13u);
  EXPECT_GE(world.firewall.matched(1).bytes, 3000u);
  EXPECT_EQ(world.firewall.matched(1).packets, 13u);
  // What goes by unseen keeps the connection alive.
  world.now += 23h;
  first.tally()->packets += 1;
  world.now += 2h;
  EXPECT_EQ(handle(world, exchange.data()).action(), Verdict::Action::kForward);
  EXPECT_TRUE(host.revoked.empty());
  ASSERT_TRUE(world.passes(exchange.dreq()));
  ASSERT_TRUE(world.passes(exchange.drep()));
  EXPECT_EQ(host.revoked.count(first.tag()), 1u);
  // What it had counted is not lost with it.
  EXPECT_GE(world.firewall.matched(1).packets, 15u);
}

// Each of a pair has the same rules; the second one sees nothing but what the first tells it.
TEST(FirewallService, GoesOnWithTheConnectionsOfTheInstanceThatItTakesOverFrom) {
  World first(kRules);
  World second(kRules);
  RecordingHost first_host;
  RecordingHost second_host;
  first.firewall.attach(first_host);
  second.firewall.attach(second_host);
  const auto tell = [&] {
    for (const Buffer& record : first_host.published)
      second.firewall.apply(record, second.now);
    first_host.published.clear();
  };
  const Exchange exchange;
  for (const Made& made : {exchange.req(), exchange.rep(), exchange.rtu()})
    ASSERT_EQ(handle(first, made).action(), Verdict::Action::kForward);
  EXPECT_FALSE(second.passes(exchange.data())) << "nobody has told it of the connection";
  tell();
  EXPECT_TRUE(second.passes(exchange.data()));
  EXPECT_TRUE(second.passes(exchange.data(true)));
  EXPECT_TRUE(second_host.published.empty()) << "they would tell each other for ever";
  // What the first one drops it does not tell, and an end is an end for both.
  Exchange closed;
  closed.b_qp = Qpn{0xB2};
  EXPECT_EQ(handle(first, closed.data()).action(), Verdict::Action::kDrop);
  EXPECT_TRUE(first_host.published.empty());
  ASSERT_EQ(handle(first, exchange.dreq()).action(), Verdict::Action::kForward);
  ASSERT_EQ(handle(first, exchange.drep()).action(), Verdict::Action::kForward);
  tell();
  EXPECT_FALSE(second.passes(exchange.data()));
}

TEST(FirewallService, CountsRecordsThatAreNone) {
  World world(kRules);
  const Exchange exchange;
  world.firewall.apply(test::make(exchange.data()), world.now);
  world.firewall.apply({}, world.now);
  const auto counters = world.firewall.counters();
  const auto bad = std::ranges::find(counters, "bad_records", &CounterValue::name);
  ASSERT_NE(bad, counters.end());
  EXPECT_EQ(bad->value, 2u);
  EXPECT_EQ(world.firewall.connections(), 0u);
}

TEST(FirewallService, IsAskedForEachPacketWhereRulesLookAtMoreThanTheFlow) {
  for (const char* rule : {"size > 4000 drop\n", "vl 9 drop\n",
                           "limit rate over 1000000/second drop\n", "message > 100000 drop\n"}) {
    World world(std::string(rule) + kRules);
    RecordingHost host;
    world.firewall.attach(host);
    const Exchange exchange;
    ASSERT_TRUE(world.connects(exchange));
    EXPECT_FALSE(handle(world, exchange.data()).whole_flow()) << rule;
  }
  // Never for what belongs to no connection.
  World world("accept");
  RecordingHost host;
  world.firewall.attach(host);
  EXPECT_FALSE(handle(world, test::datagram(Buffer(8))).whole_flow());
}

// Each opcode has its own way through the rules, and whoever sends them all does not make the
// firewall remember all of them.
TEST(FirewallService, RemembersABoundedNumberOfWaysThroughTheRules) {
  constexpr std::array<wire::Opcode, 10> kOpcodes{wire::Opcode::rc_send_first,
                                                  wire::Opcode::rc_send_middle,
                                                  wire::Opcode::rc_send_last,
                                                  wire::Opcode::rc_send_only,
                                                  wire::Opcode::rc_write_first,
                                                  wire::Opcode::rc_write_middle,
                                                  wire::Opcode::rc_write_last,
                                                  wire::Opcode::rc_write_only,
                                                  wire::Opcode::rc_send_only_invalidate,
                                                  wire::Opcode::rc_acknowledge};
  std::string rules;
  for (const wire::Opcode opcode : kOpcodes)
    rules += fmt::format("opcode {:#x} counter\n", static_cast<unsigned>(opcode));
  World world(rules + kRules);
  RecordingHost host;
  world.firewall.attach(host);
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  unsigned known = 0;
  for (const wire::Opcode opcode : kOpcodes) {
    const Verdict verdict = handle(world, exchange.data(false, opcode));
    EXPECT_EQ(verdict.action(), Verdict::Action::kForward);
    if (verdict.whole_flow()) ++known;
  }
  EXPECT_EQ(known, 8u);
}

TEST(FirewallService, SaysWhyItDrops) {
  World world(kRules);
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  const auto reason = [&](const Made& made) {
    const Verdict verdict = handle(world, made);
    EXPECT_EQ(verdict.action(), Verdict::Action::kDrop);
    return static_cast<DropReason>(verdict.reason());
  };
  EXPECT_EQ(reason(exchange.data(false, wire::Opcode::rc_read_request)), DropReason::kRule);
  Made guessed = exchange.data();
  guessed.bth.dest_qp = Qpn{9};
  EXPECT_EQ(reason(guessed), DropReason::kState);
  EXPECT_EQ(reason(test::datagram(Buffer(8))), DropReason::kRule);
  World closed("slid 99 accept");
  Buffer bytes = test::make(test::datagram(Buffer(8)));
  Packet packet(bytes, {});
  EXPECT_EQ(closed.firewall.handle(packet, closed.now).reason(),
            static_cast<std::uint16_t>(DropReason::kPolicy));
  EXPECT_EQ(closed.firewall.matched(Program::kPolicy).packets, 1u);
  EXPECT_EQ(world.firewall.drop_reasons().size(), static_cast<std::size_t>(DropReason::kCount));
}

TEST(FirewallService, SendsARefusalOfWhatIsRejected) {
  World world("cm message req reject\nreject");
  RecordingHost host;
  world.firewall.attach(host);
  EXPECT_EQ(handle(world, Exchange{}.req()).reason(),
            static_cast<std::uint16_t>(DropReason::kRejected));
  ASSERT_EQ(host.sent.size(), 1u);
  EXPECT_EQ(Fields::parse(host.sent[0]).cm.message, wire::CmMessage::kRej);
  EXPECT_EQ(handle(world, test::datagram(Buffer(8))).action(), Verdict::Action::kDrop);
  EXPECT_EQ(host.sent.size(), 1u);
}

TEST(FirewallService, ForwardsEverythingInADryRunAndSaysWhatItWouldDrop) {
  FirewallOptions options;
  options.dry_run = true;
  World world(kRules, "drop", options);
  EXPECT_EQ(handle(world, Exchange{}.data()).action(), Verdict::Action::kForward);
  EXPECT_EQ(handle(world, test::datagram(Buffer(8))).action(), Verdict::Action::kForward);
  EXPECT_EQ(world.firewall.would_drop(), 2u);
  EXPECT_EQ(world.firewall.matched(3).packets, 1u);
}

TEST(FirewallService, LogsAsManyLinesAsItsRateAllowsAndCountsTheRest) {
  Lines lines;
  World world(kRules, "drop", {}, &lines);
  ASSERT_TRUE(world.passes(Exchange{}.req()));
  ASSERT_EQ(lines.lines.size(), 1u);
  EXPECT_EQ(lines.lines[0], "asked forward");
  for (int i = 0; i < 100; ++i)
    EXPECT_FALSE(world.passes(test::datagram(Buffer(8))));
  EXPECT_EQ(lines.lines.size(), 10u);
  world.now += 1s;
  EXPECT_FALSE(world.passes(test::datagram(Buffer(8))));
  EXPECT_EQ(lines.lines.size(), 11u);
  EXPECT_EQ(lines.swallowed, 91u);
}

TEST(FirewallService, KeepsWhatOtherRulesPermitAndForgetsTheRest) {
  World world("ct state established accept\ncm message req accept\nsqp 0x42 accept");
  RecordingHost host;
  world.firewall.attach(host);
  Exchange one;
  one.private_data = {0, 7};
  Exchange two;
  two.service = wire::ServiceId{0x2000};
  two.a_id = 0x33;
  two.b_id = 0x44;
  two.a_qp = Qpn{0xA2};
  two.b_qp = Qpn{0xB2};
  ASSERT_TRUE(world.connects(one));
  ASSERT_TRUE(world.connects(two));
  ASSERT_TRUE(world.passes(test::datagram(Buffer(8))));
  ASSERT_TRUE(handle(world, one.data()).whole_flow());
  // The new ones look at private data, which the old ones did not.
  EXPECT_EQ(world.firewall.reload(program_of("ct state established accept\n"
                                             "cm private-data 1/1 7 cm message req accept"),
                                  world.now),
            1u);
  EXPECT_EQ(host.revoked_all, 1u);
  EXPECT_TRUE(world.passes(one.data()));
  EXPECT_FALSE(world.passes(two.data()));
  EXPECT_FALSE(world.passes(test::datagram(Buffer(8))));
  EXPECT_EQ(world.firewall.flows(), 0u);
  EXPECT_EQ(world.firewall.matched(0).packets, 1u);
  EXPECT_TRUE(handle(world, one.data()).whole_flow());
}

}  // namespace
}  // namespace weft::service::firewall
