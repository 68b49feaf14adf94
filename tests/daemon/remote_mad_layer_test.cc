// SPDX-License-Identifier: Apache-2.0
// A port's MAD layer over the socket: against a lab's daemon, and against one that lies.
#include "daemon/lab/remote_mad_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <thread>

#include "base/plain_bytes.h"
#include "fabric/lab_file.h"
#include "io/pass_descriptor.h"
#include "io/sealed_file.h"
#include "io/unix_socket.h"
#include "lab_daemon.h"
#include "wire/endian.h"
#include "wire/mad.h"
#include "wire/sm/smp.h"

namespace weft::daemon {
namespace {

namespace protocol = umad::protocol;
using ::testing::HasSubstr;

struct MadHeard : mgmt::MadClient {
  void received(mgmt::AgentId, const mgmt::ReceivedMad& mad) override {
    cookies.push_back(mad.cookie);
    sizes.push_back(mad.mad.size());
    from = mad.from;
  }
  void finished(mgmt::AgentId, std::uint64_t cookie, Bytes, mgmt::MadResult result) override {
    cookies.push_back(cookie);
    results.push_back(result);
  }
  std::vector<std::optional<std::uint64_t>> cookies;
  std::vector<std::size_t> sizes;
  std::vector<mgmt::MadResult> results;
  mgmt::MadAddress from;
};

class RemoteMadLayerTest : public ::testing::Test {
 protected:
  RemoteMadLayerTest()
      : directory_(::testing::TempDir() + "weft-remote-" + std::to_string(getpid())),
        reactor_(*io::Reactor::create(0us)) {
    std::filesystem::create_directory(directory_);
  }
  ~RemoteMadLayerTest() override { std::filesystem::remove_all(directory_); }

  [[nodiscard]] umad::Place place(const std::string& node) const {
    return {.lab = directory_, .node = node};
  }
  // Turns until that holds, and no longer than a test may take.
  void await(const std::function<bool()>& done) {
    for (int turn = 0; !done() && turn < 1000; ++turn)
      ASSERT_TRUE(reactor_->run_once(10ms));
    EXPECT_TRUE(done());
  }

  const std::string directory_;
  std::unique_ptr<io::Reactor> reactor_;
};

// --- a lab's daemon
class OverALab : public RemoteMadLayerTest {
 protected:
  OverALab()
      : daemon_(*LabDaemon::open(
            *fabric::parse_lab("[node.a]\n[node.b]\n[[link]]\nends = ['a', 'b']", "lab.toml"),
            directory_)),
        thread_([this] { daemon_->run(); }) {}
  ~OverALab() override {
    daemon_->stop();
    thread_.join();
  }

  // NodeInfo of the node itself, or of the one behind its port.
  static wire::MadBuffer question(bool of_neighbour) {
    wire::MadBuffer mad{};
    wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnDirected,
                    .class_version = wire::kSmClassVersion,
                    .method = wire::MadMethod::kGet,
                    .class_specific = static_cast<std::uint16_t>(of_neighbour ? 1 : 0),
                    .transaction_id = 77,
                    .attribute_id = 0x0011}
        .write(mad);
    wire::smp::set_dr_lids(mad, wire::kPermissiveLid, wire::kPermissiveLid);
    if (of_neighbour) wire::smp::set_initial_path(mad, 1, 1);
    return mad;
  }
  static mgmt::MadRequest request(Bytes mad, std::uint64_t cookie) {
    return {.to = {.lid = wire::kPermissiveLid},
            .mad = mad,
            .timeout = 50ms,
            .retries = 2,
            .cookie = cookie};
  }

  const mgmt::AgentRequest smps_{.mgmt_class = wire::MgmtClass::kSubnDirected,
                                 .class_version = wire::kSmClassVersion,
                                 .methods = 1u << 1};
  std::unique_ptr<LabDaemon> daemon_;
  std::thread thread_;
};

TEST_F(OverALab, AnAnswerComesBackWithTheCookieOfItsRequest) {
  auto layer = RemoteMadLayer::open(place("a"), 1, *reactor_);
  ASSERT_TRUE(layer) << layer.error().message;
  MadHeard heard;
  const auto agent = (*layer)->add_agent(smps_, heard);
  ASSERT_TRUE(agent) << agent.error().message;
  const wire::MadBuffer mad = question(false);
  ASSERT_TRUE((*layer)->send(*agent, request(mad, 4711), Time{}));
  await([&] { return !heard.cookies.empty(); });
  EXPECT_THAT(heard.cookies, ::testing::ElementsAre(4711));
  EXPECT_TRUE(heard.results.empty());
}

TEST_F(OverALab, ARequestThatNobodyAnswersEnds) {
  auto layer = RemoteMadLayer::open(place("a"), 1, *reactor_);
  ASSERT_TRUE(layer) << layer.error().message;
  MadHeard heard;
  const auto agent = (*layer)->add_agent(smps_, heard);
  ASSERT_TRUE(agent) << agent.error().message;
  // A port that the node does not have leads nowhere.
  wire::MadBuffer mad = question(true);
  wire::smp::set_initial_path(mad, 1, 9);
  ASSERT_TRUE((*layer)->send(*agent, request(mad, 12), Time{}));
  await([&] { return !heard.cookies.empty(); });
  EXPECT_THAT(heard.cookies, ::testing::ElementsAre(12));
  EXPECT_THAT(heard.results, ::testing::ElementsAre(mgmt::MadResult::kTimedOut));
}

TEST_F(OverALab, AMethodIsOneAgentsUntilThatGoes) {
  auto first = RemoteMadLayer::open(place("a"), 1, *reactor_);
  auto second = RemoteMadLayer::open(place("a"), 1, *reactor_);
  ASSERT_TRUE(first && second);
  MadHeard heard;
  const auto agent = (*first)->add_agent(smps_, heard);
  ASSERT_TRUE(agent);
  const auto refused = (*second)->add_agent(smps_, heard);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, std::errc::address_in_use);
  EXPECT_TRUE((*first)->remove_agent(*agent));
  EXPECT_FALSE((*first)->remove_agent(*agent));
  EXPECT_TRUE((*second)->add_agent(smps_, heard));
}

