// SPDX-License-Identifier: Apache-2.0
// Credit in IPv6 options, over real sockets of the loopback interface: UDP and IP directly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/wan/ip_socket.h"
#include "daemon/wan/wan_socket.h"
#include "io/clock.h"
#include "wan/encapsulation/options_layer.h"

namespace weft::daemon {
namespace {

constexpr Duration kOptionsPathsPatience = 20s;
constexpr Gid kHere{{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1}};
using Frame = std::pair<std::string, std::string>;  // and what came beside it

Bytes bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}
std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Two ends, of which each is the other one's remote.
class OptionPaths : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    reactor_ = std::move(io::Reactor::create(0us).value());
    if (is_udp()) {
      open_two();
    } else {
      open_one();
    }
  }
  void open_two() {
    auto out = WanSocket::open({{.address = kHere}}, *reactor_, true);
    if (is_forbidden(out)) GTEST_SKIP() << out.error().message;
    ASSERT_TRUE(out) << out.error().message;
    auto in = WanSocket::open({{.address = kHere}}, *reactor_, true);
    ASSERT_TRUE(in) << in.error().message;
    join((*out)->local(), (*in)->local(), **out, **in);
    out_socket_ = std::move(*out);
    in_socket_ = std::move(*in);
  }
  // An end that talks to itself: without ports there is one for each address.
  void open_one() {
    auto both = IpSocket::open(kHere, false, *reactor_, true);
    if (is_forbidden(both)) GTEST_SKIP() << both.error().message;
    ASSERT_TRUE(both) << both.error().message;
    join({.address = kHere}, {.address = kHere}, **both, **both);
    out_socket_ = std::move(*both);
  }
  static bool is_forbidden(const auto& opened) {
    return !opened && opened.error().code == std::errc::operation_not_permitted;
  }
  [[nodiscard]] static bool is_udp() { return std::string(GetParam()).starts_with("udp"); }

  template <class Socket>
  void join(const io::SocketAddress& here, const io::SocketAddress& there, Socket& out,
            Socket& in) {
    out_ = &out.add(remote(there), 0, io::now());
    RemotePath& arrival = &out == &in ? *out_ : in.add(remote(here), 0, io::now());
    arrival.set_user({.received =
                          [this](Bytes frame, const RemotePath::Beside& beside, Time) {
                            came_.emplace_back(text_of(frame), text_of(beside.options));
                            return false;
                          },
                      .changed = {}});
    in_address_ = there;
    in_port_ = &in;
  }
  static fabric::LabRemote remote(const io::SocketAddress& at) {
    fabric::LabRemote remote;
    remote.address = fabric::PartAddress{.host = at.address, .port = at.port};
    remote.encapsulation = GetParam();
    return remote;
  }
  void send(const std::vector<Frame>& frames) {
    std::vector<Bytes> parts;
    std::vector<wan::OutFrame> out;
    parts.reserve(frames.size());
    for (const auto& [frame, options] : frames) {
      parts.push_back(bytes_of(frame));
      out.push_back(
          {.parts = {&parts.back(), 1}, .size = frame.size(), .options = bytes_of(options)});
    }
    out_->send(out, io::now());
  }
  void turn_until(const std::function<bool()>& done) {
    const Time end = io::now() + kOptionsPathsPatience;
    while (!done()) {
      ASSERT_LT(io::now(), end) << "it never comes";
      ASSERT_TRUE(reactor_->run_once(1ms));
    }
  }
  // A packet of somebody at the same address, or port, as the one whose frames come.
  void send_with(Bytes header) const {
    const std::string frame = "forged";
    std::vector<char> control(CMSG_SPACE(header.size()));
    auto* const message_header = reinterpret_cast<cmsghdr*>(control.data());
    *message_header = {
        .cmsg_len = CMSG_LEN(header.size()), .cmsg_level = IPPROTO_IPV6, .cmsg_type = IPV6_DSTOPTS};
    std::ranges::copy(header, reinterpret_cast<std::byte*>(CMSG_DATA(message_header)));
    sockaddr_storage name{};
    iovec part{const_cast<char*>(frame.data()), frame.size()};
    msghdr message{};
    message.msg_name = &name;
    message.msg_namelen = in_address_.to_sockaddr(AF_INET6, name);
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    const io::UniqueFd socket(is_udp() ? ::socket(AF_INET6, SOCK_DGRAM, 0)
                                       : ::socket(AF_INET6, SOCK_RAW, *wan::kFrame.ip_protocol));
    EXPECT_EQ(::sendmsg(socket.get(), &message, 0), static_cast<ssize_t>(frame.size()));
  }
  [[nodiscard]] std::uint64_t count(std::string_view end_of_name) const {
    for (const CounterValue& counter : in_port_->counters()) {
      if (std::string_view(counter.name).ends_with(end_of_name)) return counter.value;
    }
    ADD_FAILURE() << end_of_name;
    return 0;
  }

  std::unique_ptr<io::Reactor> reactor_;
  std::unique_ptr<PathSocket> out_socket_, in_socket_;
  RemotePath* out_ = nullptr;
  PathSocket* in_port_ = nullptr;
  io::SocketAddress in_address_;
  std::vector<Frame> came_;
};

TEST_P(OptionPaths, CarryThemBesideTheirFramesAndNoOthers) {
  EXPECT_EQ(out_->options_room(), wan::OutPacket::kMostOptions);
  std::vector<Frame> frames;
  for (const std::size_t size : {0, 0, 28, 28, 0, 1, 2, 3, 4, 5, 56, 0, 224, 248, 0, 0}) {
    frames.emplace_back(std::string(900, static_cast<char>('a' + frames.size())),
                        std::string(size, static_cast<char>('A' + frames.size())));
  }
  send(frames);
  turn_until([&] { return came_.size() >= frames.size(); });
  EXPECT_EQ(came_, frames);
  EXPECT_EQ(out_->refused(), 0u);
}

std::vector<std::byte> header_of(const std::vector<int>& values) {
  std::vector<std::byte> out;
  for (const int value : values)
    out.push_back(static_cast<std::byte>(value));
  return out;
}

TEST_P(OptionPaths, RefuseAndCountWhatCannotBe) {
  constexpr int kOurs = wan::OptionsLayer::kOptionType;
  send_with(header_of({0, 0, kOurs, 1, 7, kOurs, 1, 7}));
  // Longer than any of an extender's, of options that nobody knows.
  std::vector<std::byte> longest = header_of({0, 124});
  for (const std::size_t length : {253, 253, 253, 231}) {
    longest.push_back(std::byte{0x1D});
    longest.push_back(static_cast<std::byte>(length));
    longest.resize(longest.size() + length);
  }
  ASSERT_EQ(longest.size(), 1000u);
  send_with(longest);
  send_with(header_of({0, 0, 0x1D, 4, 1, 2, 3, 4}));  // passed over
  send({{"an honest one", "credit"}});
  turn_until([&] { return !came_.empty() && came_.back().second == "credit"; });
  EXPECT_EQ(count("_option"), 2u);
  EXPECT_EQ(came_.size() + count("_stranger"), 2u);
}

INSTANTIATE_TEST_SUITE_P(Each, OptionPaths, ::testing::Values("udp/options/ipv6", "options/ipv6"));

}  // namespace
}  // namespace weft::daemon
