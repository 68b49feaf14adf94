// SPDX-License-Identifier: Apache-2.0
// Directed routes: each rule of C14-9 and C14-13 by itself, then whole ways.
#include "mgmt/sm/directed_route.h"

#include <gtest/gtest.h>

#include "mad_fixture.h"
#include "mgmt/mad_answer.h"

namespace weft::mgmt::test {
namespace {

namespace smp = wire::smp;
using Kind = DirectedStep::Kind;

constexpr RouteElement kSwitch{.is_switch = true, .ports = 8};
constexpr RouteElement kAdapter{.is_switch = false, .ports = 2};

MadBuffer request(std::initializer_list<std::uint8_t> path) {
  return make_directed(MadMethod::kGet, SmAttribute::kNodeInfo, 0, path);
}

MadBuffer at_hop(std::initializer_list<std::uint8_t> path, std::uint8_t hop) {
  MadBuffer mad = request(path);
  smp::set_hop_pointer(mad, hop);
  return mad;
}

MadBuffer returning(std::initializer_list<std::uint8_t> path, std::uint8_t hop) {
  MadBuffer mad = at_hop(path, hop);
  make_answer(mad, MadStatus::kOk);
  for (std::size_t i = 1; i <= path.size(); ++i) {
    smp::set_return_path(mad, i, static_cast<std::uint8_t>(i));
  }
  return mad;
}

TEST(DirectedRoute, LeavesItsRequesterByTheFirstPortOfThePath) {
  MadBuffer mad = request({2, 3});
  EXPECT_EQ(step_sent(mad, 2, kAdapter), (DirectedStep{.kind = Kind::kPort, .port = 2}));
  EXPECT_EQ(smp::hop_pointer(mad), 1);
}

TEST(DirectedRoute, CannotLeaveAnAdapterByAnotherPortThanItsOwn) {
  MadBuffer mad = request({2, 3});
  EXPECT_EQ(step_sent(mad, 1, kAdapter).kind, Kind::kDiscard);
}

TEST(DirectedRoute, LeavesASwitchByAnyPortItHas) {
  MadBuffer mad = request({8});
  EXPECT_EQ(step_sent(mad, 0, kSwitch), (DirectedStep{.kind = Kind::kPort, .port = 8}));
  for (const std::uint8_t port : std::initializer_list<std::uint8_t>{0, 9, 255}) {
    MadBuffer wrong = request({port});
    EXPECT_EQ(step_sent(wrong, 0, kSwitch).kind, Kind::kDiscard) << int{port};
  }
}

TEST(DirectedRoute, OfNoHopsStaysWithItsRequester) {
  MadBuffer mad = request({});
  EXPECT_EQ(step_sent(mad, 1, kAdapter).kind, Kind::kDeliver);
  EXPECT_EQ(smp::hop_pointer(mad), 1);
  EXPECT_EQ(step_arrived(mad, 1, kAdapter).kind, Kind::kDeliver);
}

TEST(DirectedRoute, RemembersInASwitchWhereItCameFromAndGoesOn) {
  MadBuffer mad = at_hop({2, 3, 4}, 1);
  EXPECT_EQ(step_arrived(mad, 6, kSwitch), (DirectedStep{.kind = Kind::kPort, .port = 3}));
  EXPECT_EQ(smp::hop_pointer(mad), 2);
  EXPECT_EQ(smp::return_path(mad, 1), 6);
}

TEST(DirectedRoute, DoesNotGoThroughAnAdapter) {
  MadBuffer mad = at_hop({2, 1, 4}, 1);
  EXPECT_EQ(step_arrived(mad, 1, kAdapter).kind, Kind::kDiscard);
}

TEST(DirectedRoute, EndsWhereAllHopsAreMade) {
  for (const RouteElement& element : {kSwitch, kAdapter}) {
    MadBuffer mad = at_hop({2, 3}, 2);
    EXPECT_EQ(step_arrived(mad, 1, element).kind, Kind::kDeliver);
    EXPECT_EQ(smp::hop_pointer(mad), 3);
    EXPECT_EQ(smp::return_path(mad, 2), 1);
  }
}

TEST(DirectedRoute, GoesOnByLidFromTheLastSwitchWhenTheRequesterSaysSo) {
  MadBuffer mad = at_hop({2}, 1);
  smp::set_dr_lids(mad, wire::kPermissiveLid, Lid{9});
  EXPECT_EQ(step_arrived(mad, 4, kSwitch), (DirectedStep{.kind = Kind::kLid, .lid = Lid{9}}));
  EXPECT_EQ(smp::hop_pointer(mad), 2);
  MadBuffer at_adapter = at_hop({2}, 1);
  smp::set_dr_lids(at_adapter, wire::kPermissiveLid, Lid{9});
  EXPECT_EQ(step_arrived(at_adapter, 1, kAdapter).kind, Kind::kDiscard);
}

TEST(DirectedRoute, IsDeliveredWhereItsLastPartByLidEnds) {
  MadBuffer mad = at_hop({2}, 2);
  smp::set_dr_lids(mad, wire::kPermissiveLid, Lid{9});
  EXPECT_EQ(step_arrived(mad, 1, kAdapter).kind, Kind::kDeliver);
  EXPECT_EQ(smp::hop_pointer(mad), 2);
}

TEST(DirectedRoute, BeginsItsPortsInASwitchItReachedByLid) {
  MadBuffer mad = at_hop({5, 3}, 0);
  smp::set_dr_lids(mad, Lid{4}, wire::kPermissiveLid);
  EXPECT_EQ(step_arrived(mad, 1, kSwitch), (DirectedStep{.kind = Kind::kPort, .port = 5}));
  EXPECT_EQ(smp::hop_pointer(mad), 1);
  // A neighbour that sent it by its port had to count that hop.
  MadBuffer uncounted = at_hop({5, 3}, 0);
  EXPECT_EQ(step_arrived(uncounted, 1, kSwitch).kind, Kind::kDiscard);
}

TEST(DirectedRoute, IsDiscardedWithHopsThatNoWayHas) {
  MadBuffer beyond = at_hop({2, 3}, 4);
  EXPECT_EQ(step_arrived(beyond, 1, kSwitch).kind, Kind::kDiscard);
  MadBuffer too_long = at_hop({2}, 1);
  smp::set_hop_count(too_long, 64);
  EXPECT_EQ(step_arrived(too_long, 1, kSwitch).kind, Kind::kDiscard);
  EXPECT_EQ(step_sent(too_long, 0, kSwitch).kind, Kind::kDiscard);
  MadBuffer back_too_far = returning({2, 3}, 4);
  EXPECT_EQ(step_arrived(back_too_far, 1, kSwitch).kind, Kind::kDiscard);
}

TEST(DirectedRoute, GoesBackFromTheResponderByThePortItCameFrom) {
  MadBuffer mad = returning({2, 3}, 3);
  EXPECT_EQ(step_sent(mad, 2, kAdapter), (DirectedStep{.kind = Kind::kPort, .port = 2}));
  EXPECT_EQ(smp::hop_pointer(mad), 2);
  EXPECT_TRUE(smp::returning(mad));
}

TEST(DirectedRoute, GoesBackThroughSwitchesByTheReturnPath) {
  MadBuffer mad = returning({2, 3, 4}, 3);
  EXPECT_EQ(step_arrived(mad, 1, kSwitch), (DirectedStep{.kind = Kind::kPort, .port = 2}));
  EXPECT_EQ(smp::hop_pointer(mad), 2);
  MadBuffer at_adapter = returning({2, 3, 4}, 3);
  EXPECT_EQ(step_arrived(at_adapter, 1, kAdapter).kind, Kind::kDiscard);
}

TEST(DirectedRoute, EndsItsReturnWithTheRequester) {
  MadBuffer mad = returning({2, 3}, 1);
  EXPECT_EQ(step_arrived(mad, 2, kAdapter).kind, Kind::kDeliver);
  EXPECT_EQ(smp::hop_pointer(mad), 0);
}

TEST(DirectedRoute, GoesBackByLidToARequesterThatCameByLid) {
  MadBuffer mad = returning({2, 3}, 1);
  smp::set_dr_lids(mad, Lid{4}, wire::kPermissiveLid);
  EXPECT_EQ(step_arrived(mad, 5, kSwitch), (DirectedStep{.kind = Kind::kLid, .lid = Lid{4}}));
  EXPECT_EQ(smp::hop_pointer(mad), 0);
  EXPECT_EQ(step_arrived(mad, 1, kAdapter).kind, Kind::kDeliver);
}

// Nodes in a row, each a management of its own; port 1 is towards the first.
class Row {
 public:
  explicit Row(std::size_t switches) {
    for (std::size_t i = 0; i < switches + 2; ++i) {
      const bool end = i == 0 || i == switches + 1;
      nodes.push_back(std::make_unique<ManagedFixture>(
          end ? wire::NodeType::kChannelAdapter : wire::NodeType::kSwitch, end ? 1 : 4));
      nodes.back()->node.node.node_guid = Guid{i};
    }
  }
  // From port 2 of each to port 1 of the next, until nothing moves.
  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t i = 0; i < nodes.size(); ++i) {
        while (!nodes[i]->outlet.all.empty()) {
          const SentMad sent = nodes[i]->outlet.all.front();
          nodes[i]->outlet.all.pop_front();
          const bool up = sent.envelope.port == 2 || i == 0;
          MadEnvelope arrived = sent.envelope;
          arrived.port = up ? 1 : (i == 1 ? 1 : 2);
          nodes.at(up ? i + 1 : i - 1)->management.receive(arrived, sent.mad, Time{});
          moved = true;
        }
        const std::optional<Time> due = nodes[i]->management.deadline();
        moved = moved || (due && *due <= Time{});
        nodes[i]->management.run(Time{});
      }
    }
  }
  std::vector<std::unique_ptr<ManagedFixture>> nodes;
};

