// SPDX-License-Identifier: Apache-2.0
#include "io/tcp_socket.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "io/await.h"

namespace weft::io {
namespace {

class TcpSocket : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Families, TcpSocket, testing::Values("127.0.0.1:0", "[::1]:0"));

TEST_P(TcpSocket, ConnectsAndTellsWhoHasConnected) {
  const auto listener = listen_tcp(*SocketAddress::parse(GetParam()));
  ASSERT_TRUE(listener.has_value()) << listener.error().message;
  EXPECT_FALSE(accept_tcp(listener->get())->has_value());
  const auto client = connect_tcp(*local_address(listener->get()));
  ASSERT_TRUE(client.has_value()) << client.error().message;
  ASSERT_TRUE(await(listener->get(), POLLIN, 10s).has_value());
  const auto taken = accept_tcp(listener->get());
  ASSERT_TRUE(taken.has_value() && taken->has_value());
  EXPECT_EQ((*taken)->peer, *local_address(client->get()));

  ASSERT_EQ(write(client->get(), "hello", 5), 5);
  ASSERT_TRUE(await((*taken)->socket.get(), POLLIN, 10s).has_value());
  char text[8] = {};
  EXPECT_EQ(read((*taken)->socket.get(), text, sizeof text), 5);
  EXPECT_STREQ(text, "hello");
  EXPECT_EQ(read((*taken)->socket.get(), text, sizeof text), -1);  // it does not wait
  EXPECT_EQ(errno, EAGAIN);
  for (const int fd : {client->get(), (*taken)->socket.get()}) {
    int set = 0;
    socklen_t length = sizeof set;
    EXPECT_EQ(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &set, &length), 0);
    EXPECT_NE(set, 0);
  }
}

TEST_P(TcpSocket, SaysWhatAPortIsTakenFor) {
  const auto listener = listen_tcp(*SocketAddress::parse(GetParam()));
  ASSERT_TRUE(listener.has_value());
  const SocketAddress address = *local_address(listener->get());
  const auto second = listen_tcp(address);
  ASSERT_FALSE(second.has_value());
  EXPECT_EQ(second.error().code, std::errc::address_in_use);
  EXPECT_NE(second.error().message.find(address.to_string()), std::string::npos);
}

// How long the kernel waits, and how, is what can be seen of it without waiting.
TEST(TcpSocketSilence, IsLookedForAtAThirdOfTheTime) {
  const auto listener = listen_tcp(*SocketAddress::parse("127.0.0.1:0"));
  const auto client = connect_tcp(*local_address(listener->get()));
  ASSERT_TRUE(notice_silence(client->get(), 15s).has_value());
  const auto option = [&](int level, int name) {
    int set = 0;
    socklen_t length = sizeof set;
    EXPECT_EQ(getsockopt(client->get(), level, name, &set, &length), 0);
    return set;
  };
  EXPECT_EQ(option(SOL_SOCKET, SO_KEEPALIVE), 1);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPIDLE), 5);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPINTVL), 5);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_KEEPCNT), 3);
  EXPECT_EQ(option(IPPROTO_TCP, TCP_USER_TIMEOUT), 15'000);
}

TEST(TcpSocketAny, TakesBothFamilies) {
  const auto listener = listen_tcp(*SocketAddress::parse("[::]:0"));
  ASSERT_TRUE(listener.has_value());
  SocketAddress address = *local_address(listener->get());
  address.address = Gid::from_ipv4(INADDR_LOOPBACK);
  const auto client = connect_tcp(address);
  ASSERT_TRUE(client.has_value());
  ASSERT_TRUE(await(listener->get(), POLLIN, 10s).has_value());
  EXPECT_EQ(accept_tcp(listener->get()).value().value().peer, *local_address(client->get()));
}

}  // namespace
}  // namespace weft::io
