// SPDX-License-Identifier: Apache-2.0
// Interfaces that go away under those who use them, in a network namespace of the tests' own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <functional>
#include <initializer_list>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "daemon/wan/ethernet_socket.h"
#include "daemon/wan/roce_side.h"
#include "io/clock.h"
#include "io/packet_socket.h"
#include "io/tap_device.h"
#include "scarce.h"
#include "wire/endian.h"

namespace weft::daemon {
namespace {

void run(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

class Interfaces : public ::testing::Test {
 protected:
  void SetUp() override {
    static const bool apart =
        unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
    if (!apart) GTEST_SKIP() << "there is no namespace to be had";
    if (access("/dev/net/tun", R_OK | W_OK) != 0) GTEST_SKIP() << "/dev/net/tun is missing";
    reactor_ = std::move(io::Reactor::create(0us).value());
  }
  [[nodiscard]] std::unique_ptr<RoceSide> roce(const std::string& interface) {
    auto side = RoceSide::open(interface, {}, pool_, *reactor_, [] {});
    EXPECT_TRUE(side) << side.error().message;
    return side ? std::move(*side) : nullptr;
  }

  // A station at an interface, which takes all.
  static std::unique_ptr<io::PacketSocket> far_station(const char* interface) {
    constexpr std::array<sock_filter, 1> kAll{{BPF_STMT(BPF_RET | BPF_K, 0xFFFF)}};
    auto station = io::PacketSocket::open(interface, kAll, {});
    EXPECT_TRUE(station) << station.error().message;
    return std::move(*station);
  }
  // Who has this IPv4 address? (ARP)
  static void ask(io::PacketSocket& station, std::uint32_t wanted) {
    std::array<std::byte, 42> frame{};
    const auto put = [&](std::size_t at, std::initializer_list<int> bytes) {
      for (const int byte : bytes)
        frame[at++] = static_cast<std::byte>(byte);
    };
    put(0, {255, 255, 255, 255, 255, 255, 2, 0, 0, 0, 0, 9, 8, 6, 0, 1, 8, 0, 6, 4, 0, 1});
    put(22, {2, 0, 0, 0, 0, 9, 10, 1, 2, 9});
    wire::store_be32(frame.data() + 38, wanted);
    const Bytes bytes(frame);
    const std::span<const Bytes> parts(&bytes, 1);
    EXPECT_EQ(station.send({&parts, 1}).count, 1u);
  }
  void turn_until(const std::function<bool()>& done) {
    for (const Time end = io::now() + 20s; !done();) {
      ASSERT_LT(io::now(), end) << "it never comes";
      ASSERT_TRUE(reactor_->run_once(1ms));
    }
  }

  std::unique_ptr<io::Reactor> reactor_;
  BufferPool memory_{link::Packet::kBlock, 16};
  link::PacketPool pool_{16, memory_};
};

TEST_F(Interfaces, OfHostsWithRoceMayGoDown) {
  constexpr std::array<sock_filter, 1> kAll{{BPF_STMT(BPF_RET | BPF_K, 0xFFFF)}};
  const auto cable = io::TapDevice::open("hosts0", kAll);
  ASSERT_TRUE(cable) << cable.error().message;
  const auto side = roce("hosts0");
  ASSERT_NE(side, nullptr);
  EXPECT_TRUE(comes_to_rest(*reactor_));
  run("ip link set hosts0 down");
  EXPECT_TRUE(comes_to_rest(*reactor_));
  run("ip link set hosts0 up");
  EXPECT_TRUE(comes_to_rest(*reactor_));
}

TEST_F(Interfaces, OfHostsWithRoceMayBeTakenAway) {
  const auto side = roce("tap:wan0");
  ASSERT_NE(side, nullptr);
  EXPECT_TRUE(comes_to_rest(*reactor_));
  run("ip link delete wan0");
  EXPECT_TRUE(comes_to_rest(*reactor_));
}

TEST_F(Interfaces, OfRemoteSitesMayBeTakenAway) {
  const io::SocketAddress own{.address = Gid::from_ipv4(0x0A01'0203), .port = 4792};
  const auto socket = EthernetSocket::open(own, false, "tap:wan1", *reactor_);
  ASSERT_TRUE(socket) << socket.error().message;
  EXPECT_TRUE(comes_to_rest(*reactor_));
  run("ip link delete wan1");
  EXPECT_TRUE(comes_to_rest(*reactor_));
}

// Hosts ask for each other at interfaces that were not there for a while.
TEST_F(Interfaces, OfHostsWithRoceComeBackWhenTheyAreMadeAnew) {
  const auto make = [] {
    run("ip link add hosts1 type veth peer name far1 && ip link set hosts1 up");
  };
  make();
  run("ip link set far1 up");
  const auto side = roce("hosts1");
  ASSERT_NE(side, nullptr);
  EXPECT_TRUE(comes_to_rest(*reactor_));
  EXPECT_FALSE(side->deadline()) << "nothing is looked for";
  run("ip link delete hosts1");
  EXPECT_TRUE(comes_to_rest(*reactor_));
  ASSERT_TRUE(side->deadline());
  side->run(*side->deadline());
  make();
  run("ip link set far1 up");
  side->run(*side->deadline());
  EXPECT_FALSE(side->deadline()) << "it is not found again";
  EXPECT_TRUE(comes_to_rest(*reactor_));
  const auto host = far_station("far1");
  ask(*host, 0x0A01'0207);
  turn_until([&] { return side->report()["hosts"] == 1; });
}

TEST_F(Interfaces, OfRemoteSitesComeBackWithAnotherAddressWhenTheyAreMadeAnew) {
  const auto make = [](const char* mac) {
    run("ip link add wan2 address " + std::string(mac) +
        " type veth peer name far2 && ip link set wan2 up && ip link set far2 up");
  };
  make("02:00:00:00:00:01");
  const io::SocketAddress own{.address = Gid::from_ipv4(0x0A01'0203), .port = 4792};
  const auto socket = EthernetSocket::open(own, false, "wan2", *reactor_);
  ASSERT_TRUE(socket) << socket.error().message;
  run("ip link delete wan2");
  EXPECT_TRUE(comes_to_rest(*reactor_));
  ASSERT_TRUE((*socket)->deadline());
  make("02:00:00:00:00:02");
  EXPECT_TRUE((*socket)->run(*(*socket)->deadline()));
  EXPECT_FALSE((*socket)->deadline());
  const auto other = far_station("far2");
  ask(*other, 0x0A01'0203);
  // The answer comes from the address that the interface has now.
  turn_until([&] {
    for (const Bytes frame : other->receive()) {
      if (frame.size() >= 42 && frame[21] == std::byte{2} && frame[6] == std::byte{2}) {
        EXPECT_EQ(frame[11], std::byte{2});
        return true;
      }
    }
    return false;
  });
}

}  // namespace
}  // namespace weft::daemon
