// SPDX-License-Identifier: Apache-2.0
// Wire `roce` over loopback, at another UDP port than 4791 so that nothing else is in the way.
#include "port/roce/roce_port.h"

#include <set>

#include "port/roce/slot_group.h"
#include "port/udp/udp_inlet.h"
#include "udp_fixture.h"

namespace weft::port {
namespace {

constexpr std::uint16_t kPort = 14790;

class RocePortTest : public UdpFixture {
 protected:
  RocePortTest() {
    SlotGroupConfig config;
    config.udp_port = kPort;
    config.slots = 4;
    slots_ = std::make_shared<OwnSlots>(config);
  }
  std::unique_ptr<RocePort> open_roce() {
    RocePortConfig config;
    config.interface = "lo";
    config.ifindex = if_nametoindex("lo");
    config.udp_port = kPort;
    return RocePort::open(config, slots_, entropy_).value();
  }

  std::shared_ptr<OwnSlots> slots_;
};

TEST_F(RocePortTest, SteersPacketsToTheSlotInTheirDestination) {
  const auto first = open_roce();
  const auto second = open_roce();
  const auto third = open_roce();
  const auto sender = first->open_endpoint(Service::kReliable).value();
  std::vector<std::unique_ptr<Endpoint>> receivers;
  for (RocePort* port : {first.get(), second.get(), third.get()})
    receivers.push_back(port->open_endpoint(Service::kReliable).value());
  for (const char* ip : {"127.0.0.1", "::1"}) {
    for (const auto& receiver : receivers) {
      fill(burst_, receiver->qpn(), 15, 4096, true, ip, ip);
      ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
      collector_.arrivals.clear();
      collect(*receiver->inlet(), 15);
      for (const Arrival& arrival : collector_.arrivals)
        EXPECT_EQ(arrival.dest_qp(), receiver->qpn()) << ip;
    }
  }
  EXPECT_EQ(receivers[0]->inlet(), sender->inlet());
  EXPECT_NE(receivers[1]->inlet(), receivers[2]->inlet());
}

// On loopback a run is one packet, which the filter sends to one slot.
TEST_F(RocePortTest, SendsNothingToTwoSlotsInOneCall) {
  const auto port = open_roce();
  const auto sender = port->open_endpoint(Service::kReliable).value();
  hca::Burst next;
  fill(burst_, Qpn{0x01'0007}, 1, 64, true, "127.0.0.1", "127.0.0.1");
  fill(next, Qpn{0x01'0008}, 1, 64, true, "127.0.0.1", "127.0.0.1");
  EXPECT_TRUE(sender->same_way(burst_, next));
  fill(next, Qpn{0x02'0007}, 1, 64, true, "127.0.0.1", "127.0.0.1");
  EXPECT_FALSE(sender->same_way(burst_, next));
}

// The kernel gives a report to the port that the packet came from.
TEST_F(RocePortTest, TellsEachSlotWhatBecameOfItsOwnPackets) {
  const auto nobody = io::UdpSocket::open({}).value().port();  // closed again
  std::vector<std::unique_ptr<RocePort>> ports;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (int i = 0; i < 3; ++i) {
    ports.push_back(open_roce());
    endpoints.push_back(ports.back()->open_endpoint(Service::kReliable).value());
  }
  for (const char* ip : {"127.0.0.1", "127.0.0.2", "127.0.0.3", "::1"}) {
    for (std::uint32_t i = 0; i < endpoints.size(); ++i) {
      std::array<std::byte, wire::Bth::kSize> packet{};
      wire::Bth{.dest_qp = Qpn{i}}.write(packet);
      const iovec piece{packet.data(), packet.size()};
      io::SendDatagram datagram;
      datagram.destination = {address(ip), nobody, 0};
      datagram.data = {&piece, 1};
      const auto& inlet = dynamic_cast<const UdpInlet&>(*endpoints[i]->inlet());
      ASSERT_EQ(inlet.socket().send(datagram).status, io::IoStatus::kDone);
    }
    for (std::uint32_t i = 0; i < endpoints.size(); ++i) {
      Inlet& inlet = *endpoints[i]->inlet();
      wait_for(inlet, 1);
      inlet.expect_errors();  // as who waited says
      collector_.undelivered_packets.clear();
      inlet.receive(collector_, 1);
      ASSERT_EQ(collector_.undelivered_packets.size(), 1u) << ip;
      const Undelivery& told = collector_.undelivered_packets[0];
      EXPECT_EQ(told.destination, address(ip));
      EXPECT_EQ(wire::Bth::parse(told.transport)->dest_qp, Qpn{i});
    }
  }
}

TEST_F(RocePortTest, SendsToSlotZeroWhatNoSlotIsFor) {
  const auto port = open_roce();
  const auto sender = port->open_endpoint(Service::kDatagram).value();
  const auto manager = port->open_management().value();
  EXPECT_EQ(manager->qpn(), kQp1);
  EXPECT_FALSE(port->open_management());
  for (const std::uint32_t number : {1u, 0x04'0000u, 0xFE'1234u}) {
    fill(burst_, Qpn{number}, 1, 64, true, "127.0.0.1", "127.0.0.1");
    ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
    collector_.arrivals.clear();
    collect(*manager->inlet(), 1);
    EXPECT_EQ(collector_.arrivals.at(0).dest_qp(), Qpn{number});
  }
}

TEST_F(RocePortTest, NumbersQueuePairsBelowTheirSlot) {
  const auto port = open_roce();
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  std::set<Qpn> numbers;
  for (int i = 0; i < 100; ++i) {
    endpoints.push_back(
        port->open_endpoint(i % 2 == 0 ? Service::kReliable : Service::kDatagram).value());
    numbers.insert(endpoints.back()->qpn());
    EXPECT_EQ(endpoints.back()->qpn().value() >> kSlotShift, 1u);
  }
  EXPECT_EQ(numbers.size(), endpoints.size());
}

TEST_F(RocePortTest, SaysWhenAllSlotsAreTakenAndTakesThemAgain) {
  const auto first = open_roce();
  const auto second = open_roce();
  const auto third = open_roce();
  const auto fourth = open_roce();
  auto a = first->open_endpoint(Service::kReliable).value();
  auto b = second->open_endpoint(Service::kReliable).value();
  auto c = third->open_endpoint(Service::kReliable).value();
  const auto refused = fourth->open_endpoint(Service::kReliable);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, std::errc::not_enough_memory);

  // What is left in a slot is nobody's when it is handed out again.
  const Qpn freed = b->qpn();
  fill(burst_, freed, 1, 64, true, "127.0.0.1", "127.0.0.1");
  ASSERT_EQ(a->send(burst_).outcome, hca::SendOutcome::kSent);
  wait_for(*b);
  b.reset();
  const auto again = fourth->open_endpoint(Service::kReliable).value();
  EXPECT_EQ(again->qpn().value() >> kSlotShift, freed.value() >> kSlotShift);
  EXPECT_EQ(again->inlet()->receive(collector_, 1), 0u);
}

TEST_F(RocePortTest, SaysWhoMayHoldThePort) {
  io::UdpOptions options;
  options.local.port = kPort;
  const auto holder = io::UdpSocket::open(options);
  ASSERT_TRUE(holder);
  const auto port = open_roce();
  const auto endpoint = port->open_endpoint(Service::kReliable);
  ASSERT_FALSE(endpoint);
  EXPECT_EQ(endpoint.error().code, std::errc::address_in_use);
  EXPECT_NE(endpoint.error().message.find("rdma_rxe"), std::string::npos);
}

TEST_F(RocePortTest, DoesNotShareThePortWithAnotherGroup) {
  const auto port = open_roce();
  const auto endpoint = port->open_endpoint(Service::kReliable).value();
  SlotGroupConfig config;
  config.udp_port = kPort;
  const auto second = SlotGroup::open(config);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, std::errc::address_in_use);
}

TEST_F(RocePortTest, DeliversMulticastToTheSlotsOfMembersUntilTheLastOneLeaves) {
  const auto first = open_roce();
  const auto second = open_roce();
  const Gid group = address("239.7.7.8");
  const auto sender = first->open_endpoint(Service::kDatagram).value();
  const auto member = second->open_endpoint(Service::kDatagram).value();
  auto other_member = second->open_endpoint(Service::kDatagram).value();
  ASSERT_EQ(member->inlet(), other_member->inlet());
  const auto send = [&] {
    fill(burst_, kMulticastQpn, 1, 100, true, "127.0.0.1", "239.7.7.8");
    ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
  };
  ASSERT_TRUE(member->attach(group));
  ASSERT_TRUE(other_member->attach(group));
  send();
  collect(*member->inlet(), 1);
  EXPECT_TRUE(collector_.arrivals.at(0).multicast);
  EXPECT_EQ(sender->inlet()->receive(collector_, 1), 0u);

  ASSERT_TRUE(member->detach(group));
  EXPECT_FALSE(member->detach(group)) << "not attached any more";
  send();
  collect(*member->inlet(), 2);
  other_member.reset();
  send();
  EXPECT_EQ(member->inlet()->receive(collector_, 1), 0u);
}

TEST_F(RocePortTest, FindsACorruptedPacketThoughTheIdentificationIsUnknown) {
  const auto port = open_roce();
  const auto receiver = port->open_endpoint(Service::kReliable).value();
  const auto stranger = io::UdpSocket::open({}).value();
  std::vector<std::byte> garbage(64, std::byte{0x5A});
  garbage[5] = std::byte{1};
  const iovec piece{garbage.data(), garbage.size()};
  io::SendDatagram datagram;
  datagram.destination.address = address("127.0.0.1");
  datagram.destination.port = kPort;
  datagram.data = {&piece, 1};
  ASSERT_EQ(stranger.send(datagram).status, io::IoStatus::kDone);
  wait_for(*receiver);
  receiver->inlet()->receive(collector_, 1);
  EXPECT_TRUE(collector_.arrivals.empty());
  EXPECT_EQ(counter(*port, "udp_rx_bad_icrc"), 1u);
}

}  // namespace
}  // namespace weft::port
