// SPDX-License-Identifier: Apache-2.0
// Paths that leave by one of several descriptors, and wait for room in that one alone.
#include "daemon/wan/watched_paths.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>

#include "io/clock.h"
#include "io/unique_fd.h"
#include "scarce.h"

namespace weft::daemon {
namespace {

// A stream to somebody who reads when the test does.
struct Stream {
  Stream() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
    near = io::UniqueFd(ends[0]);
    far = io::UniqueFd(ends[1]);
  }
  [[nodiscard]] bool take() const {
    const std::byte one{};
    return ::send(near.get(), &one, 1, MSG_NOSIGNAL) == 1;
  }
  void drain() const {
    std::array<std::byte, 4096> room;
    while (::recv(far.get(), room.data(), room.size(), 0) > 0) {
    }
  }
  io::UniqueFd near, far;
};

class StreamPath final : public RemotePath {
 public:
  StreamPath(const Stream& stream, std::size_t place) : stream_(stream), place_(place) {}
  [[nodiscard]] std::string remote_text() const override { return {}; }
  [[nodiscard]] std::size_t place() const override { return place_; }
  [[nodiscard]] bool established() const override { return true; }
  [[nodiscard]] std::size_t longest_frame() const override { return 1; }

 private:
  std::size_t transmit(Frames frames, Time) override {
    std::size_t done = 0;
    while (done < frames.size() && stream_.take())
      ++done;
    return done;
  }
  const Stream& stream_;
  const std::size_t place_;
};

class Streams final : public WatchedPaths {
 public:
  explicit Streams(io::Reactor& reactor) {
    for (std::size_t place = 0; place < paths.size(); ++place) {
      EXPECT_TRUE(watch(streams[place].near.get(), reactor));
      watch(paths[place]);
    }
  }
  ~Streams() override { end_watch(); }
  RemotePath& add(const fabric::LabRemote&, std::size_t place, Time) override {
    return paths[place];
  }
  [[nodiscard]] std::vector<CounterValue> counters() const override { return {}; }

  std::array<Stream, 2> streams;
  std::array<StreamPath, 2> paths{StreamPath(streams[0], 0), StreamPath(streams[1], 1)};

 private:
  void receive_all(Time) override {}
};

TEST(WatchedPaths, SleepWhileOnlyTheSocketOfWhatWaitsIsFull) {
  const auto reactor = std::move(io::Reactor::create(0us).value());
  for (std::size_t full = 0; full < 2; ++full) {
    Streams streams(*reactor);
    RemotePath& path = streams.paths[full];
    const std::byte one{};
    const Bytes part(&one, 1);
    const wan::OutFrame frame{.parts = {&part, 1}, .size = 1};
    while (!path.is_blocked())
      path.send({&frame, 1}, io::now());
    streams.watch_for_room();
    EXPECT_TRUE(comes_to_rest(*reactor));
    EXPECT_TRUE(path.is_blocked());
    streams.streams[full].drain();
    ASSERT_TRUE(reactor->run_once(1s));
    EXPECT_FALSE(path.is_blocked());
    EXPECT_TRUE(comes_to_rest(*reactor));
  }
}

}  // namespace
}  // namespace weft::daemon
