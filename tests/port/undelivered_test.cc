// SPDX-License-Identifier: Apache-2.0
// What the network says of packets that did not arrive (ICMP), by real sockets over loopback.
#include "udp_fixture.h"

namespace weft::port {
namespace {

class Undelivered : public UdpFixture {
 protected:
  // The number of a queue pair that is no more.
  static Qpn nobody(UdpPort& port) { return port.open_endpoint(Service::kDatagram).value()->qpn(); }
  static void await_error(const Endpoint& endpoint) {
    pollfd ready{endpoint.inlet()->descriptors().at(0), 0, 0};
    ASSERT_EQ(poll(&ready, 1, 5000), 1);
  }
  static bool has_error(const Endpoint& endpoint) {
    pollfd ready{endpoint.inlet()->descriptors().at(0), 0, 0};
    return poll(&ready, 1, 0) == 1;
  }
};

TEST_F(Undelivered, TellsTheSinkWhichPacketFoundNobody) {
  for (const char* ip : {"127.0.0.1", "::1"}) {
    const auto port = open(hca::UdFraming::kBth);
    const auto sender = port->open_endpoint(Service::kDatagram).value();
    const Qpn gone = nobody(*port);
    fill(burst_, gone, 1, 100, true, ip, ip);
    ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
    await_error(*sender);
    collector_.undelivered_packets.clear();
    EXPECT_EQ(sender->inlet()->receive(collector_, 1), 0u);
    ASSERT_EQ(collector_.undelivered_packets.size(), 1u);
    const auto& packet = collector_.undelivered_packets[0];
    EXPECT_EQ(packet.reason, hca::Undelivered::Reason::kRefused);
    EXPECT_EQ(packet.destination, address(ip));
    EXPECT_EQ(wire::Bth::parse(packet.transport)->dest_qp, gone);
    EXPECT_EQ(counter(*port, "udp_icmp_refused"), 1u);
    EXPECT_FALSE(has_error(*sender));
  }
}

TEST_F(Undelivered, LosesNothingThatIsSentAfterwardsAndStillTells) {
  const auto port = open(hca::UdFraming::kBth);
  const auto sender = port->open_endpoint(Service::kDatagram).value();
  const auto receiver = port->open_endpoint(Service::kDatagram).value();
  fill(burst_, nobody(*port), 1, 100, true, "127.0.0.1", "127.0.0.1");
  ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
  await_error(*sender);
  // This send is told of the error, and the next receive is not.
  fill(burst_, receiver->qpn(), 3, 100, true, "127.0.0.1", "127.0.0.1");
  ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
  collect(*receiver->inlet(), 3);
  sender->inlet()->receive(collector_, 1);
  EXPECT_EQ(collector_.undelivered_packets.size(), 1u);
  EXPECT_FALSE(has_error(*sender));
}

TEST_F(Undelivered, ReadsManyReportsAFewAtATime) {
  const auto port = open(hca::UdFraming::kBth);
  const auto sender = port->open_endpoint(Service::kDatagram).value();
  const Qpn gone = nobody(*port);
  constexpr std::size_t kMany = 40;  // more than are read at once
  for (std::size_t i = 0; i < kMany; ++i) {
    fill(burst_, gone, 1, 100, true, "127.0.0.1", "127.0.0.1");
    ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
  }
  sender->inlet()->receive(collector_, 1);
  const std::size_t first = collector_.undelivered_packets.size();
  EXPECT_LT(first, kMany);
  while (has_error(*sender))
    sender->inlet()->receive(collector_, 1);
  EXPECT_EQ(collector_.undelivered_packets.size(), kMany);
}

TEST_F(Undelivered, TellsNothingOfAQuoteThatIsTooShortToNameAnybody) {
  const auto port = open(hca::UdFraming::kBth);
  const auto sender = port->open_endpoint(Service::kDatagram).value();
  const auto& inlet = dynamic_cast<const UdpInlet&>(*sender->inlet());
  std::array<std::byte, wire::Bth::kSize - 1> few{};
  iovec piece{few.data(), few.size()};
  io::SendDatagram datagram;
  datagram.destination = {address("127.0.0.1"), static_cast<std::uint16_t>(nobody(*port).value()),
                          0};
  datagram.data = {&piece, 1};
  ASSERT_EQ(inlet.socket().send(datagram).status, io::IoStatus::kDone);
  await_error(*sender);
  sender->inlet()->receive(collector_, 1);
  EXPECT_EQ(collector_.undelivered_packets.size(), 0u);
  EXPECT_EQ(counter(*port, "udp_icmp_unquoted"), 1u);
}

TEST_F(Undelivered, CountsWhatHappensOnTheBareWire) {
  const auto port = open(hca::UdFraming::kBare);
  const auto sender = port->open_endpoint(Service::kDatagram).value();
  fill(burst_, nobody(*port), 1, 100, false, "127.0.0.1", "127.0.0.1");
  ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
  await_error(*sender);
  sender->inlet()->receive(collector_, 1);
  EXPECT_EQ(collector_.undelivered_packets.size(), 0u);
  EXPECT_EQ(counter(*port, "udp_icmp_refused"), 1u);
}

}  // namespace
}  // namespace weft::port
