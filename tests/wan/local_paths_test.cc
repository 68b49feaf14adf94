// SPDX-License-Identifier: Apache-2.0
#include "wan/router/local_paths.h"

#include <gtest/gtest.h>

#include <vector>

#include "../link/rig.h"
#include "base/gid_text.h"

namespace weft::wan {
namespace {

const PathQuestion kHost{.dgid = *parse_gid("fd00:0:0:2::1"), .pkey = kDefaultPKey};
const PathQuestion kLocalPathsOther{.dgid = *parse_gid("fd00:0:0:2::2"), .pkey = kDefaultPKey};
constexpr LocalPath kLocalPathsPath{.port = 1, .slid = Lid{3}, .dlid = Lid{7}, .sl = Sl{2}};
constexpr LocalPath kMoved{.port = 1, .slid = Lid{3}, .dlid = Lid{9}, .sl = Sl{2}};

class LocalPathsTest : public ::testing::Test, public LocalPathsUser {
 protected:
  bool ask(std::uint64_t number, const PathQuestion& question, Time) override {
    if (!reachable) return false;
    asked.emplace_back(number, question);
    return true;
  }
  void ready(link::PacketPtr packet, const LocalPath& path, Time) override {
    sent.emplace_back(link::number_of(*packet), path.dlid.value());
  }
  void lost(NoPath why, std::size_t packets) override {
    dropped[static_cast<std::size_t>(why)] += packets;
  }

  void send(const PathQuestion& to, std::uint32_t number) {
    paths.send(to, pool.copy(link::make_packet({.number = number})), now);
  }
  std::size_t lost_as(NoPath why) const { return dropped[static_cast<std::size_t>(why)]; }

  using Sent = std::vector<std::pair<std::uint32_t, std::uint16_t>>;

  BufferPool payloads{link::PacketPool::kPayloadBlock, 1000};
  link::PacketPool pool{1000, payloads};
  Time now{1s};
  bool reachable = true;
  std::vector<std::pair<std::uint64_t, PathQuestion>> asked;
  Sent sent;
  std::array<std::size_t, 3> dropped{};
  LocalPaths::Options options{.paths = 4, .questions = 2, .waiting = 6, .waiting_each = 4};
  LocalPaths paths{options, *this};
};

TEST_F(LocalPathsTest, AsksOnceAndSendsInOrderWhatHasWaited) {
  for (std::uint32_t i = 0; i < 3; ++i)
    send(kHost, i);
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].second, kHost);
  EXPECT_TRUE(sent.empty());
  paths.found(asked[0].first, kLocalPathsPath, now);
  send(kHost, 3);
  EXPECT_EQ(sent, (Sent{{0, 7}, {1, 7}, {2, 7}, {3, 7}}));
  EXPECT_EQ(asked.size(), 1u);
  EXPECT_EQ(paths.waiting(), 0u);
}

TEST_F(LocalPathsTest, KeepsPartitionsApart) {
  PathQuestion other = kHost;
  other.pkey = PKey{0x8002};
  send(kHost, 0);
  send(other, 1);
  ASSERT_EQ(asked.size(), 2u);
  paths.absent(asked[1].first, now);
  paths.found(asked[0].first, kLocalPathsPath, now);
  EXPECT_EQ(sent, (Sent{{0, 7}}));
  EXPECT_EQ(lost_as(NoPath::kAbsent), 1u);
}

TEST_F(LocalPathsTest, RemembersForAWhileThatThereIsNone) {
  send(kHost, 0);
  paths.absent(asked[0].first, now);
  send(kHost, 1);
  EXPECT_EQ(lost_as(NoPath::kAbsent), 2u);
  EXPECT_EQ(asked.size(), 1u) << "it was told a moment ago";
  now += options.absent_for;
  send(kHost, 2);
  ASSERT_EQ(asked.size(), 2u);
  paths.found(asked[1].first, kLocalPathsPath, now);
  EXPECT_EQ(sent, (Sent{{2, 7}}));
}

TEST_F(LocalPathsTest, AsksAnewWhatIsInUseAndUsesItMeanwhile) {
  send(kHost, 0);
  paths.found(asked[0].first, kLocalPathsPath, now);
  now += options.renew_after;
  send(kHost, 1);
  send(kHost, 2);
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(sent, (Sent{{0, 7}, {1, 7}, {2, 7}}));
  paths.found(asked[1].first, kMoved, now);
  send(kHost, 3);
  EXPECT_EQ(sent.back(), std::pair(std::uint32_t{3}, std::uint16_t{9}));
}

TEST_F(LocalPathsTest, BelievesForALifetimeWhatNobodyConfirms) {
  send(kHost, 0);
  paths.found(asked[0].first, kLocalPathsPath, now);
  now += options.renew_after;
  send(kHost, 1);
  paths.unanswered(asked[1].first, now);
  send(kHost, 2);
  EXPECT_EQ(asked.size(), 2u) << "not again at once";
  EXPECT_EQ(sent.size(), 3u);
  now += options.lifetime - options.renew_after;
  send(kHost, 3);
  EXPECT_EQ(sent.size(), 3u);
  ASSERT_EQ(asked.size(), 3u);
  paths.unanswered(asked[2].first, now);
  EXPECT_EQ(lost_as(NoPath::kUnanswered), 1u);
  send(kHost, 4);
  EXPECT_EQ(asked.size(), 4u) << "a silent administrator does not make it absent";
}

