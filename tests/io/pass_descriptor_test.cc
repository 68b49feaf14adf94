// SPDX-License-Identifier: Apache-2.0
#include "io/pass_descriptor.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <vector>

namespace weft::io {
namespace {

class PassDescriptor : public testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()),
              0);
    a_.reset(ends[0]);
    b_.reset(ends[1]);
  }
  // An eventfd that holds `value`.
  static UniqueFd holding(unsigned value) { return UniqueFd(eventfd(value, EFD_CLOEXEC)); }
  static std::uint64_t value_of(const UniqueFd& event) {
    std::uint64_t value = 0;
    if (read(event.get(), &value, sizeof value) != sizeof value) return 0;
    return value;
  }

  UniqueFd a_, b_;
  std::array<std::byte, 8> message_{};
  std::array<std::byte, 16> buffer_{};
};

TEST_F(PassDescriptor, SeveralComeInTheOrderInWhichTheyWereSent) {
  std::vector<UniqueFd> sent;
  std::vector<int> numbers;
  for (unsigned i = 1; i <= kMostDescriptors; ++i) {
    sent.push_back(holding(i));
    numbers.push_back(sent.back().get());
  }
  ASSERT_TRUE(send_message(a_.get(), message_, numbers));
  std::array<UniqueFd, kMostDescriptors> got;
  const auto message = receive_message(b_.get(), buffer_, got);
  ASSERT_TRUE(message && *message);
  EXPECT_EQ((*message)->size, message_.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(value_of(got[i]), i + 1);
    EXPECT_NE(fcntl(got[i].get(), F_GETFD) & FD_CLOEXEC, 0);
  }
}

TEST_F(PassDescriptor, MoreThanTheReaderHasRoomForAreClosed) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const UniqueFd reading(ends[0]);
  UniqueFd writing(ends[1]);
  const UniqueFd first = holding(7);
  const std::array<int, 2> numbers{first.get(), writing.get()};
  ASSERT_TRUE(send_message(a_.get(), message_, numbers));
  std::array<UniqueFd, 1> got;
  const auto message = receive_message(b_.get(), buffer_, got);
  ASSERT_TRUE(message && *message);
  EXPECT_EQ(value_of(got[0]), 7u);
  writing.reset();
  char byte = 0;
  EXPECT_EQ(read(reading.get(), &byte, 1), 0) << "somebody still holds the other end";
}

TEST_F(PassDescriptor, PlacesThatNoneCameForAreEmptied) {
  ASSERT_TRUE(send_message(a_.get(), message_));
  std::array<UniqueFd, 2> got{holding(1), holding(2)};
  const auto message = receive_message(b_.get(), buffer_, got);
  ASSERT_TRUE(message && *message);
  EXPECT_FALSE(got[0]);
  EXPECT_FALSE(got[1]);
}

TEST_F(PassDescriptor, AReaderOfOneTakesOneAndNeedsNone) {
  const UniqueFd event = holding(3);
  ASSERT_TRUE(send_message(a_.get(), message_, event.get()));
  ASSERT_TRUE(send_message(a_.get(), message_));
  const auto with = receive_message(b_.get(), buffer_);
  ASSERT_TRUE(with && *with);
  EXPECT_EQ(value_of((*with)->descriptor), 3u);
  const auto without = receive_message(b_.get(), buffer_);
  ASSERT_TRUE(without && *without);
  EXPECT_FALSE((*without)->descriptor);
  const auto nothing = receive_message(b_.get(), buffer_);
  ASSERT_TRUE(nothing);
  EXPECT_FALSE(*nothing);
}

}  // namespace
}  // namespace weft::io
