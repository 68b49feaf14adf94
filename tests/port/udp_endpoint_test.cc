// SPDX-License-Identifier: Apache-2.0
// Endpoints on real sockets over loopback.
#include <netinet/in.h>
#include <sys/mman.h>

#include "port/udp/udp_inlet.h"
#include "udp_fixture.h"
#include "wire/ip.h"

namespace weft::port {
namespace {

using UdpEndpointTest = UdpFixture;

TEST_F(UdpEndpointTest, NumbersAQueuePairByItsUdpPort) {
  const auto port = open(hca::UdFraming::kBth, 61000, 61099);
  const auto endpoint = port->open_endpoint(Service::kDatagram).value();
  EXPECT_GE(endpoint->qpn().value(), 61000u);
  EXPECT_LE(endpoint->qpn().value(), 61099u);
}

TEST_F(UdpEndpointTest, SaysHowToWidenTheRangeWhenItIsExhausted) {
  const auto port = open(hca::UdFraming::kBth, 61100, 61101);
  const auto first = port->open_endpoint(Service::kDatagram);
  const auto second = port->open_endpoint(Service::kDatagram);
  const auto third = port->open_endpoint(Service::kDatagram);
  ASSERT_TRUE(first && second);
  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().code, std::errc::not_enough_memory);
  EXPECT_NE(third.error().message.find("--ports"), std::string::npos);
}

TEST_F(UdpEndpointTest, RefusesConnectionsOnTheBareWire) {
  const auto port = open(hca::UdFraming::kBare);
  const auto endpoint = port->open_endpoint(Service::kReliable);
  ASSERT_FALSE(endpoint);
  EXPECT_EQ(endpoint.error().code, std::errc::operation_not_supported);
}

TEST_F(UdpEndpointTest, CarriesARunOfMessagesOfEverySizeOverBothFamilies) {
  const auto port = open(hca::UdFraming::kBth);
  const auto sender = port->open_endpoint(Service::kDatagram).value();
  const auto receiver = port->open_endpoint(Service::kDatagram).value();
  for (const char* ip : {"127.0.0.1", "::1"}) {
    for (const std::size_t size : {0, 1, 64, 1023, 1024, 1025, 4095, 4096}) {
      const std::size_t count = std::min<std::size_t>(64, 60000 / (size + 64));
      fill(burst_, receiver->qpn(), count, size, true, ip, ip);
      ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent) << ip << " " << size;
      collector_.arrivals.clear();
      while (collector_.arrivals.size() < count) {
        wait_for(*receiver);
        receiver->inlet()->receive(collector_, 1);
      }
      for (std::size_t i = 0; i < count; ++i) {
        const Arrival& arrival = collector_.arrivals[i];
        const Bytes message =
            Bytes(arrival.transport).subspan(wire::Bth::kSize + wire::Deth::kSize).first(size);
        EXPECT_TRUE(std::equal(message.begin(), message.end(), payloads_[i].begin()));
        EXPECT_EQ(arrival.source, address(ip));
        EXPECT_EQ(arrival.destination, address(ip));
        EXPECT_EQ(arrival.source_qpn, sender->qpn());
        EXPECT_FALSE(arrival.multicast);
      }
    }
  }
  EXPECT_EQ(counter(*port, "udp_rx_bad_icrc"), 0u);
}

TEST_F(UdpEndpointTest, GivesAnIpv4HeaderInTheLastTwentyOfTheFortyBytes) {
  const auto port = open(hca::UdFraming::kBth);
  const auto sender = port->open_endpoint(Service::kDatagram).value();
  const auto receiver = port->open_endpoint(Service::kDatagram).value();
  fill(burst_, receiver->qpn(), 1, 8, true, "127.0.0.1", "127.0.0.1");
  ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
  wait_for(*receiver);
  ASSERT_EQ(receiver->inlet()->receive(collector_, 1), 1u);
  const auto& header = collector_.arrivals.at(0).header;
  EXPECT_TRUE(std::all_of(header.begin(), header.begin() + 20,
                          [](std::byte byte) { return byte == std::byte{0}; }));
  EXPECT_EQ(header[20], std::byte{0x45});
  EXPECT_EQ(header[29], std::byte{17});
  EXPECT_EQ(header[32], std::byte{127});
}

