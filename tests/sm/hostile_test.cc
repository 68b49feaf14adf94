// SPDX-License-Identifier: Apache-2.0
// What a manager meets that is broken, foreign or forged.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "managed_lab.h"

namespace weft::sm {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using State = wire::SmState;

constexpr std::uint64_t kKey = 0x1234;

fabric::Node& node(ManagedLab& lab, const std::string& name) {
  return *lab.running.fabric.find_node(name);
}
void set_mkey(ManagedLab& lab, const std::string& name, std::uint8_t port, std::uint8_t level,
              std::uint64_t mkey = 0xBAD) {
  wire::PortInfo info = node(lab, name).port_info(port);
  info.mkey = mkey;
  info.mkey_protect = level;
  node(lab, name).set_port_info(port, info, lab.running.now);
}
std::string hostile_guid_of(ManagedLab& lab, const std::string& name) {
  return fmt::format("{:#018x}", node(lab, name).node_info(0).node_guid.value());
}
bool is_active(ManagedLab& lab, const std::string& link) {
  return lab.is_active(*lab.running.fabric.find_link(link));
}

// What does not answer is asked again before a new master goes on without it.
const SweepReport& sweep_to_the_end(ManagedLab& lab) {
  lab.sweep();
  lab.run_for(20s);
  return lab.manager->report();
}

// Sends what it likes from queue pair 0 of a node.
class Forger : private mgmt::MadClient {
 public:
  Forger(ManagedLab& lab, const std::string& name) : lab_(lab), node_(node(lab, name)) {
    agent_ = *port().add_agent({.mgmt_class = wire::MgmtClass::kSubnLid}, *this);
  }
  ~Forger() override { port().remove_agent(agent_); }
  Forger(const Forger&) = delete;
  Forger& operator=(const Forger&) = delete;

  void trap(Lid to) {
    wire::Notice notice{.type = wire::NoticeType::kUrgent,
                        .producer = 2,
                        .trap = wire::TrapNumber::kLinkStateChange};
    std::array<std::byte, wire::smp::kDataSize> data{};
    notice.write(data);
    send(to, wire::MadMethod::kTrap, wire::SmAttribute::kNotice, 0, data);
  }
  void command(Lid to, SmControl control, const wire::SmInfo& as) {
    std::array<std::byte, wire::smp::kDataSize> data{};
    as.write(data);
    send(to, wire::MadMethod::kSet, wire::SmAttribute::kSmInfo, static_cast<std::uint32_t>(control),
         data);
  }
  // Of the last answer; nothing: there was none yet.
  std::optional<std::uint16_t> status;

 private:
  mgmt::MadPort& port() { return node_.management().mad_port(1); }
  void send(Lid to, wire::MadMethod method, wire::SmAttribute attribute, std::uint32_t modifier,
            Bytes data) {
    wire::MadBuffer mad{};
    wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnLid,
                    .class_version = wire::kSmClassVersion,
                    .method = method,
                    .transaction_id = ++transaction_,
                    .attribute_id = static_cast<std::uint16_t>(attribute),
                    .attribute_modifier = modifier}
        .write(mad);
    std::copy(data.begin(), data.end(), mad.begin() + wire::smp::kDataOffset);
    const mgmt::MadRequest request{.to = {.lid = to}, .mad = mad, .timeout = 1s};
    EXPECT_TRUE(port().send(agent_, request, lab_.running.now));
    node_.management_used();
  }
  void received(mgmt::AgentId, const mgmt::ReceivedMad& mad) override {
    status = wire::MadHeader::parse(mad.mad)->status;
  }
  void finished(mgmt::AgentId, std::uint64_t, Bytes, mgmt::MadResult) override {}

  ManagedLab& lab_;
  fabric::Node& node_;
  mgmt::AgentId agent_{};
  std::uint64_t transaction_ = 0;
};

