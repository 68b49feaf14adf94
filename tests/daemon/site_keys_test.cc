// SPDX-License-Identifier: Apache-2.0
// Two sites on the loopback interface that agree on keys, lose each other, and refuse who is not
// meant. Sockets are real; the time that the sites are told is the test's.
#include "daemon/wan/site_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "../io/tls_fixture.h"

namespace weft::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr Duration kSiteKeysPatience = 20s;
// For tests that are about something else.
const SiteKeys::Limits kGenerous{.strangers{1us, 1000}, .remote{1us, 1000}};

class Wire final : public wan::Path {
 public:
  [[nodiscard]] bool established() const override { return true; }
  [[nodiscard]] bool ready() const override { return true; }
  [[nodiscard]] std::size_t longest_frame() const override { return 1472; }
  void send(std::span<const wan::OutFrame> frames, Time) override {
    const Bytes datagram = frames.front().parts.front();
    sent.assign(datagram.begin(), datagram.end());
  }
  std::vector<std::byte> sent;
};

class SiteKeysTest : public io::test::TlsTest {
 protected:
  // A site with one remote.
  struct Site {
    [[nodiscard]] const io::TlsFingerprint& fingerprint() const { return keys->fingerprint(); }
    [[nodiscard]] std::uint64_t count(std::string_view name) const {
      auto all = keys->counters();
      accumulate(all, path.counters());
      const auto found = std::ranges::find(all, name, &CounterValue::name);
      EXPECT_NE(found, all.end()) << name;
      return found == all.end() ? 0 : found->value;
    }
    void add(std::optional<io::SocketAddress> address, const io::TlsFingerprint& key) {
      keys->add(
          {.name = "there", .address = address, .keys = {key}, .path = &path, .changed = [this] {
             ++changes;
           }});
    }

    Wire wire;
    wan::SealedPath path{wire, {}};
    std::unique_ptr<SiteKeys> keys;
    int changes = 0;
  };

  std::unique_ptr<Site> open(const std::string& key, const std::string& at = "127.0.0.1:0",
                             const SiteKeys::Limits& limits = kGenerous) {
    return open_at(key, {at}, limits);
  }
  std::unique_ptr<Site> open_at(const std::string& key, const std::vector<std::string>& at,
                                const SiteKeys::Limits& limits = kGenerous) {
    auto identity =
        std::filesystem::exists(path(key))
            ? std::move(*io::TlsSite::load({.key = path(key), .certificate = "", .ca = ""}))
            : make_site(key);
    std::vector<io::SocketAddress> own;
    for (const std::string& each : at)
      own.push_back(*io::SocketAddress::parse(each));
    auto site = std::make_unique<Site>();
    auto keys = SiteKeys::open("extender " + key, std::move(identity), own, *reactor_, limits);
    EXPECT_TRUE(keys) << keys.error().message;
    site->keys = std::move(*keys);
    return site;
  }
  // Who is null has gone.
  void turn_until(const std::function<bool()>& done) {
    const Time end = io::now() + kSiteKeysPatience;
    while (!done()) {
      ASSERT_LT(io::now(), end) << "it never comes";
      turn();
    }
  }
  void turn() {
    for (Site* const site : {west_.get(), east_.get()})
      if (site != nullptr && site->keys != nullptr) site->keys->run(now());
    ASSERT_TRUE(reactor_->run_once(1ms));
  }
  [[nodiscard]] Time now() const { return io::now() + later_; }

