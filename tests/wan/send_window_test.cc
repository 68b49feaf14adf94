// SPDX-License-Identifier: Apache-2.0
// How much may be under way to a reader that is slower than the network: send_window.h, alone and
// under a tunnel.
#include "wan/send_window.h"

#include <gtest/gtest.h>

#include "tunnel_world.h"

namespace weft::wan {
namespace {

constexpr std::uint64_t kSendWindowMiB = std::uint64_t{1} << 20;

TEST(SendWindow, IsOfAnySizeWhereTheOtherEndTellsOfNoRoom) {
  SendWindow window;
  EXPECT_TRUE(window.admits(~std::uint64_t{0}));
  window.hear(1, 1ms, Time(1s));
  EXPECT_TRUE(window.admits(~std::uint64_t{0}));
}

TEST(SendWindow, BeginsWithNoMoreThanTheRoom) {
  EXPECT_EQ(SendWindow(100'000).bytes(), 100'000);
  EXPECT_EQ(SendWindow(8 * kSendWindowMiB).bytes(), SendWindow::kQueue);
}

// A pipe whose reader takes `rate` bytes per second: what the window lets wait there.
struct Pipe {
  double rate;
  Duration shortest;
  SendWindow window;
  Time now{};

  // The first frame finds nothing before it.
  void begin() { window.hear(1, shortest, now += shortest); }
  // One round trip with the window full; returns the bytes that wait to be read.
  double turn() {
    const double holds = rate * std::chrono::duration<double>(shortest).count();
    const auto under_way = static_cast<double>(window.bytes());
    const double waiting = std::max(0.0, under_way - holds);
    const auto round_trip = shortest + Duration(static_cast<std::int64_t>(waiting / rate * 1e9));
    now += round_trip;
    window.hear(window.bytes(), round_trip, now);
    return waiting;
  }
};

TEST(SendWindow, FillsAnyDistanceAndLetsWaitWhatThereIsRoomFor) {
  for (const Duration round_trip : {100us, 1000us, 20'000us, 200'000us}) {
    for (const std::uint64_t room : {kSendWindowMiB / 8, 8 * kSendWindowMiB}) {
      SCOPED_TRACE(std::chrono::duration<double>(round_trip).count());
      Pipe pipe{.rate = 1e8, .shortest = round_trip, .window = SendWindow(room)};
      pipe.begin();
      int turns = 0;
      while (pipe.turn() == 0)
        ASSERT_LT(++turns, 100) << pipe.window.bytes();
      // At most what growing costs the first time, then the queue alone.
      const auto most = static_cast<double>(3 * room);
      double waiting = 0;
      for (turns = 0; turns < 20; ++turns) {
        waiting = pipe.turn();
        EXPECT_LE(waiting, most);
        EXPECT_GT(waiting, 0) << "the reader would have nothing to do";
      }
      EXPECT_LE(waiting, 1.01 * static_cast<double>(room));
    }
  }
}

TEST(SendWindow, FindsOutAnewWhatARouteHoldsThatHasBecomeLonger) {
  Pipe pipe{.rate = 1e8, .shortest = 1ms, .window = SendWindow(8 * kSendWindowMiB)};
  pipe.begin();
  for (int turn = 0; turn < 20; ++turn)
    pipe.turn();
  pipe.shortest = 100ms;
  const Time end = pipe.now + 3 * SendWindow::kSpan;
  while (pipe.now < end)
    pipe.turn();
  EXPECT_GT(pipe.turn(), 0) << "it holds 10 MB";
}

// --- under a tunnel ------------------------------------------------------------------------------

struct Read {
  double bytes_per_s = 0;
  std::uint64_t overflows = 0;
};

// A reader of 100 MB/s behind a network of a gigabyte.
Read read_slowly(Duration round_trip, bool set_rate) {
  WorldOptions options;
  options.buffer.lane_bytes = 64 * kSendWindowMiB;
  options.wan = {.delay = round_trip / 2,
                 .longest_frame = 8192,
                 .socket_bytes = kSendWindowMiB,
                 .read_bytes_per_s = 100'000'000,
                 .set_rate = set_rate};
  World world(options);
  EXPECT_TRUE(world.activate()) << world.describe();
  const auto send_for = [&](Duration time) {
    const Time end = world.now() + time;
    while (world.now() < end) {
      world.sites[0]->keep_full(Vl{0}, 2048, 512);
      world.run_for(500us);
    }
  };
  send_for(300ms + 10 * round_trip);
  const std::uint64_t before = world.sites[1]->came_bytes;
  send_for(300ms);
  const auto came = static_cast<double>(world.sites[1]->came_bytes - before);
  EXPECT_EQ(world.sites[1]->disorder, 0);
  return {.bytes_per_s = came / 0.3, .overflows = world.paths[0]->overflows};
}

TEST(SlowReaders, LoseNothingAndAreKeptBusyAtAnyDistance) {
  for (const Duration round_trip : {0ms, 2ms, 20ms}) {
    const Read read = read_slowly(round_trip, false);
    EXPECT_EQ(read.overflows, 0) << round_trip.count();
    EXPECT_GE(read.bytes_per_s, 0.95e8) << round_trip.count();
  }
}

TEST(SlowReaders, AreNotWaitedForWhereTheUserHasSetTheRate) {
  EXPECT_GT(read_slowly(2ms, true).overflows, 0);
}

}  // namespace
}  // namespace weft::wan
