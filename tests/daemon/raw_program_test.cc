// SPDX-License-Identifier: Apache-2.0
// Programs that want whole packets: on a node that carries a data service they have them, and send
// as whomever; anywhere else, and by other means, they do not.
#include <functional>

#include "base/random.h"
#include "program_client.h"
#include "wire/grh.h"

namespace weft::daemon {
namespace {

using attach::Request;

Request request(std::uint32_t action, Qpn qpn, std::uint32_t rule = 0, std::uint32_t value = 0) {
  return {.action = action,
          .qpn = qpn.value(),
          .arena = 0,
          .port = 0,
          .group = {},
          .rule = rule,
          .value = value};
}

// Node c carries a service, and what comes to its own LID is the service's.
class RawPrograms : public AttachedPrograms {
 protected:
  void SetUp() override {
    lab_.fabric.find_adapter("c")->carry_service(entropy_);
    serve();
  }
  Request to_own_lid(std::uint32_t action, const ProgramClient& program) {
    return request(action, program.qpn, attach::kToLid, lid_of("c").value());
  }
  ProgramClient raw_at_c() {
    ProgramClient out = placed("c");
    EXPECT_EQ(ask(out, request(attach::kMakeRaw, out.qpn)), 0);
    return out;
  }
  std::string why(ProgramClient& program, const Request& request) {
    EXPECT_TRUE(program.say(request));
    settle();
    const auto answer = program.hear<attach::Answer>();
    return answer && answer->error != 0 ? answer->message : "";
  }

