// SPDX-License-Identifier: Apache-2.0
// A ring between two threads that sleep when there is nothing: nothing is lost, nothing comes
// twice, and nobody sleeps for ever. ThreadSanitizer watches.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/random.h"
#include "two_rings.h"
#include "wire/endian.h"

namespace weft::carrier {
namespace {

constexpr std::uint32_t kPackets = 20'000;

// What an eventfd is to two daemons.
class Doorbell {
 public:
  void ring() {
    const std::lock_guard lock(mutex_);
    rung_ = true;
    bell_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    bell_.wait(lock, [this] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable bell_;
  bool rung_ = false;
};

// One thread: sends its packets and takes the other's, as fast as it can.
class Side {
 public:
  Side(RingEnd& end, Doorbell& own, Doorbell& other, std::uint64_t seed)
      : end_(end), own_(own), other_(other), random_(seed) {}

  void run() {
    while (sent_ < kPackets || come_ < kPackets) {
      const bool worked = send_some() | take_some();
      if (end_.publish()) other_.ring();
      if (worked || end_.lie()) continue;
      if (come_ == kPackets && end_.has_room()) continue;
      if (end_.sleep()) own_.wait();
      end_.look();
    }
  }
  [[nodiscard]] bool in_order() const { return in_order_; }

 private:
  bool send_some() {
    bool sent = false;
    for (int i = 0; i < 32 && sent_ < kPackets && end_.has_room(); ++i) {
      auto packet = packets_.make(random_.between(16, link::kLongestPacket), 0);
      wire::store_be32(packet->header().data(), sent_);
      EXPECT_TRUE(end_.put(*packet));
      ++sent_;
      sent = true;
    }
    return sent;
  }
  bool take_some() {
    bool taken = false;
    while (const auto record = end_.next()) {
      in_order_ = in_order_ && wire::load_be32(record->bytes.data()) == come_;
      ++come_;
      end_.taken();
      taken = true;
    }
    EXPECT_FALSE(end_.lie());
    return taken;
  }

  RingEnd& end_;
  Doorbell& own_;
  Doorbell& other_;
  Random random_;
  SomePackets packets_;
  std::uint32_t sent_ = 0;
  std::uint32_t come_ = 0;
  bool in_order_ = true;
};

TEST(RingThreads, LoseNothingAndNeverSleepForEver) {
  TwoRings rings;
  Doorbell left_bell, right_bell;
  Side left(rings.left, left_bell, right_bell, 1);
  Side right(rings.right, right_bell, left_bell, 2);
  std::thread other([&] { right.run(); });
  left.run();
  other.join();
  EXPECT_TRUE(left.in_order());
  EXPECT_TRUE(right.in_order());
}

}  // namespace
}  // namespace weft::carrier
