// SPDX-License-Identifier: Apache-2.0
// Frames over real sockets of the loopback interface.
#include "daemon/wan/wan_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "base/bytes.h"
#include "io/clock.h"
#include "io/route.h"
#include "wan/frame.h"
#include "wan/frame_builder.h"

namespace weft::daemon {
namespace {

using ::testing::SizeIs;

constexpr Duration kWanSocketPatience = 20s;

std::vector<std::byte> bytes_of(std::size_t size, unsigned seed) {
  std::minstd_rand draw(seed);
  std::vector<std::byte> out(size);
  for (std::byte& byte : out)
    byte = static_cast<std::byte>(draw());
  return out;
}

class WanSockets : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    reactor_ = std::move(io::Reactor::create(0us).value());
    const auto any = io::SocketAddress::parse(GetParam());
    ASSERT_TRUE(any);
    here_ = open(*any);
    there_ = open(*any);
    out_ = &here_->add(there_->local());
    in_ = &there_->add(here_->local());
    in_->set_user({.received =
                       [this](Bytes frame, const auto&, Time) {
                         came_.emplace_back(frame.begin(), frame.end());
                         return false;
                       },
                   .changed = {}});
  }
  std::unique_ptr<WanSocket> open(const io::SocketAddress& own) {
    auto socket = WanSocket::open({own}, *reactor_);
    EXPECT_TRUE(socket) << socket.error().message;
    return std::move(*socket);
  }
  void turn_until(const std::function<bool()>& done) {
    const Time end = io::now() + kWanSocketPatience;
    while (!done()) {
      ASSERT_LT(io::now(), end) << "it never comes";
      here_->watch_for_room();
      ASSERT_TRUE(reactor_->run_once(1ms));
    }
  }
  // Each frame in two parts.
  void send(const std::vector<std::vector<std::byte>>& frames) {
    std::vector<std::array<Bytes, 2>> parts;
    std::vector<wan::OutFrame> out;
    parts.reserve(frames.size());
    for (const auto& frame : frames) {
      const Bytes all(frame);
      parts.push_back({all.first(frame.size() / 3), all.subspan(frame.size() / 3)});
      out.push_back({.parts = parts.back(), .size = frame.size()});
    }
    out_->send(out, io::now());
  }

  std::unique_ptr<io::Reactor> reactor_;
  std::unique_ptr<WanSocket> here_;
  std::unique_ptr<WanSocket> there_;
  UdpPath* out_ = nullptr;
  UdpPath* in_ = nullptr;
  std::vector<std::vector<std::byte>> came_;
};

TEST_P(WanSockets, CarryFramesOfAnyLengthsInTheirOrder) {
  std::vector<std::vector<std::byte>> frames;
  for (const std::size_t size : {256, 1400, 1400, 1400, 900, 1400, 5000, 5000, 32, 65000, 65000, 7})
    frames.push_back(bytes_of(size, static_cast<unsigned>(frames.size())));
  send(frames);
  turn_until([&] { return came_.size() >= frames.size(); });
  EXPECT_EQ(came_, frames);
}

// As many parts as a frame may have, in each of several that could leave together.
TEST_P(WanSockets, CarryFramesOfManyParts) {
  const auto frame = bytes_of(20 * wan::FrameBuilder::kMostParts, 5);
  std::vector<Bytes> parts;
  for (std::size_t part = 0; part < wan::FrameBuilder::kMostParts; ++part)
    parts.push_back(Bytes(frame).subspan(20 * part, 20));
  const std::vector<wan::OutFrame> out(7, {.parts = parts, .size = frame.size()});
  out_->send(out, io::now());
  turn_until([&] { return came_.size() == out.size(); });
  EXPECT_EQ(came_.back(), frame);
  EXPECT_EQ(out_->refused(), 0u);
}