TEST_F(UdpEndpointTest, MakesNoHeaderOfAConnectionsPacketForNobodyIsToSeeIt) {
  const auto port = open(hca::UdFraming::kBth);
  const auto sender = port->open_endpoint(Service::kReliable).value();
  const auto receiver = port->open_endpoint(Service::kReliable).value();
  fill(burst_, receiver->qpn(), 1, 8, true, "127.0.0.1", "127.0.0.1");
  wire::BthView(MutableBytes(burst_.only().header)).set_opcode(wire::Opcode::rc_send_only);
  ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
  collect(*receiver->inlet(), 1);
  EXPECT_EQ(collector_.arrivals.at(0).header, (std::array<std::byte, hca::kGrhArea>{}));
}

// What is the only one of a socket says it to the socket; others say it with each datagram.
TEST_F(UdpEndpointTest, LeavesWithTheHopLimitOfEachPath) {
  const auto port = open(hca::UdFraming::kBth);
  io::UdpOptions options;
  options.local.address = address("127.0.0.1");
  const auto peer = io::UdpSocket::open(options).value();
  for (const Service service : {Service::kReliable, Service::kDatagram}) {
    const auto sender = port->open_endpoint(service).value();
    for (const std::uint8_t hops : std::array<std::uint8_t, 5>{0, 200, 200, 0, 9}) {
      fill(burst_, Qpn{peer.port()}, 2, 8, true, "127.0.0.1", "127.0.0.1");
      burst_.path.hop_limit = hops;
      ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
      for (unsigned i = 0; i < 2; ++i) {
        std::vector<std::byte> buffer(io::kUdpReceiveBuffer);
        io::ReceivedDatagram datagram;
        pollfd ready{peer.fd(), POLLIN, 0};
        ASSERT_EQ(poll(&ready, 1, 5000), 1);
        ASSERT_EQ(peer.receive(buffer, datagram).status, io::IoStatus::kDone);
        if (hops == 0) {
          EXPECT_TRUE(datagram.ttl != 200 && datagram.ttl != 9);
        } else {
          EXPECT_EQ(datagram.ttl, hops);
        }
        if (datagram.segment_size != 0) break;
      }
    }
  }
}

TEST_F(UdpEndpointTest, PutsTheUdpHeaderIntoTheFortyBytesOnTheBareWire) {
  const auto port = open(hca::UdFraming::kBare);
  const auto sender = port->open_endpoint(Service::kDatagram).value();
  const auto receiver = port->open_endpoint(Service::kDatagram).value();
  fill(burst_, receiver->qpn(), 1, 5, false, "127.0.0.1", "127.0.0.1");
  ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
  wait_for(*receiver);
  ASSERT_EQ(receiver->inlet()->receive(collector_, 1), 1u);
  const Arrival& arrival = collector_.arrivals.at(0);
  EXPECT_EQ(arrival.transport.size(), 5u);
  EXPECT_EQ(arrival.header[12], std::byte{0x45});
  const auto port_at = [&](std::size_t at) {
    return std::to_integer<unsigned>(arrival.header[at]) << 8 |
           std::to_integer<unsigned>(arrival.header[at + 1]);
  };
  EXPECT_EQ(port_at(32), sender->qpn().value());
  EXPECT_EQ(port_at(34), receiver->qpn().value());
}