TEST(Hostile, AnAdapterWithTheKeyOfAnotherManagerIsLeftOutAndSaid) {
  for (const std::uint64_t own : {std::uint64_t{0}, kKey}) {
    for (std::uint8_t level = 0; level < 4; ++level) {
      SCOPED_TRACE(unsigned{level});
      ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a", {.setup = {.mkey = own}});
      set_mkey(lab, "c", 1, level);
      const SweepReport& report = sweep_to_the_end(lab);
      // From level 2 on it does not even say who it is.
      EXPECT_THAT(report.problems, Contains(HasSubstr("M_Key")));
      if (level < 2) {
        EXPECT_THAT(report.problems, Contains(HasSubstr(hostile_guid_of(lab, "c"))));
      }
      EXPECT_EQ(report.failures, 0u);
      EXPECT_EQ(lab.lid("c"), Lid{});
      EXPECT_FALSE(is_active(lab, "c:1"));
      EXPECT_EQ(lab.active_links(), 4u);
      EXPECT_TRUE(lab.reaches("b", "d"));
    }
  }
}

TEST(Hostile, ASwitchWithTheKeyOfAnotherManagerIsLeftOutAndSaid) {
  for (std::uint8_t level = 0; level < 4; ++level) {
    SCOPED_TRACE(unsigned{level});
    ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
    set_mkey(lab, "s2", 0, level);
    const SweepReport& report = sweep_to_the_end(lab);
    EXPECT_THAT(report.problems, Contains(HasSubstr("M_Key")));
    EXPECT_EQ(report.failures, 0u);
    EXPECT_EQ(lab.lid("s2"), Lid{});
    EXPECT_EQ(lab.active_links(), 2u);
    EXPECT_TRUE(lab.reaches("a", "b"));
  }
}

Guid end_guid(ManagedLab& lab, const std::string& name, std::uint8_t port) {
  return node(lab, name).guids(port, 0).guids[0];
}

TEST(Hostile, PortsWhoseKeysAreKnownAreTakenOverAndGetTheManagersOwn) {
  for (const std::uint64_t own : {std::uint64_t{0}, kKey}) {
    for (std::uint8_t level = 0; level < 4; ++level) {
      SCOPED_TRACE(unsigned{level});
      ManagedLab model(fabric::lab_of(fabric::kFourNodes), "a");
      MKeys keys;
      keys.put(end_guid(model, "c", 1), 0xBAD);
      keys.put(end_guid(model, "s2", 0), 0xBAD2);
      keys.put(end_guid(model, "b", 1), 0xBAD2);  // b has none by now, and d has that
      ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a",
                     {.setup = {.mkey = own, .mkey_protect = 2}, .mkeys = keys});
      set_mkey(lab, "c", 1, level);
      set_mkey(lab, "s2", 0, level, 0xBAD2);
      set_mkey(lab, "d", 1, level, 0xBAD2);
      EXPECT_THAT(lab.sweep().problems, IsEmpty());
      EXPECT_EQ(lab.manager->report().failures, 0u);
      EXPECT_EQ(lab.active_links(), 5u);
      EXPECT_TRUE(lab.reaches("b", "d"));
      for (const std::string name : {"a", "b", "c", "d"}) {
        EXPECT_EQ(node(lab, name).port_info(1).mkey, own) << name;
        EXPECT_EQ(node(lab, name).port_info(1).mkey_protect, own == 0 ? 0 : 2) << name;
      }
      EXPECT_EQ(node(lab, "s2").port_info(0).mkey, own);
      // From now on they are as any other.
      EXPECT_EQ(lab.sweep().writes, 0u);
      EXPECT_THAT(lab.manager->report().problems, IsEmpty());
    }
  }
}

TEST(Hostile, PortsThatHaveOtherKeysThanIsKnownAreLeftOut) {
  for (std::uint8_t level = 0; level < 4; ++level) {
    SCOPED_TRACE(unsigned{level});
    ManagedLab model(fabric::lab_of(fabric::kFourNodes), "a");
    MKeys keys;
    keys.put(end_guid(model, "c", 1), 0xBEEF);
    ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a", {.mkeys = keys});
    set_mkey(lab, "c", 1, level);
    EXPECT_THAT(sweep_to_the_end(lab).problems, Contains(HasSubstr("M_Key")));
    EXPECT_EQ(lab.lid("c"), Lid{});
    EXPECT_EQ(lab.active_links(), 4u);
  }
}

