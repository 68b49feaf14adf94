// SPDX-License-Identifier: Apache-2.0
#include "daemon/event_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <rdma/rdma_user_cm.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "base/plain_bytes.h"

namespace weft::daemon {
namespace {

constexpr rdmacm::ChannelId kChannel = 7;

class EventFilesTest : public ::testing::Test {
 protected:
  EventFilesTest() : descriptor_(files_.add(kChannel, std::move(*files_.make()))) {}

  [[nodiscard]] bool is_readable() const {
    pollfd watched{descriptor_, POLLIN, 0};
    return poll(&watched, 1, 0) == 1;
  }
  void answer(std::uint32_t command, std::errc error = {}) {
    const rdma_ucm_cmd_hdr header{.cmd = command, .in = 0, .out = 0};
    rdmacm::Reply reply{};
    reply.error = error;
    files_.answered(kChannel, plain::bytes_of(header), reply);
  }

  EventFiles files_;
  const int descriptor_;  // what the program has
};

TEST_F(EventFilesTest, AreReadableAsLongAsEventsWait) {
  EXPECT_FALSE(is_readable());
  files_.raised(kChannel);
  files_.raised(kChannel);
  files_.raised(kChannel);
  EXPECT_TRUE(is_readable());
  files_.withdrawn(kChannel, 2);
  EXPECT_TRUE(is_readable());
  answer(RDMA_USER_CM_CMD_GET_EVENT);
  EXPECT_FALSE(is_readable());
  files_.raised(kChannel);
  EXPECT_TRUE(is_readable());
}

TEST_F(EventFilesTest, StayReadableUntilAnEventWasGot) {
  files_.raised(kChannel);
  answer(RDMA_USER_CM_CMD_QUERY);
  answer(RDMA_USER_CM_CMD_GET_EVENT, std::errc::no_space_on_device);
  EXPECT_TRUE(is_readable());
}

TEST_F(EventFilesTest, NeverWaitForAProgramThatFillsItsEndOrTakesWhatIsThere) {
  // All that a program can do to what it has: from now on, calls on it block.
  ASSERT_EQ(fcntl(descriptor_, F_SETFL, 0), 0);
  std::vector<char> much(4096);
  while (send(descriptor_, much.data(), much.size(), MSG_DONTWAIT) > 0) {
  }
  for (int i = 0; i < 100'000; ++i)
    files_.raised(kChannel);
  char one = 0;
  ASSERT_EQ(recv(descriptor_, &one, sizeof one, MSG_DONTWAIT), 1);
  files_.withdrawn(kChannel, 100'000);
  ASSERT_EQ(shutdown(descriptor_, SHUT_RDWR), 0);
  files_.raised(kChannel);
  files_.withdrawn(kChannel, 1);
}

}  // namespace
}  // namespace weft::daemon