TEST_F(UdpEndpointTest, DropsAndCountsWhatIsNoPacketOfItsWire) {
  const auto port = open(hca::UdFraming::kBth);
  const auto receiver = port->open_endpoint(Service::kDatagram).value();
  const auto stranger = io::UdpSocket::open({}).value();
  const auto throw_at = [&](std::size_t size) {
    std::vector<std::byte> garbage(size, std::byte{0x5A});
    const iovec piece{garbage.data(), garbage.size()};
    io::SendDatagram datagram;
    datagram.destination = {address("127.0.0.1"),
                            static_cast<std::uint16_t>(receiver->qpn().value())};
    datagram.data = {&piece, 1};
    ASSERT_EQ(stranger.send(datagram).status, io::IoStatus::kDone);
    wait_for(*receiver);
    receiver->inlet()->receive(collector_, 1);
  };
  throw_at(0);
  throw_at(15);
  throw_at(64);
  throw_at(9000);
  EXPECT_TRUE(collector_.arrivals.empty());
  EXPECT_EQ(counter(*port, "udp_rx_runt"), 2u);
  EXPECT_EQ(counter(*port, "udp_rx_bad_icrc"), 1u);
  EXPECT_EQ(counter(*port, "udp_rx_oversized"), 1u);
}

TEST_F(UdpEndpointTest, DeliversMulticastToEveryAttachedEndpointAndToNoOther) {
  const auto port = open(hca::UdFraming::kBth);
  const auto sender = port->open_endpoint(Service::kDatagram).value();
  const auto member = port->open_endpoint(Service::kDatagram).value();
  const auto other_member = port->open_endpoint(Service::kDatagram).value();
  const auto elsewhere = port->open_endpoint(Service::kDatagram).value();
  ASSERT_TRUE(member->attach(address("239.7.7.7")));
  ASSERT_TRUE(member->attach(address("239.7.7.7"))) << "attaching twice is harmless";
  ASSERT_TRUE(other_member->attach(address("239.7.7.7")));
  ASSERT_TRUE(elsewhere->attach(address("239.8.8.8")));
  fill(burst_, kMulticastQpn, 1, 100, true, "127.0.0.1", "239.7.7.7");
  ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
  for (Endpoint* each : {member.get(), other_member.get()}) {
    wait_for(*each, 1);
    each->inlet()->receive(collector_, 1);
  }
  ASSERT_EQ(collector_.arrivals.size(), 2u);
  EXPECT_TRUE(collector_.arrivals[0].multicast);
  EXPECT_EQ(collector_.arrivals[0].destination, address("239.7.7.7"));
  EXPECT_EQ(elsewhere->inlet()->receive(collector_, 1), 0u);
}

TEST_F(UdpEndpointTest, TellsTheTrafficClassWithItsCongestionBits) {
  const auto port = open(hca::UdFraming::kBth);
  const auto sender = port->open_endpoint(Service::kReliable).value();
  const auto receiver = port->open_endpoint(Service::kReliable).value();
  for (const char* ip : {"127.0.0.1", "::1"}) {
    fill(burst_, receiver->qpn(), 1, 8, true, ip, ip);
    burst_.path.traffic_class = 0x2B;  // DSCP 10, ECN CE
    ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
    collector_.arrivals.clear();
    collect(*receiver->inlet(), 1);
    EXPECT_EQ(collector_.arrivals.at(0).traffic_class, 0x2B) << ip;
  }
}

// A control message in each send would cost a tenth of a short datagram's round trip.
TEST_F(UdpEndpointTest, HasSocketsOfReliableConnectionsSayThemselvesThatTheyAreCapableOfEcn) {
  const auto port = open(hca::UdFraming::kBth);
  const auto receiver = port->open_endpoint(Service::kReliable).value();
  const auto of_socket = [](const Endpoint& endpoint, int level, int option) {
    int value = -1;
    socklen_t length = sizeof value;
    getsockopt(endpoint.inlet()->descriptors().at(0), level, option, &value, &length);
    return value;
  };
  for (const auto service : {Service::kDatagram, Service::kUnreliable, Service::kReliable}) {
    const auto sender = port->open_endpoint(service).value();
    const int capable = service == Service::kReliable ? wire::kEcnCapable : 0;
    EXPECT_EQ(of_socket(*sender, IPPROTO_IP, IP_TOS), capable);
    EXPECT_EQ(of_socket(*sender, IPPROTO_IPV6, IPV6_TCLASS), capable);
    for (const char* ip : {"127.0.0.1", "::1"}) {
      for (const std::uint8_t asked : {wire::kEcnCapable, std::uint8_t{0}}) {
        fill(burst_, receiver->qpn(), 2, 8, true, ip, ip);
        burst_.path.traffic_class = asked;
        ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
        collector_.arrivals.clear();
        collect(*receiver->inlet(), 2);
        ASSERT_EQ(collector_.arrivals.size(), 2u);
        EXPECT_EQ(collector_.arrivals[0].traffic_class, asked) << ip;
        EXPECT_EQ(collector_.arrivals[1].traffic_class, asked) << ip;
      }
    }
  }
}

