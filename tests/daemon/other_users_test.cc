// SPDX-License-Identifier: Apache-2.0
// Programs of several users on the nodes of one lab.
#include "daemon/lab/other_users.h"

#include <sys/stat.h>

#include "program_client.h"
#include "umad/protocol.h"

namespace weft::daemon {
namespace {

constexpr uid_t kOne = 65533;
constexpr uid_t kAnother = 65532;
// As whom the kernel shows every user who has no number here.
constexpr uid_t kUnknown = 65534;

TEST(OtherUsers, HaveEachAQuarterOfThePlaces) {
  OtherUsers users(1000, 8);
  std::vector<OtherUsers::Place> places;
  const auto enters = [&](uid_t user) {
    auto place = users.enter(user);
    if (place) places.push_back(std::move(*place));
    return place.has_value();
  };
  EXPECT_TRUE(enters(kOne));
  EXPECT_TRUE(enters(kOne));
  EXPECT_FALSE(enters(kOne));
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(enters(1000)) << "the lab's own user";
    EXPECT_TRUE(enters(0)) << "root";
  }
  for (const uid_t user : {kAnother, uid_t{2001}, uid_t{2002}}) {
    EXPECT_TRUE(enters(user));
    EXPECT_TRUE(enters(user));
  }
  EXPECT_FALSE(enters(2003)) << "all together have no more";
  places.clear();
  EXPECT_TRUE(enters(kOne));
}

// What a process opens, it opens as its effective user: one process can be several here.
class ProgramsOfOtherUsers : public AttachedPrograms {
 protected:
  ProgramsOfOtherUsers() {
    config_.shared =
        Entrance{directory_ + "/shared", {.who = Admission::Who::kEveryone, .group = 0}};
    config_.others = &others_;
    EXPECT_EQ(chmod(directory_.c_str(), 0711), 0);
  }
  // Its sessions count for others_.
  ~ProgramsOfOtherUsers() override { server_.reset(); }
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "takes root, to be several users";
    serve();
  }

  ProgramClient client_of(uid_t user) const {
    EXPECT_EQ(seteuid(user), 0);
    ProgramClient out(config_.shared->path);
    EXPECT_EQ(seteuid(0), 0);
    return out;
  }
  ProgramClient placed_as(uid_t user, const std::string& node) {
    return placed(client_of(user), node);
  }
  // Sends two packets with their payload in a block; the second could be read where it is if the
  // first was followed by an offer.
  void send_two(ProgramClient& from, ProgramClient& to) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      const auto bytes = packet(from, "a", to, "b", i);
      from.put(bytes, i);
      from.publish();
      settle();
      EXPECT_EQ(to.arrivals(), Packets{bytes});
      EXPECT_EQ(to.theirs().slots[i].arena, ring::kDaemonArena);
      to.take_all();
      EXPECT_EQ(from.theirs().page.freed.load(), i + 1) << "the block is the sender's again";
    }
    EXPECT_EQ(count(AttachCounter::kCopied), 2u);
  }

  OtherUsers others_{0, 8};
};

TEST_F(ProgramsOfOtherUsers, ReadNothingWhereItsSenderCanWrite) {
  ProgramClient a = placed("a");
  ProgramClient b = placed_as(kOne, "b");
  send_two(a, b);
  EXPECT_FALSE(b.news()) << "it is offered the memory of another user";
}

TEST_F(ProgramsOfOtherUsers, ShareMemoryAmongThoseOfOneUser) {
  ProgramClient a = placed_as(kOne, "a");
  ProgramClient b = placed_as(kOne, "b");
  a.put(packet(a, "a", b, "b"), 0);
  a.publish();
  settle();
  const auto news = b.news();
  ASSERT_TRUE(news);
  EXPECT_EQ(plain::read<attach::Arena>(*news)->arena, a.arena);
}

TEST_F(ProgramsOfOtherUsers, ShareNoneWhereNobodyKnowsWhetherTheyAreOneUsers) {
  ProgramClient a = placed_as(kUnknown, "a");
  ProgramClient b = placed_as(kUnknown, "b");
  send_two(a, b);
  EXPECT_FALSE(b.news());
}

TEST_F(ProgramsOfOtherUsers, GetCopiesInTheBlockThatCameBackLastAndInNoneThatTheyHold) {
  ProgramClient a = placed("a");
  ProgramClient b = placed_as(kOne, "b");
  const auto block_of = [&](std::size_t arrival) { return b.theirs().slots[arrival].block; };
  Packets sent;
  const auto send_two_more = [&] {
    const auto from = static_cast<std::uint32_t>(sent.size());
    for (std::uint32_t i = from; i < from + 2; ++i) {
      sent.push_back(packet(a, "a", b, "b", i));
      a.put(sent.back(), i);
    }
    a.publish();
    settle();
  };
  send_two_more();
  EXPECT_NE(block_of(0), block_of(1));
  b.take_all();
  settle();
  send_two_more();
  EXPECT_EQ(block_of(2), block_of(1));
  EXPECT_EQ(block_of(3), block_of(0));
  send_two_more();
  EXPECT_EQ(b.arrivals(), Packets(sent.begin() + 2, sent.end()));
}

TEST_F(ProgramsOfOtherUsers, CannotTakeThePlacesOfAll) {
  const ProgramClient a = placed_as(kOne, "a");
  const ProgramClient b = placed_as(kOne, "b");
  ProgramClient third = client_of(kOne);
  settle();
  EXPECT_TRUE(third.is_dropped());
  EXPECT_EQ(count(AttachCounter::kTurnedAway), 1u);
  placed_as(kAnother, "b");
  placed("a");
}

TEST_F(ProgramsOfOtherUsers, FindTheOwnersSocketShutWhateverItsMode) {
  EXPECT_EQ(chmod(config_.socket.c_str(), 0666), 0);
  EXPECT_EQ(seteuid(kOne), 0);
  ProgramClient client(config_.socket);
  EXPECT_EQ(seteuid(0), 0);
  settle();
  EXPECT_TRUE(client.is_dropped());
  EXPECT_EQ(count(AttachCounter::kForeign), 1u);
}

TEST_F(ProgramsOfOtherUsers, AreToldOfASwitchToo) {
  namespace umad = umad::protocol;
  ProgramClient client = client_of(kOne);
  umad::Hello hello{.magic = umad::kMagic,
                    .version = umad::kVersion,
                    .purpose = umad::kDescribe,
                    .port = 0,
                    .node = "s"};
  ASSERT_TRUE(client.say(hello));
  settle();
  const auto welcome = client.hear<umad::Welcome>();
  ASSERT_TRUE(welcome);
  EXPECT_EQ(welcome->error, 0) << welcome->message;
  EXPECT_EQ(welcome->node_type, 2u);
  EXPECT_EQ(welcome->ports, 1u);
}

TEST_F(ProgramsOfOtherUsers, OpenNoPortForManagementWhereTheyAttach) {
  namespace umad = umad::protocol;
  for (const std::uint32_t purpose : {umad::kOpen, umad::kSubnetManager}) {
    ProgramClient client = client_of(kOne);
    umad::Hello hello{.magic = umad::kMagic,
                      .version = umad::kVersion,
                      .purpose = purpose,
                      .port = 1,
                      .node = "a"};
    ASSERT_TRUE(client.say(hello));
    settle();
    EXPECT_TRUE(client.is_dropped());
  }
  EXPECT_EQ(count(AttachCounter::kNonsense), 2u);
}

}  // namespace
}  // namespace weft::daemon
