// SPDX-License-Identifier: Apache-2.0
// The streams of fibres over real sockets and FIFOs: how the two ends find each other, and what
// becomes of strangers.
#include "daemon/wan/fibre_stream.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "base/fibre_address.h"
#include "base/plain_bytes.h"
#include "io/clock.h"
#include "io/pass_descriptor.h"
#include "io/tcp_socket.h"
#include "io/unix_socket.h"
#include "scarce.h"
#include "wan/fibre_channel.h"

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
    streams_[i].reset();
    const auto parts = FibreAddress::parse(address);
    ASSERT_TRUE(parts);
    wan::FibreChannel::Options options;
    options.code = static_cast<wan::FibreCodeKind>(parts->code);
    channels_[i] = std::make_unique<wan::FibreChannel>(options);
    auto stream = FibreStream::open(parts->stream, *channels_[i], *reactor_);
    ASSERT_TRUE(stream) << stream.error().message;
    streams_[i] = std::move(*stream);
    channels_[i]->seek(true, io::now());
  }
  [[nodiscard]] bool connected(std::size_t i) const {
    return streams_[i] && channels_[i]->is_connected();
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
  std::array<std::unique_ptr<wan::FibreChannel>, 2> channels_;  // before the streams for them
  std::array<std::unique_ptr<FibreStream>, 2> streams_;
};

class FibreStreamsAtASocket : public FibreStreams,
                              public ::testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] std::string path() const { return directory_ + "/fibre"; }
  [[nodiscard]] std::string address() const { return GetParam() + path(); }
  // Somebody who comes there, without a stream.
  [[nodiscard]] io::UniqueFd stranger() const {
    const bool memory = GetParam() == std::string("shm:");
    auto socket =
        io::connect_unix(path(), memory ? io::UnixKind::kSeqPacket : io::UnixKind::kStream, 1s);
    EXPECT_TRUE(socket);
    EXPECT_EQ(fcntl(socket->get(), F_SETFL, O_NONBLOCK), 0);
    return std::move(*socket);
  }
};

TEST_P(FibreStreamsAtASocket, JoinTwoThatNameItWhicheverComesOrGoes) {
  open(0, address());
  open(1, address());
  ASSERT_TRUE(both());
  for (const std::size_t gone : {0, 1, 1, 0}) {
    streams_[gone].reset();
    ASSERT_TRUE(turn_until([&] { return !connected(1 - gone); }));
    open(gone, address());
    ASSERT_TRUE(both()) << gone;
  }
}

