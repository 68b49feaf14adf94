// SPDX-License-Identifier: Apache-2.0
// What ICMP says of datagrams that were sent, by real sockets over loopback.
#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <utility>

#include "io/udp_socket.h"

namespace weft::io {
namespace {

using Reason = DeliveryError::Reason;

struct ErrorsPath {
  const char* name;
  bool ipv4_only;
  const char* loopback;
};

class UdpErrorsOn : public testing::TestWithParam<ErrorsPath> {
 protected:
  UdpSocket open(bool tell_errors) const {
    UdpOptions options;
    options.ipv4_only = GetParam().ipv4_only;
    options.tell_errors = tell_errors;
    auto socket = UdpSocket::open(options);
    EXPECT_TRUE(socket.has_value()) << (socket ? "" : socket.error().message);
    return std::move(*socket);
  }
  // A port that was just closed.
  [[nodiscard]] SocketAddress nowhere() const { return at(open(false).port()); }
  [[nodiscard]] SocketAddress at(std::uint16_t port) const {
    return {*parse_address(GetParam().loopback), port, 0};
  }
  IoResult send(const UdpSocket& from, const SocketAddress& to) {
    iovec piece{payload.data(), payload.size()};
    SendDatagram datagram;
    datagram.destination = to;
    datagram.data = {&piece, 1};
    return from.send(datagram);
  }
  static bool await_error(const UdpSocket& socket) {
    pollfd ready{socket.fd(), 0, 0};
    return poll(&ready, 1, 5000) == 1 && (ready.revents & POLLERR) != 0;
  }
  static bool has_error(const UdpSocket& socket) {
    pollfd ready{socket.fd(), 0, 0};
    return poll(&ready, 1, 0) == 1;
  }

  std::array<std::byte, 8> payload{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4},
                                   std::byte{5}, std::byte{6}, std::byte{7}, std::byte{8}};
  std::array<std::byte, 64> buffer{};
};

TEST_P(UdpErrorsOn, NamesThePortWhereNobodyListensAndQuotesTheDatagram) {
  const auto socket = open(true);
  const SocketAddress to = nowhere();
  ASSERT_EQ(send(socket, to).status, IoStatus::kDone);
  ASSERT_TRUE(await_error(socket));
  DeliveryError error;
  const IoResult result = socket.receive_error(buffer, error);
  ASSERT_EQ(result.status, IoStatus::kDone);
  EXPECT_EQ(error.reason, Reason::kPortUnreachable);
  EXPECT_EQ(error.destination, to);
  ASSERT_EQ(result.bytes, payload.size());
  EXPECT_TRUE(std::equal(payload.begin(), payload.end(), buffer.begin()));
  EXPECT_EQ(socket.receive_error(buffer, error).status, IoStatus::kWouldBlock);
  EXPECT_FALSE(has_error(socket));
}

TEST_P(UdpErrorsOn, CutsTheQuoteToTheBuffer) {
  const auto socket = open(true);
  ASSERT_EQ(send(socket, nowhere()).status, IoStatus::kDone);
  ASSERT_TRUE(await_error(socket));
  DeliveryError error;
  const IoResult result = socket.receive_error(MutableBytes(buffer).first(5), error);
  EXPECT_EQ(result.status, IoStatus::kDone);
  EXPECT_EQ(result.bytes, 5u);
  EXPECT_EQ(buffer[5], std::byte{0});
}

TEST_P(UdpErrorsOn, LosesNoDatagramToAReportAboutAnEarlierOne) {
  const auto socket = open(true);
  const auto other = open(false);
  ASSERT_EQ(send(socket, nowhere()).status, IoStatus::kDone);
  ASSERT_TRUE(await_error(socket));
  const IoResult sent = send(socket, at(other.port()));
  EXPECT_EQ(sent.status, IoStatus::kDone);
  EXPECT_EQ(sent.error, std::errc::connection_refused);
  std::array<std::byte, 100> into{};
  ReceivedDatagram received;
  EXPECT_EQ(other.receive(into, received).bytes, payload.size());
  // What has been told in passing can still be read.
  DeliveryError error;
  EXPECT_EQ(socket.receive_error(buffer, error).status, IoStatus::kDone);
}

TEST_P(UdpErrorsOn, TellsAReaderThatThereIsAReport) {
  const auto socket = open(true);
  ASSERT_EQ(send(socket, nowhere()).status, IoStatus::kDone);
  ASSERT_TRUE(await_error(socket));
  ReceivedDatagram received;
  EXPECT_EQ(socket.receive(buffer, received).status, IoStatus::kFailed);
  EXPECT_EQ(socket.receive(buffer, received).status, IoStatus::kWouldBlock);
}

TEST_P(UdpErrorsOn, TellsNothingUnlessAskedTo) {
  const auto socket = open(false);
  ASSERT_EQ(send(socket, nowhere()).status, IoStatus::kDone);
  EXPECT_EQ(send(socket, nowhere()).error, std::errc{});
  EXPECT_FALSE(has_error(socket));
}

INSTANTIATE_TEST_SUITE_P(, UdpErrorsOn,
                         testing::Values(ErrorsPath{"Ipv4", true, "127.0.0.1"},
                                         ErrorsPath{"Ipv4OnBoth", false, "127.0.0.1"},
                                         ErrorsPath{"Ipv6", false, "::1"}),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace weft::io
