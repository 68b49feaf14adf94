// SPDX-License-Identifier: Apache-2.0
// Paths in IP and in Ethernet over a wire that marks instead of dropping (RFC 3168): this test
// holds the far ends of two cables, and what it takes out of one goes into the other as the model
// of `weft wan-emulator` has it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/wan/ethernet_socket.h"
#include "daemon/wan/ip_socket.h"
#include "io/clock.h"
#include "io/tap_device.h"
#include "io/unique_fd.h"
#include "wan/encapsulation/ethernet_layer.h"
#include "wan/encapsulation/ipv4_layer.h"
#include "wan/path_model.h"
#include "wire/endian.h"
#include "wire/ip.h"

namespace weft::daemon {
namespace {

constexpr Duration kMarkedPathsPatience = 20s;
constexpr std::array<sock_filter, 1> kAll{{BPF_STMT(BPF_RET | BPF_K, 0xFFFF)}};

void run_shell(const std::string& command) {
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
}

// Marks the IP packet in a frame of Ethernet; false: it does not want to know.
bool mark(MutableBytes frame) {
  std::byte* const ip = frame.data() + wan::EthernetLayer::kHeader;
  if (wire::load_be16(frame.data() + 12) == wan::Ipv4Layer::kEtherType) {
    if ((wire::load_u8(ip + 1) & wire::kEcnBits) == 0) return false;
    wire::store_u8(ip + 1, wire::load_u8(ip + 1) | wire::kCongestionExperienced);
    wire::store_be16(ip + 10, 0);
    wire::store_be16(ip + 10, wire::internet_checksum(Bytes(ip, wire::kIpv4HeaderSize)));
    return true;
  }
  const std::uint16_t first = wire::load_be16(ip);
  if ((first >> 4 & wire::kEcnBits) == 0) return false;
  wire::store_be16(ip, static_cast<std::uint16_t>(first | wire::kCongestionExperienced << 4));
  return true;
}

// Site n has 192.0.2.n and fd78::n on an interface wan<n>, each in a network of its own.
class MarkedPaths : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (access("/dev/net/tun", R_OK | W_OK) != 0) GTEST_SKIP() << "/dev/net/tun is missing";
    reactor_ = std::move(io::Reactor::create(0us).value());
    for (unsigned site = 0; site < 2; ++site) {
      if (!apart()) GTEST_SKIP() << "there is no namespace to be had";
      open_cable(site);
      if (HasFatalFailure() || IsSkipped()) return;
    }
    for (unsigned site = 0; site < 2; ++site)
      add_path(site);
  }
  static bool apart() {
    return unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
  }

  void open_cable(unsigned site) {
    const std::string name = "wan" + std::to_string(site);
    auto cable = io::TapDevice::open(name, kAll);
    ASSERT_TRUE(cable) << cable.error().message;
    cables_[site] = std::move(*cable);
    const std::string other = std::to_string(2 - site);
    // Where the other site is, the kernel is told: what it asks goes nowhere.
    const std::string at = " lladdr 02:00:00:00:00:0" + other + " dev " + name;
    run_shell("ip link set " + name + " address 02:00:00:00:00:0" + std::to_string(site + 1));
    run_shell("ip address add 192.0.2." + std::to_string(site + 1) + "/24 dev " + name);
    run_shell("ip address add fd78::" + std::to_string(site + 1) + "/64 nodad dev " + name);
    run_shell("ip neighbour replace 192.0.2." + other + at);
    run_shell("ip neighbour replace fd78::" + other + at);
    open_socket(site, name);
  }
  [[nodiscard]] std::string layers() const { return GetParam(); }
  [[nodiscard]] bool ipv4() const { return layers().find("ipv4") != std::string::npos; }
  [[nodiscard]] Gid address(unsigned site) const {
    const std::string number = std::to_string(site + 1);
    return io::SocketAddress::parse((ipv4() ? "192.0.2." + number : "[fd78::" + number + "]") +
                                    ":4792")
        ->address;
  }
  void open_socket(unsigned site, const std::string& interface) {
    if (layers().find("ethernet") == std::string::npos) {
      auto socket = IpSocket::open(address(site), ipv4(), *reactor_);
      ASSERT_TRUE(socket) << socket.error().message;
      sockets_[site] = std::move(*socket);
      return;
    }
    const io::SocketAddress own{.address = address(site), .port = 4792};
    auto socket = EthernetSocket::open(own, false, interface, *reactor_);
    ASSERT_TRUE(socket) << socket.error().message;
    sockets_[site] = std::move(*socket);
  }
  void add_path(unsigned site) {
    fabric::LabRemote remote;
    remote.address = fabric::PartAddress{address(1 - site), 4792};
    remote.encapsulation = layers();
    paths_[site] = &sockets_[site]->add(remote, 0, io::now());
    paths_[site]->set_user({.received =
                                [this](Bytes, const RemotePath::Beside& beside, Time) {
                                  ++came_;
                                  marked_ += beside.marked ? 1 : 0;
                                  return false;
                                },
                            .changed = {},
                            .lost = [] { return false; },
                            .claims = {}});
  }