TEST_F(UdpEndpointTest, FindsQueuePairOneAtThePortAgreedForIt) {
  UdpPortConfig config = on_loopback();
  config.management_port = 14792;
  const auto port = open(config);
  const auto sender = port->open_endpoint(Service::kDatagram).value();
  const auto manager = port->open_management().value();
  EXPECT_EQ(manager->qpn(), kQp1);
  fill(burst_, kQp1, 1, 256, true, "127.0.0.1", "127.0.0.1");
  ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
  collect(*manager->inlet(), 1);
  EXPECT_EQ(collector_.arrivals.at(0).dest_qp(), kQp1);
  EXPECT_EQ(collector_.arrivals.at(0).source_qpn, sender->qpn());

  const auto second = port->open_management();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, std::errc::address_in_use);
  EXPECT_NE(second.error().message.find("14792"), std::string::npos);
}

TEST_F(UdpEndpointTest, ServesEveryInterfaceWhenNoneIsNamed) {
  UdpPortConfig config;
  config.management_port = 14793;
  const auto everywhere = open(config);
  const auto all = everywhere->attributes(1).gids;
  EXPECT_TRUE(std::any_of(all.begin(), all.end(),
                          [](const GidEntry& entry) { return entry.gid == address("127.0.0.1"); }));
  for (const GidEntry& entry : open(hca::UdFraming::kBth)->attributes(1).gids) {
    EXPECT_NE(std::find(all.begin(), all.end(), entry), all.end());
  }
}

TEST_F(UdpEndpointTest, ReportsMemoryThatIsGoneAsAProtectionError) {
  const std::size_t size = 2000;
  void* const gone = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(gone, MAP_FAILED);
  // The kernel finds out where nothing is read before.
  const auto bare = open(hca::UdFraming::kBare);
  const auto sender = bare->open_endpoint(Service::kDatagram).value();
  burst_.clear();
  burst_.path.sgid = burst_.path.dgid = address("127.0.0.1");
  burst_.destination = sender->qpn();
  hca::OutPacket& packet = burst_.open();
  burst_.add_piece(packet, {static_cast<const std::byte*>(gone), size});
  burst_.close(packet, 0);
  const auto refused = sender->send(burst_);
  EXPECT_EQ(refused.outcome, hca::SendOutcome::kRefused);
  EXPECT_EQ(refused.reason, hca::CompletionStatus::kLocalProtectionError);
  munmap(gone, size);

  // The guard does where an ICRC is made.
  UdpPortConfig config = on_loopback();
  config.guard = [](void (*)(void*), void*) { return false; };
  const auto port = open(config);
  const auto guarded = port->open_endpoint(Service::kReliable).value();
  fill(burst_, guarded->qpn(), 4, 2048, true, "127.0.0.1", "127.0.0.1");
  EXPECT_EQ(guarded->send(burst_).reason, hca::CompletionStatus::kLocalProtectionError);
  EXPECT_EQ(counter(*port, "udp_tx_calls"), 0u);
}

