// SPDX-License-Identifier: Apache-2.0
// Interfaces that go away under those who use them, in a network namespace of the tests' own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>

#include "daemon/wan/ethernet_socket.h"
#include "daemon/wan/roce_side.h"
#include "io/tap_device.h"
#include "scarce.h"

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

}  // namespace
}  // namespace weft::daemon
