// SPDX-License-Identifier: Apache-2.0
#include "io/message_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace weft::io {
namespace {

Message message_of(std::string_view text) {
  const Bytes bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> stream_of(std::initializer_list<std::string> messages) {
  std::vector<std::byte> stream;
  for (const std::string& message : messages)
    append_message(stream, message_of(message));
  return stream;
}

TEST(MessageStream, PutsTheLengthFirst) {
  EXPECT_EQ(stream_of({"ab", ""}), message_of(std::string_view("\0\0\0\2ab\0\0\0\0", 10)));
  EXPECT_EQ(stream_of({std::string(0x10203, 'x')})[1], std::byte{1});
}

TEST(MessageStream, FindsTheMessagesHoweverTheStreamIsCut) {
  const auto stream = stream_of({"", "a", std::string(300, 'b'), "", "cd"});
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    MessageReader reader(300);
    for (Bytes rest = stream; !rest.empty();) {
      const std::size_t count = std::min(piece, rest.size());
      ASSERT_TRUE(reader.feed(rest.first(count)).has_value());
      rest = rest.subspan(count);
    }
    EXPECT_EQ(reader.waiting(), stream.size());
    for (const std::string& message : {std::string(), std::string("a"), std::string(300, 'b'),
                                       std::string(), std::string("cd")}) {
      ASSERT_EQ(reader.take(), message_of(message)) << piece;
    }
    EXPECT_EQ(reader.take(), std::nullopt);
    EXPECT_EQ(reader.waiting(), 0u);
    EXPECT_FALSE(reader.within_message());
  }
}

TEST(MessageStream, RefusesAMessageThatIsTooLongByItsLengthAlone) {
  MessageReader reader(300);
  const auto first = stream_of({"a"});
  ASSERT_TRUE(reader.feed(first).has_value());
  const auto fed = reader.feed(message_of(std::string_view("\0\0\1\55", 4)));
  ASSERT_FALSE(fed.has_value());
  EXPECT_EQ(fed.error().code, std::errc::message_size);
  EXPECT_EQ(fed.error().message, "a message of 301 bytes, at most 300");
  EXPECT_EQ(reader.take(), message_of("a"));
}

TEST(MessageStream, GivesNothingOfAMessageThatIsNotWhole) {
  MessageReader reader(300);
  const auto stream = stream_of({"abc"});
  ASSERT_TRUE(reader.feed(Bytes(stream).first(6)).has_value());
  EXPECT_EQ(reader.take(), std::nullopt);
  EXPECT_TRUE(reader.within_message());
}

}  // namespace
}  // namespace weft::io