TEST_P(WanSockets, ReadFramesToALandingAsLongAsItHasMemory) {
  wan::Landing landing;
  there_->set_landing(landing);
  std::vector<BufferRef> kept;
  std::size_t elsewhere = 0;
  in_->set_user({.received =
                     [&](Bytes frame, const auto&, Time) {
                       came_.emplace_back(frame.begin(), frame.end());
                       kept.push_back(landing.owner(frame));
                       elsewhere += kept.back() ? 0 : 1;
                       return false;
                     },
                 .changed = {}});
  std::vector<std::vector<std::byte>> frames;
  while (frames.size() < wan::Landing::kSpareBytes / wan::Landing::kRoom + 10) {
    frames.push_back(bytes_of(60'000, static_cast<unsigned>(frames.size())));
    out_->send(std::array{wan::OutFrame{.parts = std::array{Bytes(frames.back())},
                                        .size = frames.back().size()}},
               io::now());
    turn_until([&] { return came_.size() == frames.size(); });
  }
  EXPECT_EQ(came_, frames);
  EXPECT_GE(elsewhere, 10u);
  EXPECT_LT(elsewhere, frames.size() / 2);
}

// More than one call takes, and more than the sockets' buffers: what is sent only while the path is
// ready is sent.
TEST_P(WanSockets, CarryMoreThanTheirBuffersHold) {
  const std::vector<std::vector<std::byte>> burst(100, bytes_of(8000, 1));
  std::size_t sent = 0;
  for (int round = 0; round < 50; ++round) {
    turn_until([&] { return out_->ready() && came_.size() == sent; });
    send(burst);
    sent += burst.size();
  }
  turn_until([&] { return came_.size() == sent; });
  EXPECT_EQ(came_.back(), burst.back());
}

TEST_P(WanSockets, KeepToARate) {
  int changes = 0;
  out_->set_user({.received = {}, .changed = [&](Time) { ++changes; }});
  const auto frame = bytes_of(1000, 4);
  const Bytes part(frame);
  const std::vector<wan::OutFrame> out(2, {.parts = {&part, 1}, .size = frame.size()});
  const Time now = io::now();
  EXPECT_EQ(out_->burst(), SIZE_MAX);
  out_->set_rate(1'000'000, now);
  EXPECT_EQ(out_->burst(), 50u);
  ASSERT_TRUE(out_->ready());
  out_->send(out, now + 5ms);
  EXPECT_FALSE(out_->ready());
  EXPECT_EQ(out_->pause(), now + 6ms) << "a millisecond of waking late is made up for";
  out_->go_on(now + 5999us);
  EXPECT_FALSE(out_->ready());
  EXPECT_EQ(changes, 0);
  out_->go_on(now + 6ms);
  EXPECT_TRUE(out_->ready());
  EXPECT_EQ(out_->pause(), std::nullopt);
  EXPECT_EQ(changes, 1);
  turn_until([&] { return came_.size() == 2; });
}

TEST_P(WanSockets, KeepToARateOfItsOwnForEachRemote) {
  const auto another = open(*io::SocketAddress::parse(GetParam()));
  UdpPath& slow = here_->add(another->local());
  const auto frame = bytes_of(1000, 4);
  const Bytes part(frame);
  const std::vector<wan::OutFrame> out(2, {.parts = {&part, 1}, .size = frame.size()});
  const Time now = io::now();
  out_->set_rate(10'000'000, now);
  slow.set_rate(1'000'000, now);
  out_->send(out, now);
  slow.send(out, now);
  EXPECT_EQ(out_->pause(), now + 200us);
  EXPECT_EQ(slow.pause(), now + 2ms);
  out_->go_on(now + 200us);
  EXPECT_TRUE(out_->ready());
  EXPECT_FALSE(slow.ready());
}

TEST_P(WanSockets, DropWhatStrangersSend) {
  const auto stranger = open(*io::SocketAddress::parse(GetParam()));
  UdpPath& path = stranger->add(there_->local());
  const auto frame = bytes_of(100, 3);
  const Bytes part(frame);
  const wan::OutFrame out{.parts = {&part, 1}, .size = frame.size()};
  path.send({&out, 1}, io::now());
  send({frame});
  turn_until([&] { return !came_.empty(); });
  EXPECT_THAT(came_, SizeIs(1));
  const auto counters = there_->counters();
  EXPECT_EQ(counters.front().name, "udp_stranger");
  EXPECT_EQ(counters.front().value, 1u);
}

TEST_P(WanSockets, TakeWhoComesForARemoteWithoutAddressUntilItIsLost) {
  const auto open_end = open(*io::SocketAddress::parse(GetParam()));
  UdpPath& any = open_end->add(std::nullopt);
  bool lost = false;
  unsigned came = 0;
  any.set_user({.received = [&](Bytes, const auto&, Time) { return ++came == 0; },
                .changed = {},
                .lost = [&] { return lost; }});
  EXPECT_FALSE(any.established());
  const auto frame = bytes_of(100, 4);
  const Bytes part(frame);
  const wan::OutFrame out{.parts = {&part, 1}, .size = frame.size()};
  here_->add(open_end->local()).send({&out, 1}, io::now());
  turn_until([&] { return came == 1; });
  EXPECT_EQ(any.remote(), here_->local());
  EXPECT_GT(any.longest_frame(), wan::kLeastFrame);
  there_->add(open_end->local()).send({&out, 1}, io::now());
  turn_until([&] { return open_end->counters().front().value == 1; });
  lost = true;
  there_->add(open_end->local()).send({&out, 1}, io::now());
  turn_until([&] { return came == 2; });
  EXPECT_EQ(any.remote(), there_->local());
}

TEST_P(WanSockets, TakeNobodyForARemoteWithoutAddressFromWhereItCannotBe) {
  const auto open_end = open(*io::SocketAddress::parse(GetParam()));
  UdpPath& any = open_end->add(std::nullopt);
  bool admitted = false;
  unsigned came = 0;
  any.set_user({.received = [&](Bytes, const auto&, Time) { return ++came == 0; }, .changed = {}});
  any.set_admits([&](const Gid& host) { return admitted && host == here_->local().address; });
  const auto frame = bytes_of(100, 4);
  const Bytes part(frame);
  const wan::OutFrame out{.parts = {&part, 1}, .size = frame.size()};
  UdpPath& path = here_->add(open_end->local());
  path.send({&out, 1}, io::now());
  turn_until([&] { return open_end->counters().front().value == 1; });
  EXPECT_FALSE(any.established());
  admitted = true;
  path.send({&out, 1}, io::now());
  turn_until([&] { return came == 1; });
  EXPECT_EQ(any.remote(), here_->local());
  admitted = false;
  path.send({&out, 1}, io::now());
  turn_until([&] { return open_end->counters().front().value == 2; });
  EXPECT_EQ(came, 1u);
}

// Frames begin with the name of what they are to be proved with.
TEST_P(WanSockets, FollowWhoProvesThatHeIsTheRemote) {
  const auto open_end = open(*io::SocketAddress::parse(GetParam()));
  std::array<UdpPath*, 2> paths{};
  std::array<unsigned, 2> came{};
  bool genuine = false;
  for (std::size_t i = 0; i < 2; ++i) {
    paths[i] = &open_end->add(std::nullopt);
    paths[i]->set_user({.received =
                            [&, i](Bytes, const auto&, Time) {
                              ++came[i];
                              return genuine;
                            },
                        .changed = {},
                        .lost = {},
                        .claims = [i](Bytes frame) { return frame[0] == std::byte(i); }});
  }
  const auto say = [&](WanSocket& from, unsigned char name) {
    const std::array<std::byte, 9> frame{std::byte{name}};
    const Bytes part(frame);
    const wan::OutFrame out{.parts = {&part, 1}, .size = frame.size()};
    from.add(open_end->local()).send({&out, 1}, io::now());
  };
  say(*here_, 1);
  turn_until([&] { return came[1] == 1; });
  EXPECT_FALSE(paths[1]->established()) << "it has proved nothing";
  genuine = true;
  say(*here_, 1);
  turn_until([&] { return came[1] == 2; });
  EXPECT_EQ(paths[1]->remote(), here_->local());
  say(*there_, 1);
  turn_until([&] { return came[1] == 3; });
  EXPECT_EQ(paths[1]->remote(), there_->local());
  // Where the other remote was before.
  say(*there_, 0);
  turn_until([&] { return came[0] == 1; });
  EXPECT_EQ(paths[0]->remote(), there_->local());
  say(*here_, 7);
  turn_until([&] { return open_end->counters().front().value == 1; });
  EXPECT_EQ(came, (std::array<unsigned, 2>{1, 3}));
}

TEST_P(WanSockets, TakeFramesAsLongAsTheInterfaceCarries) {
  EXPECT_EQ(out_->longest_frame(), wan::kLongestFrame) << "of the loopback interface";
  EXPECT_GE(io::routed_mtu(there_->local()), 65535u);
}

INSTANTIATE_TEST_SUITE_P(Each, WanSockets, ::testing::Values("127.0.0.1:0", "[::1]:0"));

// IPv4 and IPv6 at once.
TEST(WanSocket, LeavesByTheSocketOfAWayAndFollowsItsRemoteToAnother) {
  const auto reactor = std::move(io::Reactor::create(0us).value());
  const auto four = *io::SocketAddress::parse("127.0.0.1:0");
  const auto six = *io::SocketAddress::parse("[::1]:0");
  const auto open = [&](const std::vector<io::SocketAddress>& own) {
    return std::move(WanSocket::open(own, *reactor).value());
  };
  const auto here = open({four, six});
  const std::array<std::unique_ptr<WanSocket>, 2> there{open({four}), open({six})};
  const auto frame = bytes_of(100, 4);
  const Bytes part(frame);
  const wan::OutFrame out{.parts = {&part, 1}, .size = frame.size()};
  std::array<unsigned, 2> came{};
  const auto turn_until = [&](const auto& done) {
    for (const Time end = io::now() + kWanSocketPatience; !done();) {
      ASSERT_LT(io::now(), end) << "it never comes";
      ASSERT_TRUE(reactor->run_once(1ms));
    }
  };
  for (std::size_t i = 0; i < 2; ++i) {
    there[i]
        ->add(here->local(i))
        .set_user({.received =
                       [&came, i](Bytes, const RemotePath::Beside&, Time) {
                         ++came[i];
                         return false;
                       },
                   .changed = {},
                   .lost = {},
                   .claims = {}});
    here->add(there[i]->local(), i).send({&out, 1}, io::now());
  }
  turn_until([&] { return came == std::array{1U, 1U}; });
  // One that comes from anywhere, first by one and then by the other.
  UdpPath& any = here->add(std::nullopt);
  unsigned proved = 0;
  any.set_user({.received = [&](Bytes, const RemotePath::Beside&, Time) { return ++proved != 0; },
                .changed = {},
                .lost = {},
                .claims = [](Bytes) { return true; }});
  const std::array<std::unique_ptr<WanSocket>, 2> strangers{open({four}), open({six})};
  for (const std::size_t i : {1U, 0U}) {
    unsigned answers = 0;
    UdpPath& path = strangers[i]->add(here->local(i));
    path.set_user(
        {.received = [&](Bytes, const RemotePath::Beside&, Time) { return ++answers == 0; },
         .changed = {},
         .lost = {},
         .claims = {}});
    path.send({&out, 1}, io::now());
    turn_until([&] { return any.remote() == strangers[i]->local(); });
    any.send({&out, 1}, io::now());
    turn_until([&] { return answers == 1; });
    path.set_user({});
  }
}

// As where it has begun anew, and has another of these addresses for this one.
TEST(WanSocket, AnswersWhoComesFromTheSamePlaceToAnother) {
  const auto reactor = std::move(io::Reactor::create(0us).value());
  const auto open = [&](const std::vector<const char*>& at) {
    std::vector<io::SocketAddress> own;
    for (const char* const each : at)
      own.push_back(*io::SocketAddress::parse(each));
    return std::move(WanSocket::open(own, *reactor).value());
  };
  const auto here = open({"127.0.0.1:0", "127.0.0.2:0"});
  const auto there = open({"127.0.0.3:0"});
  const auto frame = bytes_of(100, 4);
  const Bytes part(frame);
  const wan::OutFrame out{.parts = {&part, 1}, .size = frame.size()};
  bool lost = true;
  UdpPath& any = here->add(std::nullopt);
  any.set_user({.received =
                    [&](Bytes, const RemotePath::Beside&, Time) {
                      any.send({&out, 1}, io::now());
                      return false;
                    },
                .changed = {},
                .lost = [&] { return lost; },
                .claims = {}});
  for (std::size_t place = 0; place < 2; ++place) {
    bool answered = false;
    UdpPath& path = there->add(here->local(place));
    path.set_user({.received =
                       [&](Bytes, const RemotePath::Beside&, Time) {
                         answered = true;
                         return false;
                       },
                   .changed = {}});
    path.send({&out, 1}, io::now());
    for (const Time end = io::now() + kWanSocketPatience; !answered;) {
      ASSERT_LT(io::now(), end) << "it is answered from another address than it knows";
      ASSERT_TRUE(reactor->run_once(1ms));
    }
    EXPECT_EQ(any.place(), place);
    path.set_user({});
  }
}

TEST(WanSocket, IsChosenForAWayByItsNumberAndTheVersionOfIp) {
  fabric::LabExtender extender;
  const auto address = [](const char* text) {
    const auto parsed = *io::SocketAddress::parse(text);
    return fabric::PartAddress{parsed.address, parsed.port};
  };
  extender.listen = address("192.0.2.1:7471");
  extender.more_listens = {address("[2001:db8::1]:7471"), address("198.51.100.1:7471")};
  const auto chosen = [&](const char* remote, std::size_t way) {
    fabric::LabRemote there;
    there.address = address(remote);
    return listen_for(extender, there, way);
  };
  EXPECT_EQ(chosen("203.0.113.1:7471", 0), 0u);
  EXPECT_EQ(chosen("[2001:db8::2]:7471", 0), 1u) << "the first of its version";
  EXPECT_EQ(chosen("[2001:db8::2]:7471", 1), 1u);
  EXPECT_EQ(chosen("203.0.113.1:7471", 2), 2u) << "its own";
  EXPECT_EQ(chosen("203.0.113.1:7471", 1), 0u);
  EXPECT_EQ(listen_for(extender, {}, 1), 1u) << "it comes from wherever";
  EXPECT_EQ(listen_for(extender, {}, 5), 0u);
  fabric::LabRemote anybody;
  anybody.encapsulation = "ipv6";
  EXPECT_EQ(listen_for(extender, anybody, 0), 1u) << "but has this one around its frames";
  EXPECT_EQ(listen_for(extender, anybody, 2), 1u);
  extender.more_listens = {address("[::]:7471")};
  EXPECT_EQ(chosen("203.0.113.1:7471", 1), 1u) << "which takes both";
  extender.listen = extender.more_listens[0] = address("[2001:db8::1]:7471");
  EXPECT_EQ(chosen("203.0.113.1:7471", 1), 0u) << "there is none";
}

TEST(WanSocket, SaysWhichAddressItCannotHave) {
  const auto reactor = std::move(io::Reactor::create(0us).value());
  const auto socket = WanSocket::open({*io::SocketAddress::parse("192.0.2.1:7471")}, *reactor);
  ASSERT_FALSE(socket);
  EXPECT_THAT(socket.error().message, ::testing::HasSubstr("192.0.2.1:7471: "));
  EXPECT_THAT(socket.error().message, ::testing::HasSubstr("an address of this machine"));
}

}  // namespace
}  // namespace weft::daemon
