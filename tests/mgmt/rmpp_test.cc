// SPDX-License-Identifier: Apache-2.0
// Long messages: how they are cut up and put together, segment by segment, and what a peer that
// breaks the protocol gets.
#include <gtest/gtest.h>

#include <numeric>

#include "mad_fixture.h"
#include "mgmt/mad/rmpp_receiver.h"
#include "mgmt/mad/rmpp_sender.h"
#include "wire/sa/sa_header.h"

namespace weft::mgmt::test {
namespace {

using wire::RmppHeader;
using wire::RmppStatus;
using wire::RmppType;
using Outcome = RmppReceiver::Outcome;

constexpr std::size_t kOffset = wire::SaHeader::kDataOffset;
constexpr std::size_t kSegment = wire::SaHeader::kDataSize;

// An answer of the subnet administrator with `data` bytes of records.
std::vector<std::byte> message_of(std::size_t data, std::uint64_t transaction_id = 99) {
  std::vector<std::byte> message(kOffset + data);
  wire::MadHeader{.mgmt_class = MgmtClass::kSubnAdm,
                  .class_version = wire::kSaClassVersion,
                  .method = MadMethod::kGetTableResponse,
                  .transaction_id = transaction_id,
                  .attribute_id = 0x11}
      .write(message);
  RmppHeader{.type = RmppType::kData, .flags = wire::kRmppActive}.write(message);
  wire::SaHeader{.attribute_offset = 14}.write(message);
  for (std::size_t i = 0; i < data; ++i) {
    message[kOffset + i] = static_cast<std::byte>(i * 7 + i / 251);
  }
  return message;
}

RmppHeader header_of(const MadBuffer& mad) {
  return *RmppHeader::parse(mad);
}

RmppHeader ack(std::uint32_t segment, std::uint32_t window_last) {
  return {.type = RmppType::kAck,
          .flags = wire::kRmppActive,
          .segment = segment,
          .length_or_window = window_last};
}

// All that the sender may send now.
std::vector<MadBuffer> burst(RmppSender& sender) {
  std::vector<MadBuffer> all;
  for (MadBuffer mad{}; sender.next(mad);)
    all.push_back(mad);
  return all;
}

// What was put together: RMPP's own header aside, the message that was sent.
bool same(Bytes received, Bytes sent) {
  constexpr std::size_t kBehind = RmppHeader::kOffset + RmppHeader::kSize;
  return received.size() == sent.size() &&
         std::equal(sent.begin(), sent.begin() + RmppHeader::kOffset, received.begin()) &&
         std::equal(sent.begin() + kBehind, sent.end(), received.begin() + kBehind);
}

TEST(RmppSender, CountsTheClassHeaderInEverySegmentsLength) {
  RmppSender sender(message_of(2 * kSegment + 10), kOffset);
  EXPECT_EQ(sender.segments(), 3u);
  std::vector<MadBuffer> sent = burst(sender);
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(header_of(sent[0]).segment, 1u);
  EXPECT_EQ(header_of(sent[0]).flags, wire::kRmppActive | wire::kRmppFirst);
  EXPECT_EQ(header_of(sent[0]).length_or_window, 2 * kSegment + 10 + 3 * 20);
  ASSERT_EQ(sender.acknowledge(ack(1, 64)).outcome, RmppSender::Outcome::kProgress);
  sent = burst(sender);
  ASSERT_EQ(sent.size(), 2u);
  EXPECT_EQ(header_of(sent[0]).flags, wire::kRmppActive);
  EXPECT_EQ(header_of(sent[1]).flags, wire::kRmppActive | wire::kRmppLast);
  EXPECT_EQ(header_of(sent[1]).length_or_window, 30u);
  EXPECT_EQ(sent[1][255], std::byte{0});
  EXPECT_FALSE(sender.done());
  ASSERT_EQ(sender.acknowledge(ack(3, 64)).outcome, RmppSender::Outcome::kProgress);
  EXPECT_TRUE(sender.done());
}

TEST(RmppSender, MakesOneSegmentOfAMessageThatFitsOrIsEmpty) {
  for (const std::size_t data : {std::size_t{0}, std::size_t{1}, kSegment}) {
    RmppSender sender(message_of(data), kOffset);
    const std::vector<MadBuffer> sent = burst(sender);
    ASSERT_EQ(sent.size(), 1u);
    EXPECT_EQ(header_of(sent[0]).flags, wire::kRmppActive | wire::kRmppFirst | wire::kRmppLast);
    EXPECT_EQ(header_of(sent[0]).length_or_window, data + 20);
  }
}

TEST(RmppSender, StaysWithinTheWindowAndGoesBackToWhatWasNotAcknowledged) {
  RmppSender sender(message_of(20 * kSegment), kOffset);
  burst(sender);
  ASSERT_EQ(sender.acknowledge(ack(1, 5)).outcome, RmppSender::Outcome::kProgress);
  EXPECT_EQ(burst(sender).size(), 4u);
  EXPECT_TRUE(burst(sender).empty());
  sender.go_back();
  const std::vector<MadBuffer> again = burst(sender);
  ASSERT_EQ(again.size(), 4u);
  EXPECT_EQ(header_of(again[0]).segment, 2u);
  // What was acknowledged late is not sent a third time.
  sender.go_back();
  ASSERT_EQ(sender.acknowledge(ack(4, 8)).outcome, RmppSender::Outcome::kProgress);
  EXPECT_EQ(header_of(burst(sender).at(0)).segment, 5u);
}

TEST(RmppSender, IgnoresAcknowledgementsThatAreOld) {
  RmppSender sender(message_of(20 * kSegment), kOffset);
  burst(sender);
  ASSERT_EQ(sender.acknowledge(ack(1, 5)).outcome, RmppSender::Outcome::kProgress);
  burst(sender);
  ASSERT_EQ(sender.acknowledge(ack(3, 8)).outcome, RmppSender::Outcome::kProgress);
  EXPECT_EQ(sender.acknowledge(ack(1, 5)).outcome, RmppSender::Outcome::kOld);
  EXPECT_EQ(sender.acknowledge(ack(3, 8)).outcome, RmppSender::Outcome::kOld);
  EXPECT_EQ(sender.acknowledge(ack(2, 9)).outcome, RmppSender::Outcome::kOld);
}

TEST(RmppSender, AbortsOnAcknowledgementsThatContradictIt) {
  const auto answer_to = [](const RmppHeader& header) {
    RmppSender sender(message_of(20 * kSegment), kOffset);
    burst(sender);
    return sender.acknowledge(header);
  };
  EXPECT_EQ(answer_to(ack(3, 2)).status, RmppStatus::kWindowTooSmall);
  EXPECT_EQ(answer_to(ack(2, 9)).status, RmppStatus::kSegmentTooBig);
  EXPECT_EQ(answer_to(ack(0xFFFF'FFFF, 0xFFFF'FFFF)).status, RmppStatus::kSegmentTooBig);
  RmppHeader failed = ack(1, 5);
  failed.status = RmppStatus::kUnspecified;
  EXPECT_EQ(answer_to(failed).status, RmppStatus::kIllegalStatus);
  EXPECT_EQ(answer_to(failed).outcome, RmppSender::Outcome::kAbort);
}

// A receiver, and a message cut up for it.
struct Receiving {
  explicit Receiving(std::size_t data, std::size_t limit = 1 << 20)
      : message(message_of(data)), receiver(kOffset, limit) {
    RmppSender sender(message, kOffset);
    segments = burst(sender);
    const auto count = static_cast<std::uint32_t>(sender.segments());
    (void)sender.acknowledge(ack(1, count));
    for (const MadBuffer& mad : burst(sender))
      segments.push_back(mad);
  }
  RmppReceiver::Answer give(std::size_t index) { return give(segments.at(index)); }
  RmppReceiver::Answer give(const MadBuffer& mad) { return receiver.receive(header_of(mad), mad); }
  RmppHeader acknowledgement() {
    MadBuffer mad = segments[0];
    receiver.write_ack(mad);
    EXPECT_EQ(wire::MadHeader::parse(mad)->method, MadMethod::kGetTable);
    EXPECT_EQ(mad[200], std::byte{0});
    return header_of(mad);
  }
  std::vector<std::byte> message;
  std::vector<MadBuffer> segments;
  RmppReceiver receiver;
};

TEST(RmppReceiver, OpensItsWindowWithTheFirstSegmentAndAcknowledgesWholeWindows) {
  Receiving in(100 * kSegment);
  EXPECT_EQ(in.give(0).outcome, Outcome::kAcknowledge);
  EXPECT_EQ(in.acknowledgement().segment, 1u);
  EXPECT_EQ(in.acknowledgement().length_or_window, RmppReceiver::kWindow);
  for (std::size_t i = 1; i < 63; ++i)
    EXPECT_EQ(in.give(i).outcome, Outcome::kKept);
  EXPECT_EQ(in.give(63).outcome, Outcome::kAcknowledge);
  EXPECT_EQ(in.acknowledgement().segment, 64u);
  EXPECT_EQ(in.acknowledgement().length_or_window, 128u);
  for (std::size_t i = 64; i < 99; ++i)
    EXPECT_EQ(in.give(i).outcome, Outcome::kKept);
  EXPECT_EQ(in.give(99).outcome, Outcome::kComplete);
  EXPECT_TRUE(same(in.receiver.take(), in.message));
}

TEST(RmppReceiver, PutsSegmentsInOrder) {
  Receiving in(7 * kSegment + 1);
  EXPECT_EQ(in.give(0).outcome, Outcome::kAcknowledge);
  for (const std::size_t i : {7u, 3u, 2u, 6u, 5u, 4u})
    EXPECT_EQ(in.give(i).outcome, Outcome::kKept);
  EXPECT_EQ(in.give(1).outcome, Outcome::kComplete);
  EXPECT_TRUE(same(in.receiver.take(), in.message));
}

TEST(RmppReceiver, AcknowledgesTheLastOneAgainWhenItIsRepeated) {
  Receiving in(2 * kSegment);
  in.give(0);
  EXPECT_EQ(in.give(0).outcome, Outcome::kAcknowledge);
  EXPECT_EQ(in.give(1).outcome, Outcome::kComplete);
  EXPECT_TRUE(same(in.receiver.take(), in.message));
  EXPECT_EQ(in.give(0).outcome, Outcome::kNothing);
  EXPECT_EQ(in.give(1).outcome, Outcome::kAcknowledge);
  EXPECT_EQ(in.acknowledgement().segment, 2u);
}

TEST(RmppReceiver, IgnoresWhatLiesBeyondItsWindow) {
  Receiving in(100 * kSegment);
  in.give(0);
  EXPECT_EQ(in.give(64).outcome, Outcome::kNothing);
  EXPECT_EQ(in.receiver.memory(), wire::kMadSize);
}

TEST(RmppReceiver, AbortsAMessageThatContradictsItself) {
  const auto answer_to = [](auto&& change) {
    Receiving in(3 * kSegment);
    in.give(0);
    MadBuffer mad = in.segments[1];
    RmppHeader header = header_of(mad);
    change(header);
    header.write(mad);
    return in.give(mad);
  };
  EXPECT_EQ(answer_to([](RmppHeader& h) { h.flags |= wire::kRmppFirst; }).status,
            RmppStatus::kInconsistentFirst);
  EXPECT_EQ(answer_to([](RmppHeader& h) { h.segment = 1; }).status, RmppStatus::kInconsistentFirst);
  EXPECT_EQ(answer_to([](RmppHeader& h) { h.segment = 0; }).status, RmppStatus::kInconsistentFirst);
  EXPECT_EQ(answer_to([](RmppHeader& h) { h.status = RmppStatus::kUnspecified; }).status,
            RmppStatus::kIllegalStatus);
  for (const std::uint32_t length : {0u, 19u, 221u, 0xFFFF'FFFFu}) {
    EXPECT_EQ(answer_to([&](RmppHeader& h) {
                h.flags |= wire::kRmppLast;
                h.length_or_window = length;
              }).status,
              RmppStatus::kInconsistentLength);
  }
  // Segments behind the last one, whichever of them comes first.
  Receiving in(3 * kSegment);
  in.give(0);
  in.give(2);
  MadBuffer behind = in.segments[1];
  RmppHeader header = header_of(behind);
  header.segment = 4;
  header.write(behind);
  EXPECT_EQ(in.give(behind).status, RmppStatus::kInconsistentLength);
  Receiving other(5 * kSegment);
  other.give(0);
  other.give(3);
  MadBuffer early_last = other.segments[2];
  header = header_of(early_last);
  header.flags |= wire::kRmppLast;
  header.length_or_window = 30;
  header.write(early_last);
  EXPECT_EQ(other.give(early_last).status, RmppStatus::kInconsistentLength);
}

TEST(RmppReceiver, StopsAMessageThatIsTooLong) {
  Receiving in(10 * kSegment, 5 * wire::kMadSize);
  std::size_t taken = 0;
  while (in.give(taken).outcome != Outcome::kStop)
    ++taken;
  EXPECT_GE(taken, 4u);
  EXPECT_LE(in.receiver.memory(), 5 * wire::kMadSize);
}

// --- within a port ----------------------------------------------------------------------------

class Client final : public MadClient {
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

struct Port {
  explicit Port(const MadLimits& limits = {})
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
  Client client;
  MadPort port;
};

constexpr MadAddress kManager{.lid = Lid{3}, .qpn = kQp1, .qkey = kGsiQKey};

TEST(RmppPort, WaitsForALongAnswerAsLongAsItComes) {
  Port node;
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
  Port node;
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
  Port node;
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
    Port node;
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
  Port node;
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
  Port node;
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
  Port node;
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
  Port node({.message = 64 * wire::kMadSize, .reassembly = 8 * wire::kMadSize, .reassemblies = 3});
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
  Port node;
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
  Port node({.message = 1000});
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
