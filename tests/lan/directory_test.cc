// SPDX-License-Identifier: Apache-2.0
#include "lan/directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weft::lan {
namespace {

using Kind = Question::Kind;

// What a subnet administrator knows of one port.
struct Known {
  bool adapter = true;
  bool member = true;
  PortLids lids{};
  std::vector<PeerPath> paths;
  std::optional<DatagramEnd> end;
};

constexpr Guid kOwn{0x100};

// Answers from what is in `ports`, when it is told to.
class Administrator final : public DirectoryUser {
 public:
  bool ask(std::uint64_t number, const Question& question, Time) override {
    if (!reachable) return false;
    asked.push_back(question);
    waiting.emplace_back(number, question);
    most_waiting = std::max(most_waiting, waiting.size());
    return true;
  }
  void came(PeerId id, Time) override { told("came ", id); }
  void moved(PeerId id, Time) override { told("moved ", id); }
  void went(PeerId id, Time) override { told("went ", id); }

  void answer_one(Time now) {
    const auto [number, question] = waiting.front();
    waiting.erase(waiting.begin());
    if (silent) return directory->answer(number, Unanswered{}, now);
    std::vector<Guid> guids;
    for (const auto& [guid, port] : ports) {
      const bool meant = question.of == Guid{} || question.of == guid;
      if (question.kind == Kind::kMembers && port.member && meant) guids.push_back(guid);
      if (question.kind == Kind::kPorts && port.adapter && meant) guids.push_back(guid);
      if (question.kind == Kind::kPortAt && port.lids.contains(question.path.dlid)) {
        guids.push_back(guid);
      }
    }
    if (question.kind != Kind::kPaths && question.kind != Kind::kEnd) {
      return directory->answer(number, std::span<const Guid>(guids), now);
    }
    const auto port = ports.find(question.of);
    if (port == ports.end()) return directory->answer(number, Absent{}, now);
    if (question.kind == Kind::kPaths && port->second.paths.empty()) {
      return directory->answer(number, Absent{}, now);
    }
    if (question.kind == Kind::kPaths) {
      return directory->answer(
          number, PortPaths{.lids = port->second.lids, .paths = port->second.paths}, now);
    }
    if (broken.contains(question.path.dlid)) return directory->answer(number, Unanswered{}, now);
    if (!port->second.end) return directory->answer(number, Absent{}, now);
    directory->answer(number, *port->second.end, now);
  }
  void told(const std::string& what, PeerId id) {
    events.push_back(what + std::to_string(directory->peers().get(id).port.value()));
  }
  std::vector<std::string> new_events() { return std::exchange(events, {}); }
  std::vector<Question> asked_of(Kind kind) const {
    std::vector<Question> out;
    std::ranges::copy_if(asked, std::back_inserter(out),
                         [kind](const Question& question) { return question.kind == kind; });
    return out;
  }

  Directory* directory = nullptr;
  std::map<Guid, Known> ports;
  std::set<Lid> broken;  // paths to these lead nowhere
  bool reachable = true;
  bool silent = false;
  std::vector<Question> asked;
  std::vector<std::pair<std::uint64_t, Question>> waiting;
  std::size_t most_waiting = 0;
  std::vector<std::string> events;
};

using Events = std::vector<std::string>;

class DirectoryTest : public ::testing::Test {
 protected:
  DirectoryTest() {
    administrator.directory = &directory;
    add_port(kOwn, 1);
  }
  Known& add_port(Guid guid, std::uint16_t lid) {
    Known& port = administrator.ports[guid];
    port = {.lids = {.base = Lid{lid}},
            .paths = {{.slid = Lid{1}, .dlid = Lid{lid}, .mtu = 2048}},
            .end = DatagramEnd{.qpn = Qpn{lid + 100U}, .qkey = QKey{lid}}};
    return port;
  }
  // All that happens until then, with every question answered at once.
  void run_for(Duration time) {
    const Time end = now + time;
    for (;;) {
      directory.run(now);
      while (!administrator.waiting.empty())
        administrator.answer_one(now);
      const auto next = directory.deadline();
      ASSERT_TRUE(next);
      if (*next > end) break;
      now = std::max(now, *next);
    }
    now = end;
  }
  const Peer& peer_at(std::uint16_t lid) {
    return directory.peers().get(*directory.peers().find(Lid{lid}));
  }
  PeerId id_at(std::uint16_t lid) { return *directory.peers().find(Lid{lid}); }