// Who has begun anew and finds something silent among what carries data, looks again before it
// changes anything there.
TEST(Hostile, NothingIsWrittenToAPartOfWhichNotAllIsKnown) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  lab.sweep();
  lab.stop(0);
  set_mkey(lab, "d", 1, 2);
  wire::PKeyBlock keys = node(lab, "c").pkeys(1, 0);
  keys.pkeys[1] = PKey{0x8123};
  node(lab, "c").set_pkeys(1, 0, keys);
  const wire::MulticastBlock groups = node(lab, "s2").multicast(0, 0);
  lab.start(0);
  lab.manager->set_groups(
      {{.mlid = Lid{0xC000}, .members = {end_guid(lab, "a", 1), end_guid(lab, "c", 1)}}});
  do {
    lab.sweep();
  } while (lab.manager->report().state != State::kMaster);
  EXPECT_EQ(node(lab, "c").pkeys(1, 0), keys);
  EXPECT_EQ(node(lab, "s2").multicast(0, 0), groups);
  EXPECT_FALSE(is_active(lab, "d:1")) << "nobody knows its LID";
  lab.run_for(20s);
  EXPECT_NE(node(lab, "c").pkeys(1, 0), keys);
  EXPECT_NE(node(lab, "s2").multicast(0, 0), groups);
}

// The part in which d is silent was away, and comes back.
TEST(Hostile, NothingIsWrittenToAPartThatIsNotJoinedYet) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  lab.sweep();
  link::Link& trunk = lab.running.fabric.link(*lab.running.fabric.find_link("trunk"));
  trunk.set_plugged(false, lab.running.now);
  lab.sweep();
  set_mkey(lab, "d", 1, 2);
  lab.manager->set_groups(
      {{.mlid = Lid{0xC000}, .members = {end_guid(lab, "b", 1), end_guid(lab, "c", 1)}}});
  lab.run_for(1ms);
  const wire::MulticastBlock groups = node(lab, "s2").multicast(0, 0);
  const wire::SwitchInfo info = node(lab, "s2").switch_info();
  trunk.set_plugged(true, lab.running.now);
  lab.running.settle();
  EXPECT_THAT(lab.sweep().problems, Contains(HasSubstr("carries data for something unknown")));
  EXPECT_EQ(node(lab, "s2").multicast(0, 0), groups);
  // Nor without a sweep.
  lab.manager->set_groups(
      {{.mlid = Lid{0xC000}, .members = {end_guid(lab, "a", 1), end_guid(lab, "c", 1)}}});
  lab.run_for(1ms);
  ASSERT_EQ(lab.manager->sweeps(), 3u);
  EXPECT_EQ(node(lab, "s1").multicast(0, 0).masks[0], 1u << 1 | 1u << 4);
  EXPECT_EQ(node(lab, "s2").multicast(0, 0), groups);
  EXPECT_EQ(node(lab, "s2").switch_info(), info);
  lab.run_for(20s);
  EXPECT_NE(node(lab, "s2").multicast(0, 0), groups);
}

TEST(Hostile, AManagerWhoseOwnPortDoesNotAnswerSaysSo) {
  for (std::uint8_t level = 1; level < 4; ++level) {
    SCOPED_TRACE(unsigned{level});
    ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
    set_mkey(lab, "a", 1, level);
    EXPECT_TRUE(lab.sweep().own_is_silent);
    EXPECT_THAT(lab.manager->report().problems, Not(IsEmpty()));
    EXPECT_EQ(lab.manager->state(), State::kDiscovering);
    set_mkey(lab, "a", 1, 0, 0);
    EXPECT_FALSE(lab.sweep().own_is_silent);
  }
}

// Somebody may plug a cable in.
TEST(Hostile, AManagerWithoutALinkWaitsForOne) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  lab.running.fabric.link(*lab.running.fabric.find_link("a:1")).set_plugged(false, lab.running.now);
  EXPECT_FALSE(lab.sweep().own_is_silent);
  EXPECT_EQ(lab.manager->state(), State::kDiscovering);
}

