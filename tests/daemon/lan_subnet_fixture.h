// SPDX-License-Identifier: Apache-2.0
// Nodes of a lab with Weft's own subnet manager, by the clock, that say by management datagrams
// what LAN ports do.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../fabric/running_lab.h"
#include "daemon/lab/connection_managers.h"
#include "daemon/lab/lab_manager.h"
#include "daemon/lan/lan_subnet.h"
#include "daemon/service/lab_services.h"
#include "io/clock.h"
#include "io/system_entropy.h"

namespace weft::daemon {

using lan::Question;

// A copy of an answer, which outlives it.
struct Heard {
  std::size_t kind = 0;  // as std::variant counts
  std::vector<Guid> guids;
  lan::PortLids lids{};
  std::vector<lan::PeerPath> paths;
  lan::DatagramEnd end{};

  [[nodiscard]] bool unanswered() const { return kind == 0; }
  [[nodiscard]] bool absent() const { return kind == 1; }
  [[nodiscard]] bool has(Guid guid) const {
    return std::find(guids.begin(), guids.end(), guid) != guids.end();
  }
};

// Whoever has a LAN port, but for the queue pairs.
class Owner final : public LanSubnetOwner {
 public:
  struct Link {
    Lid asker{};  // 0: we have asked
    std::optional<Guid> asking_port{};
    std::vector<mgmt::QpTransition> steps;
    bool connected = false;
    std::optional<LanChannelEnd> end;
  };

  std::map<std::uint64_t, Heard> answers;
  std::vector<Guid> came;
  std::vector<Guid> gone;
  std::optional<LanGroup> group;
  std::map<LanChannel, Link> links;
  bool accepts = true;
  bool usable = true;  // what modify() says
  std::uint32_t next_qpn = 0x100;
  std::function<void(LanChannel)> when_asked = [](LanChannel) {};
  bool inside = false;  // of a call of LanSubnet
  std::size_t re_paths = 0;

  [[nodiscard]] std::size_t connected() const {
    return static_cast<std::size_t>(std::ranges::count_if(
        links, [](const auto& each) { return each.second.connected && !each.second.end; }));
  }

 private:
  void answered(std::uint64_t number, const lan::Answer& answer) override {
    EXPECT_FALSE(inside);
    EXPECT_FALSE(answers.contains(number)) << "twice";
    Heard heard;
    heard.kind = answer.index();
    if (const auto* const guids = std::get_if<std::span<const Guid>>(&answer)) {
      heard.guids.assign(guids->begin(), guids->end());
    } else if (const auto* const paths = std::get_if<lan::PortPaths>(&answer)) {
      heard.lids = paths->lids;
      heard.paths.assign(paths->paths.begin(), paths->paths.end());
    } else if (const auto* const end = std::get_if<lan::DatagramEnd>(&answer)) {
      heard.end = *end;
    }
    answers.emplace(number, std::move(heard));
  }
  void in_service(Guid port) override { came.push_back(port); }
  void out_of_service(Guid port) override { gone.push_back(port); }
  void group_joined(const LanGroup& joined) override { group = joined; }
  void group_left() override {
    EXPECT_TRUE(group);
    group.reset();
  }
  void paths_changed() override { ++re_paths; }
  std::optional<Qpn> asked(LanChannel channel, const lan::Sender& sender) override {
    EXPECT_FALSE(inside);
    links[channel].asker = sender.lid;
    links[channel].asking_port = sender.port;
    when_asked(channel);
    return accepts ? std::optional(Qpn{next_qpn++}) : std::nullopt;
  }
  bool modify(LanChannel channel, const mgmt::QpTransition& step) override {
    EXPECT_FALSE(inside);
    links[channel].steps.push_back(step);
    return usable;
  }
  void connected(LanChannel channel) override {
    EXPECT_FALSE(inside);
    links[channel].connected = true;
  }
  void ended(LanChannel channel, LanChannelEnd why) override {
    EXPECT_FALSE(inside);
    EXPECT_FALSE(links[channel].end) << "twice";
    links[channel].end = why;
  }
};

// The LAN port at port 1 of a node.
struct Member {
  Member(ConnectionManagers& managers, fabric::Fabric& fabric, io::Reactor& reactor,
         const std::string& name)
      : node(*fabric.find_node(name)), connections(*managers.open(index_of(fabric, name)).value()) {
    subnet = LanSubnet::open(connections, 1, reactor, owner).value();
  }
  static std::size_t index_of(fabric::Fabric& fabric, const std::string& name) {
    std::size_t i = 0;
    while (fabric.lab().nodes[i].name != name)
      ++i;
    return i;
  }

