// SPDX-License-Identifier: Apache-2.0
// One agent at each port of an adapter: agents of two ports have the same number, so that only the
// port tells whose a datagram is.
#include "mgmt/port_agents.h"

#include <gtest/gtest.h>

#include <vector>

#include "mad_fixture.h"

namespace weft::mgmt::test {
namespace {

const AgentRequest kRequest = [] {
  AgentRequest request{.mgmt_class = MgmtClass::kDeviceMgt, .class_version = 1};
  request.methods.set(static_cast<std::size_t>(MadMethod::kReport));
  return request;
}();

class Heard final : public PortAgents::User {
 public:
  void received(PortNumber port, const ReceivedMad&) override { received_at.push_back(port); }
  void finished(PortNumber port, std::uint64_t cookie, MadResult result) override {
    EXPECT_EQ(cookie, 42u);
    EXPECT_EQ(result, MadResult::kTimedOut);
    finished_at.push_back(port);
  }
  std::vector<PortNumber> received_at;
  std::vector<PortNumber> finished_at;
};

struct PortsAdapter : ManagedFixture {
  PortsAdapter() : ManagedFixture(wire::NodeType::kChannelAdapter, 2) {
    for (unsigned port = 1; port <= 2; ++port) {
      node.infos[port].lid = Lid{5};
      wire::PKeyBlock pkeys;
      pkeys.pkeys[0] = kDefaultPKey;
      node.set_pkeys(static_cast<PortNumber>(port), 0, pkeys);
    }
  }
  void report(PortNumber port) {
    give(make_mad(MgmtClass::kDeviceMgt, 1, MadMethod::kReport, 0x0002), {}, port);
  }
};

// Takes no part, but has a claim of its own.
struct Other final : MadClient {
  void received(AgentId, const ReceivedMad&) override {}
  void finished(AgentId, std::uint64_t, Bytes, MadResult) override {}
};

TEST(PortAgents, TellByWhichPortADatagramCame) {
  PortsAdapter adapter;
  Heard heard;
  PortAgents agents(adapter.management, heard);
  ASSERT_TRUE(agents.open(2, kRequest));
  EXPECT_EQ(agents.at(1), agents.at(2));
  adapter.report(2);
  adapter.report(1);
  adapter.report(2);
  EXPECT_EQ(heard.received_at, (std::vector<PortNumber>{2, 1, 2}));
}

TEST(PortAgents, SendFromThePortThatIsNamedAndTellWhoseAnswerStayedAway) {
  PortsAdapter adapter;
  Heard heard;
  PortAgents agents(adapter.management, heard);
  ASSERT_TRUE(agents.open(2, kRequest));
  const MadBuffer mad = make_mad(MgmtClass::kDeviceMgt, 1, MadMethod::kGet, 0x0001);
  ASSERT_TRUE(agents.send(2,
                          {.to = {.lid = Lid{7}, .qpn = kQp1, .qkey = kGsiQKey},
                           .mad = mad,
                           .timeout = 1s,
                           .cookie = 42},
                          {}));
  EXPECT_EQ(adapter.outlet.take().envelope.port, 2);
  adapter.management.run(at(2s));
  EXPECT_EQ(heard.finished_at, (std::vector<PortNumber>{2}));
}

TEST(PortAgents, AreAtNoPortWhereOneRefuses) {
  PortsAdapter adapter;
  Other other;
  const auto taken = adapter.management.mad_port(2).add_agent(kRequest, other);
  ASSERT_TRUE(taken);
  Heard heard;
  PortAgents agents(adapter.management, heard);
  const auto opened = agents.open(2, kRequest);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, std::errc::address_in_use);
  EXPECT_TRUE(adapter.management.mad_port(1).add_agent(kRequest, other)) << "port 1 was kept";

  adapter.management.mad_port(2).remove_agent(*taken);
}

TEST(PortAgents, LetGoOfEveryPortWhenTheyAreClosed) {
  PortsAdapter adapter;
  Heard heard;
  PortAgents agents(adapter.management, heard);
  ASSERT_TRUE(agents.open(2, kRequest));
  agents.close();
  adapter.report(1);
  EXPECT_TRUE(heard.received_at.empty());
  EXPECT_TRUE(agents.open(2, kRequest));
  adapter.report(2);
  EXPECT_EQ(heard.received_at, (std::vector<PortNumber>{2}));
}

}  // namespace
}  // namespace weft::mgmt::test