TEST(Hostile, TheKeyThatIsGivenProtectsEveryNodeAndKeepsOthersOut) {
  const SetupOptions setup{.mkey = kKey, .mkey_protect = 2, .mkey_lease = 30};
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes),
                 {{.node = "a", .options = {.setup = setup}}, {.node = "d", .options = {}}});
  lab.stop(1);
  EXPECT_THAT(lab.sweep().problems, IsEmpty());
  EXPECT_EQ(lab.sweep().writes, 0u);
  for (const std::string name : {"a", "b", "c", "d"}) {
    EXPECT_EQ(node(lab, name).port_info(1).mkey, kKey) << name;
    EXPECT_EQ(node(lab, name).port_info(1).mkey_protect, 2) << name;
  }
  EXPECT_EQ(node(lab, "s1").port_info(0).mkey, kKey);
  lab.start(1);
  lab.managers[1]->sweep();
  lab.run_for(20s);
  EXPECT_EQ(lab.state(0), State::kMaster);
  EXPECT_EQ(lab.state(1), State::kDiscovering);
  EXPECT_EQ(lab.managers[1]->report().writes, 0u);
  EXPECT_THAT(lab.managers[1]->report().problems, Contains(HasSubstr("M_Key")));
}

TEST(Hostile, ManagersWithTheSameKeyTakeOverFromEachOther) {
  const auto options = [](std::uint8_t priority) {
    return ManagerOptions{.setup = {.mkey = kKey, .mkey_protect = 2, .mkey_lease = 30},
                          .mastership = {.priority = priority}};
  };
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes),
                 {{.node = "a", .options = options(1)}, {.node = "d", .options = options(2)}});
  for (const auto& manager : lab.managers)
    manager->sweep();
  lab.run_for(60s);
  ASSERT_EQ(lab.state(0), State::kStandby);
  ASSERT_EQ(lab.state(1), State::kMaster);
  lab.stop(1);
  lab.run_for(60s);
  EXPECT_EQ(lab.state(0), State::kMaster);
  EXPECT_THAT(lab.manager->report().problems, IsEmpty());
}

// Who of the two is there depends on which is found first; the other is left out.
TEST(Hostile, OfTwoNodesWithOneGuidOneIsLeftOutAndTheRestIsUp) {
  fabric::Lab model = fabric::lab_of(fabric::kFourNodes);
  const auto find = [&](const char* name) {
    return std::find_if(model.nodes.begin(), model.nodes.end(),
                        [&](const fabric::LabNode& each) { return each.name == name; });
  };
  find("d")->guid = find("c")->guid;
  find("d")->port_guids = find("c")->port_guids;
  ManagedLab lab(model, "a");
  EXPECT_THAT(sweep_to_the_end(lab).problems, Contains(HasSubstr("two nodes have one GUID")));
  EXPECT_EQ(lab.active_links(), 4u);
  EXPECT_TRUE(lab.reaches("a", "b"));
  lab.run_for(300s);
  EXPECT_EQ(lab.active_links(), 4u);
  EXPECT_EQ(lab.manager->report().writes, 0u);
  EXPECT_LT(lab.manager->sweeps(), 60u);
}

TEST(Hostile, ForgedTrapsCostFewSweepsAndDoNotKeepATrueOneWaiting) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  lab.sweep();
  Forger forger(lab, "b");
  const std::uint64_t before = lab.manager->sweeps();
  for (int i = 0; i < 10'000; ++i) {
    forger.trap(lab.lid("a"));
    lab.run_for(6ms);
  }
  EXPECT_GT(lab.manager->smps().traps, 9'000u);
  EXPECT_LT(lab.manager->sweeps(), before + 20);
  const std::size_t cable = *lab.running.fabric.find_link("d:1");
  lab.running.fabric.link(cable).set_plugged(false, lab.running.now);
  lab.run_for(50ms);
  lab.running.fabric.link(cable).set_plugged(true, lab.running.now);
  lab.run_for(500ms);
  EXPECT_TRUE(is_active(lab, "d:1"));
}

