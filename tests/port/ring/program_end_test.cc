// SPDX-License-Identifier: Apache-2.0
#include "port/ring/program_end.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <set>

#include "fake_daemon.h"

namespace weft::port {
namespace {

class ProgramEndTest : public testing::Test {
 protected:
  void SetUp() override {
    auto end =
        ProgramEnd::map(daemon_.program_file.get(), daemon_.daemon_file.get(),
                        io::UniqueFd(dup(daemon_.doorbell.get())), std::move(daemon_.arrivals));
    ASSERT_TRUE(end) << end.error().message;
    end_ = std::move(*end);
  }
  // Hands over a packet with a block.
  std::uint32_t send() {
    EXPECT_TRUE(end_->has_room(1, 1));
    const std::uint32_t block = end_->take_block();
    end_->slot(0).block = block;
    end_->publish(1);
    return block;
  }
  bool readable() {
    for (const int fd : end_->descriptors()) {
      pollfd ready{fd, POLLIN, 0};
      if (poll(&ready, 1, 0) > 0) return true;
    }
    return false;
  }

  test::FakeDaemon daemon_;
  std::unique_ptr<ProgramEnd> end_;
};

TEST_F(ProgramEndTest, IsRefusedWhereTheMemoryIsTooSmall) {
  const auto file = io::make_shared_file("small", ring::kPage);
  ASSERT_TRUE(file);
  EXPECT_FALSE(ProgramEnd::map(file->get(), daemon_.daemon_file.get(), {}, {}));
  EXPECT_FALSE(ProgramEnd::map(daemon_.program_file.get(), file->get(), {}, {}));
}

TEST_F(ProgramEndTest, WaitsForNothingThatADaemonWhichIsGoneHasLeftOpen) {
  end_->wait();
  EXPECT_FALSE(readable());
  daemon_.wake.reset();
  EXPECT_TRUE(readable()) << "once, so that somebody looks";
  end_->wait();
  EXPECT_FALSE(readable());
}

TEST_F(ProgramEndTest, HasRoomForAsManyPacketsAsThereAreSlots) {
  EXPECT_TRUE(end_->has_room(ring::kSlots, 0));
  EXPECT_FALSE(end_->has_room(ring::kSlots + 1, 0));
  for (std::uint32_t i = 0; i < ring::kSlots; ++i)
    end_->slot(i).block = ring::kNoBlock;
  end_->publish(ring::kSlots);
  EXPECT_EQ(daemon_.sent(), ring::kSlots);
  EXPECT_FALSE(end_->has_room(1, 0));
  daemon_.accept(3);
  EXPECT_TRUE(end_->has_room(3, 0));
  EXPECT_FALSE(end_->has_room(4, 0));
}

TEST_F(ProgramEndTest, GivesOutEveryBlockOnceAndAgainWhenItWasFreed) {
  std::set<std::uint32_t> given;
  for (std::uint32_t i = 0; i < ring::kBlocks; ++i) {
    given.insert(send());
    daemon_.accept(1);
  }
  EXPECT_EQ(given.size(), ring::kBlocks);
  EXPECT_LT(*given.rbegin(), ring::kBlocks);
  EXPECT_TRUE(end_->has_room(1, 0));
  EXPECT_FALSE(end_->has_room(1, 1));
  daemon_.free_block(700);
  ASSERT_TRUE(end_->has_room(1, 1));
  EXPECT_EQ(end_->take_block(), 700u);
}

TEST_F(ProgramEndTest, BreaksOffWhereABlockComesBackThatIsNotOut) {
  const std::uint32_t block = send();
  daemon_.free_block(block);
  ASSERT_TRUE(end_->has_room(1, 1));
  daemon_.free_block(block);
  EXPECT_FALSE(end_->has_room(1, 1));
  EXPECT_TRUE(end_->is_broken());
}

TEST_F(ProgramEndTest, BreaksOffWhereABlockComesBackThatThereIsNot) {
  send();
  daemon_.free_block(ring::kBlocks);
  EXPECT_FALSE(end_->has_room(1, 1));
  EXPECT_TRUE(end_->is_broken());
}

TEST_F(ProgramEndTest, BreaksOffWhereMoreBlocksComeBackThanThereAre) {
  daemon_.daemon().page.freed.store(ring::kBlocks + 1);
  EXPECT_FALSE(end_->has_room(1, 1));
  EXPECT_TRUE(end_->is_broken());
}

TEST_F(ProgramEndTest, BreaksOffWhereMoreIsAcceptedThanWasSent) {
  send();
  daemon_.accept(2);
  EXPECT_FALSE(end_->has_room(ring::kSlots, 0));
  EXPECT_TRUE(end_->is_broken());
}

TEST_F(ProgramEndTest, BreaksOffWhereMoreHasArrivedThanThereAreSlots) {
  daemon_.daemon().page.arrived.store(ring::kSlots + 1);
  EXPECT_EQ(end_->arrived(), 0u);
  EXPECT_TRUE(end_->is_broken());
  end_->wait();
  EXPECT_FALSE(readable()) << "it would wake its waiter for ever";
}

TEST_F(ProgramEndTest, BreaksOffWhereTheCountOfArrivalsGoesBack) {
  daemon_.push(ring::ArrivalSlot{});
  daemon_.push(ring::ArrivalSlot{});
  EXPECT_EQ(end_->arrived(), 2u);
  end_->take(2);
  daemon_.daemon().page.arrived.store(1);
  EXPECT_EQ(end_->arrived(), 0u);
  EXPECT_TRUE(end_->is_broken());
}

TEST_F(ProgramEndTest, RingsOnlyWhereTheDaemonSleepsForThat) {
  send();
  end_->take(0);
  EXPECT_FALSE(daemon_.doorbell_rang());
  daemon_.daemon().page.sleeps.store(ring::kUntilTaken);
  send();
  EXPECT_FALSE(daemon_.doorbell_rang());
  end_->take(0);
  EXPECT_TRUE(daemon_.doorbell_rang());
  daemon_.daemon().page.sleeps.store(ring::kUntilSent);
  end_->take(0);
  EXPECT_FALSE(daemon_.doorbell_rang());
  send();
  EXPECT_TRUE(daemon_.doorbell_rang());
}

TEST_F(ProgramEndTest, WhoWaitsIsWokenByTheDaemonOnceForEachTime) {
  end_->wait();
  EXPECT_EQ(daemon_.program().page.waits.load(), 1u);
  EXPECT_FALSE(readable());
  ASSERT_EQ(write(daemon_.wake.get(), "", 1), 1);
  EXPECT_TRUE(readable());
  end_->wait();
  EXPECT_EQ(daemon_.program().page.waits.load(), 2u);
  EXPECT_FALSE(readable());
}

TEST_F(ProgramEndTest, WhoWaitsWhenSomethingIsThereIsWokenAtOnce) {
  daemon_.push(ring::ArrivalSlot{});
  end_->wait();
  EXPECT_TRUE(readable());
  ASSERT_EQ(end_->arrived(), 1u);
  end_->take(1);
  end_->wait();
  EXPECT_FALSE(readable());
}

}  // namespace
}  // namespace weft::port