  // West connects to east.
  void begin(const SiteKeys::Limits& of_east = kGenerous) {
    open_both(of_east);
    let_west_connect();
  }
  void open_both(const SiteKeys::Limits& of_east = kGenerous) {
    west_ = open("west");
    east_ = open("east", "127.0.0.1:0", of_east);
    east_->add(std::nullopt, west_->fingerprint());
  }
  void let_west_connect() { west_->add(east_->keys->local(), east_->fingerprint()); }
  bool crosses(Site& from, Site& to) const {
    const std::vector<std::byte> frame(100, std::byte{5});
    const Bytes part(frame);
    const wan::OutFrame out{.parts = {&part, 1}, .size = frame.size()};
    from.wire.sent.clear();
    from.path.send({&out, 1}, now());
    const auto came = to.path.receive(from.wire.sent, now());
    return came && std::ranges::equal(came->frame, frame);
  }
  // West's datagram comes first, for it is the one who knows that both have keys.
  void agree() {
    const auto before = west_->count("wan_seal_keys"), of_east = east_->count("wan_seal_keys");
    turn_until([&] {
      return west_->count("wan_seal_keys") > before && east_->count("wan_seal_keys") > of_east;
    });
    EXPECT_TRUE(crosses(*west_, *east_));
    EXPECT_TRUE(crosses(*east_, *west_));
  }

  std::unique_ptr<io::Reactor> reactor_ = std::move(io::Reactor::create(0us).value());
  std::unique_ptr<Site> west_, east_;
  Duration later_{};
};

TEST_F(SiteKeysTest, AgreeOnKeysThatSealWhatCrosses) {
  begin();
  EXPECT_EQ(east_->keys->report(0).why, "it has not come yet");
  EXPECT_FALSE(west_->path.established());
  agree();
  for (const Site* const site : {west_.get(), east_.get()}) {
    EXPECT_TRUE(site->path.established());
    EXPECT_EQ(site->changes, 1);
    EXPECT_TRUE(site->keys->report(0).connected);
    EXPECT_TRUE(site->keys->report(0).cipher.has_value());
    EXPECT_EQ(site->keys->report(0).why, "");
    EXPECT_EQ(site->count("keys_agreed"), 1u);
  }
}

TEST_F(SiteKeysTest, AgreeAtWhicheverAddressTheyCome) {
  for (std::size_t place = 0; place < 2; ++place) {
    west_ = open("west");
    east_ = open_at("east", {"127.0.0.1:0", "[::1]:0"});
    east_->add(std::nullopt, west_->fingerprint());
    west_->add(east_->keys->local(place), east_->fingerprint());
    agree();
  }
}

TEST_F(SiteKeysTest, BearThatBothConnect) {
  west_ = open("west");
  east_ = open("east");
  west_->add(east_->keys->local(), east_->fingerprint());
  east_->add(west_->keys->local(), west_->fingerprint());
  turn_until([&] { return west_->count("keys_agreed") > 0 && east_->count("keys_agreed") > 0; });
  turn_until([&] { return west_->path.established() && east_->path.established(); });
  EXPECT_TRUE(crosses(*west_, *east_));
  EXPECT_TRUE(crosses(*east_, *west_));
}

TEST_F(SiteKeysTest, KeepTheirKeysWhenTheChannelIsLost) {
  begin();
  agree();
  east_->keys = nullptr;
  turn_until([&] { return !west_->keys->report(0).connected; });
  EXPECT_TRUE(west_->path.established() && east_->path.established());
  EXPECT_TRUE(crosses(*west_, *east_));
  EXPECT_TRUE(crosses(*east_, *west_));
}

TEST_F(SiteKeysTest, AgreeAnewWithASiteThatHasBegunAnew) {
  begin();
  agree();
  const std::string address = east_->keys->local().to_string();
  east_.reset();
  turn_until([&] { return !west_->keys->report(0).connected; });
  turn_until([&] { return !west_->keys->report(0).why.empty(); });
  EXPECT_THAT(west_->keys->report(0).why, HasSubstr("Connection refused"));
  east_ = open("east", address);
  east_->add(std::nullopt, west_->fingerprint());
  EXPECT_FALSE(crosses(*west_, *east_));
  later_ += 10s;  // however long it was in vain
  agree();
  EXPECT_EQ(west_->count("keys_agreed"), 2u);
}

