// SPDX-License-Identifier: Apache-2.0
// A router on an external server, in virtual time: two ports of its place, each in another subnet,
// have a way of their own to it, and what comes by the one goes back by the other.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "base/random.h"
#include "daemon/service/served_place.h"
#include "link/direct_link.h"
#include "packets.h"
#include "service/router/router.h"

namespace weft::daemon {
namespace {

using service::test::Buffer;

constexpr std::uint64_t kWest = 0xFD00'0000'0000'0001;
constexpr std::uint64_t kEast = 0xFD00'0000'0000'0002;

Gid gid(std::uint64_t prefix, std::uint8_t last) {
  std::array<std::uint8_t, 16> bytes{};
  for (std::size_t i = 0; i < 8; ++i)
    bytes[i] = static_cast<std::uint8_t>(prefix >> (56 - 8 * i));
  bytes[15] = last;
  return Gid{bytes};
}

// Tells others of each packet, as a firewall before a router does.
class Teller final : public service::Service {
 public:
  std::string_view name() const override { return "teller"; }
  std::span<const CounterInfo> drop_reasons() const override { return {}; }
  service::Verdict handle(service::Packet&, Time) override {
    const Buffer record(5, std::byte{3});
    host().publish(record);
    return service::Verdict::forward();
  }
};

// One port of the place: what comes back by it, is asked and told there.
class Port final : public wan::ExternalUser {
 public:
  explicit Port(link::PacketPool& pool) : end({}, pool, *this) {}
  void came(link::PacketPtr packet, Time) override {
    Buffer bytes(packet->size());
    packet->copy_to(bytes);
    EXPECT_TRUE(wire::check_link_crcs(bytes).good());
    back.push_back(std::move(bytes));
  }
  void heard(const wan::ServiceMessage& message, Time now) override {
    if (const auto* question = std::get_if<wan::ServicePathQuestion>(&message)) {
      questions.push_back(*question);
      end.say(
          wan::ServicePathAnswer{
              .number = question->number, .found = true, .dlid = Lid{0xB}, .slid = Lid{0xF}},
          now);
    } else if (std::holds_alternative<wan::ServiceRecord>(message)) {
      ++records;
    } else if (const auto* counters = std::get_if<wan::ServiceCounters>(&message)) {
      for (const auto& counter : counters->counters)
        told[std::string(counter.name)] = counter.value;
    }
  }
  void changed(bool, Time) override {}
  void wake() override {}

  std::vector<Buffer> back;
  std::vector<wan::ServicePathQuestion> questions;
  int records = 0;
  std::map<std::string, std::uint64_t> told;
  wan::ExternalEnd end;
};

class ServedRouterTest : public testing::Test {
 protected:
  ServedRouterTest() {
    ServedPlace::Services services;
    services.push_back(std::make_unique<Teller>());
    auto router = std::make_unique<service::Router>();
    auto& core = *router;
    services.push_back(std::move(router));
    served = std::make_unique<ServedPlace>(
        std::move(services),
        ServedPlace::Manner{
            .ports = 2,
            .in_subnet = [&core](mgmt::PortNumber port,
                                 std::uint64_t prefix) { core.set_subnet(port, prefix); }},
        ServedPlace::Memory{.packets = pool, .blocks = blocks}, entropy, [] {});
    for (std::size_t i = 0; i < 2; ++i)
      links[i].join(ports[i].end.port(), served->port(i + 1), now);
    EXPECT_TRUE(run_until([this] { return all_up(); }));
  }
  ~ServedRouterTest() override {
    for (std::size_t i = 0; i < 2; ++i) {
      ports[i].end.port().connect(nullptr, now);
      served->port(i + 1).connect(nullptr, now);
    }
  }
  [[nodiscard]] bool all_up() const {
    return served->is_up() && ports[0].end.is_up() && ports[1].end.is_up();
  }
  bool run_until(const std::function<bool()>& holds) {
    for (int turn = 0; turn < 10'000 && !holds(); ++turn) {
      for (Port& port : ports)
        port.end.run(now);
      served->run(now);
      now += 1ms;
    }
    return holds();
  }
  void say_subnets() {
    ports[0].end.say(wan::ServiceSubnet{.prefix = kWest}, now);
    ports[1].end.say(wan::ServiceSubnet{.prefix = kEast}, now);
  }
  void send(std::size_t by, const Gid& from, const Gid& to) {
    service::test::Made made;
    made.slid = Lid{0xA};
    made.dlid = Lid{0xE};
    made.gids = {from, to};
    made.hops = 5;
    auto packet = pool.copy(make(made));
    packet->intact = true;
    ASSERT_TRUE(ports[by].end.send(std::move(packet), now));
  }
  [[nodiscard]] std::uint64_t dropped(std::string_view why) const {
    for (const CounterValue& counter : served->drops()) {
      if (counter.name == why) return counter.value;
    }
    return 0;
  }

