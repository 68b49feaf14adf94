// SPDX-License-Identifier: Apache-2.0
// The firewall in the hands of a runtime: verdicts for flows, counters, log, dry run, other rules.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "firewall_world.h"
#include "service/firewall/packet_key.h"
#include "service/firewall/packet_text.h"

namespace weft::service::firewall {
namespace {

constexpr const char* kFirewallServiceRules =
    "ct state established opcode rdma-read drop\nct state established accept\n"
    "cm message req log prefix \"asked \" accept\nlog drop";

class Lines : public LogSink {
 public:
  bool log(const Line& line, Time) override {
    if (is_full) return false;
    lines.push_back(line.rule.log_prefix + std::string(line.chain));
    texts.push_back(log_text(line));
    swallowed += line.swallowed;
    return true;
  }
  std::vector<std::string> lines;
  std::vector<std::string> texts;
  std::uint64_t swallowed = 0;
  bool is_full = false;
};

std::uint64_t counter(const World& world, std::string_view name) {
  for (const CounterValue& each : world.firewall.counters()) {
    if (each.name == name) return each.value;
  }
  ADD_FAILURE() << name;
  return 0;
}

Verdict handle(World& world, const Made& made) {
  Buffer bytes = test::make(made);
  Packet packet(bytes, {});
  return world.firewall.handle(packet, world.now);
}

TEST(FirewallService, IsAskedOncePerFlowOfAConnectionAndCountsWhatGoesBy) {
  World world(kFirewallServiceRules);
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
  World first(kFirewallServiceRules);
  World second(kFirewallServiceRules);
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

// What the second of a pair knows when the first one goes.
class FirewallPair : public testing::Test {
 protected:
  FirewallPair() {
    first.firewall.attach(first_host);
    second.firewall.attach(second_host);
  }
  void tell() {
    for (const Buffer& record : std::exchange(first_host.published, {}))
      second.firewall.apply(record, second.now);
  }
  void wait(Duration time) {
    first.now += time;
    second.now += time;
    first.firewall.run(first.now);
    second.firewall.run(second.now);
  }
  static Made over_ipoib(std::uint16_t from, std::uint16_t to, std::uint8_t flags, bool back) {
    Made made = test::ipoib(0x0800, test::ipv4(6, test::tcp(from, to, flags)));
    made.deth.qkey = kIpoibQKey;
    if (!back) return made;
    wire::store_be32(made.payload.data() + 4 + 12, 0x0A000002);
    wire::store_be32(made.payload.data() + 4 + 16, 0x0A000001);
    return made;
  }
  const Made syn = over_ipoib(1000, 22, 2, false);
  const Made answer = over_ipoib(22, 1000, 0x12, true);
  const Made data = over_ipoib(22, 1000, 0x10, true);

  static constexpr const char* kInside =
      "ct state established accept\ncm message req accept\ntcp dport 22 accept";
  World first{kInside};
  World second{kInside};
  RecordingHost first_host;
  RecordingHost second_host;
};

TEST_F(FirewallPair, GoesOnWithFlowsOfIpInside) {
  ASSERT_EQ(handle(first, syn).action(), Verdict::Action::kForward);
  EXPECT_EQ(first_host.published.size(), 1u);
  tell();
  EXPECT_EQ(second.firewall.flows(), 1u);
  ASSERT_EQ(handle(first, answer).action(), Verdict::Action::kForward);
  EXPECT_EQ(first_host.published.size(), 1u);
  tell();
  // That it goes on is not said for each packet.
  for (int i = 0; i < 100; ++i)
    ASSERT_EQ(handle(first, data).action(), Verdict::Action::kForward);
  EXPECT_TRUE(first_host.published.empty());
  EXPECT_EQ(second.decide(data).state, ConnectionState::established);
  EXPECT_TRUE(second_host.published.empty()) << "they would tell each other for ever";
}

TEST_F(FirewallPair, KnowsFlowsForAsLongAsTheyAreInUse) {
  ASSERT_EQ(handle(first, syn).action(), Verdict::Action::kForward);
  ASSERT_EQ(handle(first, answer).action(), Verdict::Action::kForward);
  tell();
  for (int i = 0; i < 30; ++i) {
    wait(Flows::Limits{}.answered_tcp / 10);
    ASSERT_EQ(handle(first, data).action(), Verdict::Action::kForward);
    tell();
  }
  EXPECT_EQ(second.decide(data).state, ConnectionState::established);
  wait(Flows::Limits{}.answered_tcp + 1s);
  EXPECT_FALSE(second.passes(data));
}

TEST_F(FirewallPair, TakesNoFlowThatItsOwnRulesForbid) {
  World strict("ct state established accept\ntcp dport 23 accept");
  ASSERT_EQ(handle(first, syn).action(), Verdict::Action::kForward);
  strict.firewall.apply(first_host.published.front(), strict.now);
  EXPECT_EQ(strict.firewall.flows(), 0u);
}

TEST_F(FirewallPair, IsNotToldThatWhatBeginsWasLetThroughBefore) {
  World strict("ct state established accept\ntcp dport 23 accept");
  ASSERT_EQ(handle(first, syn).action(), Verdict::Action::kForward);
  const auto told = read_state_record(first_host.published.front());
  ASSERT_TRUE(told);
  FlowState flow = std::get<FlowState>(*told);
  flow.request.set(Field::state, static_cast<std::uint64_t>(ConnectionState::established));
  strict.firewall.apply(record_of(flow.id, flow.answered, flow.request), strict.now);
  EXPECT_EQ(strict.firewall.flows(), 0u);
  flow.request.remove(Field::state);
  strict.firewall.apply(record_of(flow.id, flow.answered, flow.request), strict.now);
  EXPECT_EQ(strict.firewall.flows(), 0u);
  const auto counters = strict.firewall.counters();
  EXPECT_EQ(std::ranges::find(counters, "bad_records", &CounterValue::name)->value, 2u);
}

TEST_F(FirewallPair, LearnsAllByASnapshotWhenItBegins) {
  const Exchange exchange;
  for (const Made& made : {exchange.req(), exchange.rep(), exchange.rtu()})
    ASSERT_EQ(handle(first, made).action(), Verdict::Action::kForward);
  Exchange asked;
  asked.a_id = 0x33;
  asked.b_id = 0x44;
  asked.a_qp = Qpn{0xA3};
  asked.b_qp = Qpn{0xB3};
  ASSERT_EQ(handle(first, asked.req()).action(), Verdict::Action::kForward);
  ASSERT_EQ(handle(first, syn).action(), Verdict::Action::kForward);
  ASSERT_EQ(handle(first, answer).action(), Verdict::Action::kForward);
  first_host.published.clear();
  struct Sink final : Service::RecordSink {
    void take(Bytes record) override {
      EXPECT_LE(record.size(), Host::kMostRecord);
      all.emplace_back(record.begin(), record.end());
    }
    std::vector<Buffer> all;
  } sink;
  first.firewall.snapshot(sink);
  EXPECT_EQ(sink.all.size(), 3u);
  for (int times = 0; times < 2; ++times) {
    for (const Buffer& record : sink.all)
      second.firewall.apply(record, second.now);
  }
  EXPECT_EQ(second.firewall.connections(), 2u);
  EXPECT_EQ(second.firewall.half_open(), 1u);
  EXPECT_TRUE(second.passes(exchange.data()));
  EXPECT_TRUE(second.passes(exchange.data(true)));
  EXPECT_TRUE(second.passes(asked.rep())) << "who was asked may answer";
  EXPECT_EQ(second.decide(data).state, ConnectionState::established);
  EXPECT_TRUE(second.passes(exchange.dreq()));
  EXPECT_TRUE(second.passes(exchange.drep()));
  EXPECT_FALSE(second.passes(exchange.data()));
  // Records cut short, or longer than they are, are none.
  const auto before = second.firewall.counters();
  for (const Buffer& record : sink.all) {
    for (std::size_t size = 1; size < record.size(); ++size)
      second.firewall.apply(Bytes(record).first(size), second.now);
    Buffer longer = record;
    longer.push_back({});
    second.firewall.apply(longer, second.now);
  }
  const auto bad = [](const std::vector<CounterValue>& counters) {
    return std::ranges::find(counters, "bad_records", &CounterValue::name)->value;
  };
  std::size_t none = 0;
  for (const Buffer& record : sink.all)
    none += record.size();
  EXPECT_EQ(bad(second.firewall.counters()) - bad(before), none);
}

TEST(FirewallService, CountsRecordsThatAreNone) {
  World world(kFirewallServiceRules);
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
    World world(std::string(rule) + kFirewallServiceRules);
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
  World world(rules + kFirewallServiceRules);
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
  World world(kFirewallServiceRules);
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
  World world(kFirewallServiceRules, "drop", options);
  EXPECT_EQ(handle(world, Exchange{}.data()).action(), Verdict::Action::kForward);
  EXPECT_EQ(handle(world, test::datagram(Buffer(8))).action(), Verdict::Action::kForward);
  EXPECT_EQ(world.firewall.would_drop(), 2u);
  EXPECT_EQ(counter(world, "would_drop"), 2u);
  EXPECT_EQ(world.firewall.matched(3).packets, 1u);
}

TEST(FirewallService, LogsAsManyLinesAsItsRateAllowsAndCountsTheRest) {
  Lines lines;
  World world(kFirewallServiceRules, "drop", {}, &lines);
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
  EXPECT_EQ(counter(world, "log_lines"), 11u);
  EXPECT_EQ(counter(world, "log_lines_swallowed"), 91u);
}

TEST(FirewallService, SaysInTheNextLineWhatTheLogHadNoRoomFor) {
  Lines lines;
  World world(kFirewallServiceRules, "drop", {}, &lines);
  lines.is_full = true;
  EXPECT_FALSE(world.passes(test::datagram(Buffer(8))));
  EXPECT_FALSE(world.passes(test::datagram(Buffer(8))));
  EXPECT_EQ(counter(world, "log_lines_swallowed"), 2u);
  lines.is_full = false;
  EXPECT_FALSE(world.passes(test::datagram(Buffer(8))));
  ASSERT_EQ(lines.texts.size(), 1u);
  EXPECT_THAT(lines.texts[0], testing::EndsWith("; 2 lines before it left out"));
  EXPECT_FALSE(world.passes(test::datagram(Buffer(8))));
  EXPECT_THAT(lines.texts[1], testing::EndsWith(" bytes")) << "they are said once";
}

TEST(FirewallService, SaysOfAPacketWhatBecameOfItAndBetweenWhom) {
  Lines lines;
  FirewallOptions options;
  World world("cm message req log\nservice 0x1000 accept\nlog drop", "drop", options, &lines);
  const Exchange exchange;
  ASSERT_TRUE(world.passes(exchange.req()));
  EXPECT_FALSE(world.passes(test::datagram(Buffer(8))));
  options.dry_run = true;
  World dry("log", "drop", options, &lines);
  EXPECT_EQ(handle(dry, test::datagram(Buffer(8))).action(), Verdict::Action::kForward);
  ASSERT_EQ(lines.texts.size(), 3u);
  EXPECT_THAT(lines.texts[0], testing::HasSubstr("line 4 of forward: accept (line 5) "));
  EXPECT_THAT(lines.texts[0], testing::HasSubstr(" REQ service 0x1000, "));
  EXPECT_THAT(lines.texts[0], testing::HasSubstr(", new cm, "));
  EXPECT_THAT(lines.texts[1],
              testing::StartsWith("line 6 of forward: drop 1:0x42 > 2:0x55 UD SEND Only, "));
  EXPECT_THAT(lines.texts[2], testing::StartsWith("line 4 of forward: would drop (policy) "));
}

// Else a connection would be logged once for each opcode.
TEST(FirewallService, LogsEachPacketOfAConnectionThatARuleLogs) {
  Lines lines;
  World world("ct state established log accept\ncm message req accept", "drop", {}, &lines);
  RecordingHost host;
  world.firewall.attach(host);
  const Exchange exchange;
  ASSERT_TRUE(world.connects(exchange));
  const std::size_t before = lines.lines.size();
  EXPECT_FALSE(handle(world, exchange.data()).whole_flow());
  EXPECT_FALSE(handle(world, exchange.data()).whole_flow());
  EXPECT_EQ(lines.lines.size(), before + 2);
  EXPECT_EQ(counter(world, "log_lines"), lines.lines.size());
}

TEST(FirewallService, LogsNothingThatAnotherInstanceHasLetThrough) {
  Lines lines;
  World world(kFirewallServiceRules, "drop", {}, &lines);
  world.firewall.apply(test::make(Exchange{}.req()), world.now);
  EXPECT_EQ(counter(world, "applied"), 1u);
  EXPECT_EQ(world.firewall.half_open(), 1u);
  EXPECT_TRUE(lines.lines.empty());
  EXPECT_FALSE(world.passes(test::datagram(Buffer(8))));
  EXPECT_EQ(lines.lines.size(), 1u);
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