TEST_F(UdpEndpointTest, SendsBurstsOfEndpointsThatShareASocketInOneCall) {
  const auto port = open(hca::UdFraming::kBth);
  // The first have sockets of their own.
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  while (endpoints.size() < 2 || endpoints.end()[-1]->inlet() != endpoints.end()[-2]->inlet())
    endpoints.push_back(port->open_endpoint(Service::kReliable).value());
  Endpoint& one = *endpoints.end()[-2];
  Endpoint& other = *endpoints.end()[-1];
  hca::Burst second;
  fill(burst_, one.qpn(), 2, 2048, true, "127.0.0.1", "127.0.0.1");
  const auto messages = std::exchange(payloads_, {});  // fill() makes others
  fill(second, other.qpn(), 1, 1500, true, "127.0.0.1", "127.0.0.1");
  ASSERT_TRUE(one.same_way(burst_, second));
  const hca::Burst* const bursts[]{&burst_, &second};
  const auto result = one.send_together(bursts);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->outcome, hca::SendOutcome::kSent);
  EXPECT_EQ(counter(*port, "udp_tx_calls"), 1u);
  collect(*one.inlet(), 3);
  ASSERT_EQ(collector_.arrivals.size(), 3u);
  EXPECT_EQ(collector_.arrivals[0].dest_qp(), one.qpn());
  EXPECT_EQ(collector_.arrivals[1].dest_qp(), one.qpn());
  EXPECT_EQ(collector_.arrivals[2].dest_qp(), other.qpn());
  EXPECT_EQ(collector_.arrivals[2].message(1500).size(), 1500u);

  // To another socket, by another way: not together.
  fill(second, endpoints.front()->qpn(), 1, 1500, true, "127.0.0.1", "127.0.0.1");
  EXPECT_FALSE(one.same_way(burst_, second));
  fill(second, other.qpn(), 1, 1500, true, "127.0.0.1", "127.0.0.2");
  EXPECT_FALSE(one.same_way(burst_, second));
}

TEST_F(UdpEndpointTest, SendsNothingTogetherThatHasMemoryWhichIsGone) {
  UdpPortConfig config = on_loopback();
  config.guard = [](void (*)(void*), void*) { return false; };
  const auto port = open(config);
  const auto endpoint = port->open_endpoint(Service::kReliable).value();
  fill(burst_, endpoint->qpn(), 4, 2048, true, "127.0.0.1", "127.0.0.1");
  const hca::Burst* const bursts[]{&burst_, &burst_};
  EXPECT_FALSE(endpoint->send_together(bursts));
  EXPECT_EQ(counter(*port, "udp_tx_calls"), 0u);
}

TEST_F(UdpEndpointTest, CountsWhatHasNoRouteAsLost) {
  const auto port = open(hca::UdFraming::kBare);
  const auto sender = port->open_endpoint(Service::kDatagram).value();
  fill(burst_, Qpn{50000}, 1, 2000, false, "127.0.0.1", "192.0.2.1");
  const auto unroutable = sender->send(burst_);
  EXPECT_EQ(unroutable.outcome, hca::SendOutcome::kRefused);
  EXPECT_EQ(unroutable.reason, hca::CompletionStatus::kSuccess);
}

// How the kernel deals with what is too long for a path: its IP_MTU_DISCOVER.
int discovery(const Endpoint& endpoint, int level, int name) {
  const auto& inlet = dynamic_cast<const UdpInlet&>(*endpoint.inlet());
  int value = -1;
  socklen_t length = sizeof value;
  EXPECT_EQ(getsockopt(inlet.socket().fd(), level, name, &value, &length), 0);
  return value;
}

TEST_F(UdpEndpointTest, SendsFragmentsOnceItIsTold) {
  const auto port = open(hca::UdFraming::kBth);
  const auto sender = port->open_endpoint(Service::kDatagram).value();
  const auto receiver = port->open_endpoint(Service::kDatagram).value();
  const auto inlet = std::dynamic_pointer_cast<UdpInlet>(sender->inlet());
  for (const bool told : {false, true, true}) {
    fill(burst_, receiver->qpn(), 3, 2000, true, "127.0.0.1", "127.0.0.1");
    if (told) inlet->allow_fragments();
    ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
    const int expected = told ? IP_PMTUDISC_DONT : IP_PMTUDISC_DO;
    EXPECT_EQ(discovery(*sender, IPPROTO_IP, IP_MTU_DISCOVER), expected);
    EXPECT_EQ(discovery(*sender, IPPROTO_IPV6, IPV6_MTU_DISCOVER), expected);
  }
  collect(*receiver->inlet(), 9);
  EXPECT_EQ(counter(*port, "udp_tx_fragmenting"), 1u);
}

}  // namespace
}  // namespace weft::port