TEST(Hostile, TrapsWithoutTheKeyAreNotBelieved) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a", {.setup = {.mkey = kKey}});
  lab.sweep();
  lab.run_for(1s);
  const std::uint64_t before = lab.manager->sweeps();
  Forger(lab, "b").trap(lab.lid("a"));
  lab.run_for(1s);
  EXPECT_EQ(lab.manager->sweeps(), before);
  EXPECT_EQ(lab.manager->denied(), 1u);
}

TEST(Hostile, ForgedCommandsDoNotStopAMaster) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  lab.sweep();
  lab.run_for(1s);
  Forger forger(lab, "b");
  const std::uint64_t before = lab.manager->sweeps();
  const wire::SmInfo rogue{.guid = Guid{1}, .priority = 15, .state = State::kMaster};
  for (std::uint32_t control = 0; control < 8; ++control) {
    forger.status.reset();
    forger.command(lab.lid("a"), static_cast<SmControl>(control), rogue);
    lab.run_for(1s);
    ASSERT_TRUE(forger.status.has_value());
    EXPECT_EQ(*forger.status == 0, control == static_cast<std::uint32_t>(SmControl::kHandover));
    EXPECT_EQ(lab.state(0), State::kMaster);
  }
  EXPECT_LE(lab.manager->sweeps(), before + 1);
  EXPECT_EQ(lab.manager->denied(), 7u);
}

TEST(Hostile, AForgedHandoverCostsASweepAndTheMasterStaysMaster) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes),
                 {{.node = "a", .options = {.mastership = {.priority = 1}}},
                  {.node = "d", .options = {.mastership = {.priority = 2}}}});
  for (const auto& manager : lab.managers)
    manager->sweep();
  lab.run_for(60s);
  ASSERT_EQ(lab.state(1), State::kMaster);
  const Lid before = lab.lid("c");
  Forger(lab, "b").command(lab.lid("a"), SmControl::kHandover,
                           {.guid = Guid{1}, .priority = 0, .state = State::kMaster});
  lab.run_for(10s);
  EXPECT_EQ(lab.state(0), State::kStandby);
  EXPECT_EQ(lab.state(1), State::kMaster);
  EXPECT_EQ(lab.lid("c"), before);
  EXPECT_EQ(node(lab, "c").port_info(1).master_sm_lid, lab.lid("d"));
  EXPECT_EQ(lab.active_links(), 5u);
}

TEST(Hostile, AFabricThatFlapsAllTheTimeIsUpWhereItDoesNot) {
  ManagedLab lab(fabric::lab_of(fabric::kFourNodes), "a");
  lab.sweep();
  const std::size_t cable = *lab.running.fabric.find_link("d:1");
  link::Link& flapping = lab.running.fabric.link(cable);
  for (int i = 0; i < 2000; ++i) {
    flapping.set_plugged(!flapping.plugged(), lab.running.now);
    lab.run_for(30ms);
    if (i % 100 == 0) {
      EXPECT_TRUE(lab.reaches("a", "c"));
    }
  }
  EXPECT_LT(lab.manager->sweeps(), 1000u);
  lab.run_for(30s);
  EXPECT_EQ(lab.active_links(), 5u);
  EXPECT_THAT(lab.manager->report().problems, IsEmpty());
}

TEST(Hostile, ALineOfAnEventStaysALine) {
  fabric::Lab model = fabric::lab_of(fabric::kFourNodes);
  for (fabric::LabNode& each : model.nodes)
    each.description = each.name + "\nFAKE: entering MASTER state\x1B[31m";
  ManagedLab lab(model, "a");
  std::vector<ManagerEvent> events;
  lab.manager->on_event([&](const ManagerEvent& event) { events.push_back(event); });
  lab.sweep();
  EXPECT_GT(events.size(), 10u);
  for (const ManagerEvent& event : events) {
    EXPECT_EQ(event.text.find('\n'), std::string::npos) << event.text;
    EXPECT_EQ(event.text.find('\x1B'), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::sm
