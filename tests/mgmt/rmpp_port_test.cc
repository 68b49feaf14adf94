// SPDX-License-Identifier: Apache-2.0
// Long messages within a port: who waits for them, who is shown them, and how many there may be.
#include <gtest/gtest.h>

#include "rmpp_messages.h"

namespace weft::mgmt::test {
namespace {

class RmppClient final : public MadClient {
 public:
  void received(AgentId, const ReceivedMad& mad) override {
    messages.emplace_back(mad.mad.begin(), mad.mad.end());
    cookie = mad.cookie;
  }
  void finished(AgentId, std::uint64_t, Bytes, MadResult result) override {
    results.push_back(result);
  }
  std::vector<std::vector<std::byte>> messages;
  std::vector<MadResult> results;
  std::optional<std::uint64_t> cookie;
};

constexpr AgentRequest kAsker{
    .mgmt_class = MgmtClass::kSubnAdm, .class_version = wire::kSaClassVersion, .rmpp = true};

struct RmppPort {
  explicit RmppPort(const MadLimits& limits = {})
      : node(wire::NodeType::kChannelAdapter, 1, 1, "rmpp"), port(node, 1, outlet, limits) {
    node.infos[1].lid = Lid{8};
  }
  bool arrive(const MadBuffer& mad, Time now = {}) {
    return port.receive({.port = 1,
                         .slid = Lid{3},
                         .dlid = Lid{8},
                         .source_qp = kQp1,
                         .dest_qp = kQp1,
                         .qkey = kGsiQKey},
                        mad, now);
  }
  // An acknowledgement of what `sent` is part of, from where it went.
  void acknowledge(const SentMad& sent, const RmppHeader& header, Time now = {}) {
    MadBuffer mad = sent.mad;
    wire::store_u8(mad.data() + 3, wire::load_u8(mad.data() + 3) ^ wire::kResponseBit);
    header.write(mad);
    arrive(mad, now);
  }
  ModelNode node;
  KeptMads outlet;
  RmppClient client;
  MadPort port;
};

constexpr MadAddress kManager{.lid = Lid{3}, .qpn = kQp1, .qkey = kGsiQKey};

TEST(RmppPort, WaitsForALongAnswerAsLongAsItComes) {
  RmppPort node;
  const AgentId agent = *node.port.add_agent(kAsker, node.client);
  const MadBuffer ask = make_mad(MgmtClass::kSubnAdm, 2, MadMethod::kGetTable, 0x11, 0, 5);
  ASSERT_TRUE(node.port.send(
      agent, {.to = kManager, .mad = ask, .timeout = 1s, .retries = 3, .cookie = 17}, at(0s)));
  const std::uint64_t id = node.outlet.take().header().transaction_id;
  RmppSender sender(message_of(3 * kSegment, id), kOffset);
  node.arrive(burst(sender).at(0), at(900ms));
  EXPECT_EQ(header_of(node.outlet.take().mad).type, RmppType::kAck);
  // The request is not sent again while its answer comes in.
  node.port.run(at(2s));
  EXPECT_TRUE(node.outlet.all.empty());
  ASSERT_EQ(sender.acknowledge(ack(1, 64)).outcome, RmppSender::Outcome::kProgress);
  for (const MadBuffer& mad : burst(sender))
    node.arrive(mad, at(2s));
  EXPECT_EQ(header_of(node.outlet.take().mad).segment, 3u);
  ASSERT_EQ(node.client.messages.size(), 1u);
  EXPECT_TRUE(same(node.client.messages[0], sender.message()));
  EXPECT_EQ(node.client.cookie, 17u);
  EXPECT_TRUE(node.client.results.empty());
  // It is remembered for a while, then forgotten.
  node.port.run(at(1h));
  EXPECT_FALSE(node.port.deadline());
  EXPECT_TRUE(node.outlet.all.empty());
}

TEST(RmppPort, SendsALongAnswerAgainUntilItIsAcknowledgedOrGivesUp) {
  RmppPort node;
  const AgentId agent = *node.port.add_agent(kAsker, node.client);
  const std::vector<std::byte> message = message_of(3 * kSegment);
  ASSERT_TRUE(node.port.send(agent, {.to = kManager, .mad = message}, at(0s)));
  const SentMad first = node.outlet.take();
  for (int i = 1; i <= 3; ++i) {
    ASSERT_TRUE(node.port.deadline());
    node.port.run(*node.port.deadline());
    EXPECT_EQ(node.outlet.take().mad, first.mad);
  }
  node.acknowledge(first, ack(1, 64), at(7s));
  EXPECT_EQ(node.outlet.all.size(), 2u);
  node.acknowledge(first, ack(3, 64), at(7s));
  EXPECT_EQ(node.client.results, std::vector{MadResult::kSent});
  EXPECT_FALSE(node.port.deadline());

  node.outlet.all.clear();
  ASSERT_TRUE(node.port.send(agent, {.to = kManager, .mad = message}, at(10s)));
  while (node.port.deadline())
    node.port.run(*node.port.deadline());
  EXPECT_EQ(node.client.results.back(), MadResult::kTimedOut);
  const SentMad last = node.outlet.all.back();
  EXPECT_EQ(header_of(last.mad).type, RmppType::kAbort);
  EXPECT_EQ(header_of(last.mad).status, RmppStatus::kTooManyRetries);
  EXPECT_EQ(last.header().method, MadMethod::kGetTableResponse);
}

TEST(RmppPort, TakesALongMessageByItsActiveFlagAlone) {
  // As OpenSM hands it over: a request's header of no RMPP, and the flag.
  RmppPort node;
  const AgentId agent = *node.port.add_agent(kAsker, node.client);
  std::vector<std::byte> message = message_of(3 * kSegment);
  RmppHeader{.version = 0, .flags = wire::kRmppActive}.write(message);
  ASSERT_TRUE(node.port.send(agent, {.to = kManager, .mad = message}, at(0s)));
  const RmppHeader first = header_of(node.outlet.take().mad);
  EXPECT_EQ(first.version, RmppHeader::kVersion);
  EXPECT_EQ(first.type, RmppType::kData);
  EXPECT_EQ(first.segment, 1u);
}

TEST(RmppPort, EndsAMessageThatThePeerStopsOrAcknowledgesWrongly) {
  for (const RmppType type : {RmppType::kStop, RmppType::kAbort, RmppType::kAck}) {
    RmppPort node;
    const AgentId agent = *node.port.add_agent(kAsker, node.client);
    const std::vector<std::byte> message = message_of(3 * kSegment);
    ASSERT_TRUE(node.port.send(agent, {.to = kManager, .mad = message}, {}));
    RmppHeader header = ack(9, 1);  // as an acknowledgement it makes no sense
    header.type = type;
    node.acknowledge(node.outlet.take(), header);
    EXPECT_EQ(node.client.results, std::vector{MadResult::kAborted});
    EXPECT_FALSE(node.port.deadline());
    if (type == RmppType::kAck) {
      EXPECT_EQ(header_of(node.outlet.take().mad).status, RmppStatus::kWindowTooSmall);
    }
  }
}

TEST(RmppPort, PutsLongRequestsTogetherForWhoeverHasClaimedThem) {
  RmppPort node;
  AgentRequest request = kAsker;
  request.methods.set(static_cast<std::size_t>(MadMethod::kGetMulti));
  ASSERT_TRUE(node.port.add_agent(request, node.client));
  std::vector<std::byte> message = message_of(2 * kSegment);
  wire::store_u8(message.data() + 3, static_cast<std::uint8_t>(MadMethod::kGetMulti));
  RmppSender sender(message, kOffset);
  EXPECT_TRUE(node.arrive(burst(sender).at(0)));
  const SentMad answer = node.outlet.take();
  EXPECT_EQ(answer.header().method, MadMethod::kGetMultiResponse);
  ASSERT_EQ(sender.acknowledge(header_of(answer.mad)).outcome, RmppSender::Outcome::kProgress);
  node.arrive(burst(sender).at(0));
  ASSERT_EQ(node.client.messages.size(), 1u);
  EXPECT_TRUE(same(node.client.messages[0], message));
  EXPECT_FALSE(node.client.cookie);
}

TEST(RmppPort, ShowsAnAgentNothingOfMessagesThatAreOver) {
  RmppPort node;
  AgentRequest request = kAsker;
  request.methods.set(static_cast<std::size_t>(MadMethod::kGetTable));
  ASSERT_TRUE(node.port.add_agent(request, node.client));
  for (const RmppType type : {RmppType::kAck, RmppType::kStop, RmppType::kAbort,
                              static_cast<RmppType>(9), RmppType::kNone}) {
    MadBuffer mad = make_mad(MgmtClass::kSubnAdm, 2, MadMethod::kGetTable, 0x11);
    RmppHeader{.type = type, .flags = wire::kRmppActive, .segment = 4}.write(mad);
    EXPECT_TRUE(node.arrive(mad));
  }
  EXPECT_TRUE(node.client.messages.empty());
  EXPECT_TRUE(node.outlet.all.empty());
}

TEST(RmppPort, GivesEverySegmentToAnAgentThatDoesItByItself) {
  RmppPort node;
  AgentRequest request = kAsker;
  request.rmpp = false;
  request.methods.set(static_cast<std::size_t>(MadMethod::kGetMulti));
  ASSERT_TRUE(node.port.add_agent(request, node.client));
  std::vector<std::byte> message = message_of(kSegment);
  wire::store_u8(message.data() + 3, static_cast<std::uint8_t>(MadMethod::kGetMulti));
  RmppSender sender(message, kOffset);
  EXPECT_TRUE(node.arrive(burst(sender).at(0)));
  EXPECT_EQ(node.client.messages.at(0).size(), wire::kMadSize);
  EXPECT_TRUE(node.outlet.all.empty());
}

TEST(RmppPort, BoundsWhatComesInAtOnce) {
  RmppPort node(
      {.message = 64 * wire::kMadSize, .reassembly = 8 * wire::kMadSize, .reassemblies = 3});
  AgentRequest request = kAsker;
  request.methods.set(static_cast<std::size_t>(MadMethod::kGetMulti));
  ASSERT_TRUE(node.port.add_agent(request, node.client));
  for (std::uint64_t id = 0; id < 4; ++id) {
    std::vector<std::byte> message = message_of(20 * kSegment, id);
    wire::store_u8(message.data() + 3, static_cast<std::uint8_t>(MadMethod::kGetMulti));
    RmppSender sender(message, kOffset);
    node.arrive(burst(sender).at(0));
    const RmppHeader answer = header_of(node.outlet.take().mad);
    EXPECT_EQ(answer.type, id < 3 ? RmppType::kAck : RmppType::kStop) << id;
    EXPECT_EQ(answer.status, id < 3 ? RmppStatus::kNormal : RmppStatus::kResourcesExhausted);
    if (id != 2) continue;
    ASSERT_EQ(sender.acknowledge(answer).outcome, RmppSender::Outcome::kProgress);
    for (const MadBuffer& mad : burst(sender))
      node.arrive(mad);
    EXPECT_EQ(header_of(node.outlet.all.front().mad).type, RmppType::kStop);
    node.outlet.all.clear();
    // It has made room by that.
    EXPECT_TRUE(node.client.messages.empty());
    std::vector<std::byte> brief = message_of(kSegment, 77);
    wire::store_u8(brief.data() + 3, static_cast<std::uint8_t>(MadMethod::kGetMulti));
    RmppSender other(brief, kOffset);
    node.arrive(burst(other).at(0));
    EXPECT_EQ(header_of(node.outlet.take().mad).type, RmppType::kAck);
    EXPECT_EQ(node.client.messages.size(), 1u);
  }
  // What pauses too long is forgotten.
  while (node.port.deadline())
    node.port.run(*node.port.deadline());
  std::vector<std::byte> message = message_of(2 * kSegment, 9);
  wire::store_u8(message.data() + 3, static_cast<std::uint8_t>(MadMethod::kGetMulti));
  RmppSender sender(message, kOffset);
  node.arrive(burst(sender).at(0), at(1h));
  EXPECT_EQ(header_of(node.outlet.take().mad).type, RmppType::kAck);
}

TEST(RmppPort, RefusesMessagesOfAnotherVersion) {
  RmppPort node;
  AgentRequest request = kAsker;
  request.methods.set(static_cast<std::size_t>(MadMethod::kGetMulti));
  ASSERT_TRUE(node.port.add_agent(request, node.client));
  MadBuffer mad = make_mad(MgmtClass::kSubnAdm, 2, MadMethod::kGetMulti, 0x3A);
  RmppHeader{.version = 2,
             .type = RmppType::kData,
             .flags = wire::kRmppActive | wire::kRmppFirst,
             .segment = 1}
      .write(mad);
  node.arrive(mad);
  const RmppHeader answer = header_of(node.outlet.take().mad);
  EXPECT_EQ(answer.type, RmppType::kAbort);
  EXPECT_EQ(answer.status, RmppStatus::kUnsupportedVersion);
}

TEST(RmppPort, RefusesMessagesThatAreTooLongOrEndInTheirHeaders) {
  RmppPort node({.message = 1000});
  const AgentId agent = *node.port.add_agent(kAsker, node.client);
  const std::vector<std::byte> message = message_of(1000);
  const auto too_long = node.port.send(agent, {.to = kManager, .mad = message}, {});
  ASSERT_FALSE(too_long);
  EXPECT_EQ(too_long.error().code, std::errc::message_size);
  const auto too_short =
      node.port.send(agent, {.to = kManager, .mad = Bytes(message).first(55)}, {});
  ASSERT_FALSE(too_short);
  EXPECT_EQ(too_short.error().code, std::errc::invalid_argument);
  const auto no_rmpp =
      node.port.add_agent({.mgmt_class = MgmtClass::kPerf, .rmpp = true}, node.client);
  ASSERT_FALSE(no_rmpp);
  EXPECT_EQ(no_rmpp.error().code, std::errc::invalid_argument);
}

}  // namespace
}  // namespace weft::mgmt::test
