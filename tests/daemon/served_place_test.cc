// SPDX-License-Identifier: Apache-2.0
// A data service on an external server, in virtual time: packets of a place go there and back over
// a WAN that loses, doubles and mixes up frames, and the place asks for paths on its behalf.
#include "daemon/service/served_place.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "packets.h"
#include "tunnel_world.h"

namespace weft::daemon {
namespace {

using service::test::Buffer;
using service::test::gid;
using wan::ServicePathAnswer;

constexpr Lid kService{0xF};
constexpr Lid kB{0xB};
constexpr Qpn kClosed{0xBAD};
constexpr Qpn kLeavesAsOwn{0x0A0};
constexpr PKey kLimited{0x0001};

// Drops what is for one QP, sends as the place's own what is for another, and tells other instances
// of each packet that it lets go.
class Gate final : public service::Service {
 public:
  explicit Gate(std::vector<Buffer>& applied) : applied_(applied) {}
  std::string_view name() const override { return "gate"; }
  std::span<const CounterInfo> drop_reasons() const override { return kReasons; }
  service::Verdict handle(service::Packet& packet, Time) override {
    if (packet.fields().dest_qp == kClosed) return service::Verdict::drop(0);
    if (packet.fields().dest_qp == kLeavesAsOwn) packet.leave_as_own();
    const Buffer record(5, std::byte{3});
    if (tells) host().publish(record);
    return service::Verdict::forward();
  }
  void apply(Bytes record, Time) override { applied_.emplace_back(record.begin(), record.end()); }
  std::vector<CounterValue> counters() const override { return {{"seen", "", seen}}; }
  bool tells = false;
  std::uint64_t seen = 42;

 private:
  static constexpr std::array<CounterInfo, 1> kReasons{{{"closed", "to that queue pair"}}};
  std::vector<Buffer>& applied_;
};

// The place: what comes back, what is asked and told.
class Place final : public wan::ExternalUser {
 public:
  explicit Place(link::PacketPool& pool) : end({}, pool, *this) {}
  void came(link::PacketPtr packet, Time) override {
    Buffer bytes(packet->size());
    packet->copy_to(bytes);
    EXPECT_TRUE(wire::check_link_crcs(bytes).good());
    back.push_back(std::move(bytes));
  }
  void heard(const wan::ServiceMessage& message, Time now) override {
    if (const auto* question = std::get_if<wan::ServicePathQuestion>(&message)) {
      questions.push_back(*question);
      if (answers) answer(now);
    } else if (const auto* record = std::get_if<wan::ServiceRecord>(&message)) {
      records.emplace_back(record->record.begin(), record->record.end());
    } else if (const auto* counters = std::get_if<wan::ServiceCounters>(&message)) {
      for (const auto& counter : counters->counters)
        told[std::string(counter.name)] = counter.value;
    }
  }
  void answer(Time now) {
    for (const auto& question : std::exchange(questions, {})) {
      EXPECT_EQ(question.via, kService);
      const bool is_own = question.whose == wan::PathWhose::kOwn;
      EXPECT_EQ(question.sgid, is_own ? Gid{} : gid(0xAAAA));
      own += is_own ? 1 : 0;
      const bool known = question.dgid == gid(0xBBBB);
      end.say(ServicePathAnswer{.number = question.number,
                                .found = known,
                                .dlid = known ? kB : Lid{},
                                .slid = known ? kService : Lid{}},
              now);
      ++answered;
    }
  }
  void changed(bool, Time) override {}
  void wake() override { woken = true; }

