// SPDX-License-Identifier: Apache-2.0
// When a program sees what the daemon has for it.
#include "port/ring/daemon_end.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <utility>

#include "port/ring/program_end.h"

namespace weft::port {
namespace {

class DaemonEndTest : public testing::Test {
 protected:
  void SetUp() override {
    auto daemon = ring::DaemonEnd::create(1);
    ASSERT_TRUE(daemon) << daemon.error().message;
    daemon_ = std::move(*daemon);
    const auto files = daemon_->files();
    auto program = ProgramEnd::map(files[0], files[1], io::UniqueFd(dup(files[2])),
                                   io::UniqueFd(dup(files[3])));
    ASSERT_TRUE(program) << program.error().message;
    program_ = std::move(*program);
  }
  void arrive(int packets) {
    constexpr std::array<std::byte, 28> kHeader{};
    constexpr std::array<std::byte, 6> kTrailer{};
    BufferRef nothing;
    for (int i = 0; i < packets; ++i)
      EXPECT_EQ(daemon_->arrive(1, kHeader, {}, nothing, kTrailer, false),
                ring::Arrival::kReferred);
  }
  // What the program finds, which it takes.
  std::size_t take() {
    const std::size_t count = program_->arrived();
    program_->take(count);
    return count;
  }

  std::unique_ptr<ring::DaemonEnd> daemon_;
  std::unique_ptr<ProgramEnd> program_;
};

TEST_F(DaemonEndTest, AMessageIsSeenAtOnce) {
  for (int i = 0; i < 3; ++i) {
    arrive(1);
    EXPECT_EQ(take(), 1u) << i;
    daemon_->publish();
  }
}

TEST_F(DaemonEndTest, AMessageAndItsAcknowledgementAreSeenTogether) {
  arrive(2);
  daemon_->publish();
  EXPECT_EQ(take(), 2u);
  for (int i = 0; i < 3; ++i) {
    arrive(1);
    EXPECT_EQ(take(), 0u) << i;
    arrive(1);
    EXPECT_EQ(take(), 2u) << i;
    daemon_->publish();
  }
}

TEST_F(DaemonEndTest, AMessageIsNotKeptForWhatDoesNotCome) {
  arrive(2);
  daemon_->publish();
  EXPECT_EQ(take(), 2u);
  arrive(1);
  EXPECT_EQ(take(), 0u);
  daemon_->publish();
  EXPECT_EQ(take(), 1u);
  arrive(1);
  EXPECT_EQ(take(), 1u) << "nor is the next one kept";
}

TEST_F(DaemonEndTest, ManyAreSeenSomeAtATime) {
  arrive(40);
  daemon_->publish();
  EXPECT_EQ(take(), 40u);
  arrive(2);
  EXPECT_EQ(take(), 2u);
  std::size_t times = 0;
  for (int i = 0; i < 40; ++i) {
    arrive(1);
    if (take() > 0) ++times;
  }
  EXPECT_GE(times, 2u) << "it can begin before all are there";
  EXPECT_LE(times, 10u) << "each time costs both";
}

}  // namespace
}  // namespace weft::port