TEST_F(LocalPathsTest, BelievesWhenItIsToldThatThePathIsGone) {
  send(kHost, 0);
  paths.found(asked[0].first, kLocalPathsPath, now);
  now += options.renew_after;
  send(kHost, 1);
  paths.absent(asked[1].first, now);
  send(kHost, 2);
  EXPECT_EQ(sent.size(), 2u);
  EXPECT_EQ(lost_as(NoPath::kAbsent), 1u);
}

TEST_F(LocalPathsTest, KeepsNoMorePacketsAndQuestionsThanItMay) {
  for (std::uint32_t i = 0; i < 5; ++i)
    send(kHost, i);
  EXPECT_EQ(lost_as(NoPath::kTooMany), 1u) << "four for one path";
  for (std::uint32_t i = 0; i < 3; ++i)
    send(kLocalPathsOther, 10 + i);
  EXPECT_EQ(lost_as(NoPath::kTooMany), 2u) << "six altogether";
  send({.dgid = *parse_gid("fd00:0:0:2::3"), .pkey = kDefaultPKey}, 20);
  EXPECT_EQ(lost_as(NoPath::kTooMany), 3u) << "two questions";
  EXPECT_EQ(asked.size(), 2u);
  EXPECT_EQ(pool.in_use(), 6u);
  paths.absent(asked[0].first, now);
  EXPECT_EQ(lost_as(NoPath::kAbsent), 4u);
  paths.unanswered(asked[1].first, now);
  EXPECT_EQ(lost_as(NoPath::kUnanswered), 2u);
  EXPECT_EQ(pool.in_use(), 0u);
  EXPECT_EQ(paths.waiting(), 0u);
}

TEST_F(LocalPathsTest, KeepsNoMoreDestinationsThanItMay) {
  const auto host = [](std::uint8_t number) {
    return PathQuestion{.dgid = *parse_gid("fd00:0:0:2::" + std::to_string(number)),
                        .pkey = kDefaultPKey};
  };
  for (std::uint8_t i = 1; i <= 4; ++i) {
    send(host(i), i);
    paths.absent(asked.back().first, now);
  }
  EXPECT_EQ(paths.size(), 4u);
  send(host(5), 5);
  EXPECT_EQ(lost_as(NoPath::kTooMany), 1u);
  now += options.absent_for;
  send(host(5), 5);
  EXPECT_EQ(asked.size(), 5u) << "those that are over made room";
  EXPECT_EQ(paths.size(), 1u);
}

// Who asks for ever new ones does not have all of them looked through each time.
TEST_F(LocalPathsTest, LooksOnlyNowAndThenForDestinationsThatAreOver) {
  const auto host = [](unsigned number) {
    return PathQuestion{.dgid = *parse_gid("fd00:0:0:2::" + std::to_string(number)),
                        .pkey = kDefaultPKey};
  };
  for (unsigned i = 1; i <= 4; ++i) {
    send(host(i), i);
    paths.unanswered(asked.back().first, now);  // it is over at once
  }
  send(host(5), 5);
  EXPECT_EQ(asked.size(), 4u);
  now += options.absent_for;
  send(host(5), 5);
  EXPECT_EQ(asked.size(), 5u);
}

TEST_F(LocalPathsTest, WaitsForAnAnswerHoweverLateItComes) {
  send(kHost, 0);
  now = paths.deadline().value();
  paths.run(now);
  EXPECT_EQ(paths.size(), 1u);
  paths.found(asked[0].first, kLocalPathsPath, now);
  EXPECT_EQ(sent, (Sent{{0, 7}}));
}

TEST_F(LocalPathsTest, LetsGoOfWhatNobodyNeeds) {
  EXPECT_EQ(paths.deadline(), std::nullopt);
  send(kHost, 0);
  paths.found(asked[0].first, kLocalPathsPath, now);
  now = paths.deadline().value();
  paths.run(now);
  EXPECT_EQ(paths.size(), 0u);
  EXPECT_EQ(paths.deadline(), std::nullopt);
}

TEST_F(LocalPathsTest, ForgetsAllWhenThePortHasChanged) {
  send(kHost, 0);
  paths.found(asked[0].first, kLocalPathsPath, now);
  send(kLocalPathsOther, 1);
  paths.forget();
  send(kHost, 2);
  ASSERT_EQ(asked.size(), 3u);
  // The answer to a question from before will do for what waits, and is asked for again.
  paths.found(asked[1].first, kLocalPathsPath, now);
  EXPECT_EQ(sent.back().first, 1u);
  paths.found(asked[2].first, kMoved, now);
  send(kLocalPathsOther, 3);
  ASSERT_EQ(asked.size(), 4u);
  paths.found(asked[3].first, kMoved, now);
  send(kLocalPathsOther, 4);
  EXPECT_EQ(asked.size(), 4u) << "that answer was to what was asked since";
}

TEST_F(LocalPathsTest, SurvivesAnswersThatNobodyAskedFor) {
  paths.found(17, kLocalPathsPath, now);
  paths.absent(0, now);
  send(kHost, 0);
  paths.found(asked[0].first, kLocalPathsPath, now);
  paths.absent(asked[0].first, now);
  send(kHost, 1);
  EXPECT_EQ(sent.size(), 2u);
}

TEST_F(LocalPathsTest, DropsWhatItCannotAskFor) {
  reachable = false;
  send(kHost, 0);
  EXPECT_EQ(lost_as(NoPath::kUnanswered), 1u);
  reachable = true;
  send(kHost, 1);
  EXPECT_EQ(asked.size(), 1u);
}

}  // namespace
}  // namespace weft::wan
