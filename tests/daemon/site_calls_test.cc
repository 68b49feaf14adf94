// SPDX-License-Identifier: Apache-2.0
// Two sites on the loopback interface that find each other by TCP, lose each other, and refuse who
// is not meant. Sockets are real; the time that the sites are told is the test's.
#include "daemon/wan/site_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>
#include <vector>

#include "io/clock.h"
#include "io/message_stream.h"
#include "io/tcp_socket.h"

namespace weft::daemon {
namespace {

using ::testing::HasSubstr;
using wan::SiteGreeting;

constexpr Duration kSiteCallsPatience = 20s;
constexpr const char* kAnywhere = "127.0.0.1:0";

// A connection from 127.0.0.n.
io::UniqueFd connection(const io::SocketAddress& to, std::uint8_t n) {
  io::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in from{};
  from.sin_family = AF_INET;
  from.sin_addr.s_addr = htonl(0x7F00'0000U + n);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
  sockaddr_in there = from;
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  there.sin_port = htons(to.port);
  static_cast<void>(::connect(socket.get(), reinterpret_cast<sockaddr*>(&there), sizeof there));
  return socket;
}

// A message with its length before it.
std::vector<std::byte> message(Bytes bytes) {
  std::vector<std::byte> out;
  io::append_message(out, bytes);
  return out;
}
std::vector<std::byte> octets_of(std::string_view text) {
  const Bytes bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

class SiteCallsTest : public ::testing::Test {
 protected:
  // A site with one remote.
  struct Site {
    [[nodiscard]] std::uint64_t count(std::string_view name) const {
      const auto all = calls->counters();
      const auto found = std::ranges::find(all, name, &CounterValue::name);
      EXPECT_NE(found, all.end()) << name;
      return found == all.end() ? 0 : found->value;
    }
    void add(std::optional<io::SocketAddress> address, const std::string& layers = "udp",
             std::size_t place = 0) {
      calls->add({.name = "there",
                  .address = address,
                  .own = calls->local(place),
                  .layers = layers,
                  .changed = [this](bool now_there, Time) {
                    there = now_there;
                    ++changes;
                  }});
    }
    std::unique_ptr<SiteCalls> calls;
    bool there = false;
    int changes = 0;
  };

  std::unique_ptr<Site> open(const std::vector<std::string>& at = {kAnywhere}) {
    auto site = std::make_unique<Site>();
    std::vector<io::SocketAddress> own;
    for (const std::string& each : at)
      own.push_back(*io::SocketAddress::parse(each));
    auto calls = SiteCalls::open(own, *reactor_);
    EXPECT_TRUE(calls) << calls.error().message;
    site->calls = std::move(*calls);
    return site;
  }
  void turn_until(const std::function<bool()>& done) {
    const Time end = io::now() + kSiteCallsPatience;
    while (!done()) {
      ASSERT_LT(io::now(), end) << "it never comes";
      turn();
    }
  }
  void turn() {
    for (Site* const site : {west_.get(), east_.get()})
      if (site != nullptr && site->calls != nullptr) site->calls->run(now());
    ASSERT_TRUE(reactor_->run_once(1ms));
  }
  [[nodiscard]] Time now() const { return io::now() + later_; }
  // Somebody else's, that west takes for who is there already.
  std::unique_ptr<SiteCall> stranger(const SiteGreeting& ask, std::uint8_t host = 9) {
    auto call = SiteCall::begin(connection(east_->calls->local(), host),
                                {.peer = east_->calls->local(), .ask = ask, .ready = [] {}},
                                *reactor_, now());
    EXPECT_TRUE(call);
    return std::move(*call);
  }
  std::string refusal_of(SiteCall& call) {
    turn_until([&] {
      call.run(now());
      return call.state() == SiteCall::State::kEnded;
    });
    return call.error() ? call.error()->message : "";
  }

  // Somebody who says just this, and reads nothing.
  io::UniqueFd says(Bytes bytes) {
    io::UniqueFd socket = connection(east_->calls->local(), 9);
    turn_until([&] {
      return ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
             static_cast<ssize_t>(bytes.size());
    });
    return socket;
  }
  // Whatever it was told before.
  void turn_until_closed(const io::UniqueFd& socket) {
    std::array<std::byte, 512> told;
    turn_until([&] {
      const ssize_t got = ::recv(socket.get(), told.data(), told.size(), MSG_DONTWAIT);
      return got == 0 || (got < 0 && errno != EAGAIN);
    });
  }

  // West calls east, which knows no address of it, as behind an address translation.
  void begin() {
    west_ = open();
    east_ = open();
    west_->add(east_->calls->local());
    east_->add(std::nullopt);
  }
  void find_each_other() {
    turn_until([&] { return west_->there && east_->there; });
  }

  std::unique_ptr<io::Reactor> reactor_ = std::move(io::Reactor::create(0us).value());
  std::unique_ptr<Site> west_, east_;
  Duration later_{};
};

TEST_F(SiteCallsTest, FindEachOther) {
  begin();
  EXPECT_EQ(east_->calls->report(0).why, "it has not come yet");
  find_each_other();
  for (const Site* const site : {west_.get(), east_.get()}) {
    EXPECT_EQ(site->changes, 1);
    EXPECT_TRUE(site->calls->report(0).there);
    EXPECT_EQ(site->calls->report(0).why, "");
    EXPECT_EQ(site->count("calls_agreed"), 1u);
    EXPECT_EQ(site->calls->deadline(), std::nullopt);
  }
  EXPECT_TRUE(east_->calls->is_at(0, Gid::from_ipv4(INADDR_LOOPBACK)));
  EXPECT_FALSE(east_->calls->is_at(0, Gid::from_ipv4(0x7F00'0009)));
}

TEST_F(SiteCallsTest, BearThatBothCall) {
  west_ = open();
  east_ = open();
  west_->add(east_->calls->local());
  east_->add(west_->calls->local());
  turn_until(
      [&] { return west_->count("calls_agreed") == 2 && east_->count("calls_agreed") == 2; });
  EXPECT_EQ(west_->changes, 1);
  EXPECT_EQ(east_->changes, 1);
}

// Its ports differ, and its addresses on this machine: each remote knows it by its own.
TEST_F(SiteCallsTest, AreCalledAtEachAddressAndCallFromTheOneThatTheRemoteKnows) {
  const std::vector<std::string> at{"127.0.0.2:0", "[::1]:0", "127.0.0.3:0"};
  for (std::size_t place = 0; place < at.size(); ++place) {
    SCOPED_TRACE(at[place]);
    west_ = open(at);
    east_ = open({place == 1 ? "[::1]:0" : kAnywhere});
    west_->add(east_->calls->local(), "udp", place);
    east_->add(west_->calls->local(place));
    // Both of the calls are taken.
    turn_until(
        [&] { return west_->count("calls_agreed") == 2 && east_->count("calls_agreed") == 2; });
    EXPECT_EQ(west_->count("calls_refused") + east_->count("calls_refused"), 0u);
    EXPECT_TRUE(east_->calls->is_at(0, west_->calls->local(place).address));
  }
}

TEST_F(SiteCallsTest, NoticeAtOnceThatTheOtherOneIsGoneAndFindItAgain) {
  begin();
  find_each_other();
  const std::string address = east_->calls->local().to_string();
  east_.reset();
  turn_until([&] { return !west_->there; });
  EXPECT_FALSE(west_->calls->report(0).there);
  later_ += 1s;
  turn_until([&] { return west_->calls->report(0).why.find("refused") != std::string::npos; });
  east_ = open({address});
  east_->add(std::nullopt);
  later_ += 10s;  // however long it was in vain
  find_each_other();
  EXPECT_EQ(west_->changes, 3);
}

TEST_F(SiteCallsTest, RefuseOtherLayersAndSayWhichAtBothEnds) {
  west_ = open();
  east_ = open();
  west_->add(east_->calls->local(), "ipv6");
  east_->add(std::nullopt, "udp");
  turn_until(
      [&] { return west_->count("calls_refused") > 0 && east_->count("calls_refused") > 0; });
  const std::string why =
      "the end that called has layers ipv6 around its frames, the other one udp";
  EXPECT_EQ(west_->calls->report(0).why, "the other end refuses: " + why);
  EXPECT_THAT(east_->calls->refused(), HasSubstr(": " + why));
  EXPECT_FALSE(west_->there || east_->there);
}

TEST_F(SiteCallsTest, RefuseWhoHasNobodysAddress) {
  begin();
  east_ = open();
  east_->add(*io::SocketAddress::parse("127.0.0.1:1"));
  const auto call = stranger({.type = SiteGreeting::Type::kAsks, .port = 2, .words = "udp"});
  EXPECT_EQ(refusal_of(*call), "the other end refuses: no remote here has the address 127.0.0.9:2");
}

// Who has come first stays, though nothing proves that it is the one that is meant.
TEST_F(SiteCallsTest, RefuseWhoComesFromElsewhereWhileTheRemoteIsThere) {
  begin();
  find_each_other();
  const SiteGreeting ask{.type = SiteGreeting::Type::kAsks, .port = 7471, .words = "udp"};
  const auto late = stranger(ask);
  EXPECT_THAT(refusal_of(*late), HasSubstr("remote there is there already, at another address"));
  EXPECT_EQ(east_->changes, 1);
  west_.reset();
  turn_until([&] { return !east_->there; });
  const auto next = stranger(ask);
  turn_until([&] {
    next->run(now());
    return east_->there && next->state() == SiteCall::State::kStands;
  });
}

TEST_F(SiteCallsTest, SayWhenTheOtherEndSpeaksTls) {
  begin();
  const io::UniqueFd hello = says(octets_of("\26\3\1\2\1\1"));
  turn_until([&] { return !east_->calls->refused().empty(); });
  EXPECT_THAT(east_->calls->refused(),
              HasSubstr("its extender has a key, and this one is insecure"));
  find_each_other();
}

TEST_F(SiteCallsTest, EndWithWhoSaysWhatIsNoGreeting) {
  begin();
  find_each_other();
  const auto ask = SiteGreeting{.type = SiteGreeting::Type::kAsks, .port = 7471, .words = "udp"};
  auto answer = ask;
  answer.type = SiteGreeting::Type::kAgrees;
  auto refusal = ask;
  refusal.type = SiteGreeting::Type::kRefuses;
  const std::vector<std::pair<std::string, std::vector<std::byte>>> cases{
      {"text", octets_of("GET / HTTP/1.1\r\nHost: there\r\n\r\n")},
      {"a length that nobody has memory for", octets_of("\xff\xff\xff\xff....")},
      {"nothing in a message", message({})},
      {"longer than any", message(std::vector<std::byte>(SiteGreeting::kLongest + 1))},
      {"escapes", message(octets_of("\1\1\1\1\33[2J"))},
      {"another version", message(octets_of("\1\7\1\1udp"))},
      {"an answer to nothing", message(answer.write())},
      {"a refusal of nothing", message(refusal.write())},
  };
  for (const auto& [what, bytes] : cases) {
    SCOPED_TRACE(what);
    const std::uint64_t came = east_->count("calls_came");
    turn_until_closed(says(bytes));
    EXPECT_EQ(east_->count("calls_came"), came + 1);
    EXPECT_THAT(east_->calls->refused(), HasSubstr("127.0.0.9:"));
    EXPECT_THAT(east_->calls->refused(), HasSubstr("the other end "));
  }
  EXPECT_TRUE(west_->there && east_->there);
  EXPECT_EQ(east_->changes, 1);
}

TEST_F(SiteCallsTest, EndWithWhoGoesOnTalkingWhenAllIsSaid) {
  begin();
  west_ = nullptr;
  const auto ask = SiteGreeting{.type = SiteGreeting::Type::kAsks, .port = 7471, .words = "udp"};
  const io::UniqueFd talker = says(message(ask.write()));
  turn_until([&] { return east_->there; });
  const auto again = message(ask.write());
  ASSERT_EQ(::send(talker.get(), again.data(), again.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(again.size()));
  turn_until_closed(talker);
  EXPECT_FALSE(east_->there);
  EXPECT_THAT(east_->calls->report(0).why, HasSubstr("what is not to be said now"));
}

TEST_F(SiteCallsTest, WaitNoLongerThanTenSecondsForWhoSaysHalf) {
  begin();
  const auto ask = SiteGreeting{.type = SiteGreeting::Type::kAsks, .port = 7471, .words = "udp"};
  const auto whole = message(ask.write());
  const io::UniqueFd half = says(Bytes(whole).first(whole.size() - 1));
  const io::UniqueFd nothing = connection(east_->calls->local(), 8);
  turn_until([&] { return east_->count("calls_came") >= 2; });
  later_ += 9s;
  turn();
  std::array<std::byte, 8> told;
  EXPECT_LT(::recv(half.get(), told.data(), told.size(), MSG_DONTWAIT), 0) << "not yet";
  later_ += 2s;
  turn_until_closed(half);
  turn_until_closed(nothing);
  EXPECT_THAT(east_->calls->refused(), HasSubstr("has not answered in time"));
  find_each_other();
}

TEST_F(SiteCallsTest, SayThatWhoHangsUpAtOnceMayHaveAKey) {
  const auto listener = io::listen_tcp(*io::SocketAddress::parse(kAnywhere));
  ASSERT_TRUE(listener);
  west_ = open();
  west_->add(*io::local_address(listener->get()));
  turn_until([&] {
    static_cast<void>(io::accept_tcp(listener->get()));
    return west_->calls->report(0).why.find("it may have a key") != std::string::npos;
  });
  EXPECT_FALSE(west_->calls->report(0).there);
}

TEST_F(SiteCallsTest, CallAgainWhereSomebodyTakesTheCallAndSaysNothing) {
  const auto silent = io::listen_tcp(*io::SocketAddress::parse(kAnywhere));
  ASSERT_TRUE(silent);
  west_ = open();
  west_->add(*io::local_address(silent->get()));
  turn_until([&] { return west_->count("calls_begun") == 1; });
  later_ += 11s;
  turn_until([&] { return west_->calls->report(0).why.find("in time") != std::string::npos; });
  later_ += 1s;
  turn_until([&] { return west_->count("calls_begun") == 2; });
  EXPECT_EQ(west_->changes, 0);
}

TEST_F(SiteCallsTest, AreNotKeptFromEachOtherByStrangersWhoSayNothing) {
  begin();
  std::vector<io::UniqueFd> strangers;
  for (int i = 0; i < 100; ++i)
    strangers.push_back(connection(east_->calls->local(), 9));
  turn_until([&] { return east_->count("calls_came") >= 100; });
  EXPECT_GE(east_->count("calls_crowded"), 60u);
  find_each_other();
  later_ += 11s;
  turn_until([&] { return !east_->calls->deadline() || *east_->calls->deadline() > now(); });
  EXPECT_TRUE(east_->there);
  EXPECT_EQ(east_->changes, 1);
}

TEST_F(SiteCallsTest, BoundWhatTheyKeepOfOneRemote) {
  begin();
  const SiteGreeting ask{.type = SiteGreeting::Type::kAsks, .port = 7471, .words = "udp"};
  std::vector<std::unique_ptr<SiteCall>> calls;
  west_ = nullptr;
  for (unsigned i = 0; i < 8; ++i) {
    calls.push_back(stranger(ask));
    turn_until([&] {
      calls.back()->run(now());
      return calls.back()->state() == SiteCall::State::kStands;
    });
  }
  turn_until([&] {
    for (const auto& call : calls)
      call->run(now());
    return std::ranges::count(calls, SiteCall::State::kEnded, &SiteCall::state) == 5;
  });
  EXPECT_EQ(calls[4]->state(), SiteCall::State::kEnded) << "the oldest go";
  EXPECT_EQ(calls[5]->state(), SiteCall::State::kStands);
  EXPECT_EQ(east_->changes, 1);
}

}  // namespace
}  // namespace weft::daemon
