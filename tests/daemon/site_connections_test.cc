// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/site_connections.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "io/socket_address.h"

namespace weft::daemon {
namespace {

struct Visitor {
  [[nodiscard]] const io::SocketAddress& address() const { return from; }
  [[nodiscard]] std::optional<Time> deadline() const { return until; }
  [[nodiscard]] std::optional<Error> error() const { return why; }
  io::SocketAddress from{};
  std::optional<Time> until{};
  std::optional<Error> why{};
};

std::unique_ptr<Visitor> visitor(const char* from, std::optional<Time> until = {}) {
  auto out = std::make_unique<Visitor>();
  out->from = *io::SocketAddress::parse(from);
  out->until = until;
  return out;
}

TEST(Newcomers, MakeRoomAmongThoseOfWhoeverHasTheMost) {
  Newcomers<Visitor> all;
  EXPECT_FALSE(all.add(visitor("192.0.2.1:1")));
  for (std::size_t i = 2; i < Newcomers<Visitor>::kMost; ++i)
    EXPECT_FALSE(all.add(visitor("192.0.2.2:1"))) << i;
  EXPECT_FALSE(all.add(visitor("[2001:db8::1]:1")));
  EXPECT_TRUE(all.add(visitor("192.0.2.3:1")));
  std::vector<std::string> left;
  all.run([&](const auto& each) { left.push_back(each->from.to_string()); });
  ASSERT_EQ(left.size(), Newcomers<Visitor>::kMost);
  EXPECT_EQ(left.front(), "192.0.2.1:1");
  EXPECT_EQ(left[Newcomers<Visitor>::kMost - 2], "[2001:db8::1]:1");
  EXPECT_EQ(left.back(), "192.0.2.3:1");
}

TEST(Newcomers, AreThereUntilSomebodyTakesThem) {
  Newcomers<Visitor> all;
  EXPECT_EQ(all.deadline(), std::nullopt);
  all.add(visitor("192.0.2.1:1", Time(2s)));
  all.add(visitor("192.0.2.2:1", Time(1s)));
  all.add(visitor("192.0.2.3:1"));
  EXPECT_EQ(all.deadline(), Time(1s));
  all.run([](auto& each) {
    if (each->until == Time(1s)) each.reset();
  });
  EXPECT_EQ(all.deadline(), Time(2s));
  int left = 0;
  all.run([&](const auto&) { ++left; });
  EXPECT_EQ(left, 2);
}

TEST(SiteConnections, AreAFewOfOneSite) {
  std::vector<std::unique_ptr<Visitor>> standing;
  for (const char* const from : {"192.0.2.1:1", "192.0.2.1:2", "192.0.2.1:3", "192.0.2.1:4"})
    keep_newest(standing, visitor(from));
  ASSERT_EQ(standing.size(), 3u);
  EXPECT_EQ(standing.front()->from.port, 2);
  EXPECT_EQ(standing.back()->from.port, 4);
}

TEST(SiteConnections, AreTriedAgainLaterAndLaterUntilOneStands) {
  Retries retries;
  EXPECT_EQ(retries.next(), Time{});
  for (const Duration pause : std::to_array<Duration>({250ms, 500ms, 1s, 2s, 4s, 8s, 8s})) {
    retries.failed(Time(1h));
    EXPECT_EQ(retries.next(), Time(1h) + pause);
  }
  retries.succeeded();
  retries.failed(Time(2h));
  EXPECT_EQ(retries.next(), Time(2h) + 250ms);
  retries.wait_until(Time(3h));
  EXPECT_EQ(retries.next(), Time(3h));
}

TEST(SiteConnections, SayWhyTheyHaveEnded) {
  Visitor gone;
  EXPECT_EQ(end_of(gone).message, "the other end has closed the connection");
  gone.why = Error{std::errc::timed_out, "late"};
  EXPECT_EQ(end_of(gone).message, "late");
}

}  // namespace
}  // namespace weft::daemon
