// SPDX-License-Identifier: Apache-2.0
// The agent as its clients and their peers see it: who is served, for how long, and what ends with
// a program.
#include "daemon/agent.h"

#include <set>

#include "agent_fixture.h"

namespace weft::daemon {
namespace {

using AgentTest = AgentFixture;

TEST_F(AgentTest, ServesTwoProgramsAtOnceEachWithItsOwnAnswers) {
  serve();
  Client one = opened();
  Client two = opened();
  const auto message =
      Client::request(RDMA_USER_CM_CMD_GET_EVENT, abi::bytes_of(rdma_ucm_get_event{}), 8);
  // A question of each is under way before either reads its answer.
  ASSERT_EQ(one.say(Bytes(message)), 0);
  const std::uint32_t id = two.create_id(2);
  EXPECT_NE(id, 0u);
  door::Answer answer{};
  ASSERT_EQ(recv(one.fd(), &answer, sizeof answer, 0), static_cast<ssize_t>(sizeof answer));
  EXPECT_NE(answer.error, 0);
  EXPECT_NE(one.create_id(1), id);
  // An identifier is its file's.
  EXPECT_FALSE(one.run<rdma_ucm_destroy_id_resp>(RDMA_USER_CM_CMD_DESTROY_ID,
                                                 rdma_ucm_destroy_id{0, id, 0}));
  EXPECT_EQ(count(AgentCounter::kSessions), 2u);
}

TEST_F(AgentTest, DisconnectsInTheNameOfAProgramThatVanishes) {
  serve();
  Client listening = opened();
  listening.listen(listening.create_id(1), loopback_, 7471);
  for (const std::uint32_t first : {0x110U, 0x120U}) {
    Client connecting = opened();
    for (const std::uint32_t qpn : {first, first + 1}) {
      const std::uint32_t id = connecting.create_id(2);
      connecting.resolve(id, loopback_, 7471);
      connecting.connect(id, qpn);
      const auto request = listening.await(abi::Event::kConnectRequest);
      EXPECT_EQ(request.param.conn.qp_num, qpn);
      listening.accept(request.id, qpn + 0x100);
      connecting.await(abi::Event::kConnectResponse);
      EXPECT_TRUE(connecting.run(RDMA_USER_CM_CMD_ACCEPT, rdma_ucm_accept{0, {}, id, 0, {}}));
      listening.await(abi::Event::kEstablished);
    }
    connecting.vanish();
    listening.await(abi::Event::kDisconnected);
    listening.await(abi::Event::kDisconnected);
  }
  expect_service();
}

TEST_F(AgentTest, RefusesTheRequestThatWaitedForAProgramThatVanishes) {
  serve();
  Client listening = opened();
  listening.listen(listening.create_id(1), loopback_, 7471);
  Client connecting = opened();
  const std::uint32_t id = connecting.create_id(2);
  connecting.resolve(id, loopback_, 7471);
  connecting.connect(id, 0x111);
  listening.await(abi::Event::kConnectRequest);
  listening.vanish();
  connecting.await(abi::Event::kRejected);
}

TEST_F(AgentTest, GivesThePortOfAListenerThatVanishedToTheNextOne) {
  serve();
  Client first = opened();
  first.listen(first.create_id(1), loopback_, 7471);
  vanish(first);
  Client second = opened();
  second.listen(second.create_id(1), loopback_, 7471);
}

TEST_F(AgentTest, LeasesEachSlotToOneProgramUntilItsConnectionEnds) {
  constexpr std::size_t kSlots = 15;
  serve();
  std::vector<Client> owners;
  std::set<std::uint32_t> slots;
  for (std::size_t i = 0; i < kSlots; ++i) {
    const auto welcome = owners.emplace_back(config_.socket).greet(Client::hello(door::kSlot, 0));
    ASSERT_TRUE(welcome);
    ASSERT_EQ(welcome->error, 0) << welcome->message;
    EXPECT_NE(owners.back().descriptor(), -1);
    slots.insert(welcome->slot);
  }
  EXPECT_EQ(slots.size(), kSlots);
  EXPECT_FALSE(slots.contains(0));  // queue pair 1's

  Client late(config_.socket);
  const auto none = late.greet(Client::hello(door::kSlot, 0));
  ASSERT_TRUE(none);
  EXPECT_EQ(none->error, ENOMEM);
  EXPECT_NE(none->message[0], '\0');

  vanish(owners[4]);
  const auto freed = late.greet(Client::hello(door::kSlot, 0));
  ASSERT_TRUE(freed);
  EXPECT_EQ(freed->error, 0) << freed->message;
}

TEST_F(AgentTest, SaysWhoMayHaveThePortOfQueuePairOne) {
  const io::UniqueFd other(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(cm_port_);
  ASSERT_EQ(::bind(other.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  serve();
  Client client(config_.socket);
  const auto welcome = client.greet(Client::hello(door::kOpen, cm_port_));
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->error, EADDRINUSE);
  EXPECT_NE(std::string(welcome->message).find("WEFT_CM_PORT"), std::string::npos);
}

TEST_F(AgentTest, EndsWhenIdleAndNotBefore) {
  config_.idle = 1ms;
  open();
  {
    Client client(config_.socket);
    run();
    const auto welcome = client.greet(Client::hello(door::kOpen, cm_port_));
    ASSERT_TRUE(welcome && welcome->error == 0);
    EXPECT_EQ(running_.wait_for(100ms), std::future_status::timeout);
    EXPECT_NE(client.create_id(1), 0u);
  }
  ASSERT_EQ(running_.wait_for(20s), std::future_status::ready);
  agent_.reset();
  EXPECT_NE(access(config_.socket.c_str(), F_OK), 0);
}

TEST_F(AgentTest, EndsItsClientsConnectionsWhenItIsStopped) {
  serve();
  const Client client = opened();
  agent_->stop();
  ASSERT_TRUE(running_.get());
  agent_.reset();
  EXPECT_TRUE(client.is_dropped());
  EXPECT_EQ(Client().connect(config_.socket), ENOENT);
}

TEST_F(AgentTest, LeavesTheSocketOfAnotherAgentAlone) {
  serve();
  const auto second = Agent::open(config_, entropy_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, std::errc::address_in_use);
  expect_service();
}

}  // namespace
}  // namespace weft::daemon
