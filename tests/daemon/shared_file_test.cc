// SPDX-License-Identifier: Apache-2.0
// rdma_cm files that several processes have open, as a fork makes them.
#include "agent_fixture.h"

namespace weft::daemon {
namespace {

class SharedFile : public AgentFixture {
 protected:
  void SetUp() override {
    serve();
    ASSERT_EQ(parent_.connect(config_.socket), 0);
    const auto welcome = parent_.greet(Client::hello(door::kOpen, cm_port_));
    ASSERT_TRUE(welcome && welcome->error == 0);
    join_ = Client::hello(door::kJoin, cm_port_);
    join_.file = welcome->file;
    join_.secret = welcome->secret;
  }
  // errno of the welcome, or 0.
  int join(Client& child, const door::Hello& hello) {
    EXPECT_EQ(child.connect(config_.socket), 0);
    const auto welcome = child.greet(hello);
    EXPECT_TRUE(welcome);
    return welcome ? welcome->error : EIO;
  }
  static bool destroy(Client& client, std::uint32_t id) {
    return client
        .run<rdma_ucm_destroy_id_resp>(RDMA_USER_CM_CMD_DESTROY_ID, rdma_ucm_destroy_id{0, id, 0})
        .has_value();
  }

  Client parent_;
  door::Hello join_{};
};

TEST_F(SharedFile, IsOneForAllWhoJoined) {
  Client child;
  ASSERT_EQ(join(child, join_), 0);
  EXPECT_TRUE(destroy(child, parent_.create_id(1)));
  EXPECT_TRUE(destroy(parent_, child.create_id(2)));
}

TEST_F(SharedFile, LivesAsLongAsOneOfThem) {
  Client child;
  ASSERT_EQ(join(child, join_), 0);
  const std::uint32_t id = parent_.create_id(1);
  vanish(parent_);
  EXPECT_TRUE(destroy(child, id));
  vanish(child);
  Client late;
  EXPECT_EQ(join(late, join_), EACCES);
}

TEST_F(SharedFile, TakesTheSecretToJoin) {
  Client stranger;
  door::Hello guess = join_;
  ++guess.secret;
  EXPECT_EQ(join(stranger, guess), EACCES);
  guess = join_;
  ++guess.file;
  Client other;
  EXPECT_EQ(join(other, guess), EACCES);
  EXPECT_NE(parent_.create_id(1), 0u);
}

}  // namespace
}  // namespace weft::daemon
