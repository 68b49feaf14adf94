// SPDX-License-Identifier: Apache-2.0
// Programs that do not keep to the protocol, or ask for too much: the agent ends their connections,
// counts it, and serves the next one.
#include "agent_fixture.h"
#include "scarce.h"

namespace weft::daemon {
namespace {

using HostileClient = AgentFixture;

std::vector<std::byte> bytes(Bytes from) {
  return {from.begin(), from.end()};
}

// A request whose header says other sizes than those of what follows.
std::vector<std::byte> lying(std::uint32_t command_size, std::uint32_t extra_size,
                             std::size_t follows) {
  const door::Request header{command_size, extra_size, 0};
  std::vector<std::byte> out = bytes(abi::bytes_of(header));
  out.resize(out.size() + follows);
  return out;
}

TEST_F(HostileClient, IsDroppedWhenItsFirstWordsMakeNoSense) {
  serve();
  const door::Hello good = Client::hello(door::kOpen, cm_port_);
  door::Hello magic = good;
  ++magic.magic;
  door::Hello purpose = good;
  purpose.purpose = 99;
  const std::vector<std::vector<std::byte>> greetings{
      std::vector<std::byte>(1, std::byte{0xA5}),
      std::vector<std::byte>(sizeof good, std::byte{0xA5}),
      bytes(abi::bytes_of(good).first(sizeof good - 1)),
      bytes(abi::bytes_of(magic)),
      bytes(abi::bytes_of(purpose)),
      std::vector<std::byte>(1 << 16, std::byte{0xA5}),
      Client::request(RDMA_USER_CM_CMD_GET_EVENT, abi::bytes_of(rdma_ucm_get_event{}), 8),
  };
  for (std::size_t i = 0; i < greetings.size(); ++i) {
    Client client(config_.socket);
    ASSERT_EQ(client.say(Bytes(greetings[i])), 0);
    EXPECT_TRUE(client.is_dropped()) << i;
    EXPECT_EQ(count(AgentCounter::kNonsense), i + 1);
    expect_service();
  }
}

TEST_F(HostileClient, IsDroppedWhenARequestMakesNoSense) {
  serve();
  constexpr std::size_t kLongest = sizeof(door::Request) + door::kMostCommand + door::kMostExtra;
  const std::vector<std::vector<std::byte>> requests{
      std::vector<std::byte>(sizeof(door::Request) - 1),
      lying(8, 0, 7),
      lying(8, 0, 9),
      lying(0xFFFFFFFF, 1, 0),
      lying(door::kMostCommand + 1, 0, door::kMostCommand + 1),
      lying(0, door::kMostExtra + 1, door::kMostExtra + 1),
      std::vector<std::byte>(kLongest + 1),
  };
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Client client = opened();
    ASSERT_EQ(client.say(Bytes(requests[i])), 0);
    EXPECT_TRUE(client.is_dropped()) << i;
    EXPECT_EQ(count(AgentCounter::kNonsense), i + 1);
    expect_service();
  }
}

TEST_F(HostileClient, IsAnsweredWhenOnlyItsCommandMakesNoSense) {
  serve();
  Client client = opened();
  for (const std::uint32_t command : {999U, 0xFFFFFFFFU})
    EXPECT_FALSE(client.run(command, rdma_ucm_get_event{}));
  // Shorter than any command, and one that is cut off.
  for (const std::uint32_t size : {0U, 7U, 12U}) {
    ASSERT_EQ(client.say(Bytes(lying(size, 0, size))), 0);
    door::Answer answer{};
    ASSERT_EQ(recv(client.fd(), &answer, sizeof answer, 0), static_cast<ssize_t>(sizeof answer));
    EXPECT_NE(answer.error, 0);
  }
  EXPECT_NE(client.create_id(1), 0u);
}

TEST_F(HostileClient, IsDroppedWhenTheOwnerOfASlotSpeaks) {
  serve();
  Client client(config_.socket);
  const auto hello = Client::hello(door::kSlot, 0);
  const auto welcome = client.greet(hello);
  ASSERT_TRUE(welcome && welcome->error == 0);
  ASSERT_EQ(client.say(hello), 0);
  EXPECT_TRUE(client.is_dropped());
  EXPECT_EQ(count(AgentCounter::kNonsense), 1u);
  expect_service();
}

TEST_F(HostileClient, IsToldWhatIsWrongWithItsGreetingBeforeItGoes) {
  serve();
  Client client(config_.socket);
  door::Hello hello = Client::hello(door::kOpen, cm_port_);
  hello.wire = 7;
  auto welcome = client.greet(hello);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->error, EOPNOTSUPP);
  for (const std::uint32_t port : {0U, 0x10000U | cm_port_}) {
    hello = Client::hello(door::kOpen, cm_port_);
    hello.cm_port = port;
    welcome = client.greet(hello);
    ASSERT_TRUE(welcome);
    EXPECT_EQ(welcome->error, EINVAL) << port;
  }
  hello = Client::hello(door::kOpen, cm_port_);
  ++hello.version;
  welcome = client.greet(hello);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->error, EPROTONOSUPPORT);
  EXPECT_NE(std::string(welcome->message).find("version"), std::string::npos);
  EXPECT_TRUE(client.is_dropped());
}