TEST_F(SiteKeysTest, RefuseWhoHasAnotherKeyAndSayWhichOnBothSides) {
  begin();
  const auto meant = make_site("meant");
  west_ = open("west");
  west_->add(east_->keys->local(), meant->fingerprint());
  ::testing::internal::CaptureStderr();
  turn_until([&] { return west_->count("keys_refused") > 0 && east_->count("keys_refused") > 0; });
  EXPECT_EQ(west_->keys->report(0).why,
            "the other end has the key " + east_->fingerprint().to_string() +
                ", not the expected " + meant->fingerprint().to_string());
  EXPECT_THAT(east_->keys->refused(),
              AllOf(HasSubstr("127.0.0.1:"), HasSubstr("the other end refused this site's key"),
                    HasSubstr(east_->fingerprint().to_string())));
  EXPECT_FALSE(west_->path.established() || east_->path.established());
  // It goes on trying, and says so no more.
  const auto refused = west_->count("keys_refused");
  later_ += 20s;
  turn_until([&] { return west_->count("keys_refused") > refused; });
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("weft: extender west, remote there: the other end has the key " +
                             east_->fingerprint().to_string() + ", not the expected " +
                             meant->fingerprint().to_string() + "\n"));
  EXPECT_EQ(std::ranges::count(log, '\n'), 2) << log;
}

TEST_F(SiteKeysTest, RefuseWhoComesWithAnotherKeyThanIsExpected) {
  begin();
  const auto meant = make_site("meant");
  east_ = open("east");
  east_->add(std::nullopt, meant->fingerprint());
  west_ = open("west");
  west_->add(east_->keys->local(), east_->fingerprint());
  turn_until([&] { return west_->count("keys_refused") > 0 && east_->count("keys_refused") > 0; });
  EXPECT_THAT(east_->keys->refused(),
              HasSubstr("the other end has the key " + west_->fingerprint().to_string() +
                        ", not the expected " + meant->fingerprint().to_string()));
  EXPECT_THAT(west_->keys->report(0).why, AllOf(HasSubstr("the other end refused this site's key"),
                                                HasSubstr(west_->fingerprint().to_string())));
  EXPECT_EQ(east_->count("keys_agreed"), 0u);
}

TEST_F(SiteKeysTest, AreNotKeptFromEachOtherByStrangersWhoSayNothing) {
  open_both();
  std::vector<io::UniqueFd> strangers;
  // No more at once than a listener's queue has room for: TCP tries again after a second.
  for (std::uint64_t came = 40; came <= 120; came += 40) {
    for (int i = 0; i < 40; ++i)
      strangers.push_back(std::move(*io::connect_tcp(east_->keys->local())));
    turn_until([&] { return east_->count("keys_came") >= came; });
  }
  EXPECT_GE(east_->count("keys_crowded"), 60u);
  let_west_connect();
  agree();
  later_ += 11s;
  turn_until([&] { return !east_->keys->deadline() || *east_->keys->deadline() > now(); });
  EXPECT_TRUE(east_->keys->report(0).connected);
}

// One that connects from an address of its own, as often as it may.
io::UniqueFd stranger(const io::SocketAddress& to, std::uint32_t address = 0x7F00'0009) {
  io::UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  sockaddr_in from{};
  from.sin_family = AF_INET;
  from.sin_addr.s_addr = htonl(address);
  EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
  sockaddr_in there = from;
  there.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  there.sin_port = htons(to.port);
  static_cast<void>(::connect(socket.get(), reinterpret_cast<sockaddr*>(&there), sizeof there));
  return socket;
}

TEST_F(SiteKeysTest, AreNotKeptFromEachOtherByAStrangerWhoConnectsAgainAndAgain) {
  begin();
  std::vector<io::UniqueFd> strangers;
  for (int i = 0; i < 64; ++i)
    strangers.push_back(stranger(east_->keys->local()));
  turn_until([&] { return east_->count("keys_came") >= 64; });
  turn_until([&] {
    // As many as there is room for come between two words of west, which is far away.
    for (int i = 0; i < 48; ++i)
      strangers.push_back(stranger(east_->keys->local()));
    for (int i = 0; i < 6; ++i)
      east_->keys->run(now());
    if (strangers.size() > 500) strangers.erase(strangers.begin(), strangers.begin() + 64);
    return east_->count("keys_agreed") > 0 && west_->count("keys_agreed") > 0;
  });
  EXPECT_GT(east_->count("keys_crowded"), 0u);
}