class Listener final : public MadClient {
 public:
  void received(AgentId, const ReceivedMad& mad) override {
    answers.emplace_back(mad.mad.begin(), mad.mad.end());
  }
  void finished(AgentId, std::uint64_t, Bytes, MadResult) override { ++failures; }
  std::vector<std::vector<std::byte>> answers;
  int failures = 0;
};

TEST(DirectedRoute, ReachesEveryNodeInARowAndBringsItsAnswerBack) {
  Row row(5);
  Listener listener;
  MadPort& port = row.nodes[0]->management.mad_port(1);
  const AgentId agent =
      *port.add_agent({.mgmt_class = MgmtClass::kSubnDirected, .class_version = 1}, listener);
  for (std::size_t hops = 0; hops < row.nodes.size(); ++hops) {
    MadBuffer mad = request({});
    wire::store_u8(mad.data() + 11, static_cast<std::uint8_t>(hops));
    smp::set_hop_count(mad, static_cast<std::uint8_t>(hops));
    for (std::size_t hop = 1; hop <= hops; ++hop) {
      smp::set_initial_path(mad, hop, hop == 1 ? 1 : 2);
    }
    const MadAddress to{.lid = wire::kPermissiveLid};
    ASSERT_TRUE(port.send(agent, {.to = to, .mad = mad, .timeout = 1s}, Time{}));
    row.run();
    ASSERT_EQ(listener.answers.size(), hops + 1);
    const auto info = *wire::NodeInfo::parse(Bytes(listener.answers.back()).subspan(64));
    EXPECT_EQ(info.node_guid, Guid{hops});
    EXPECT_EQ(info.local_port, 1);
  }
  EXPECT_EQ(listener.failures, 0);
}

}  // namespace
}  // namespace weft::mgmt::test