TEST_F(HostileClient, IsDroppedWhenItDoesNotReadItsAnswers) {
  serve();
  Client client = opened();
  const auto request =
      Client::request(RDMA_USER_CM_CMD_GET_EVENT, abi::bytes_of(rdma_ucm_get_event{}), 8);
  constexpr int kMoreThanFit = 1 << 20;
  int error = 0;
  for (int i = 0; i < kMoreThanFit && error == 0; ++i)
    error = client.say(Bytes(request));
  EXPECT_TRUE(error == EPIPE || error == ECONNRESET) << error;
  EXPECT_EQ(count(AgentCounter::kUnread), 1u);
  expect_service();
}

TEST_F(HostileClient, LeavesNoDescriptorsBehind) {
  serve();
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const io::UniqueFd reading(ends[0]);
  io::UniqueFd writing(ends[1]);
  Client client(config_.socket);
  const door::Hello hello = Client::hello(door::kOpen, cm_port_);

  // Two of them, with the greeting.
  iovec piece{const_cast<door::Hello*>(&hello), sizeof hello};
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(2 * sizeof(int))> control{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* const rights = CMSG_FIRSTHDR(&message);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(2 * sizeof(int));
  const std::array<int, 2> sent{writing.get(), writing.get()};
  std::memcpy(CMSG_DATA(rights), sent.data(), sizeof sent);
  ASSERT_EQ(sendmsg(client.fd(), &message, MSG_NOSIGNAL), static_cast<ssize_t>(sizeof hello));
  writing.reset();

  const auto welcome = client.read_welcome();
  ASSERT_TRUE(welcome && welcome->error == 0);
  char nothing = 0;
  pollfd watched{reading.get(), 0, 0};
  ASSERT_EQ(poll(&watched, 1, kPatienceMs), 1) << "somebody still has the pipe open";
  EXPECT_EQ(read(reading.get(), &nothing, 1), 0);
  EXPECT_NE(client.create_id(1), 0u);
}

TEST_F(HostileClient, TakesNoMoreSessionsThanThereMayBe) {
  config_.max_sessions = 4;
  serve();
  std::vector<Client> held;
  for (std::size_t i = 0; i < config_.max_sessions; ++i)
    held.push_back(opened());
  for (int i = 0; i < 100; ++i)
    EXPECT_TRUE(Client(config_.socket).is_dropped());
  EXPECT_EQ(count(AgentCounter::kTurnedAway), 100u);
  EXPECT_NE(held.front().create_id(1), 0u);
  vanish(held.back());
  expect_service();
}

TEST_F(HostileClient, IsTurnedAwayWhenDescriptorsAreUsedUp) {
  serve();
  Client held = opened();
  std::vector<Client> late(3);
  {
    const NoDescriptors none(0);
    for (Client& client : late) {
      EXPECT_EQ(client.connect(config_.socket), 0);
      EXPECT_TRUE(client.is_dropped());
    }
  }
  EXPECT_EQ(count(AgentCounter::kTurnedAway), late.size());
  EXPECT_NE(held.create_id(1), 0u);
  expect_service();
}

TEST_F(HostileClient, OpensNoMoreWiresThanThereMayBe) {
  config_.max_wires = 2;
  serve();
  const Client first = opened();
  Client second(config_.socket);
  auto welcome = second.greet(Client::hello(door::kOpen, free_port()));
  ASSERT_TRUE(welcome && welcome->error == 0);
  Client third(config_.socket);
  const auto hello = Client::hello(door::kOpen, free_port());
  welcome = third.greet(hello);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->error, EMFILE);
  EXPECT_NE(welcome->message[0], '\0');
  const Client fourth = opened();
  // One that nobody uses any more makes room.
  vanish(second);
  welcome = third.greet(hello);
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->error, 0) << welcome->message;
}

}  // namespace
}  // namespace weft::daemon