TEST_F(OverALab, WhatTheLabDoesNotHaveIsSaid) {
  const auto node = RemoteMadLayer::open(place("c"), 1, *reactor_);
  ASSERT_FALSE(node);
  EXPECT_THAT(node.error().message, HasSubstr("no node 'c'"));
  const auto port = RemoteMadLayer::open(place("a"), 2, *reactor_);
  ASSERT_FALSE(port);
  EXPECT_THAT(port.error().message, HasSubstr("port 2: node a has ports 1 to 1"));
}

// --- a daemon that lets everybody in, gives every agent the number 0, and then says what it likes
class OverALiar : public RemoteMadLayerTest {
 protected:
  OverALiar() : listener_(*io::listen_unix(directory_ + "/mads", io::UnixKind::kSeqPacket)) {}

  // What it says; empty: it ends the connection.
  void expect_end(const std::vector<std::byte>& says, int file, const std::string& why) {
    const std::jthread liar([&] { lie(says, file); });
    auto layer = RemoteMadLayer::open(place("a"), 1, *reactor_);
    ASSERT_TRUE(layer) << layer.error().message;
    MadHeard heard;
    const auto agent = (*layer)->add_agent({.mgmt_class = wire::MgmtClass::kSubnAdm}, heard);
    ASSERT_TRUE(agent) << agent.error().message;
    await([&] { return (*layer)->ended().has_value(); });
    EXPECT_THAT((*layer)->ended()->message, HasSubstr(why));
    EXPECT_TRUE(heard.cookies.empty());
    // Nothing goes any more, and nobody waits for it.
    const wire::MadBuffer mad{};
    EXPECT_FALSE((*layer)->send(*agent, {.mad = mad}, Time{}));
  }
  static std::vector<std::byte> datagram(std::uint32_t length, std::size_t bytes,
                                         std::uint32_t kind = protocol::kMad) {
    protocol::Mad header{};
    header.kind = kind;
    header.length = length;
    const Bytes head = plain::bytes_of(header);
    std::vector<std::byte> out(head.begin(), head.end());
    out.resize(out.size() + bytes);
    return out;
  }

 private:
  void lie(const std::vector<std::byte>& says, int file) {
    std::optional<io::UniqueFd> connection;
    while (!connection) {
      auto accepted = io::accept_unix(listener_.get(), false);
      ASSERT_TRUE(accepted);
      connection = std::move(*accepted);
    }
    std::array<std::byte, 4096> buffer;
    ASSERT_TRUE(io::receive_message(connection->get(), buffer));  // hello
    ASSERT_TRUE(io::send_message(connection->get(), plain::bytes_of(protocol::Welcome{})));
    auto asked = io::receive_message(connection->get(), buffer);
    ASSERT_TRUE(asked && *asked);
    ASSERT_TRUE(
        io::send_message((*asked)->descriptor.get(), plain::bytes_of(protocol::Registered{})));
    if (!says.empty()) {
      ASSERT_TRUE(io::send_message(connection->get(), says, file));
      // Until the other end is gone.
      static_cast<void>(io::receive_message(connection->get(), buffer));
    }
  }

  io::UniqueFd listener_;
};

TEST_F(OverALiar, TheEndOfTheConnectionIsTheEndOfTheLab) {
  expect_end({}, -1, "the lab has ended");
}

TEST_F(OverALiar, WhatMakesNoSenseEndsTheConnection) {
  const char* const why = "makes no sense";
  expect_end(std::vector<std::byte>(3), -1, why);
  expect_end(datagram(256, 256, 9), -1, why);
  expect_end(datagram(256, 255), -1, why);
  expect_end(datagram(10, 10), -1, why);  // shorter than a header
  expect_end(datagram(0xFFFF'FFFF, 256), -1, why);
  expect_end(datagram(100'000, 256), -1, why);  // no file
  const auto shorter = io::make_sealed_file("test", std::vector<std::byte>(1000));
  ASSERT_TRUE(shorter);
  expect_end(datagram(100'000, 256), shorter->get(), why);
  // What is no file in memory could keep its reader waiting.
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const io::UniqueFd read_end(ends[0]);
  const io::UniqueFd write_end(ends[1]);
  expect_end(datagram(100'000, 256), read_end.get(), why);
}

}  // namespace
}  // namespace weft::daemon