  SeededEntropy entropy_{Random(5)};
};

TEST_F(RawPrograms, GetWhatTheyAskForAndSendItOnAsItsSender) {
  ProgramClient a = placed("a");
  ProgramClient b = placed("b");
  ProgramClient service = raw_at_c();
  ASSERT_EQ(ask(service, to_own_lid(attach::kDivert, service)), 0);
  fabric::Datagram sent{.slid = lid_of("a"), .dlid = lid_of("c"), .dest = b.qpn, .source = a.qpn};
  a.put(sent.bytes());
  a.publish();
  settle();
  ASSERT_EQ(service.arrivals(), Packets{sent.bytes()});
  EXPECT_EQ(service.theirs().slots[0].raw, service.qpn.value());
  sent.dlid = lid_of("b");
  service.put(sent.bytes());
  service.publish();
  settle();
  EXPECT_EQ(b.arrivals(), Packets{sent.bytes()});
  EXPECT_EQ(b.theirs().slots[0].raw, 0u);
  // And no more.
  service.take_all();
  EXPECT_EQ(ask(service, to_own_lid(attach::kRestore, service)), 0);
  EXPECT_EQ(ask(service, to_own_lid(attach::kRestore, service)), EINVAL);
  sent.dlid = lid_of("c");
  sent.dest = Qpn{0x1234};
  a.put(sent.bytes());
  a.publish();
  settle();
  EXPECT_EQ(service.arrivals().size(), 0u);
}

TEST_F(RawPrograms, AreOfNodesThatCarryAServiceOnly) {
  ProgramClient a = placed("a");
  EXPECT_EQ(ask(a, request(attach::kMakeRaw, a.qpn)), EPERM);
  EXPECT_EQ(why(a, request(attach::kMakeRaw, a.qpn)),
            "raw queue pairs are for nodes that carry a data service: the lab file has no "
            "[service.NAME] with at = \"a\"");
  ProgramClient c = placed("c");
  EXPECT_EQ(ask(c, request(attach::kMakeRaw, Qpn{c.qpn.value() + 1})), EINVAL);
  EXPECT_EQ(ask(c, to_own_lid(attach::kDivert, c)), EINVAL) << "it is no raw one yet";
  expect_service();
}

TEST_F(RawPrograms, ShareBetweenProcessesUntilOneIsGone) {
  ProgramClient a = placed("a");
  ProgramClient first = raw_at_c();
  ProgramClient second = raw_at_c();
  ASSERT_EQ(ask(first, to_own_lid(attach::kDivert, first)), 0);
  ASSERT_EQ(ask(second, to_own_lid(attach::kDivert, second)), 0);
  const auto send = [&] {
    for (std::uint32_t flow = 0; flow < 40; ++flow) {
      a.put(fabric::Datagram{
          .slid = lid_of("a"), .dlid = lid_of("c"), .dest = Qpn{100 + flow}, .source = a.qpn}
                .bytes());
    }
    a.publish();
    settle();
  };
  send();
  EXPECT_GT(first.arrivals().size(), 5u);
  EXPECT_GT(second.arrivals().size(), 5u);
  EXPECT_EQ(first.arrivals().size() + second.arrivals().size(), 40u);
  first.die();
  settle();
  second.take_all();
  send();
  EXPECT_EQ(second.arrivals().size(), 40u);
}

// The right is the queue pair's, not the program's, and ends with subnet management.
TEST_F(RawPrograms, AreCutOffForLiesAsAllAre) {
  ProgramClient b = placed("b");
  const auto is_cut_off =
      [&](const std::function<void(ProgramClient&, fabric::Datagram&)>& change) {
        ProgramClient service = raw_at_c();
        fabric::Datagram datagram{
            .slid = lid_of("a"), .dlid = lid_of("b"), .dest = b.qpn, .source = Qpn{99}};
        change(service, datagram);
        service.put(datagram.bytes());
        service.publish();
        settle();
        return service.is_dropped();
      };
  const std::uint64_t arrived = b.arrivals().size();
  EXPECT_FALSE(is_cut_off([](auto&, auto&) {}));
  EXPECT_EQ(b.arrivals().size(), arrived + 1);
  EXPECT_FALSE(is_cut_off([](auto&, auto& datagram) { datagram.qkey = QKey{0x8000'0000}; }));
  EXPECT_EQ(b.arrivals().size(), arrived + 2);
  EXPECT_TRUE(is_cut_off([](auto&, auto& datagram) { datagram.dest = kQp0; }));
  EXPECT_TRUE(is_cut_off([](auto&, auto& datagram) { datagram.vl = Vl{15}; }));
  EXPECT_TRUE(is_cut_off([](auto&, auto& datagram) {
    datagram.payload = 32;
    datagram.grh = wire::Grh{.ip_version = 4};
  }));
  // From another queue pair of the same program.
  EXPECT_TRUE(is_cut_off([&](auto& service, auto&) {
    EXPECT_TRUE(service.say(request(attach::kAllocate, Qpn{})));
    settle();
    service.qpn = Qpn{service.template hear<attach::Answer>()->qpn};
  }));
  EXPECT_EQ(b.arrivals().size(), arrived + 2);
  EXPECT_EQ(count(AttachCounter::kForged), 4u);
  EXPECT_EQ(lab_.count("c", fabric::NodeCounter::kForged), 4u);
  expect_service();
}

TEST_F(RawPrograms, AreDroppedWhenTheirRulesMakeNoSense) {
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> rules{
      {0, 0}, {6, 0}, {attach::kToLid, 0x1'0000}, {attach::kToGids, 129}, {~0U, 0}};
  for (std::size_t i = 0; i < rules.size(); ++i) {
    ProgramClient service = raw_at_c();
    ASSERT_TRUE(
        service.say(request(attach::kDivert, service.qpn, rules[i].first, rules[i].second)));
    settle();
    EXPECT_TRUE(service.is_dropped()) << i;
    EXPECT_EQ(count(AttachCounter::kNonsense), i + 1);
  }
  // These make sense, and are not to be had.
  ProgramClient service = raw_at_c();
  EXPECT_EQ(ask(service, request(attach::kDivert, service.qpn, attach::kToLid, 0)), EINVAL);
  EXPECT_EQ(ask(service, request(attach::kDivert, service.qpn, attach::kToLid, 0xC000)), EINVAL);
  std::uint32_t taken = 0;
  int refused = 0;
  while (taken < 300 && refused == 0) {
    refused = ask(service, request(attach::kDivert, service.qpn, attach::kToLid, 1'000 + taken));
    if (refused == 0) ++taken;
  }
  EXPECT_EQ(refused, ENOMEM);
  EXPECT_EQ(taken, 256u);
  expect_service();
}

// A packet that was made before its port's neighbour took shorter ones is no lie.
TEST_F(RawPrograms, MayNotKnowYetWhatTheirPortTakes) {
  ProgramClient service = raw_at_c();
  ProgramClient b = placed("b");
  const auto long_one = fabric::Datagram{.slid = lid_of("a"),
                                         .dlid = lid_of("b"),
                                         .dest = b.qpn,
                                         .source = Qpn{99},
                                         .payload = 1'024}
                            .bytes();
  mgmt::ManagedNode& node = *lab_.fabric.find_adapter("c");
  wire::PortInfo info = node.port_info(1);
  info.neighbor_mtu = 1;  // 256
  node.set_port_info(1, info, lab_.now);
  service.put(long_one, 3);
  service.publish();
  settle();
  EXPECT_FALSE(service.is_dropped());
  EXPECT_EQ(lab_.count("c", fabric::NodeCounter::kOutdated), 1u);
  service.epoch = facts(service).epoch;
  service.put(long_one, 4);
  service.publish();
  settle();
  EXPECT_TRUE(service.is_dropped());
  EXPECT_EQ(b.arrivals().size(), 0u);
}

// What a process opens, it opens as its effective user.
TEST_F(RawPrograms, AreTheLabsUsersAndRootsAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "takes root, to be several users";
  server_.reset();
  config_.shared = Entrance{directory_ + "/shared", {.who = Admission::Who::kEveryone, .group = 0}};
  ASSERT_EQ(chmod(directory_.c_str(), 0711), 0);
  serve();
  ASSERT_EQ(seteuid(65533), 0);
  ProgramClient connected(config_.shared->path);
  ASSERT_EQ(seteuid(0), 0);
  ProgramClient other = placed(std::move(connected), "c");
  EXPECT_EQ(ask(other, request(attach::kMakeRaw, other.qpn)), EPERM);
  EXPECT_EQ(why(other, request(attach::kMakeRaw, other.qpn)),
            "raw queue pairs are for the user who runs the lab, and for root");
  EXPECT_EQ(ask(other, to_own_lid(attach::kDivert, other)), EINVAL);
}

}  // namespace
}  // namespace weft::daemon
