// SPDX-License-Identifier: Apache-2.0
// How connected queue pairs share sockets.
#include "port/udp/socket_pool.h"

#include <map>
#include <set>

#include "udp_fixture.h"

namespace weft::port {
namespace {

using SocketPoolTest = UdpFixture;

constexpr std::uint32_t kPortMask = 0xFFFF;
constexpr unsigned kIndexShift = 16;

std::vector<std::unique_ptr<Endpoint>> open_connected(Port& port, std::size_t count) {
  std::vector<std::unique_ptr<Endpoint>> out;
  for (std::size_t i = 0; i < count; ++i)
    out.push_back(port.open_endpoint(Service::kReliable).value());
  return out;
}

TEST_F(SocketPoolTest, GivesTheFirstConnectionsASocketEach) {
  const auto port = open(hca::UdFraming::kBth);
  std::set<const Inlet*> inlets;
  const auto endpoints = open_connected(*port, SocketPool::kSoleConnected);
  for (const auto& endpoint : endpoints) {
    inlets.insert(endpoint->inlet().get());
    EXPECT_EQ(endpoint->qpn().value() >> kIndexShift, 0u);
  }
  EXPECT_EQ(inlets.size(), SocketPool::kSoleConnected);
}

TEST_F(SocketPoolTest, LetsManyConnectionsShareSocketsUnderNumbersOfTheirOwn) {
  const auto port = open(hca::UdFraming::kBth);
  const auto endpoints = open_connected(*port, 1000);
  std::map<const Inlet*, std::uint32_t> ports;
  std::set<Qpn> numbers;
  for (const auto& endpoint : endpoints) {
    const auto [at, inserted] =
        ports.emplace(endpoint->inlet().get(), endpoint->qpn().value() & kPortMask);
    EXPECT_EQ(at->second, endpoint->qpn().value() & kPortMask) << "one inlet, one UDP port";
    numbers.insert(endpoint->qpn());
  }
  EXPECT_EQ(numbers.size(), endpoints.size());
  EXPECT_FALSE(numbers.contains(kQp0) || numbers.contains(kQp1) || numbers.contains(kMulticastQpn));
  EXPECT_LE(ports.size(), SocketPool::kSoleConnected + SocketPool::kSharedSockets);
}

TEST_F(SocketPoolTest, TellsAsManyApartAsTheNumberHasBitsFor) {
  // One port: no other socket can be had.
  const auto port = open(hca::UdFraming::kBth, 61200, 61200 + SocketPool::kSoleConnected);
  auto endpoints = open_connected(*port, SocketPool::kSoleConnected + SocketPool::kPerSocket);
  const auto full = port->open_endpoint(Service::kReliable);
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, std::errc::not_enough_memory);

  // A number that is given back is the next one handed out when there is no other.
  const Qpn freed = endpoints.back()->qpn();
  endpoints.pop_back();
  const auto again = port->open_endpoint(Service::kReliable);
  ASSERT_TRUE(again);
  EXPECT_EQ((*again)->qpn(), freed);
}

TEST_F(SocketPoolTest, DoesNotHandOutANumberAgainSoon) {
  const auto port = open(hca::UdFraming::kBth);
  const auto endpoints = open_connected(*port, SocketPool::kSoleConnected + 1);
  std::set<Qpn> seen;
  for (std::size_t i = 0; i < SocketPool::kPerSocket - 1; ++i) {
    const auto brief = port->open_endpoint(Service::kReliable).value();
    EXPECT_EQ(brief->inlet(), endpoints.back()->inlet());
    EXPECT_TRUE(seen.insert(brief->qpn()).second) << i;
  }
}

TEST_F(SocketPoolTest, ClosesASharedSocketWithItsLastQueuePairOnly) {
  const auto port = open(hca::UdFraming::kBth);
  auto endpoints = open_connected(*port, SocketPool::kSoleConnected + 2);
  const std::weak_ptr<Inlet> inlet = endpoints.back()->inlet();
  endpoints.pop_back();
  EXPECT_FALSE(inlet.expired());
  endpoints.pop_back();
  EXPECT_TRUE(inlet.expired());
  const auto next = open_connected(*port, 1);
  EXPECT_EQ(next[0]->qpn().value() >> kIndexShift, 0u) << "a socket of its own again";
}

TEST_F(SocketPoolTest, BringsThePacketsOfAllThatShareToOneInlet) {
  const auto port = open(hca::UdFraming::kBth);
  const auto endpoints = open_connected(*port, SocketPool::kSoleConnected + 3);
  const auto& sender = endpoints.front();
  const auto& inlet = endpoints.back()->inlet();
  for (std::size_t i = 0; i < 3; ++i) {
    const auto& to = endpoints[SocketPool::kSoleConnected + i];
    ASSERT_EQ(to->inlet(), inlet);
    fill(burst_, to->qpn(), 2, 512, true, "127.0.0.1", "127.0.0.1");
    ASSERT_EQ(sender->send(burst_).outcome, hca::SendOutcome::kSent);
  }
  collect(*inlet, 6);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(collector_.arrivals.at(i).dest_qp(),
              endpoints[SocketPool::kSoleConnected + i / 2]->qpn());
  }
}

}  // namespace
}  // namespace weft::port
