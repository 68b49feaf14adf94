// SPDX-License-Identifier: Apache-2.0
// Programs that end the moment they have seen a message arrive, without tidying up: their peer is
// told that it did. Runs with libweft_shim.so preloaded.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>

#include "connected_fixture.h"

namespace weft::verbs_test {
namespace {

class Exit : public Connected {
 protected:
  static constexpr int kMessages = 20;  // so that the last does not come as the first does

  // The fixture's own device is opened after the fork, in both processes.
  void SetUp() override {}

  template <class T>
  static void tell(int fd, const T& value) {
    ASSERT_EQ(::write(fd, &value, sizeof value), static_cast<ssize_t>(sizeof value));
  }
  template <class T>
  static T hear(int fd) {
    T value{};
    EXPECT_EQ(::read(fd, &value, sizeof value), static_cast<ssize_t>(sizeof value));
    return value;
  }

  // With a timeout that means "for ever" nothing is sent twice: an acknowledgement that is missing
  // is missed.
  QueuePair connect(int in, int out) {
    Connected::SetUp();
    ibv_qp_init_attr attributes = attributes_of(IBV_QPT_RC);
    attributes.cap.max_recv_wr = kMessages;
    QueuePair qp(ibv_create_qp(pd_.get(), &attributes));
    tell(out, qp->qp_num);
    ibv_qp_attr path = connection(hear<std::uint32_t>(in));
    path.timeout = 0;
    bring_up(qp.get(), path);
    return qp;
  }

  [[noreturn]] void last_words(int in, int out, const std::function<void()>& end) {
    const QueuePair qp = connect(in, out);
    for (int i = 0; i < kMessages; ++i) {
      ibv_recv_wr request{};
      ibv_recv_wr* bad = nullptr;
      EXPECT_EQ(ibv_post_recv(qp.get(), &request, &bad), 0);
    }
    tell(out, true);
    ibv_wc completion{};
    for (int got = 0; got < kMessages;)
      got += ibv_poll_cq(cq_.get(), 1, &completion);
    end();
    std::abort();
  }

  void expect_acknowledged(const std::function<void()>& end) {
    int to_child[2];
    int to_parent[2];
    ASSERT_EQ(pipe(to_child), 0);
    ASSERT_EQ(pipe(to_parent), 0);
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) last_words(to_child[0], to_parent[1], end);
    {
      const QueuePair qp = connect(to_parent[0], to_child[1]);
      EXPECT_TRUE(hear<bool>(to_parent[0]));
      for (int i = 0; i < kMessages; ++i) {
        post(qp.get(), request(IBV_WR_SEND, nullptr));
        EXPECT_EQ(wait_for_one().status, IBV_WC_SUCCESS) << "message " << i;
      }
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    for (const int fd : {to_child[0], to_child[1], to_parent[0], to_parent[1]})
      close(fd);
  }
};

TEST_F(Exit, ByUnderscoreExitAcknowledgesWhatWasSeen) {
  expect_acknowledged([] { _exit(0); });
}

TEST_F(Exit, ByAnExitThatC99NamesAcknowledgesWhatWasSeen) {
  expect_acknowledged([] { _Exit(0); });
}

TEST_F(Exit, ByQuickExitAcknowledgesWhatWasSeen) {
  expect_acknowledged([] { quick_exit(0); });
}

TEST_F(Exit, WithoutTidyingUpAcknowledgesWhatWasSeen) {
  expect_acknowledged([] { exit(0); });
}

}  // namespace
}  // namespace weft::verbs_test
