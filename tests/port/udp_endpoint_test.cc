// SPDX-License-Identifier: Apache-2.0
// Endpoints on real sockets over loopback.
#include "port/udp/udp_endpoint.h"

#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>

#include <algorithm>
#include <cstring>

#include "io/system_entropy.h"
#include "port/udp/framing.h"
#include "port/udp/udp_port.h"
#include "wire/bth.h"
#include "wire/deth.h"

namespace weft::port {
namespace {

Gid address(const char* text) {
  return io::parse_address(text).value();
}

struct Arrival {
  std::vector<std::byte> transport;
  std::array<std::byte, hca::kGrhArea> header;
  Gid source;
  Gid destination;
  Qpn source_qpn;
  bool multicast;
};

class Collector final : public DatagramSink {
 public:
  void deliver(const hca::InDatagram& in) override {
    arrivals.push_back({{in.transport.begin(), in.transport.end()},
                        *in.network_header,
                        in.source,
                        in.destination,
                        in.source_qpn,
                        in.multicast});
  }
  void end_run() override {}
  std::vector<Arrival> arrivals;
};

class UdpEndpointTest : public testing::Test {
 protected:
  std::unique_ptr<UdpPort> open(hca::UdFraming framing, std::uint16_t first = 49152,
                                std::uint16_t last = 65534) {
    UdpPortConfig config;
    config.interface = "lo";
    config.ifindex = if_nametoindex("lo");
    config.framing = framing;
    config.first_port = first;
    config.last_port = last;
    return UdpPort::open(config, entropy_).value();
  }

  // A burst of `count` messages of `size` bytes, message i filled with i.
  void fill(hca::Burst& burst, Qpn to, std::size_t count, std::size_t size, bool headers,
            const char* from, const char* destination) {
    burst.clear();
    burst.path.sgid = address(from);
    burst.path.dgid = address(destination);
    burst.destination = to;
    payloads_.assign(count, {});
    for (std::size_t i = 0; i < count; ++i) {
      payloads_[i].assign(size, static_cast<std::byte>(i));
      hca::OutPacket& packet = burst.open();
      if (headers) {
        packet.header_length = wire::Bth::kSize + wire::Deth::kSize;
        packet.pad = wire::pad_count_for(size);
        wire::Bth{.opcode = wire::Opcode::ud_send_only, .pad_count = packet.pad, .dest_qp = to}
            .write(packet.header);
      }
      burst.add_piece(packet, payloads_[i]);
      burst.close(packet, headers ? kIcrcBytes : 0);
    }
  }

  static void wait_for(const Endpoint& endpoint, std::size_t which = 0) {
    pollfd ready{endpoint.inlet()->descriptors().at(which), POLLIN, 0};
    ASSERT_EQ(poll(&ready, 1, 5000), 1);
  }

  static std::uint64_t counter(const UdpPort& port, std::string_view name) {
    for (const CounterValue& value : port.counters()) {
      if (value.name == name) return value.value;
    }
    ADD_FAILURE() << "no counter " << name;
    return 0;
  }

  io::SystemEntropy entropy_;
  hca::Burst burst_;
  Collector collector_;
  std::vector<std::vector<std::byte>> payloads_;
};

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
  const auto endpoint = port->open_endpoint(Service::kConnected);
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

TEST_F(UdpEndpointTest, ReportsUnreadableMemoryAsAProtectionErrorAndMissingRoutesAsLoss) {
  const auto port = open(hca::UdFraming::kBare);
  const auto sender = port->open_endpoint(Service::kDatagram).value();
  fill(burst_, Qpn{50000}, 1, 2000, false, "127.0.0.1", "192.0.2.1");
  const auto unroutable = sender->send(burst_);
  EXPECT_EQ(unroutable.outcome, hca::SendOutcome::kRefused);
  EXPECT_EQ(unroutable.reason, hca::CompletionStatus::kSuccess);
}

}  // namespace
}  // namespace weft::port
