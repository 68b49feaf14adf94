// SPDX-License-Identifier: Apache-2.0
// Long messages: how they are cut up and put together, segment by segment, and what a peer that
// breaks the protocol gets.
#include <gtest/gtest.h>

#include "mgmt/mad/rmpp_receiver.h"
#include "rmpp_messages.h"

namespace weft::mgmt::test {
namespace {

using RmppOutcome = RmppReceiver::Outcome;

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
  EXPECT_EQ(in.give(0).outcome, RmppOutcome::kAcknowledge);
  EXPECT_EQ(in.acknowledgement().segment, 1u);
  EXPECT_EQ(in.acknowledgement().length_or_window, RmppReceiver::kWindow);
  for (std::size_t i = 1; i < 63; ++i)
    EXPECT_EQ(in.give(i).outcome, RmppOutcome::kKept);
  EXPECT_EQ(in.give(63).outcome, RmppOutcome::kAcknowledge);
  EXPECT_EQ(in.acknowledgement().segment, 64u);
  EXPECT_EQ(in.acknowledgement().length_or_window, 128u);
  for (std::size_t i = 64; i < 99; ++i)
    EXPECT_EQ(in.give(i).outcome, RmppOutcome::kKept);
  EXPECT_EQ(in.give(99).outcome, RmppOutcome::kComplete);
  EXPECT_TRUE(same(in.receiver.take(), in.message));
}

TEST(RmppReceiver, PutsSegmentsInOrder) {
  Receiving in(7 * kSegment + 1);
  EXPECT_EQ(in.give(0).outcome, RmppOutcome::kAcknowledge);
  for (const std::size_t i : {7u, 3u, 2u, 6u, 5u, 4u})
    EXPECT_EQ(in.give(i).outcome, RmppOutcome::kKept);
  EXPECT_EQ(in.give(1).outcome, RmppOutcome::kComplete);
  EXPECT_TRUE(same(in.receiver.take(), in.message));
}

TEST(RmppReceiver, AcknowledgesTheLastOneAgainWhenItIsRepeated) {
  Receiving in(2 * kSegment);
  in.give(0);
  EXPECT_EQ(in.give(0).outcome, RmppOutcome::kAcknowledge);
  EXPECT_EQ(in.give(1).outcome, RmppOutcome::kComplete);
  EXPECT_TRUE(same(in.receiver.take(), in.message));
  EXPECT_EQ(in.give(0).outcome, RmppOutcome::kNothing);
  EXPECT_EQ(in.give(1).outcome, RmppOutcome::kAcknowledge);
  EXPECT_EQ(in.acknowledgement().segment, 2u);
}

TEST(RmppReceiver, IgnoresWhatLiesBeyondItsWindow) {
  Receiving in(100 * kSegment);
  in.give(0);
  EXPECT_EQ(in.give(64).outcome, RmppOutcome::kNothing);
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
  while (in.give(taken).outcome != RmppOutcome::kStop)
    ++taken;
  EXPECT_GE(taken, 4u);
  EXPECT_LE(in.receiver.memory(), 5 * wire::kMadSize);
}

}  // namespace
}  // namespace weft::mgmt::test