TEST_F(FibreStreams, SayThatNobodyTakesTheirConnection) {
  // In use, and nobody listens.
  const io::UniqueFd bound(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(bound.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string there = io::local_address(bound.get())->to_string();
  open(0, "tcp:" + there);
  ASSERT_TRUE(turn_until([this] { return !streams_[0]->why().empty(); }));
  EXPECT_EQ(streams_[0]->why(), there + ": Connection refused");
}

TEST_P(FibreStreamsAtASocket, TurnAwayWhoeverComesWhileTheOtherEndIsThere) {
  open(0, address());
  open(1, address());
  ASSERT_TRUE(both());
  const io::UniqueFd third = stranger();
  std::array<char, 1> byte{};
  EXPECT_TRUE(turn_until([&] { return recv(third.get(), byte.data(), 1, 0) == 0; }));
  EXPECT_TRUE(connected(0) && connected(1));
}

INSTANTIATE_TEST_SUITE_P(Kinds, FibreStreamsAtASocket, ::testing::Values("unix:", "shm:"),
                         [](const auto& kind) {
                           return kind.param == std::string("shm:") ? "Memory" : "Socket";
                         });

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

TEST_F(FibreStreams, TakeForNoSilenceWhatCameWhileThisEndHadNoProcessor) {
  for (const std::size_t i : {0, 1})
    open(i, "unix:" + directory_ + "/fibre");
  ASSERT_TRUE(both());
  channels_[1]->send_flow_control(wire::FlowControl{.vl = Vl{1}, .fctbs = 7, .fccl = 9}.bytes(),
                                  io::now());
  streams_[1]->run(io::now());
  streams_[0]->run(io::now() + 60s);
  EXPECT_EQ(channels_[0]->counters().get(wan::FibreCounter::kSilences), 0u);
  EXPECT_TRUE(connected(0));
}

TEST_F(FibreStreams, JoinTwoByFilesThatGrow) {
  const std::string a = directory_ + "/a";
  const std::string b = directory_ + "/b";
  for (const std::string& path : {a, b})
    std::ofstream(path) << "of yesterday";
  open(0, "file:" + a + "," + b);
  open(1, "file:" + b + "," + a);
  ASSERT_TRUE(both());
  // More than is read in a turn, of which there is one notice.
  constexpr std::uint64_t kPackets = 200'000;
  for (std::uint64_t i = 0; i < kPackets; ++i)
    channels_[1]->send_flow_control(wire::FlowControl{.vl = Vl{1}}.bytes(), io::now());
  const auto arrived = [this] { return channels_[0]->counters().get(wan::FibreCounter::kArrived); };
  EXPECT_TRUE(turn_until([&] { return arrived() == kPackets; }));
  streams_[1].reset();
  ASSERT_TRUE(turn_until([this] { return !connected(0); }));
  open(1, "file:" + b + "," + a);
  ASSERT_TRUE(both());
  std::filesystem::resize_file(a, 0);
  ASSERT_TRUE(turn_until([this] { return !streams_[0]->why().empty(); }));
  EXPECT_EQ(streams_[0]->why(), a + ": somebody has made the file shorter");
  EXPECT_TRUE(both());
}

TEST_F(FibreStreams, GiveUpAStrangerWhoSpeaksAnotherLanguage) {
  const std::string path = directory_ + "/fibre";
  open(0, "unix:" + path);
  ASSERT_TRUE(turn_until([&] { return std::filesystem::exists(path); }));
  auto stranger = connect_stream(*StreamAddress::parse("unix:" + path));
  ASSERT_TRUE(stranger);
  ASSERT_EQ(send(stranger->get(), "GET /", 5, MSG_NOSIGNAL), 5);
  EXPECT_TRUE(
      turn_until([&] { return channels_[0]->counters().get(wan::FibreCounter::kOutOfStep) == 1; }));
  open(1, "unix:" + path);
  EXPECT_TRUE(both());
}

// Of a fibre through memory: what its files may be, and what is in them.
class FibreStreamsInMemory : public FibreStreams {
 protected:
  struct Greeting {
    std::uint32_t magic = 0x66696272;
    std::uint32_t version = 1;
  };

  void SetUp() override {
    FibreStreams::SetUp();
    path_ = directory_ + "/fibre";
  }
  void open_both() {
    for (const std::size_t i : {0, 1})
      open(i, "shm:" + path_);
    ASSERT_TRUE(both());
  }
  [[nodiscard]] std::uint64_t counted(wan::FibreCounter counter) const {
    return channels_[0]->counters().get(counter);
  }
  // Comes first to a stream that listens there, and takes its memory.
  void take_over(io::UniqueFd& socket, RingMappings& rings) {
    open(0, "shm:" + path_);
    ASSERT_TRUE(turn_until([this] { return std::filesystem::exists(path_); }));
    socket = io::connect_unix(path_, io::UnixKind::kSeqPacket, 1s).value();
    std::array<std::byte, sizeof(Greeting)> greeting{};
    std::array<io::UniqueFd, RingMappings::kFiles> files;
    ASSERT_TRUE(turn_until([&] {
      std::byte probe{};
      return recv(socket.get(), &probe, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
    }));
    ASSERT_TRUE(io::receive_message(socket.get(), greeting, files));
    auto taken = RingMappings::take(files);
    ASSERT_TRUE(taken) << taken.error().message;
    rings = std::move(*taken);
  }
  // Listens there in place of a stream, and hands over what it is given; what it is told.
  [[nodiscard]] std::string refusal_of(Bytes greeting, std::span<const int> files) {
    const std::string lock_path = path_ + ".lock";
    const io::UniqueFd lock(::open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    EXPECT_EQ(flock(lock.get(), LOCK_EX | LOCK_NB), 0);
    const auto listener = io::listen_unix(path_, io::UnixKind::kSeqPacket).value();
    open(0, "shm:" + path_);
    io::UniqueFd visitor;
    EXPECT_TRUE(turn_until([&] {
      auto accepted = io::accept_unix(listener.get(), true);
      if (accepted && *accepted) visitor = std::move(**accepted);
      return static_cast<bool>(visitor);
    }));
    EXPECT_TRUE(io::send_message(visitor.get(), greeting, files));
    EXPECT_TRUE(turn_until([this] { return !streams_[0]->why().empty(); }));
    EXPECT_FALSE(connected(0));
    const std::string why = streams_[0]->why();
    streams_[0].reset();
    std::filesystem::remove(path_);
    return why;
  }

  std::string path_;
};

TEST_F(FibreStreamsInMemory, GiveUpWhoWritesCountsThatCannotBe) {
  io::UniqueFd socket;
  RingMappings rings;
  take_over(socket, rings);
  constexpr std::array kSkip{std::byte{0xBC}, std::byte{0x1C}, std::byte{0x1C}, std::byte{0x1C}};
  for (std::size_t i = 0; i < carrier::kRingBytes; ++i)
    rings.ours().bytes[i] = kSkip[i % kSkip.size()];
  rings.ours().written.store(carrier::kRingBytes + 1);
  EXPECT_TRUE(turn_until([&] { return counted(wan::FibreCounter::kOutOfStep) == 1; }));
  open(1, "shm:" + path_);
  EXPECT_TRUE(both());
}

TEST_F(FibreStreamsInMemory, GiveUpWhoReadsWhatWasNotWritten) {
  io::UniqueFd socket;
  RingMappings rings;
  take_over(socket, rings);
  rings.ours().read.store(std::uint64_t{1} << 40);
  EXPECT_TRUE(turn_until([&] { return counted(wan::FibreCounter::kOutOfStep) == 1; }));
}

TEST_F(FibreStreamsInMemory, GiveUpWhoWritesWhatIsNoFibre) {
  io::UniqueFd socket;
  RingMappings rings;
  take_over(socket, rings);
  rings.ours().written.store(100);  // zeros
  EXPECT_TRUE(turn_until([&] { return counted(wan::FibreCounter::kOutOfStep) == 1; }));
}

TEST_F(FibreStreamsInMemory, WaitNoLongerThanASilenceForWhoWritesNothing) {
  io::UniqueFd socket;
  RingMappings rings;
  take_over(socket, rings);
  open(1, "shm:" + path_);
  EXPECT_TRUE(both());
  EXPECT_EQ(counted(wan::FibreCounter::kSilences), 1u);
}

TEST_F(FibreStreamsInMemory, TakeNoFilesThatAnybodyCouldShrink) {
  const Greeting greeting;
  const Bytes bytes = plain::bytes_of(greeting);
  const io::UniqueFd soft(memfd_create("soft", MFD_CLOEXEC));
  ASSERT_EQ(ftruncate(soft.get(), sizeof(carrier::RingMemory)), 0);
  const auto hard = io::make_shared_file("hard", sizeof(carrier::RingMemory)).value();
  const auto small = io::make_shared_file("small", 4096).value();
  EXPECT_THAT(refusal_of(bytes, std::array{soft.get(), hard.get()}), HasSubstr("of a fixed size"));
  EXPECT_THAT(refusal_of(bytes, std::array{hard.get(), soft.get()}), HasSubstr("of a fixed size"));
  EXPECT_THAT(refusal_of(bytes, std::array{small.get(), hard.get()}), HasSubstr("too short"));
  EXPECT_THAT(refusal_of(bytes, {}), HasSubstr("not a file in memory"));
  const Greeting later{.version = 2};
  EXPECT_THAT(refusal_of(plain::bytes_of(later), std::array{hard.get(), hard.get()}),
              HasSubstr("another version"));
}

TEST_F(FibreStreamsInMemory, WakeWhoSleeps) {
  open_both();
  ASSERT_TRUE(turn_until([this] { return streams_[0]->sleep(); }));
  channels_[1]->send_flow_control(wire::FlowControl{.vl = Vl{1}, .fctbs = 7, .fccl = 9}.bytes(),
                                  io::now());
  streams_[1]->run(io::now());
  const std::uint64_t before = counted(wan::FibreCounter::kArrived);
  EXPECT_EQ(reactor_->run_once(20s), 1u) << "of nobody else is there anything to hear";
  streams_[0]->run(io::now());
  EXPECT_EQ(counted(wan::FibreCounter::kArrived), before + 1);
  EXPECT_TRUE(connected(0) && connected(1));
}

TEST_F(FibreStreams, TurnAwayWhoeverComesWhenNoDescriptorIsLeft) {
  const std::string path = directory_ + "/fibre";
  open(0, "unix:" + path);
  ASSERT_TRUE(turn_until([&] { return std::filesystem::exists(path); }));
  {
    const NoDescriptors none(1);
    auto early = connect_stream(*StreamAddress::parse("unix:" + path));
    ASSERT_TRUE(early);
    EXPECT_TRUE(comes_to_rest(*reactor_));
    std::array<char, 1> byte{};
    EXPECT_EQ(recv(early->get(), byte.data(), 1, 0), 0);
    EXPECT_THAT(streams_[0]->why(), HasSubstr("open files"));
  }
  open(1, "unix:" + path);
  EXPECT_TRUE(both());
}

TEST_F(FibreStreams, JoinTwoInTheCodeThatBothSay) {
  for (const std::string code : {"64b66b", "8b10b"}) {
    for (const std::string kind : {"unix:", "shm:"}) {
      const std::string address = code + "+" + kind + directory_ + "/" + code + kind.front();
      open(0, address);
      open(1, address);
      EXPECT_TRUE(both()) << address;
      streams_ = {};
    }
  }
}

TEST_F(FibreStreams, SayWhatCannotBe) {
  const auto refusal = [&](const std::string& address) {
    wan::FibreChannel channel{wan::FibreChannel::Options()};
    const auto stream = FibreStream::open(address, channel, *reactor_);
    return stream ? std::string() : stream.error().message;
  };
  EXPECT_THAT(refusal("glass"), HasSubstr("fibre glass: must be unix:PATH"));
  EXPECT_THAT(refusal("tcp:nowhere"), HasSubstr("nowhere"));
  EXPECT_THAT(refusal("unix:"), HasSubstr("the path is missing"));
  EXPECT_THAT(refusal("shm:"), HasSubstr("the path is missing"));
  EXPECT_THAT(refusal("file:/a"), HasSubstr("two files are needed"));
  // What only the system knows, as long as it lasts.
  const std::string file = directory_ + "/file";
  open(0, "file:" + file + "," + file);
  ASSERT_TRUE(turn_until([this] { return !streams_[0]->why().empty(); }));
  EXPECT_THAT(streams_[0]->why(), HasSubstr("/file: No such file"));
  open(0, "file:/dev/zero,/dev/null");  // without an end, so that it is never emptied
  ASSERT_TRUE(turn_until([this] { return !streams_[0]->why().empty(); }));
  EXPECT_THAT(streams_[0]->why(), HasSubstr("not permitted"));
}

}  // namespace
}  // namespace weft::daemon
