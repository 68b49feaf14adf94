// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/trace.h"

#include <gtest/gtest.h>

#include "sonet_stage.h"

namespace weft::wan::sonet {
namespace {

using Message = TraceReceiver::Message;

TEST(SonetTrace, CrcIsThatOfPublishedMessages) {
  // From a report on the CRCs of G.707: lists.boost.org/Archives/boost/2004/08/70205.php.
  EXPECT_EQ(trace_of(TraceFormat::k16, "123456789ABCDEF").octets()[0], std::byte{0x80 | 0x62});
  EXPECT_EQ(trace_of(TraceFormat::k16, "TTI UNAVAILABLE").octets()[0], std::byte{0x80 | 0x23});
}

TEST(SonetTrace, ShortTextsAreFilledUpWithBlanks) {
  const Trace trace = trace_of(TraceFormat::k64, "north");
  ASSERT_EQ(trace.octets().size(), 64);
  EXPECT_EQ(trace.octets()[5], std::byte{' '});
  EXPECT_EQ(trace.octets()[62], std::byte{0x0D});
  EXPECT_EQ(trace.octets()[63], std::byte{0x0A});
}

TEST(SonetTrace, WhatDoesNotFitIsRefused) {
  EXPECT_TRUE(Trace::of(TraceFormat::k16, "fifteen letters"));
  EXPECT_FALSE(Trace::of(TraceFormat::k16, "sixteen letters!"));
  EXPECT_FALSE(Trace::of(TraceFormat::k64, std::string(63, 'x')));
  EXPECT_FALSE(Trace::of(TraceFormat::k16, "\x80"));
  EXPECT_FALSE(Trace::of(TraceFormat::kNone, "x"));
}

TEST(SonetTrace, MessagesAreFoundFromAnyOctetOn) {
  for (const TraceFormat format : {TraceFormat::k16, TraceFormat::k64}) {
    const Trace trace = trace_of(format, "somewhere");
    const std::size_t size = trace.octets().size();
    for (std::size_t begin = 0; begin < size; ++begin) {
      TraceReceiver receiver(trace);
      std::vector<Message> messages;
      for (std::size_t i = begin; i < begin + 4 * size; ++i) {
        const Message message = receiver.take(trace.octets()[i % size]);
        if (message != Message::kNone) messages.push_back(message);
      }
      ASSERT_GE(messages.size(), 3);
      EXPECT_EQ(messages.back(), Message::kAsExpected) << begin;
      EXPECT_EQ(messages[messages.size() - 2], Message::kAsExpected) << begin;
      EXPECT_EQ(receiver.text(), "somewhere");
    }
  }
}

TEST(SonetTrace, OtherMessagesAndNoneAreTold) {
  const Trace expected = trace_of(TraceFormat::k16, "here");
  const Trace other = trace_of(TraceFormat::k16, "there");
  TraceReceiver receiver(expected);
  Message last = Message::kNone;
  for (std::size_t i = 0; i < 16; ++i)
    last = receiver.take(other.octets()[i]);
  EXPECT_EQ(last, Message::kOther);
  EXPECT_EQ(receiver.text(), "there");
  for (std::size_t i = 0; i < 16; ++i)
    last = receiver.take(std::byte{1});
  EXPECT_EQ(last, Message::kOther);
  TraceReceiver deaf{Trace()};
  EXPECT_EQ(deaf.take(std::byte{0x80}), Message::kNone);
}

TEST(SonetTrace, AWrongCrcIsAnotherMessage) {
  const Trace expected = trace_of(TraceFormat::k16, "here");
  TraceReceiver receiver(expected);
  Message last = Message::kNone;
  for (std::size_t i = 0; i < 16; ++i) {
    const std::byte wrong = i == 0 ? std::byte{1} : std::byte{};
    last = receiver.take(expected.octets()[i] ^ wrong);
  }
  EXPECT_EQ(last, Message::kOther);
}

}  // namespace
}  // namespace weft::wan::sonet