  bool woken = false;
  bool answers = true;
  int answered = 0;
  int own = 0;  // of these, of the place itself
  std::vector<Buffer> back;
  std::deque<wan::ServicePathQuestion> questions;
  std::vector<Buffer> records;
  std::map<std::string, std::uint64_t> told;
  wan::ExternalEnd end;
};

class ServedPlaceTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  ServedPlaceTest() : world(options_of(GetParam())), place(world.pool) {
    auto made = std::make_unique<Gate>(applied);
    gate = made.get();
    ServedPlace::Services services;
    services.push_back(std::move(made));
    served = std::make_unique<ServedPlace>(
        std::move(services),
        ServedPlace::Manner{.chain = {.pkeys = {{.from = kLimited, .to = kDefaultPKey}}}},
        ServedPlace::Memory{.packets = world.pool, .blocks = blocks}, world.entropy,
        [this] { woken = true; });
    join(0, place.end.port());
    join(1, served->port());
    world.at_each_moment = [this] { run_ends(); };
    EXPECT_TRUE(run_until([this] { return place.end.is_up() && served->is_up(); }, 10s));
  }
  ~ServedPlaceTest() override {
    place.end.port().connect(nullptr, world.now());
    served->port().connect(nullptr, world.now());
    for (const auto& end : world.ends)
      end->port().connect(nullptr, world.now());
    world.at_each_moment = nullptr;
  }
  static wan::WorldOptions options_of(std::uint64_t seed) {
    wan::WorldOptions options;
    options.tunnel.port = wan::ExternalEnd::kPort;
    options.tunnel.mode = wan::TunnelMode::kService;
    options.wan = {.delay = 200us, .jitter = 150us, .loss = 0.02, .duplicate = 0.01};
    options.seed = seed;
    return options;
  }
  void join(std::size_t site, link::Port& port) {
    world.ends[site]->port().connect(nullptr, world.now());
    world.sites[site]->port.connect(nullptr, world.now());
    world.links[site] = std::make_unique<link::DirectLink>(world.pool);
    world.links[site]->join(port, world.ends[site]->port(), world.now());
  }
  void run_ends() {
    const Time now = world.now();
    const auto is_due = [now](std::optional<Time> due) { return due && *due <= now; };
    if (std::exchange(place.woken, false) || is_due(place.end.deadline())) place.end.run(now);
    if (std::exchange(woken, false) || is_due(served->deadline())) served->run(now);
  }
  bool run_until(const std::function<bool()>& holds, Duration most) {
    for (const Time end = world.now() + most; !holds() && world.now() < end;)
      world.run_for(100us);
    return holds();
  }
  // One of the packets of a connection, to be led on by its GRH.
  bool send(std::uint32_t number, Qpn to = Qpn{0x55}, std::uint16_t dgid = 0xBBBB,
            PKey pkey = kDefaultPKey) {
    service::test::Made made;
    made.bth.pkey = pkey;
    made.slid = Lid{0xA};
    made.dlid = kService;
    made.gids = {gid(0xAAAA), gid(dgid)};
    made.bth.dest_qp = to;
    made.bth.psn = Psn{number};
    made.payload = Buffer(number % 512 * 4, std::byte{static_cast<std::uint8_t>(number)});
    const Buffer bytes = make(made);
    auto packet = world.pool.copy(bytes);
    packet->intact = true;
    return place.end.send(std::move(packet), world.now());
  }
  [[nodiscard]] std::uint64_t count(service::RuntimeCounter which) const {
    return served->runtime().counters().get(which);
  }

