// SPDX-License-Identifier: Apache-2.0
// Two labs whose extenders are on one fibre, in one process.
#include "daemon/wan/fibre_links.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "fabric/lab_file.h"
#include "io/clock.h"

namespace weft::daemon {
namespace {

using link::PortState;

constexpr std::uint8_t kWanPort = 2;

// A lab, its links, and a subnet manager's part for the port that leads to the other one.
struct Site {
  Site(const std::string& name, const std::string& address, const std::string& buffer,
       const std::string& keys, io::Reactor& reactor)
      : fabric(*fabric::parse_lab("[extender." + name + "]\nvls = 4\nbuffer = '" + buffer + "'\n" +
                                      keys + "\n[extender." + name + ".remote.r]\nfibre = '" +
                                      address + "'",
                                  "lab.toml")),
        links(fabric) {
    const auto opened = links.open(fabric.lab().extenders.at(0), reactor);
    EXPECT_TRUE(opened) << opened.error().message;
    fabric.start(io::now());
    links.start(io::now());
  }
  ~Site() { links.stop(io::now()); }

  void run() {
    links.run(io::now());
    fabric.run(io::now());
    for (const PortState state : {PortState::kArmed, PortState::kActive})
      port().set_state(state, io::now());
  }
  [[nodiscard]] link::Port& port() {
    return fabric.node(fabric.lab().extenders.at(0).node).port(kWanPort).link();
  }
  [[nodiscard]] nlohmann::json remote() const { return links.report().at(0).at("remotes").at(0); }

  fabric::Fabric fabric;
  FibreLinks links;
};

class LabsOnAFibre : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "weft-fibre-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    reactor_ = std::move(io::Reactor::create(0us).value());
  }
  void TearDown() override {
    sites_ = {};
    std::filesystem::remove_all(directory_);
  }
  void open(std::size_t i, const std::string& buffer,
            const std::string& kind = "unix:", const std::string& keys = "") {
    sites_[i] = std::make_unique<Site>(i == 0 ? "west" : "east", kind + directory_ + "/fibre",
                                       buffer, keys, *reactor_);
  }
  // From the first site's port to the other one.
  void send() {
    std::array<std::byte, 8 + 12 + 1024 + 4 + 2> bytes{};
    wire::Lrh{.dlid = Lid{2}, .packet_words = (bytes.size() - 2) / 4, .slid = Lid{1}}.write(bytes);
    auto packet = sites_[0]->fabric.pool().copy(bytes);
    packet->sealed = false;  // its CRCs are made on the way
    packet->intact = true;
    sites_[0]->port().transmit(std::move(packet), Vl{0}, io::now());
  }
  [[nodiscard]] std::uint64_t arrived(link::PortCounter counter = link::PortCounter::kRxPackets) {
    return sites_[1]->port().counters().get(counter);
  }
  [[nodiscard]] bool turn_until(const std::function<bool()>& done) {
    for (const Time end = io::now() + 20s; io::now() < end;) {
      for (const auto& site : sites_) {
        if (site) site->run();
      }
      if (done()) return true;
      EXPECT_TRUE(reactor_->run_once(1ms));
    }
    return false;
  }
  [[nodiscard]] bool both(PortState state) {
    return turn_until(
        [&] { return sites_[0]->port().state() == state && sites_[1]->port().state() == state; });
  }

  std::string directory_;
  std::unique_ptr<io::Reactor> reactor_;
  std::array<std::unique_ptr<Site>, 2> sites_;
};

TEST_F(LabsOnAFibre, AreJoinedAsByOneCableAndComeAndGoTogether) {
  for (const std::size_t i : {0, 1})
    open(i, "32KiB");
  ASSERT_TRUE(both(PortState::kActive));
  EXPECT_EQ(sites_[0]->remote().at("session"), "up");
  EXPECT_EQ(sites_[0]->remote().at("active"), true);
  EXPECT_EQ(sites_[0]->remote().at("credit_blocks"), 2048);
  for (const std::size_t gone : {1, 0}) {
    sites_[gone].reset();
    EXPECT_TRUE(turn_until([&] { return sites_[1 - gone]->port().state() == PortState::kDown; }));
    open(gone, "32KiB");
    EXPECT_TRUE(both(PortState::kActive));
  }
}

TEST_F(LabsOnAFibre, CountMoreBlocksWhereTheOtherEndHasMoreMemory) {
  open(0, "32KiB");
  open(1, "1MiB");
  ASSERT_TRUE(both(PortState::kActive));
  EXPECT_EQ(sites_[0]->remote().at("credit_blocks"), 1 << 23) << "that the other end can grant";
  EXPECT_EQ(sites_[1]->remote().at("credit_blocks"), 2048);
  EXPECT_EQ(sites_[0]->remote().at("credit_block_bytes"), 64);
}

// More of them than a socket or the memory between them holds.
TEST_F(LabsOnAFibre, CarryPacketsOfBothKinds) {
  for (const std::string kind : {"unix:", "shm:"}) {
    for (const std::size_t i : {0, 1})
      open(i, "1MiB", kind);
    ASSERT_TRUE(both(PortState::kActive));
    const auto before = arrived();
    for (int i = 0; i < 1000; ++i)
      send();
    EXPECT_TRUE(turn_until([&] { return arrived() == before + 1000; })) << kind;
    EXPECT_EQ(port_rcv_errors(sites_[1]->port().counters()), 0);
    sites_ = {};
  }
}

// Lanes beyond the first two are none of the port there any more, which shows the packet's.
TEST_F(LabsOnAFibre, LeaveOnTheLaneThatTheSendersLabFileSays) {
  open(0, "32KiB", "unix:", "egress = { 0 = 3 }");
  open(1, "32KiB");
  ASSERT_TRUE(both(PortState::kActive));
  const auto before = arrived();
  send();
  EXPECT_TRUE(turn_until([&] { return arrived() == before + 1; }));
  EXPECT_EQ(arrived(link::PortCounter::kRxBadVl), 0);
  sites_[1]->port().set_operational_vls(2, io::now());
  send();
  EXPECT_TRUE(turn_until([&] { return arrived(link::PortCounter::kRxBadVl) == 1; }));
}

}  // namespace
}  // namespace weft::daemon