// As many as they may be, from as many addresses.
TEST_F(SiteKeysTest, BeginNoMoreHandshakesWithStrangersThanTheyAreAllowed) {
  begin({.strangers{1h, 2}, .remote{1us, 1000}});
  agree();
  std::vector<io::UniqueFd> strangers;
  const auto seen = [&] { return east_->count("keys_came") + east_->count("keys_hurried"); };
  // No more at once than a listener's queue has room for.
  const auto flood = [&] {
    const auto before = seen();
    for (std::uint32_t i = 0; i < 40; ++i)
      strangers.push_back(stranger(east_->keys->local(), 0x7F00'0100 + i));
    turn_until([&] { return seen() >= before + 40; });
  };
  for (int i = 0; i < 5; ++i)
    flood();
  // With west, which was one of them at first, and two in each of 16 parts.
  EXPECT_LE(east_->count("keys_came"), 32u);
  EXPECT_GE(east_->count("keys_came"), 16u);
  EXPECT_EQ(seen(), 201u);

  // West is known by now, where it was.
  const auto came = east_->count("keys_came");
  west_ = open("west");
  let_west_connect();
  flood();
  turn_until([&] { return east_->count("keys_agreed") == 2; });
  EXPECT_EQ(east_->count("keys_came"), came + 1);
  // Strangers may come again when there was a pause.
  later_ += 2h;
  flood();
  EXPECT_GE(east_->count("keys_came"), came + 17);
  EXPECT_LE(east_->count("keys_came"), came + 1 + 32 + 1);
}

TEST_F(SiteKeysTest, BeginNoMoreHandshakesAtARemotesAddressThanItIsAllowed) {
  west_ = open("west");
  east_ = open("east", "127.0.0.1:0", {.strangers{1us, 1000}, .remote{1h, 3}});
  east_->add(*io::SocketAddress::parse("127.0.0.9:1"), west_->fingerprint());
  std::vector<io::UniqueFd> strangers;
  for (int i = 0; i < 40; ++i)
    strangers.push_back(stranger(east_->keys->local()));
  turn_until([&] { return east_->count("keys_hurried") == 37; });
  EXPECT_EQ(east_->count("keys_came"), 3u);
}

TEST(SiteKeysOrigin, IsTheNetworkOfIpv6AndTheAddressOfIpv4) {
  const auto of = [](const char* address) {
    return origin_of(io::SocketAddress::parse(address)->address);
  };
  EXPECT_EQ(of("[2001:db8::1]:1"), of("[2001:db8::ffff:2]:1"));
  EXPECT_NE(of("[2001:db8::1]:1"), of("[2001:db8:0:1::1]:1"));
  EXPECT_EQ(of("192.0.2.1:1"), of("192.0.2.1:2"));
  EXPECT_NE(of("192.0.2.1:1"), of("192.0.2.2:1"));
}

// A path that lets TCP pass and nothing else, or that has met too much that was forged.
TEST_F(SiteKeysTest, GiveUpAChannelWhoseKeysAreOfNoUse) {
  begin();
  turn_until([&] { return west_->count("keys_agreed") > 0 && east_->count("keys_agreed") > 0; });
  ASSERT_TRUE(east_->path.needs_keys());
  later_ += 9s;
  for (int i = 0; i < 20; ++i)
    turn();
  EXPECT_TRUE(east_->keys->report(0).connected);
  later_ += 2s;
  turn_until([&] { return east_->count("keys_agreed") == 2; });
  turn_until([&] { return west_->count("keys_agreed") == 2; });
  EXPECT_TRUE(crosses(*west_, *east_));
  EXPECT_FALSE(east_->path.needs_keys());
  later_ += 30s;
  for (int i = 0; i < 20; ++i)
    turn();
  EXPECT_EQ(east_->count("keys_agreed"), 2u);
}

}  // namespace
}  // namespace weft::daemon
