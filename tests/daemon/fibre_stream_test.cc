// SPDX-License-Identifier: Apache-2.0
// The streams of fibres over real sockets and FIFOs: how the two ends find each other, and what
// becomes of strangers.
#include "daemon/wan/fibre_stream.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "io/clock.h"

namespace weft::daemon {
namespace {

using ::testing::HasSubstr;

class FibreStreams : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "weft-fibre-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    reactor_ = std::move(io::Reactor::create(0us).value());
  }
  void TearDown() override {
    streams_ = {};
    std::filesystem::remove_all(directory_);
  }

  void open(std::size_t i, const std::string& address) {
    auto stream = FibreStream::open(address, {}, *reactor_);
    ASSERT_TRUE(stream) << stream.error().message;
    streams_[i] = std::move(*stream);
    streams_[i]->channel().seek(true, io::now());
  }
  [[nodiscard]] bool connected(std::size_t i) const {
    return streams_[i] && streams_[i]->channel().is_connected();
  }
  [[nodiscard]] bool turn_until(const std::function<bool()>& done) {
    for (const Time end = io::now() + 20s; io::now() < end;) {
      for (const auto& stream : streams_) {
        if (stream) stream->run(io::now());
      }
      if (done()) return true;
      EXPECT_TRUE(reactor_->run_once(1ms));
    }
    return false;
  }
  [[nodiscard]] bool both() {
    return turn_until([this] { return connected(0) && connected(1); });
  }

  std::string directory_;
  std::unique_ptr<io::Reactor> reactor_;
  std::array<std::unique_ptr<FibreStream>, 2> streams_;
};

TEST_F(FibreStreams, JoinTwoThatNameOneUnixSocketWhicheverComesOrGoes) {
  const std::string address = "unix:" + directory_ + "/fibre";
  open(0, address);
  open(1, address);
  ASSERT_TRUE(both());
  for (const std::size_t gone : {0, 1, 1, 0}) {
    streams_[gone].reset();
    ASSERT_TRUE(turn_until([&] { return !connected(1 - gone); }));
    open(gone, address);
    ASSERT_TRUE(both()) << gone;
  }
}

TEST_F(FibreStreams, JoinTwoByFifosWhateverWasLeftInThem) {
  const std::string a = directory_ + "/a";
  const std::string b = directory_ + "/b";
  for (const std::string& path : {a, b})
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  open(0, "file:" + a + "," + b);
  open(1, "file:" + b + "," + a);
  ASSERT_TRUE(both());
  streams_[1].reset();  // in the middle of what the other one says
  ASSERT_TRUE(turn_until([this] { return !connected(0); }));
  open(1, "file:" + b + "," + a);
  ASSERT_TRUE(both());
}

TEST_F(FibreStreams, TurnAwayWhoeverComesWhileTheOtherEndIsThere) {
  const std::string path = directory_ + "/fibre";
  open(0, "unix:" + path);
  open(1, "unix:" + path);
  ASSERT_TRUE(both());
  auto third = connect_stream(*StreamAddress::parse("unix:" + path));
  ASSERT_TRUE(third);
  std::array<char, 1> byte{};
  EXPECT_TRUE(turn_until([&] { return recv(third->get(), byte.data(), 1, 0) == 0; }));
  EXPECT_TRUE(connected(0) && connected(1));
}

TEST_F(FibreStreams, GiveUpAStrangerWhoSpeaksAnotherLanguage) {
  const std::string path = directory_ + "/fibre";
  open(0, "unix:" + path);
  ASSERT_TRUE(turn_until([&] { return std::filesystem::exists(path); }));
  auto stranger = connect_stream(*StreamAddress::parse("unix:" + path));
  ASSERT_TRUE(stranger);
  ASSERT_EQ(send(stranger->get(), "GET /", 5, MSG_NOSIGNAL), 5);
  EXPECT_TRUE(turn_until(
      [&] { return streams_[0]->channel().counters().get(wan::FibreCounter::kOutOfStep) == 1; }));
  open(1, "unix:" + path);
  EXPECT_TRUE(both());
}

TEST_F(FibreStreams, SayWhatCannotBe) {
  const auto refusal = [&](const std::string& address) {
    const auto stream = FibreStream::open(address, {}, *reactor_);
    return stream ? std::string() : stream.error().message;
  };
  EXPECT_THAT(refusal("glass"), HasSubstr("fibre glass: must be unix:PATH"));
  EXPECT_THAT(refusal("tcp:nowhere"), HasSubstr("nowhere"));
  EXPECT_THAT(refusal("unix:"), HasSubstr("the path is missing"));
  EXPECT_THAT(refusal("file:/a"), HasSubstr("two files are needed"));
  // What only the system knows, as long as it lasts.
  const std::string file = directory_ + "/file";
  io::UniqueFd(creat(file.c_str(), 0600)).reset();
  open(0, "file:" + file + "," + file);
  ASSERT_TRUE(turn_until([this] { return !streams_[0]->why().empty(); }));
  EXPECT_THAT(streams_[0]->why(), HasSubstr("neither a FIFO nor a device"));
  open(0, "file:/dev/zero,/dev/null");  // without an end, so that it is never emptied
  ASSERT_TRUE(turn_until([this] { return !streams_[0]->why().empty(); }));
  EXPECT_THAT(streams_[0]->why(), HasSubstr("not permitted"));
}

}  // namespace
}  // namespace weft::daemon
