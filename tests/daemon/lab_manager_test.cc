// SPDX-License-Identifier: Apache-2.0
// The subnet manager and the administrator of a lab, as the daemon joins them: what one of them
// learns, the other one does.
#include "daemon/lab/lab_manager.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../fabric/running_lab.h"
#include "wire/endian.h"
#include "wire/sa/inform_info.h"
#include "wire/sa/sa_header.h"

namespace weft::daemon {
namespace {

using ::testing::Contains;
using wire::MadMethod;
using wire::SaAttribute;

// A program on a node that asks the administrator, and takes its reports.
class Asker final : private mgmt::MadClient {
 public:
  Asker(fabric::RunningLab& lab, const std::string& name)
      : lab_(lab), node_(*lab.fabric.find_node(name)) {
    mgmt::AgentRequest request{.mgmt_class = wire::MgmtClass::kSubnAdm,
                               .class_version = wire::kSaClassVersion,
                               .rmpp = true};
    request.methods.set(static_cast<std::size_t>(MadMethod::kReport));
    agent_ = port().add_agent(request, *this).value();
  }

  void ask(MadMethod method, SaAttribute attribute, std::uint64_t mask, Bytes data) {
    std::vector<std::byte> mad(wire::SaHeader::kDataOffset);
    wire::MadHeader{.mgmt_class = wire::MgmtClass::kSubnAdm,
                    .class_version = wire::kSaClassVersion,
                    .method = method,
                    .transaction_id = ++asked_,
                    .attribute_id = static_cast<std::uint16_t>(attribute)}
        .write(mad);
    wire::SaHeader{.component_mask = mask}.write(mad);
    mad.insert(mad.end(), data.begin(), data.end());
    status.reset();
    EXPECT_TRUE(
        port().send(agent_,
                    {.to = {.lid = node_.port_info(1).master_sm_lid, .qpn = kQp1, .qkey = kGsiQKey},
                     .mad = mad,
                     .timeout = 200ms,
                     .retries = 2,
                     .cookie = asked_},
                    lab_.now));
    node_.management_used();
  }

  std::optional<std::uint16_t> status;  // of the last answer
  std::vector<wire::TrapNumber> told;

 private:
  mgmt::MadPort& port() { return node_.management().mad_port(1); }
  void received(mgmt::AgentId, const mgmt::ReceivedMad& mad) override {
    auto header = *wire::MadHeader::parse(mad.mad);
    if (mad.cookie) {
      status = header.status;
      return;
    }
    told.push_back(wire::Notice::parse(mad.mad.subspan(wire::SaHeader::kDataOffset))->trap);
    std::vector<std::byte> back(mad.mad.begin(), mad.mad.end());
    header.method = MadMethod::kReportResponse;
    header.write(back);
    EXPECT_TRUE(port().send(agent_, {.to = mad.from, .mad = back}, lab_.now));
    node_.management_used();
  }
  void finished(mgmt::AgentId, std::uint64_t, Bytes, mgmt::MadResult) override {}

  fabric::RunningLab& lab_;
  fabric::Node& node_;
  mgmt::AgentId agent_{};
  std::uint64_t asked_ = 0;
};

struct JoinedManager : ::testing::Test {
  JoinedManager() : manager(*LabManager::open(lab.fabric)) {
    manager->start(lab.now);
    run_for(1s);
  }
  void run_for(Duration time) {
    const Time end = lab.now + time;
    for (int round = 0; round < 1'000'000; ++round) {
      lab.fabric.run(lab.now);
      manager->run(lab.now);
      Time next = lab.fabric.deadline().value_or(Time::max());
      next = std::min(next, manager->deadline().value_or(Time::max()));
      if (next > end) break;
      lab.now = std::max(lab.now, next);
    }
    lab.now = end;
  }
  Lid lid(const std::string& node) { return lab.fabric.find_node(node)->port_info(1).lid; }

  fabric::RunningLab lab{fabric::lab_of(fabric::kFourNodes)};
  std::unique_ptr<LabManager> manager;
};

TEST_F(JoinedManager, ReportsTheTrapsThatItTakes) {
  Asker b(lab, "b");
  std::vector<std::byte> data(200);
  wire::InformInfo{.lid_begin = wire::InformInfo::kAnyLid, .subscribe = true}.write(data);
  b.ask(MadMethod::kSet, SaAttribute::kInformInfo, 0, data);
  run_for(1s);
  ASSERT_EQ(b.status, 0);
  fabric::Node& c = *lab.fabric.find_node("c");
  c.management().buffer_overrun(1, lab.now);
  c.management_used();
  run_for(1s);
  EXPECT_THAT(b.told, Contains(wire::TrapNumber::kBufferOverrun));
}

TEST_F(JoinedManager, WritesTheGuidsThatAreGivenOut) {
  Asker b(lab, "b");
  std::vector<std::byte> data(200);
  wire::store_be16(data.data(), lid("b").value());
  constexpr std::uint64_t kLidBlockAndThird = 1u << 0 | 1u << 1 | 1u << 7;
  b.ask(MadMethod::kSet, SaAttribute::kGuidInfoRecord, kLidBlockAndThird, data);
  run_for(1s);
  ASSERT_EQ(b.status, 0);
  const auto third = [&] { return lab.fabric.find_node("b")->guids(1, 0).guids[3]; };
  EXPECT_NE(third(), Guid{});
  b.ask(MadMethod::kDelete, SaAttribute::kGuidInfoRecord, kLidBlockAndThird, data);
  run_for(1s);
  EXPECT_EQ(third(), Guid{});
}

}  // namespace
}  // namespace weft::daemon
