// SPDX-License-Identifier: Apache-2.0
// Interfaces of which the test is the hardware, in network namespaces of its own.
#include "io/tap_interface.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "network_namespace.h"

namespace weft::io {
namespace {

constexpr std::array<std::uint8_t, 6> kTapInterfaceMac{0x02, 0, 0, 0, 0, 1};
constexpr std::array<std::uint8_t, 6> kPeerMac{0x02, 0, 0, 0, 0, 2};

void run(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

class TapInterfaceTest : public testing::Test {
 protected:
  void SetUp() override {
    static const bool apart =
        unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
    if (!apart) GTEST_SKIP() << "there is no namespace to be had";
    if (access("/dev/net/tun", R_OK | W_OK) != 0) GTEST_SKIP() << "/dev/net/tun is missing";
    // Of frames that the test has not asked for there are to be none.
    run("echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6");
  }

  static TapOptions options(const std::string& name) {
    TapOptions out;
    out.name = name;
    out.mac = kTapInterfaceMac;
    return out;
  }
  // The next frame that the kernel sends there.
  MutableBytes next(TapInterface& interface, std::size_t queue = 0) {
    pollfd waiting{interface.queues()[queue].get(), POLLIN, 0};
    EXPECT_EQ(poll(&waiting, 1, 5000), 1);
    return interface.receive(queue, place_);
  }

  std::vector<std::byte> place_{TapInterface::kHeader + TapInterface::kLongestFrame};
};

TEST_F(TapInterfaceTest, IsAnInterfaceWithWhatWasAskedFor) {
  TapOptions wanted = options("lan%d");
  wanted.mtu = 65521;
  const auto made = TapInterface::make(wanted);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ((*made)->name(), "lan0");
  run("ip link show lan0 | grep -q 'mtu 65521'");
  run("ip link show lan0 | grep -q 'link/ether 02:00:00:00:00:01'");
  run("ip link show lan0 | grep -q NO-CARRIER");
  ASSERT_TRUE((*made)->set_carrier(true));
  run("ip link show lan0 | grep -q LOWER_UP");
  ASSERT_TRUE((*made)->set_mtu(1400));
  ASSERT_TRUE((*made)->set_mac(kPeerMac));
  run("ip link show lan0 | grep -q 'mtu 1400'");
  run("ip link show lan0 | grep -q 'link/ether 02:00:00:00:00:02'");
}

TEST_F(TapInterfaceTest, TellsWhatPeopleHaveMadeOfIt) {
  const auto made = TapInterface::make(options("lan0"));
  ASSERT_TRUE(made) << made.error().message;
  // The kernel has news of its own too, of the carrier.
  const auto told = [&](const LinkFacts& wanted) {
    pollfd waiting{(*made)->news(), POLLIN, 0};
    while (poll(&waiting, 1, 5000) == 1)
      if ((*made)->take_news() == wanted) return true;
    return false;
  };
  EXPECT_TRUE(told({.mtu = 1500, .mac = kTapInterfaceMac}));
  run("ip link set lan0 address 02:00:00:00:00:02 mtu 1400");
  EXPECT_TRUE(told({.mtu = 1400, .mac = kPeerMac}));
  // By another name too.
  run("ip link set lan0 down && ip link set lan0 name other && ip link set other mtu 1300");
  EXPECT_TRUE(told({.mtu = 1300, .mac = kPeerMac}));
}

TEST_F(TapInterfaceTest, WhatTheKernelRefusesIsSaid) {
  const auto first = TapInterface::make(options("lan0"));
  ASSERT_TRUE(first) << first.error().message;
  const auto second = TapInterface::make(options("lan0"));
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, std::errc::file_exists);
  EXPECT_THAT(second.error().message, testing::HasSubstr("lan0"));

  TapOptions wanted = options("lan1");
  wanted.mtu = 70000;
  EXPECT_THAT(TapInterface::make(wanted).error().message, testing::HasSubstr("70000"));
  wanted = options("lan1");
  wanted.mac[0] = 1;  // a group is nobody's address
  EXPECT_THAT(TapInterface::make(wanted).error().message, testing::HasSubstr("01:00:00:00:00:01"));
  wanted = options("lan1");
  wanted.queues = TapInterface::kMostQueues + 1;
  EXPECT_EQ(TapInterface::make(wanted).error().code, std::errc::invalid_argument);
  wanted = options("lan1");
  wanted.network_namespace = "/nowhere";
  EXPECT_THAT(TapInterface::make(wanted).error().message, testing::HasSubstr("/nowhere"));
  wanted = options("an interface's name");
  EXPECT_EQ(TapInterface::make(wanted).error().code, std::errc::invalid_argument);
  EXPECT_TRUE(TapInterface::make(options("lan1")));
}

TEST_F(TapInterfaceTest, WhatPeopleDecideOfItIsNews) {
  const Elsewhere elsewhere;
  ASSERT_FALSE(elsewhere.path().empty());
  TapOptions wanted = options("lan0");
  wanted.network_namespace = elsewhere.path();
  const auto made = TapInterface::make(wanted);
  ASSERT_TRUE(made) << made.error().message;
  const auto news = [&] {
    pollfd waiting{(*made)->news(), POLLIN, 0};
    EXPECT_EQ(poll(&waiting, 1, 5000), 1);
    return (*made)->take_news();
  };
  const std::string ip = elsewhere.enter() + "ip link ";
  EXPECT_EQ(news(), (LinkFacts{.mtu = 1500, .mac = kTapInterfaceMac}));
  run(ip + "set lan0 mtu 9000");
  EXPECT_EQ(news(), (LinkFacts{.mtu = 9000, .mac = kTapInterfaceMac}));
  run(ip + "set lan0 down && " + ip + "set lan0 name eth7");
  EXPECT_EQ(news(), (LinkFacts{.mtu = 9000, .mac = kTapInterfaceMac}));
  if (std::system((ip + "add br0 type bridge 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << "this kernel has no bridges";
  }
  run(ip + "set eth7 master br0");
  EXPECT_EQ(news(), (LinkFacts{.mtu = 9000, .mac = kTapInterfaceMac, .in_bridge = true}));
  // What happens to others is no news of this one.
  run(ip + "add v0 type veth peer name v1");
  pollfd waiting{(*made)->news(), POLLIN, 0};
  EXPECT_EQ(poll(&waiting, 1, 5000), 1);
  EXPECT_EQ((*made)->take_news(), std::nullopt);
  run(ip + "set eth7 nomaster");
  EXPECT_EQ(news(), (LinkFacts{.mtu = 9000, .mac = kTapInterfaceMac}));
  run(ip + "delete eth7");
  EXPECT_EQ(news(), std::nullopt);
}

TEST_F(TapInterfaceTest, ChecksumsAreLeftUndone) {
  const auto made = TapInterface::make(options("lan0"));
  ASSERT_TRUE(made) << made.error().message;
  TapInterface& interface = **made;
  ASSERT_TRUE(interface.set_carrier(true));
  run("ip address add 10.9.0.1/24 dev lan0");
  run("ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev lan0");
  run("echo hello | timeout 5 socat -u - UDP4-SENDTO:10.9.0.2:9");
  const MutableBytes frame = next(interface);
  ASSERT_EQ(frame.size(), TapInterface::kHeader + 14 + 20 + 8 + 6);
  EXPECT_EQ(frame[0], std::byte{1});   // flags: the checksum is to be done
  EXPECT_EQ(frame[6], std::byte{34});  // from here on, little-endian
  EXPECT_EQ(frame[8], std::byte{6});   // and goes here

  // A header that lies is refused, and harms nobody.
  const std::array<Bytes, 1> whole{frame};
  EXPECT_EQ(interface.send(0, whole), std::errc{});
  frame[7] = std::byte{0x7F};
  EXPECT_EQ(interface.send(0, whole), std::errc::invalid_argument);
}

TEST_F(TapInterfaceTest, ThatIsDeletedIsGone) {
  const auto made = TapInterface::make(options("lan0"));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_TRUE((*made)->receive(0, place_).empty());
  EXPECT_FALSE((*made)->gone());
  run("ip link delete lan0");
  EXPECT_TRUE((*made)->receive(0, place_).empty());
  EXPECT_TRUE((*made)->gone());
}

// Frames go from each of two interfaces to the other.
class Cable {
 public:
  Cable(TapInterface& left, TapInterface& right) : ends_{&left, &right} {
    thread_ = std::thread([this] {
      while (!stop_)
        turn();
    });
  }
  Cable(const Cable&) = delete;
  Cable& operator=(const Cable&) = delete;
  ~Cable() {
    stop_ = true;
    thread_.join();
  }
  [[nodiscard]] std::size_t longest() const { return longest_; }

 private:
  void turn() {
    std::array<pollfd, 2> waiting{};
    for (std::size_t i = 0; i < 2; ++i)
      waiting[i] = {ends_[i]->queues()[0].get(), POLLIN, 0};
    if (poll(waiting.data(), waiting.size(), 20) <= 0) return;
    for (std::size_t i = 0; i < 2; ++i) {
      const MutableBytes frame = ends_[i]->receive(0, place_);
      if (frame.empty()) continue;
      longest_ = std::max(longest_.load(), frame.size());
      const std::array<Bytes, 2> pieces{frame.first(TapInterface::kHeader),
                                        frame.subspan(TapInterface::kHeader)};
      EXPECT_EQ(ends_[1 - i]->send(0, pieces), std::errc{});
    }
  }

  std::array<TapInterface*, 2> ends_;
  std::vector<std::byte> place_{TapInterface::kHeader + TapInterface::kLongestFrame};
  std::atomic<std::size_t> longest_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

TEST_F(TapInterfaceTest, SegmentsOfTcpAreLeftUncutBetweenNamespaces) {
  const Elsewhere elsewhere;
  ASSERT_FALSE(elsewhere.path().empty());
  const auto here = TapInterface::make(options("lan0"));
  ASSERT_TRUE(here) << here.error().message;
  TapOptions wanted = options("lan0");
  wanted.mac = kPeerMac;
  wanted.network_namespace = elsewhere.path();
  const auto there = TapInterface::make(wanted);
  ASSERT_TRUE(there) << there.error().message;
  ASSERT_TRUE((*here)->set_carrier(true));
  ASSERT_TRUE((*there)->set_carrier(true));
  const Cable cable(**here, **there);
  run("ip address add 10.9.0.1/24 dev lan0");
  const std::string enter = elsewhere.enter();
  run(enter + "ip address add 10.9.0.2/24 dev lan0");
  const std::string sum = "head -c 8000000 /dev/zero | tr '\\0' 'w' | sha256sum";
  std::thread listening([&] {
    run("test \"$(timeout 20 " + enter + "socat -u TCP-LISTEN:7,reuseaddr - | sha256sum)\" = \"$(" +
        sum + ")\"");
  });
  run("head -c 8000000 /dev/zero | tr '\\0' 'w' | "
      "timeout 20 socat -u - TCP:10.9.0.2:7,retry=100,interval=0.05");
  listening.join();
  EXPECT_GT(cable.longest(), 1500u * 4);
}

TEST_F(TapInterfaceTest, SeveralQueuesShareItsFrames) {
  TapOptions wanted = options("lan0");
  wanted.queues = 2;
  const auto made = TapInterface::make(wanted);
  ASSERT_TRUE(made) << made.error().message;
  ASSERT_EQ((*made)->queues().size(), 2u);
  ASSERT_TRUE((*made)->set_carrier(true));
  run("ip address add 10.9.0.1/24 dev lan0");
  run("ip neighbour add 10.9.0.2 lladdr 02:00:00:00:00:02 dev lan0");
  // Of so many flows some go to each.
  run("for port in $(seq 1 32); do echo hello | timeout 5 socat -u - UDP4-SENDTO:10.9.0.2:$port; "
      "done");
  std::array<int, 2> frames{};
  for (std::size_t queue = 0; queue < frames.size(); ++queue) {
    while (!(*made)->receive(queue, place_).empty())
      ++frames[queue];
  }
  EXPECT_EQ(frames[0] + frames[1], 32);
  EXPECT_GT(frames[0], 0);
  EXPECT_GT(frames[1], 0);
}

}  // namespace
}  // namespace weft::io
