// SPDX-License-Identifier: Apache-2.0
#include "lan/channels.h"

#include <gtest/gtest.h>

namespace weft::lan {
namespace {

using State = Channels::State;

class ChannelsTest : public ::testing::Test {
 protected:
  bool open(PeerId peer) { return channels.want(peer, now).ask && channels.up(peer, now); }

  Channels channels{{.most = 2}, 10};
  Time now{1s};
};

TEST_F(ChannelsTest, AreAskedForOnce) {
  EXPECT_FALSE(channels.use(3, now));
  EXPECT_TRUE(channels.want(3, now).ask);
  EXPECT_FALSE(channels.want(3, now).ask);
  EXPECT_FALSE(channels.use(3, now));
  EXPECT_TRUE(channels.up(3, now));
  EXPECT_TRUE(channels.use(3, now));
  EXPECT_FALSE(channels.want(3, now).ask);
}

TEST_F(ChannelsTest, AreNotAskedForAgainAtOnceWhenTheyFail) {
  EXPECT_TRUE(channels.want(3, now).ask);
  channels.refused(3, now);
  now += 1999ms;
  EXPECT_FALSE(channels.want(3, now).ask);
  now += 1ms;
  EXPECT_TRUE(open(3));
  channels.refused(3, now);  // of one that we asked for when the peer did
  EXPECT_TRUE(channels.use(3, now));
  channels.down(3, now);
  EXPECT_FALSE(channels.use(3, now));
  EXPECT_FALSE(channels.want(3, now).ask);
}

TEST_F(ChannelsTest, AreBoundedAndTheOneIdleForLongestGoesFirst) {
  EXPECT_TRUE(open(1));
  now += 1s;
  EXPECT_TRUE(open(2));
  now += 8s;
  const auto scarce = channels.want(3, now);
  EXPECT_FALSE(scarce.ask);
  EXPECT_TRUE(scarce.scarce);
  now += 2s;
  EXPECT_TRUE(channels.use(1, now));
  const auto wanted = channels.want(3, now);
  EXPECT_TRUE(wanted.ask);
  EXPECT_EQ(wanted.give_up, PeerId{2});
  EXPECT_EQ(channels.count(), 2u);
  EXPECT_EQ(channels.state(2), State::kNone);
  // What was asked for stays until that is decided.
  now += 100s;
  EXPECT_EQ(channels.want(4, now).give_up, PeerId{1});
  EXPECT_TRUE(channels.want(5, now).scarce);
}

TEST_F(ChannelsTest, AreGivenUpWhenNobodyUsesThem) {
  EXPECT_FALSE(channels.deadline());
  EXPECT_TRUE(open(1));
  now += 200s;
  EXPECT_TRUE(open(2));
  now += 100s;
  EXPECT_TRUE(channels.use(2, now));
  ASSERT_TRUE(channels.deadline());
  EXPECT_LE(*channels.deadline(), now);
  EXPECT_EQ(channels.take_idle(now), PeerId{1});
  EXPECT_FALSE(channels.take_idle(now));
  now += 299s;
  EXPECT_FALSE(channels.take_idle(now));
  now += 1s;
  EXPECT_EQ(channels.take_idle(now), PeerId{2});
  EXPECT_FALSE(channels.take_idle(now));
  EXPECT_FALSE(channels.deadline());
}

TEST_F(ChannelsTest, OfTwoThatAreAskedForAtATimeOneIsMade) {
  EXPECT_TRUE(channels.want(3, now).ask);
  EXPECT_FALSE(channels.wanted_by_peer(3, true, now).ask);
  EXPECT_TRUE(channels.wanted_by_peer(3, false, now).ask);
  EXPECT_TRUE(channels.wanted_by_peer(4, true, now).ask);
  EXPECT_TRUE(channels.wanted_by_peer(5, true, now).scarce);
}

TEST_F(ChannelsTest, OfAPeerThatHasGoneAreNotUsedForTheNextOneOfItsNumber) {
  EXPECT_TRUE(open(1));
  EXPECT_TRUE(channels.forget(1));
  EXPECT_FALSE(channels.forget(1));
  EXPECT_FALSE(channels.use(1, now));
  EXPECT_FALSE(channels.up(1, now));  // it was made too late
  EXPECT_EQ(channels.count(), 0u);
  EXPECT_TRUE(open(1));
}

}  // namespace
}  // namespace weft::lan