  // What has left one site arrives at the other; its frames leave the line one after the other.
  void carry(wan::PathModel& line, Time at) {
    for (unsigned site = 0; site < 2; ++site) {
      for (const Bytes frame : cables_[site]->receive()) {
        std::vector<std::byte> copy(frame.begin(), frame.end());
        const bool frames = copy.size() > 1000;  // and nobody's questions
        std::vector<std::byte> as_marked = copy;
        const bool capable = frames && mark(as_marked);
        capable_ += capable ? 1 : 0;
        if (frames && line.carry(copy.size(), capable, at).marked) copy.swap(as_marked);
        const Bytes whole(copy);
        const std::span<const Bytes> parts(&whole, 1);
        EXPECT_EQ(cables_[1 - site]->send({&parts, 1}).count, 1u);
      }
    }
  }
  void turn_until(wan::PathModel& line, Time at, const std::function<bool()>& done) {
    const Time end = io::now() + kMarkedPathsPatience;
    while (!done()) {
      ASSERT_LT(io::now(), end) << "it never comes: " << came_;
      carry(line, at);
      for (const auto& socket : sockets_) {
        socket->run(io::now());
        socket->watch_for_room();
      }
      ASSERT_TRUE(reactor_->run_once(1ms));
    }
  }
  // Twenty frames of 1,200 bytes at once over a line that marks what finds 10,000 before it.
  void send(bool capable) {
    wan::PathEmulation emulation;
    emulation.line.rate_bytes_per_s = 1'250'000;
    emulation.queue = 1'000'000;
    emulation.mark = 10'000;
    wan::PathModel line(emulation, Time(1s));
    turn_until(line, Time(1s), [this] { return paths_[0]->established(); });
    paths_[0]->set_ecn_capable(capable);
    const std::vector<std::byte> frame(1200, std::byte{1});
    const Bytes whole(frame);
    const std::vector<wan::OutFrame> out(
        20, {.parts = {&whole, 1}, .size = frame.size(), .traffic_class = 46 << 2});
    came_ = marked_ = capable_ = 0;
    paths_[0]->send(out, io::now());
    turn_until(line, Time(1s), [&] { return came_ == out.size(); });
  }

  std::unique_ptr<io::Reactor> reactor_;
  std::array<std::unique_ptr<io::TapDevice>, 2> cables_;
  std::array<std::unique_ptr<PathSocket>, 2> sockets_;
  std::array<RemotePath*, 2> paths_{};
  std::size_t came_ = 0, marked_ = 0, capable_ = 0;
};

TEST_P(MarkedPaths, SayThatTheyMayBeMarkedAndSeeMarks) {
  send(true);
  if (HasFatalFailure()) return;
  EXPECT_EQ(capable_, 20u);
  EXPECT_GE(marked_, 10u) << "what comes after the first 10,000 bytes";
  EXPECT_LE(marked_, 13u);
}

TEST_P(MarkedPaths, AreNotMarkedWhereNobodyHeedsIt) {
  send(false);
  if (HasFatalFailure()) return;
  EXPECT_EQ(capable_, 0u);
  EXPECT_EQ(marked_, 0u);
}

INSTANTIATE_TEST_SUITE_P(Each, MarkedPaths,
                         ::testing::Values("ipv6", "ipv4", "ipv6/ethernet", "ipv4/ethernet",
                                           "udp/ipv6/ethernet", "udp/ipv4/ethernet"));

}  // namespace
}  // namespace weft::daemon