  wan::World world;
  BufferPool blocks{ServedPlace::kBlock, 16'384};
  Place place;
  std::vector<Buffer> applied;
  Gate* gate = nullptr;
  std::unique_ptr<ServedPlace> served;
  bool woken = false;
};

TEST_P(ServedPlaceTest, ReplacesThePKeysThatItIsToldTo) {
  ASSERT_TRUE(send(8, Qpn{0x55}, 0xBBBB, kLimited));
  ASSERT_TRUE(run_until([&] { return place.back.size() == 1; }, 5s)) << world.describe();
  const Bytes back(place.back.front());
  EXPECT_EQ(wire::Bth::parse(back.subspan(wire::Lrh::kSize + wire::Grh::kSize))->pkey,
            kDefaultPKey);
}

TEST_P(ServedPlaceTest, SendsBackInOrderWhatTheServiceLetsGo) {
  // Until the way is known few packets wait for it, and others are dropped.
  std::uint32_t sent = send(0) ? 1 : 0;
  ASSERT_TRUE(run_until([&] { return place.back.size() == 1; }, 5s)) << world.describe();
  for (std::uint32_t round = 0; round < 50; ++round) {
    for (int i = 0; i < 8; ++i)
      sent += send(sent) ? 1 : 0;
    send(round, kClosed);
    world.run_for(50us);
  }
  ASSERT_EQ(sent, 401u);
  ASSERT_TRUE(run_until([&] { return place.back.size() == sent; }, 20s)) << world.describe();
  for (std::uint32_t i = 0; i < sent; ++i) {
    const wire::LrhView lrh(place.back[i]);
    EXPECT_EQ(lrh.dlid(), kB);
    EXPECT_EQ(lrh.slid(), kService);
    const Bytes transport = Bytes(place.back[i]).subspan(wire::Lrh::kSize + wire::Grh::kSize);
    const auto bth = wire::Bth::parse(transport);
    ASSERT_EQ(bth->psn, Psn{i});
  }
  EXPECT_EQ(place.answered, 1) << "one question for all of them";
  EXPECT_EQ(count(service::RuntimeCounter::kDropByService), 50u);
  // And the place is told what was counted.
  ASSERT_TRUE(run_until([&] { return place.told["closed"] == 50; }, 5s));
  EXPECT_EQ(place.told["drop_by_service"], 50u);
  EXPECT_EQ(place.told["forwarded"], 401u);
  EXPECT_EQ(place.told["seen"], 42u);
  gate->seen = 0;
  EXPECT_TRUE(run_until([&] { return place.told["seen"] == 0; }, 5s));
}

TEST_P(ServedPlaceTest, AsksForPathsOfThePlaceItself) {
  send(1, kLeavesAsOwn);
  ASSERT_TRUE(run_until([&] { return place.back.size() == 1; }, 5s)) << world.describe();
  EXPECT_EQ(place.own, 1);
  send(2);
  ASSERT_TRUE(run_until([&] { return place.back.size() == 2; }, 5s)) << world.describe();
  EXPECT_EQ(place.own, 1);
  EXPECT_EQ(place.answered, 2) << "another path";
}

TEST_P(ServedPlaceTest, DropsWhatHasNoPath) {
  send(1, Qpn{0x55}, 0xCCCC);
  const auto refused = [&] { return count(service::RuntimeCounter::kDropNoPath) == 1; };
  ASSERT_TRUE(run_until(refused, 5s)) << world.describe();
  // The answer may never come.
  place.answers = false;
  send(2, Qpn{0x55}, 0xDDDD);
  const auto late = [&] {
    return count(service::RuntimeCounter::kDropNoPath) +
               count(service::RuntimeCounter::kDropHoldExpired) ==
           2;
  };
  EXPECT_TRUE(run_until(late, 10s)) << world.describe();
  EXPECT_TRUE(place.back.empty());
}

TEST_P(ServedPlaceTest, AsksAgainWhenPathsHaveChanged) {
  send(1);
  ASSERT_TRUE(run_until([&] { return place.back.size() == 1; }, 5s));
  place.end.say(wan::ServicePathsChanged{}, world.now());
  world.run_for(50ms);
  send(2);
  ASSERT_TRUE(run_until([&] { return place.back.size() == 2; }, 5s));
  EXPECT_EQ(place.answered, 2);
}

TEST_P(ServedPlaceTest, PassesRecordsOfInstancesOn) {
  gate->tells = true;
  send(1);
  ASSERT_TRUE(run_until([&] { return place.records.size() == 1; }, 5s));
  EXPECT_EQ(place.records[0], Buffer(5, std::byte{3}));
  const Buffer record(17, std::byte{9});
  place.end.say(wan::ServiceRecord{.service = 0, .record = record}, world.now());
  ASSERT_TRUE(run_until([&] { return applied.size() == 1; }, 5s));
  EXPECT_EQ(applied[0], record);
  // Of a service that there is not.
  place.end.say(wan::ServiceRecord{.service = 7, .record = record}, world.now());
  EXPECT_TRUE(run_until([&] { return count(service::RuntimeCounter::kBadRecords) == 1; }, 5s));
}

INSTANTIATE_TEST_SUITE_P(Seeds, ServedPlaceTest, testing::Range<std::uint64_t>(1, 13));

}  // namespace
}  // namespace weft::daemon
