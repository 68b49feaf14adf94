// SPDX-License-Identifier: Apache-2.0
// The way to an external server, over tunnels in virtual time: messages as bytes, and both ends
// over a WAN that loses, doubles and mixes up frames.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tunnel_world.h"
#include "wan/external/external_end.h"
#include "wire/link_crc.h"

namespace weft::wan {
namespace {

Gid gid(std::uint8_t last) {
  std::array<std::uint8_t, 16> bytes{0xFE, 0x80};
  bytes[15] = last;
  return Gid{bytes};
}

const ServicePathQuestion kQuestion{.number = 0x0123'4567'89AB'CDEF,
                                    .sgid = gid(1),
                                    .dgid = gid(2),
                                    .pkey = PKey{0x8001},
                                    .sl = Sl{3},
                                    .via = Lid{0xF}};
const ServicePathAnswer kAnswer{
    .number = 9, .found = true, .dlid = Lid{0xB}, .slid = Lid{0xF}, .sl = Sl{2}};

template <class Message>
std::optional<Message> again(const Message& message) {
  const auto bytes = write(message);
  EXPECT_TRUE(is_service_message(bytes));
  EXPECT_TRUE(wire::check_link_crcs(bytes).good());
  const auto read = parse_service_message(bytes);
  const auto* const same = read ? std::get_if<Message>(&*read) : nullptr;
  return same ? std::optional(*same) : std::nullopt;
}

TEST(ServiceMessage, ReadsAsItIsWritten) {
  EXPECT_EQ(again(kQuestion), kQuestion);
  ServicePathQuestion own = kQuestion;
  own.sgid = Gid{};
  own.whose = PathWhose::kOwn;
  EXPECT_EQ(again(own), own);
  ServicePathQuestion brought = kQuestion;
  brought.whose = PathWhose::kBrought;
  EXPECT_EQ(again(brought), brought);
  EXPECT_EQ(again(kAnswer), kAnswer);
  EXPECT_EQ(again(ServicePathAnswer{.number = 1}), ServicePathAnswer{.number = 1});
  EXPECT_TRUE(again(ServicePathsChanged{}));
  const ServiceSubnet subnet{.prefix = 0xFD00'0000'0000'0001};
  EXPECT_EQ(again(subnet), subnet);
  const std::vector<std::byte> record(ServiceRecord::kMost, std::byte{7});
  const auto bytes = write(ServiceRecord{.service = 3, .record = record});
  const auto read = parse_service_message(bytes);
  ASSERT_TRUE(read && std::holds_alternative<ServiceRecord>(*read));
  EXPECT_EQ(std::get<ServiceRecord>(*read).service, 3);
  EXPECT_TRUE(std::ranges::equal(std::get<ServiceRecord>(*read).record, record));
}

TEST(ServiceMessage, HasManyCountersAtATime) {
  ServiceCounters message{.topic = CounterTopic::kDrops};
  const std::string name(ServiceCounters::kMostName, 'x');
  for (std::size_t i = 0; i < ServiceCounters::kMost; ++i)
    message.counters.push_back({.name = name, .value = i});
  const auto bytes = write(message);
  const auto read = parse_service_message(bytes);
  ASSERT_TRUE(read && std::holds_alternative<ServiceCounters>(*read));
  EXPECT_EQ(std::get<ServiceCounters>(*read).counters, message.counters);
  EXPECT_EQ(std::get<ServiceCounters>(*read).topic, message.topic);
}

// With a byte at this place changed.
std::optional<ServiceMessage> changed(const ServiceMessage& message, std::size_t at,
                                      std::uint8_t value) {
  auto bytes = write(message);
  bytes.at(at) = std::byte{value};
  return parse_service_message(bytes);
}

TEST(ServiceMessage, RefusesWhatCannotBe) {
  const auto bytes = write(kQuestion);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(parse_service_message(Bytes(bytes).first(size))) << size;
  EXPECT_TRUE(changed(kQuestion, 12, 1));
  EXPECT_FALSE(changed(kQuestion, 12, 2)) << "another version";
  EXPECT_FALSE(changed(kQuestion, 13, 0)) << "no type";
  EXPECT_FALSE(changed(kQuestion, 13, 9)) << "no type";
  EXPECT_FALSE(changed(kQuestion, 13, 2)) << "too long for an answer";
  EXPECT_FALSE(changed(kQuestion, 15, 47)) << "another length";
  EXPECT_FALSE(changed(kQuestion, 16 + 42, 16)) << "no SL";
  EXPECT_FALSE(changed(kQuestion, 16 + 43, 1)) << "the place's own, and of somebody else";
  EXPECT_TRUE(changed(kQuestion, 16 + 43, 2));
  EXPECT_FALSE(changed(kQuestion, 16 + 43, 3)) << "nobody's";
  EXPECT_FALSE(changed(kAnswer, 16 + 8, 2)) << "neither yes nor no";
  EXPECT_FALSE(changed(kAnswer, 16 + 10, 0xC0)) << "to a multicast LID";
  EXPECT_FALSE(changed(kAnswer, 16 + 12, 0xC0)) << "from a multicast LID";
  EXPECT_FALSE(changed(ServicePathsChanged{}, 18, 1)) << "padding";
  EXPECT_FALSE(changed(ServiceSubnet{}, 15, 7)) << "too short for a prefix";
  const ServiceCounters counters{.counters = {{.name = "drops", .value = 1}}};
  EXPECT_TRUE(changed(counters, 16 + 3, 'a'));
  EXPECT_FALSE(changed(counters, 16 + 3, 'A')) << "no name of a counter";
  EXPECT_FALSE(changed(counters, 16, 3)) << "no topic";
  EXPECT_FALSE(changed(counters, 16 + 1, 2)) << "more than there are";
  EXPECT_FALSE(changed(counters, 16 + 2, 200)) << "a name beyond the end";
  // Of somebody else, by its first headers.
  EXPECT_FALSE(changed(kQuestion, 2, 0)) << "to a LID";
  EXPECT_FALSE(changed(kQuestion, 7, 1)) << "from a LID";
  EXPECT_FALSE(changed(kQuestion, 1, 2)) << "not raw";
  EXPECT_FALSE(changed(kQuestion, 11, 0xB5)) << "of another EtherType";
}

// One end: what comes, and whether it takes it.
class End final : public ExternalUser {
 public:
  explicit End(link::PacketPool& pool) : end({.most = 64}, pool, *this) {}

  void came(link::PacketPtr packet, Time) override {
    if (!packet->vcrc_good()) ++damaged;
    const std::size_t flow = packet->lrh().sl.value();
    const std::uint32_t number = link::number_of(*packet);
    if (number < next[flow]) ++disorder;
    next[flow] = number + 1;
    ++packets;
    if (keeps) kept.push_back(std::move(packet));
  }
  void heard(const ServiceMessage& message, Time) override {
    const auto* const answer = std::get_if<ServicePathAnswer>(&message);
    if (answer != nullptr) answers.push_back(answer->number);
  }
  void changed(bool up, Time) override { ups.push_back(up); }
  void wake() override { woken = true; }
  std::uint64_t count(ExternalCounter counter) const { return end.counters().get(counter); }

  bool woken = false;
  bool keeps = false;
  std::vector<link::PacketPtr> kept;
  std::array<std::uint32_t, 16> next{};
  std::uint64_t packets = 0;
  std::uint64_t disorder = 0;
  std::uint64_t damaged = 0;
  std::vector<std::uint64_t> answers;
  std::vector<bool> ups;
  ExternalEnd end;
};

WorldOptions options_of(std::uint64_t seed) {
  WorldOptions options;
  options.tunnel.port = ExternalEnd::kPort;
  options.tunnel.mode = TunnelMode::kService;
  options.tunnel.silence = 1s;
  options.wan = {.delay = 300us, .jitter = 200us, .loss = 0.02, .duplicate = 0.01};
  options.seed = seed;
  return options;
}

class Way {
 public:
  explicit Way(const WorldOptions& options) : world(options) {
    for (std::size_t site = 0; site < 2; ++site)
      join(site);
    world.at_each_moment = [this] { run_ends(); };
  }
  ~Way() {
    for (std::size_t site = 0; site < 2; ++site) {
      ends[site].kept.clear();
      ends[site].end.port().connect(nullptr, world.now());
      world.ends[site]->port().connect(nullptr, world.now());
    }
    world.at_each_moment = nullptr;
  }

  // In place of the ports that the world has there.
  void join(std::size_t site) {
    world.ends[site]->port().connect(nullptr, world.now());
    world.sites[site]->port.connect(nullptr, world.now());
    world.links[site] = std::make_unique<link::DirectLink>(world.pool);
    world.links[site]->join(ends[site].end.port(), world.ends[site]->port(), world.now());
  }
  // The process at that end is killed, and another one begins in its place.
  void restart(std::size_t site) {
    ends[site].end.port().connect(nullptr, world.now());
    world.restart(site);
    join(site);
  }
  void run_ends() {
    for (End& end : ends) {
      const auto due = end.end.deadline();
      if (!std::exchange(end.woken, false) && (!due || *due > world.now())) continue;
      end.end.run(world.now());
    }
  }
  // In steps: the world does not know when the ends have something to do.
  bool run_until(const std::function<bool()>& holds, Duration most) {
    for (const Time end = world.now() + most; !holds() && world.now() < end;)
      world.run_for(100us);
    return holds();
  }
  bool come_up() {
    return run_until([this] { return ends[0].end.is_up() && ends[1].end.is_up(); }, 10s);
  }
  bool send(std::size_t from, Sl flow, std::size_t payload, bool reserved = false) {
    auto bytes = link::make_packet({.vl = Vl{static_cast<std::uint8_t>(flow.value() % 8)},
                                    .sl = flow,
                                    .payload = payload,
                                    .number = numbers[from][flow.value()]});
    if (reserved) bytes = write(kAnswer);
    auto packet = world.pool.copy(bytes);
    packet->intact = true;
    const bool sent = ends[from].end.send(std::move(packet), world.now());
    if (sent) ++numbers[from][flow.value()];
    return sent;
  }

  World world;
  std::array<End, 2> ends{End(world.pool), End(world.pool)};
  std::array<std::array<std::uint32_t, 16>, 2> numbers{};
};

TEST(ExternalEnd, CarriesPacketsAndMessagesOverABadNetwork) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    Way way(options_of(seed));
    ASSERT_TRUE(way.come_up()) << way.world.describe();
    std::uint64_t sent = 0;
    std::uint64_t said = 0;
    for (std::uint64_t round = 0; round < 60; ++round) {
      for (std::size_t from = 0; from < 2; ++from) {
        for (std::uint8_t flow = 0; flow < 10; ++flow)
          sent += way.send(from, Sl{flow}, round * 37 % 4096 / 4 * 4) ? 1 : 0;
        ServicePathAnswer answer = kAnswer;
        answer.number = round;
        said += way.ends[from].end.say(answer, way.world.now()) ? 1 : 0;
      }
      way.world.run_for(100us);
    }
    const auto all = [&] {
      return way.ends[0].packets + way.ends[1].packets == sent &&
             way.ends[0].answers.size() + way.ends[1].answers.size() == said;
    };
    ASSERT_TRUE(way.run_until(all, 20s)) << way.world.describe();
    EXPECT_EQ(said, 120u);
    for (End& end : way.ends) {
      EXPECT_EQ(end.disorder, 0u);
      EXPECT_EQ(end.damaged, 0u);
      EXPECT_TRUE(std::ranges::is_sorted(end.answers));
      EXPECT_EQ(end.ups, std::vector<bool>{true});
      EXPECT_EQ(end.count(ExternalCounter::kDown), 0u);
      // Whatever was not sent was counted.
      EXPECT_EQ(end.count(ExternalCounter::kOut) + end.count(ExternalCounter::kTooMuch), 600u);
    }
  }
}

TEST(ExternalEnd, MakesWhoSendsWaitAndThenCountsWhatIsTooMuch) {
  Way way(options_of(7));
  ASSERT_TRUE(way.come_up());
  way.ends[1].keeps = true;
  constexpr std::uint64_t kTries = 4000;
  for (std::uint64_t i = 0; i < kTries; ++i) {
    way.send(0, Sl{1}, 2048);
    if (i % 16 == 0) way.world.run_for(100us);
  }
  way.world.run_for(100ms);
  const std::uint64_t refused = way.ends[0].count(ExternalCounter::kTooMuch);
  EXPECT_GT(refused, 0u);
  EXPECT_LT(way.ends[1].packets, kTries - refused) << "nothing waits";
  // A message has its own lane.
  way.ends[0].end.say(kAnswer, way.world.now());
  EXPECT_TRUE(way.run_until([&] { return way.ends[1].answers.size() == 1; }, 5s));
  way.ends[1].keeps = false;
  way.ends[1].kept.clear();
  EXPECT_TRUE(way.run_until([&] { return way.ends[1].packets == kTries - refused; }, 20s));
  EXPECT_EQ(way.ends[1].disorder, 0u);
}

TEST(ExternalEnd, TellsWhenTheOtherOneGoesAndComesBack) {
  Way way(options_of(3));
  ASSERT_TRUE(way.come_up());
  way.restart(1);
  ASSERT_TRUE(way.run_until([&] { return way.ends[0].ups.size() == 3; }, 20s))
      << way.world.describe();
  EXPECT_EQ(way.ends[0].ups, (std::vector<bool>{true, false, true}));
  ASSERT_TRUE(way.come_up());
  EXPECT_TRUE(way.send(0, Sl{1}, 64));
  EXPECT_TRUE(way.run_until([&] { return way.ends[1].packets == 1; }, 5s));
  // And when it does not come back.
  way.world.paths[0]->cut = way.world.paths[1]->cut = true;
  ASSERT_TRUE(way.run_until([&] { return !way.ends[0].end.is_up(); }, 5s));
  EXPECT_FALSE(way.send(0, Sl{1}, 64));
  EXPECT_FALSE(way.ends[0].end.say(kAnswer, way.world.now()));
  EXPECT_EQ(way.ends[0].count(ExternalCounter::kDown), 1u);
  EXPECT_EQ(way.ends[0].count(ExternalCounter::kNotSaid), 1u);
}

TEST(ExternalEnd, TakesNoPacketOfTheFabricForAMessage) {
  Way way(options_of(5));
  ASSERT_TRUE(way.come_up());
  EXPECT_FALSE(way.send(0, Sl{1}, 64, true));
  EXPECT_EQ(way.ends[0].count(ExternalCounter::kReserved), 1u);
  way.world.run_for(100ms);
  EXPECT_TRUE(way.ends[1].answers.empty());
}

TEST(ExternalEnd, HasNothingToDoWithExtenders) {
  WorldOptions options = options_of(1);
  options.other = options.tunnel;
  options.other->mode = TunnelMode::kBridge;
  Way way(options);
  EXPECT_FALSE(way.come_up());
  EXPECT_EQ(way.world.ends[0]->session().why(),
            "the other end is in mode bridge, this one in mode service");
}

}  // namespace
}  // namespace weft::wan