  [[nodiscard]] Guid guid() const { return node.port(1).guid(); }
  [[nodiscard]] Guid platform() const { return node.node_info(1).node_guid; }
  [[nodiscard]] Lid lid() const { return node.port_info(1).lid; }
  [[nodiscard]] lan::DatagramEnd end() const { return {Qpn{0x40u + lid().value()}, QKey{0x1234}}; }
  [[nodiscard]] lan::PeerPath path_to(const Member& peer) const {
    return {.slid = lid(), .dlid = peer.lid(), .sl = Sl{}, .mtu = 2048};
  }
  std::uint64_t ask(const Question& question) {
    owner.inside = true;
    const bool asked = subnet->ask(++last, question);
    owner.inside = false;
    return asked ? last : 0;
  }
  LanChannel connect(Guid port, const lan::PeerPath& path) {
    owner.inside = true;
    const LanChannel channel = subnet->connect(port, path, Qpn{owner.next_qpn++}).value();
    owner.inside = false;
    owner.links[channel];
    return channel;
  }
  LanChannel connect(const Member& peer) { return connect(peer.guid(), path_to(peer)); }
  std::uint64_t count(std::string_view name) const {
    for (const CounterValue& each : subnet->counters()) {
      if (each.name == name) return each.value;
    }
    ADD_FAILURE() << name;
    return 0;
  }

  fabric::Node& node;
  NodeConnections& connections;
  Owner owner;
  std::unique_ptr<LanSubnet> subnet;
  std::uint64_t last = 0;
};

struct SubnetLab : ::testing::Test {
  explicit SubnetLab(const std::string& text = fabric::kFourNodes)
      : lab(fabric::lab_of(text)),
        reactor(std::move(*io::Reactor::create(0us))),
        managers(lab.fabric, *reactor, entropy),
        manager(*LabManager::open(lab.fabric)),
        services(lab.fabric, blocks, entropy) {
    EXPECT_TRUE(services.open());
    manager->start(io::now());
    EXPECT_TRUE(until([&] {
      return std::ranges::all_of(std::array{"a", "b", "c", "d"}, [&](const char* name) {
        return lab.fabric.find_node(name)->port_info(1).state == wire::PortState::kActive;
      });
    }));
  }

  void turn() {
    lab.now = io::now();
    lab.fabric.run(lab.now);
    if (manager) manager->run(lab.now);
    services.steer_by({manager ? &manager->steering() : nullptr});
    services.run(lab.now);
    ASSERT_TRUE(reactor->run_once(100us));
  }
  // Everything runs until it is so; false: it takes far too long.
  bool until(const std::function<bool()>& so) {
    const Time end = io::now() + 30s;
    while (!so()) {
      turn();
      if (io::now() > end) return false;
    }
    return true;
  }
  // Everything that is on its way arrives.
  void run_for(Duration time) {
    const Time end = io::now() + time;
    while (io::now() < end)
      turn();
  }
  std::unique_ptr<Member> member(const std::string& name) {
    return std::make_unique<Member>(managers, lab.fabric, *reactor, name);
  }
  // The same, and the subnet administrator knows of it.
  std::unique_ptr<Member> offering(const std::string& name) {
    auto out = member(name);
    EXPECT_TRUE(out->subnet->offer(out->end()));
    EXPECT_TRUE(until([&] { return out->subnet->offered() && out->subnet->told(); }));
    return out;
  }
  // How many of these the administrator has.
  std::size_t known(const char* what) { return manager->report().at(what).get<std::size_t>(); }
  Heard answer(Member& member, const Question& question) {
    const std::uint64_t number = member.ask(question);
    EXPECT_NE(number, 0u);
    EXPECT_TRUE(until([&] { return member.owner.answers.contains(number); }));
    return member.owner.answers[number];
  }

  BufferPool blocks{ServicePlace::kBlock, 256};  // packets of the fabric lie in it
  fabric::RunningLab lab;
  io::SystemEntropy entropy;
  std::unique_ptr<io::Reactor> reactor;
  ConnectionManagers managers;
  std::unique_ptr<LabManager> manager;
  LabServices services;
};

}  // namespace weft::daemon
