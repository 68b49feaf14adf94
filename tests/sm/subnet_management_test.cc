// SPDX-License-Identifier: Apache-2.0
// Manager and administrator of a port together, in virtual time, and what they count.
#include "sm/subnet_management.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "administrator_question.h"
#include "running_lab.h"
#include "sm/metrics.h"
#include "wire/sa/path_record.h"
#include "wire/sa/sa_header.h"

namespace weft::sm {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using wire::MadMethod;
using wire::SaAttribute;

// Node a manages, node b asks.
class Managed : private mgmt::MadClient {
 public:
  explicit Managed(const ManagerOptions& options = {})
      : running(fabric::lab_of(fabric::kFourNodes)),
        management(port("a"), options),
        agent_(*port("b").add_agent({.mgmt_class = wire::MgmtClass::kSubnAdm,
                                     .class_version = wire::kSaClassVersion,
                                     .rmpp = true},
                                    *this)) {
    management.on_event([this](const ManagerEvent& event) { events.push_back(event.text); });
    EXPECT_TRUE(management.start());
    management.sweep();
    run_for(1s);
  }

  void run_for(Duration time) {
    const Time end = running.now + time;
    for (;;) {
      step();
      Time next = running.fabric.deadline().value_or(Time::max());
      next = std::min(next, management.deadline().value_or(Time::max()));
      if (next > end) break;
      running.now = std::max(running.now, next);
    }
    running.now = end;
  }

  // The status of the answer; nothing: none came.
  std::optional<std::uint16_t> ask(MadMethod method, SaAttribute attribute, std::uint64_t mask = 0,
                                   Bytes record = {}) {
    status_.reset();
    ask_administrator(running, "b", agent_,
                      {.method = method,
                       .attribute = attribute,
                       .mask = mask,
                       .record = record,
                       .number = ++last_question_});
    run_for(500ms);
    return status_;
  }

  fabric::RunningLab running;
  SubnetManagement management;
  std::vector<std::string> events;
  std::vector<std::byte> record;  // of the last answer

 private:
  mgmt::MadPort& port(const std::string& node) {
    return running.fabric.find_node(node)->management().mad_port(1);
  }
  void step() {
    for (bool again = true; again;) {
      running.settle();
      again = management.run(running.now);
      if (again) running.fabric.find_node("a")->management_used();
    }
  }
  void received(mgmt::AgentId, const mgmt::ReceivedMad& mad) override {
    status_ = wire::MadHeader::parse(mad.mad)->status;
    const Bytes data = mad.mad.subspan(wire::SaHeader::kDataOffset);
    record.assign(data.begin(), data.end());
  }
  void finished(mgmt::AgentId, std::uint64_t, Bytes, mgmt::MadResult) override {}

  mgmt::AgentId agent_;
  std::uint64_t last_question_ = 0;
  std::optional<std::uint16_t> status_;
};

TEST(SubnetManagement, BringsALabUpAndAnswersFromIt) {
  Managed managed;
  EXPECT_TRUE(managed.management.manager().manages());
  EXPECT_THAT(managed.events,
              ::testing::Contains("SUBNET UP: 2 switches, 4 channel adapters, 5 links"));
  EXPECT_EQ(managed.ask(MadMethod::kGetTable, SaAttribute::kNodeRecord), 0);
  // The group of the default partition is there, and who asks for managers finds this one.
  EXPECT_EQ(managed.management.administrator().groups().groups().size(), 1u);
  EXPECT_EQ(managed.ask(MadMethod::kGet, SaAttribute::kSmInfoRecord), 0);
}

TEST(SubnetManagement, IsTheOnlyOneAtItsPort) {
  Managed managed;
  SubnetManagement second(managed.running.fabric.find_node("a")->management().mad_port(1), {});
  const auto started = second.start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code, std::errc::address_in_use);
}

TEST(SubnetManagement, TellsPathsOnTheLevelsOfPartitionsThatHaveALane) {
  Qos qos;
  qos.switch_ports.sl_to_vl.vls[7] = Vl{15};
  Managed managed(
      {.setup = {.partitions = *Partitions::parse(
                     "Default: ALL=full; blue=0x11,sl=5: ALL=full; red=0x12,sl=7: ALL=full;", "p"),
                 .qos = qos}});
  const auto level = [&](PKey pkey) -> std::optional<Sl> {
    const auto gid = [&](const std::string& node) {
      return make_gid(0xFE80'0000'0000'0000,
                      managed.running.fabric.find_node(node)->guids(1, 0).guids[0]);
    };
    std::array<std::byte, wire::PathRecord::kSize> asked{};
    wire::PathRecord{.dgid = gid("d"), .sgid = gid("b"), .pkey = pkey}.write(asked);
    const auto status = managed.ask(
        MadMethod::kGet, SaAttribute::kPathRecord,
        wire::PathRecord::kHasSgid | wire::PathRecord::kHasDgid | wire::PathRecord::kHasPKey,
        asked);
    if (status != 0) return std::nullopt;
    return wire::PathRecord::parse(managed.record)->sl;
  };
  EXPECT_EQ(level(PKey{0xFFFF}), Sl{0});
  EXPECT_EQ(level(PKey{0x8011}), Sl{5});
  EXPECT_EQ(level(PKey{0x8012}), std::nullopt);
}

TEST(SubnetManagement, CountsQuestionsByTheirKind) {
  Managed managed;
  EXPECT_TRUE(managed.management.administrator().queries().empty());
  EXPECT_TRUE(managed.ask(MadMethod::kGetTable, SaAttribute::kNodeRecord));
  EXPECT_TRUE(managed.ask(MadMethod::kGetTable, SaAttribute::kNodeRecord));
  EXPECT_TRUE(managed.ask(MadMethod::kGet, SaAttribute::kNodeRecord));
  // However many that do not exist are asked for, they are one kind.
  for (const auto attribute : {SaAttribute{0x7777}, SaAttribute{0x7778}, SaAttribute{0x7779}})
    EXPECT_TRUE(managed.ask(MadMethod::kGet, attribute));
  using Kinds = std::map<SaKind, std::uint64_t>;
  EXPECT_EQ(managed.management.administrator().queries(),
            (Kinds{{{MadMethod::kGetTable, SaAttribute::kNodeRecord}, 2},
                   {{MadMethod::kGet, SaAttribute::kNodeRecord}, 1},
                   {{MadMethod::kGet, SaAttribute{}}, 3}}));
  const std::string metrics = metrics_text(managed.management);
  EXPECT_THAT(
      metrics,
      HasSubstr("weft_sm_sa_queries_total{method=\"GetTable\",attribute=\"NodeRecord\"} 2\n"));
  EXPECT_THAT(metrics,
              HasSubstr("weft_sm_sa_queries_total{method=\"Get\",attribute=\"other\"} 3\n"));
  EXPECT_THAT(metrics, HasSubstr("weft_sm_state{state=\"MASTER\"} 1\n"));
  EXPECT_THAT(metrics, HasSubstr("weft_sm_state{state=\"STANDBY\"} 0\n"));
  EXPECT_THAT(metrics, HasSubstr("weft_sm_sweeps_total 1\n"));
  EXPECT_THAT(metrics, HasSubstr("# HELP weft_sm_traps_total traps that nodes sent"));
  EXPECT_THAT(metrics, Not(HasSubstr("\nweft_sm_sa_queries_total ")));
}

}  // namespace
}  // namespace weft::sm