  Time now{};
  BufferPool payloads{link::PacketPool::kPayloadBlock, 4096};
  link::PacketPool pool{4096, payloads};
  BufferPool blocks{ServedPlace::kBlock, 4096};
  SeededEntropy entropy{Random(1)};
  std::array<Port, 2> ports{Port(pool), Port(pool)};
  std::unique_ptr<ServedPlace> served;
  std::array<link::DirectLink, 2> links{link::DirectLink(pool), link::DirectLink(pool)};
};

TEST_F(ServedRouterTest, LeadsPacketsFromEachPortToTheOtherOne) {
  say_subnets();
  for (const std::size_t by : {0U, 1U}) {
    const Gid from = gid(by == 0 ? kWest : kEast, 1);
    const Gid to = gid(by == 0 ? kEast : kWest, 2);
    Port& there = ports[1 - by];
    send(by, from, to);
    ASSERT_TRUE(run_until([&] { return there.back.size() == 1; }));
    const wire::LrhView lrh(there.back[0]);
    EXPECT_EQ(lrh.dlid(), Lid{0xB});
    EXPECT_EQ(lrh.slid(), Lid{0xF});
    const auto grh = wire::Grh::parse(Bytes(there.back[0]).subspan(wire::Lrh::kSize));
    ASSERT_TRUE(grh);
    EXPECT_EQ(grh->hop_limit, 4);
    // It was asked where it goes to, as of what the service has brought there.
    ASSERT_EQ(there.questions.size(), 1u);
    EXPECT_EQ(there.questions[0].whose, wan::PathWhose::kBrought);
    EXPECT_EQ(there.questions[0].sgid, from);
    EXPECT_EQ(there.questions[0].dgid, to);
    // What follows waits for nothing.
    send(by, from, to);
    ASSERT_TRUE(run_until([&] { return there.back.size() == 2; }));
    EXPECT_EQ(there.questions.size(), 1u);
  }
  // Records are told once, and counters too.
  ASSERT_TRUE(run_until([&] { return ports[0].told["routed"] == 4; }));
  EXPECT_EQ(ports[0].records, 4);
  EXPECT_EQ(ports[1].records, 0);
  EXPECT_TRUE(ports[1].told.empty());
}

TEST_F(ServedRouterTest, RoutesNothingToASubnetThatItIsNotTold) {
  ports[0].end.say(wan::ServiceSubnet{.prefix = kWest}, now);
  send(0, gid(kWest, 1), gid(kEast, 2));
  ASSERT_TRUE(run_until([&] { return dropped("no_route") == 1; }));
  say_subnets();
  // One who says that he is from elsewhere.
  send(0, gid(kEast, 1), gid(kEast, 2));
  ASSERT_TRUE(run_until([&] { return dropped("foreign_source") == 1; }));
  EXPECT_TRUE(ports[0].back.empty() && ports[1].back.empty());
}

TEST_F(ServedRouterTest, HasNoSubnetWhereTheWayIsGone) {
  say_subnets();
  send(0, gid(kWest, 1), gid(kEast, 2));
  ASSERT_TRUE(run_until([&] { return ports[1].back.size() == 1; }));
  links[1].set_plugged(false, now);
  ASSERT_TRUE(run_until([&] { return !served->is_up(2); }));
  EXPECT_TRUE(served->is_up(1));
  EXPECT_FALSE(served->is_up());
  send(0, gid(kWest, 1), gid(kEast, 2));
  ASSERT_TRUE(run_until([&] { return dropped("no_route") == 1; }));
  // Nor when it is there again, until it says so.
  links[1].set_plugged(true, now);
  ASSERT_TRUE(run_until([&] { return all_up(); }));
  send(0, gid(kWest, 1), gid(kEast, 2));
  ASSERT_TRUE(run_until([&] { return dropped("no_route") == 2; }));
  say_subnets();
  send(0, gid(kWest, 1), gid(kEast, 2));
  ASSERT_TRUE(run_until([&] { return ports[1].back.size() == 2; }));
}

}  // namespace
}  // namespace weft::daemon