  Administrator administrator;
  Directory directory{{.own = kOwn, .peers = 4}, administrator};
  Time now{1s};
};

TEST_F(DirectoryTest, FindsPeersByThreeQueriesAndWhereTheyTakeDatagrams) {
  add_port(Guid{0x201}, 2);
  add_port(Guid{0x203}, 5).adapter = false;
  add_port(Guid{0x202}, 3).lids = {.base = Lid{8}, .lmc = 2};
  add_port(Guid{0x301}, 4).member = false;
  run_for(10ms);
  EXPECT_EQ(administrator.new_events(), (Events{"came 513", "came 514"}));
  EXPECT_EQ(administrator.asked_of(Kind::kMembers).size(), 1u);
  EXPECT_EQ(administrator.asked_of(Kind::kPorts).size(), 1u);
  // Neither our own port nor one that is not of the LAN is asked for.
  EXPECT_EQ(administrator.asked_of(Kind::kPaths).size(), 2u);
  EXPECT_EQ(administrator.asked_of(Kind::kEnd).size(), 2u);
  EXPECT_EQ(peer_at(2).port, Guid{0x201});
  EXPECT_EQ(peer_at(2).end, (DatagramEnd{.qpn = Qpn{102}, .qkey = QKey{2}}));
  EXPECT_EQ(peer_at(2).path().mtu, 2048);
  for (std::uint16_t lid = 8; lid < 12; ++lid)
    EXPECT_EQ(peer_at(lid).port, Guid{0x202});
  EXPECT_FALSE(directory.peers().find(Lid{7}));
  EXPECT_FALSE(directory.peers().find(Lid{12}));
  EXPECT_FALSE(directory.peers().find(Lid{0xFFFF}));
}

TEST_F(DirectoryTest, DoesNotTakeInWhoRefusesToBeOne) {
  add_port(Guid{0x201}, 2).end.reset();
  run_for(10ms);
  EXPECT_TRUE(administrator.new_events().empty());
  administrator.ports[Guid{0x201}].end = DatagramEnd{.qpn = Qpn{5}};
  run_for(60s);
  EXPECT_EQ(administrator.new_events(), Events{"came 513"});
  administrator.ports[Guid{0x201}].end.reset();
  run_for(60s);
  EXPECT_EQ(administrator.new_events(), Events{"went 513"});
}

TEST_F(DirectoryTest, AsksAgainEveryNowAndThenAndMissesWhoIsGone) {
  add_port(Guid{0x201}, 2);
  run_for(10s);
  administrator.new_events();
  administrator.ports.erase(Guid{0x201});
  run_for(60s);
  EXPECT_TRUE(administrator.new_events().empty());
  run_for(60s);
  EXPECT_EQ(administrator.new_events(), Events{"went 513"});
  EXPECT_FALSE(directory.peers().find(Lid{2}));
  EXPECT_TRUE(directory.peers().all().empty());
}

// One that has begun anew knows nobody until all have said again that they are there.
TEST_F(DirectoryTest, KeepsItsPeersWhileAnAdministratorHasNotHeardOfThemYet) {
  add_port(Guid{0x201}, 2);
  run_for(10s);
  administrator.new_events();
  administrator.ports[Guid{0x201}].member = false;
  const std::vector<PeerPath> paths = std::exchange(administrator.ports[Guid{0x201}].paths, {});
  for (int i = 0; i < 4; ++i) {
    directory.ways_changed(now);
    run_for(700ms);
  }
  administrator.ports[Guid{0x201}].member = true;
  administrator.ports[Guid{0x201}].paths = paths;
  run_for(120s);
  EXPECT_TRUE(administrator.new_events().empty());
  administrator.ports[Guid{0x201}].paths.clear();
  run_for(120s);
  EXPECT_EQ(administrator.new_events(), Events{"went 513"});
}

TEST_F(DirectoryTest, KeepsItsPeersWhenNobodyAnswers) {
  add_port(Guid{0x201}, 2);
  run_for(10ms);
  administrator.new_events();
  administrator.silent = true;
  run_for(600s);
  // After a second, and then ever less often.
  EXPECT_LE(administrator.asked_of(Kind::kMembers).size(), 18u);
  administrator.reachable = false;
  run_for(600s);
  EXPECT_TRUE(administrator.new_events().empty());
  EXPECT_TRUE(directory.peers().find(Lid{2}));
  administrator.silent = false;
  administrator.reachable = true;
  add_port(Guid{0x205}, 5);
  run_for(60s);
  EXPECT_EQ(administrator.new_events(), Events{"came 517"});
}

TEST_F(DirectoryTest, AsksAgainSoonWhenItWasNotAnswered) {
  add_port(Guid{0x201}, 2);
  administrator.silent = true;
  run_for(900ms);
  administrator.silent = false;
  run_for(100ms);
  EXPECT_EQ(administrator.new_events(), Events{"came 513"});
}

TEST_F(DirectoryTest, HeedsNoticesOfPortsThatComeAndGo) {
  run_for(10s);
  // Whoever began at the same time offers his service a little later, too.
  EXPECT_EQ(administrator.asked_of(Kind::kMembers).size(), 4u);
  // The port is there before it has offered its service.
  add_port(Guid{0x201}, 2).member = false;
  directory.in_service(Guid{0x201}, now);
  run_for(200ms);
  EXPECT_EQ(administrator.asked_of(Kind::kMembers).size(), 5u);
  administrator.ports[Guid{0x201}].member = true;
  run_for(2s);
  EXPECT_EQ(administrator.new_events(), Events{"came 513"});
  run_for(20s);
  EXPECT_EQ(administrator.asked_of(Kind::kMembers).size(), 8u);
  directory.out_of_service(Guid{0x201}, now);
  EXPECT_EQ(administrator.new_events(), Events{"went 513"});
  directory.out_of_service(Guid{0x201}, now);
  EXPECT_TRUE(administrator.new_events().empty());
}

TEST_F(DirectoryTest, AsksAfterTheFirstStrangerAtOnce) {
  run_for(3s + 10ms);  // the last of the first rounds has just been
  add_port(Guid{0x201}, 2);
  directory.stranger_heard({.lid = Lid{2}}, now);
  run_for(600ms);
  EXPECT_EQ(administrator.new_events(), Events{"came 513"});
}

// Its LID is that of a data service.
TEST_F(DirectoryTest, AsksAfterAStrangerByItsGrh) {
  run_for(3s + 10ms);
  add_port(Guid{0x201}, 2);
  directory.stranger_heard({.lid = Lid{0x40}, .port = Guid{0x201}}, now);
  run_for(600ms);
  EXPECT_EQ(administrator.new_events(), Events{"came 513"});
  EXPECT_TRUE(administrator.asked_of(Kind::kPortAt).empty());
  const std::size_t before = administrator.asked_of(Kind::kMembers).size();
  for (int i = 0; i < 1000; ++i) {
    directory.stranger_heard({.lid = Lid{0x40}, .port = Guid{0x300U + (i & 63U)}}, now);
    run_for(10ms);
  }
  EXPECT_LE(administrator.asked_of(Kind::kMembers).size() - before, 64u);
}

TEST_F(DirectoryTest, IsNotMadeToAskWithoutEnd) {
  run_for(10s);
  const std::size_t before = administrator.asked_of(Kind::kMembers).size();
  for (int i = 0; i < 1000; ++i) {
    directory.stranger_heard({.lid = Lid{7}}, now);
    run_for(10ms);
  }
  const std::size_t by_strangers = administrator.asked_of(Kind::kPortAt).size();
  EXPECT_GE(by_strangers, 2u);
  EXPECT_LE(by_strangers, 4u);
  EXPECT_EQ(administrator.asked_of(Kind::kMembers).size(), before) << "it is nobody";
  for (int i = 0; i < 1000; ++i) {
    directory.in_service(Guid{0x900}, now);
    run_for(10ms);
  }
  EXPECT_LE(administrator.asked_of(Kind::kMembers).size() - before, 25u);
}

TEST_F(DirectoryTest, FollowsAPortToItsNewLid) {
  add_port(Guid{0x201}, 2);
  run_for(10ms);
  administrator.new_events();
  add_port(Guid{0x201}, 9);
  directory.ways_changed(now);
  run_for(1s);
  EXPECT_EQ(administrator.new_events(), Events{"moved 513"});
  EXPECT_FALSE(directory.peers().find(Lid{2}));
  EXPECT_EQ(peer_at(9).port, Guid{0x201});
}

TEST_F(DirectoryTest, LetsLidsChangeHands) {
  add_port(Guid{0x201}, 2);
  add_port(Guid{0x205}, 3);
  run_for(10ms);
  add_port(Guid{0x201}, 3);
  add_port(Guid{0x205}, 2);
  directory.ways_changed(now);
  run_for(1s);
  EXPECT_EQ(peer_at(3).port, Guid{0x201});
  EXPECT_EQ(peer_at(2).port, Guid{0x205});
}

TEST_F(DirectoryTest, FailsOverToTheSecondaryPathAndBack) {
  Known& port = add_port(Guid{0x201}, 4);
  port.lids.lmc = 1;
  // The second one of these differs in its service level only, and is no other way.
  port.paths = {{.slid = Lid{1}, .dlid = Lid{4}},
                {.slid = Lid{1}, .dlid = Lid{4}, .sl = Sl{1}},
                {.slid = Lid{1}, .dlid = Lid{5}}};
  run_for(10ms);
  administrator.new_events();
  EXPECT_EQ(peer_at(4).path().dlid, Lid{4});
  directory.path_failed(id_at(4), now);
  EXPECT_EQ(administrator.new_events(), Events{"moved 513"});
  EXPECT_EQ(peer_at(4).path().dlid, Lid{5});
  // Neither way is known to be good: it stays as it is.
  directory.path_failed(id_at(4), now);
  EXPECT_TRUE(administrator.new_events().empty());
  run_for(20s);
  EXPECT_EQ(peer_at(4).path().dlid, Lid{5});
  run_for(60s);
  EXPECT_EQ(administrator.new_events(), Events{"moved 513"});
  EXPECT_EQ(peer_at(4).path().dlid, Lid{4});
}

// What is sent by a path is lost, and nobody says so.
TEST_F(DirectoryTest, ChecksThePathInUseAndLeavesOneByWhichNobodyAnswers) {
  Known& port = add_port(Guid{0x201}, 4);
  port.lids.lmc = 1;
  port.paths = {{.slid = Lid{1}, .dlid = Lid{4}}, {.slid = Lid{1}, .dlid = Lid{5}}};
  run_for(10s);
  administrator.new_events();
  const std::size_t before = administrator.asked.size();
  directory.check(id_at(4), now);
  directory.check(id_at(4), now);
  EXPECT_EQ(administrator.asked.size(), before + 1);
  EXPECT_EQ(administrator.asked.back().path.dlid, Lid{4});
  run_for(3s);
  EXPECT_TRUE(administrator.new_events().empty()) << "it has answered";
  EXPECT_EQ(administrator.asked.size(), before + 1);
  administrator.broken = {Lid{4}};
  directory.check(id_at(4), now);
  run_for(10ms);
  EXPECT_EQ(administrator.new_events(), Events{"moved 513"});
  EXPECT_EQ(peer_at(4).path().dlid, Lid{5});
  // The primary one is asked for in each round, and not used before there is an answer.
  run_for(300s);
  EXPECT_TRUE(administrator.new_events().empty());
  administrator.broken.clear();
  run_for(120s);
  EXPECT_EQ(peer_at(4).path().dlid, Lid{4});
}

// The answer may take longer than anybody waits.
TEST_F(DirectoryTest, LeavesAPathByWhichTheAnswerTakesTooLong) {
  Known& port = add_port(Guid{0x201}, 4);
  port.lids.lmc = 1;
  port.paths = {{.slid = Lid{1}, .dlid = Lid{4}}, {.slid = Lid{1}, .dlid = Lid{5}}};
  run_for(10s);
  directory.check(id_at(4), now);
  administrator.new_events();
  now += 1900ms;
  directory.run(now);
  EXPECT_TRUE(administrator.new_events().empty());
  EXPECT_LE(*directory.deadline(), now + 100ms);
  now += 100ms;
  directory.run(now);
  EXPECT_EQ(administrator.new_events(), Events{"moved 513"});
  administrator.answer_one(now);
  EXPECT_EQ(peer_at(4).path().dlid, Lid{5});
}

TEST_F(DirectoryTest, TakesInAPeerWhosePrimaryPathIsBrokenByTheOther) {
  Known& port = add_port(Guid{0x201}, 4);
  port.lids.lmc = 1;
  port.paths = {{.slid = Lid{1}, .dlid = Lid{4}}, {.slid = Lid{1}, .dlid = Lid{5}}};
  administrator.broken = {Lid{4}};
  run_for(10ms);
  EXPECT_EQ(administrator.new_events(), Events{"came 513"});
  EXPECT_EQ(peer_at(4).path().dlid, Lid{5});
}

// One of many that does not answer costs a look-up now and then, and no whole round.
TEST_F(DirectoryTest, LooksAfterOneThatDoesNotAnswerAlone) {
  add_port(Guid{0x201}, 2);
  add_port(Guid{0x205}, 3);
  administrator.broken = {Lid{3}};
  run_for(10s);
  EXPECT_EQ(administrator.new_events(), Events{"came 513"});
  const auto whole = [this] {
    return std::ranges::count_if(administrator.asked, [](const Question& question) {
      return question.kind == Kind::kMembers && question.of == Guid{};
    });
  };
  EXPECT_EQ(whole(), 4);
  administrator.broken.clear();
  run_for(20s);
  EXPECT_EQ(administrator.new_events(), Events{"came 517"});
  EXPECT_EQ(whole(), 4);
}

TEST_F(DirectoryTest, StaysWithinItsBounds) {
  for (std::uint16_t i = 0; i < 100; ++i)
    add_port(Guid{0x1000U + i * 4U}, static_cast<std::uint16_t>(10 + i));
  run_for(10ms);
  EXPECT_LE(administrator.most_waiting, 16u);
  EXPECT_EQ(directory.peers().all().size(), 4u);
  EXPECT_EQ(directory.refused(), 96u);
}

TEST_F(DirectoryTest, IgnoresWhatItHasNotAskedAndWhatCannotBe) {
  add_port(Guid{0x201}, 2).lids = {.base = Lid{0xC000}};
  directory.answer(77, DatagramEnd{}, now);
  run_for(10ms);
  EXPECT_TRUE(administrator.new_events().empty());
  administrator.ports[Guid{0x201}].lids = {.base = Lid{2}};
  administrator.ports[Guid{0x201}].paths.clear();
  run_for(60s);
  EXPECT_TRUE(administrator.new_events().empty());
}

}  // namespace
}  // namespace weft::lan
