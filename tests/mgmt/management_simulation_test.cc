// SPDX-License-Identifier: Apache-2.0
// Programs that ask each other's nodes and a subnet administrator, with answers of many lengths, on
// subnets as bad as a seed likes: every request ends once, with the right answer or a time-out, and
// nothing is left over.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "management_world.h"
#include "sim/seeds.h"
#include "wire/sa/sa_header.h"

namespace weft::mgmt::test {
namespace {

constexpr std::size_t kHeaders = wire::SaHeader::kDataOffset;

std::string replay(std::uint64_t seed) {
  const auto* const info = ::testing::UnitTest::GetInstance()->current_test_info();
  return sim::how_to_replay(seed, std::string(info->test_suite_name()) + "." + info->name());
}

// The data that belongs to a key, of a length that the key tells: mostly short, sometimes long.
std::vector<std::byte> data_of_key(std::uint64_t key) {
  Random random(key);
  const std::size_t most = random.chance(0.3) ? 60'000 : 1'000;
  std::vector<std::byte> data(random.below(most));
  for (std::byte& byte : data)
    byte = static_cast<std::byte>(random.next());
  return data;
}

// A message of the administrator's class: its SM_Key is the key of its data.
std::vector<std::byte> sa_message(MadMethod method, std::uint64_t transaction_id, std::uint64_t key,
                                  std::uint64_t data_key) {
  std::vector<std::byte> message(kHeaders);
  wire::MadHeader{.mgmt_class = MgmtClass::kSubnAdm,
                  .class_version = wire::kSaClassVersion,
                  .method = method,
                  .transaction_id = transaction_id,
                  .attribute_id = 0x11}
      .write(message);
  wire::RmppHeader{.type = wire::RmppType::kData, .flags = wire::kRmppActive}.write(message);
  wire::SaHeader{.sm_key = key}.write(message);
  const std::vector<std::byte> data = data_of_key(data_key);
  message.insert(message.end(), data.begin(), data.end());
  return message;
}

bool holds(Bytes message, std::uint64_t data_key) {
  const std::vector<std::byte> data = data_of_key(data_key);
  return message.size() == kHeaders + data.size() &&
         std::equal(data.begin(), data.end(), message.begin() + kHeaders);
}

constexpr std::uint64_t kQuestion = 0x5151'0000'0000'0000;  // data of long requests

// Answers GetTable, and GetMulti with data in the request too; represses traps.
class Manager final : public MadClient {
 public:
  Manager(ManagementWorld& world, ManagedHost& host)
      : world_(world), port_(host.management.mad_port(1)) {
    AgentRequest administrator{
        .mgmt_class = MgmtClass::kSubnAdm, .class_version = wire::kSaClassVersion, .rmpp = true};
    administrator.methods.set(static_cast<std::size_t>(MadMethod::kGetTable));
    administrator.methods.set(static_cast<std::size_t>(MadMethod::kGetMulti));
    administrator_ = *port_.add_agent(administrator, *this);
    AgentRequest subnet{.mgmt_class = MgmtClass::kSubnLid, .class_version = 1};
    subnet.methods.set(static_cast<std::size_t>(MadMethod::kTrap));
    subnet_ = *port_.add_agent(subnet, *this);
  }
  void received(AgentId agent, const ReceivedMad& mad) override {
    const wire::MadHeader header = *wire::MadHeader::parse(mad.mad);
    if (agent == subnet_) {
      ++traps;
      MadBuffer repress =
          make_mad(MgmtClass::kSubnLid, 1, MadMethod::kTrapRepress, 2, 0, header.transaction_id);
      EXPECT_TRUE(port_.send(subnet_, {.to = mad.from, .mad = repress}, world_.scheduler.now()));
      return;
    }
    const std::uint64_t key = wire::SaHeader::parse(mad.mad)->sm_key;
    const bool multi = header.method == MadMethod::kGetMulti;
    EXPECT_TRUE(!multi || holds(mad.mad, key ^ kQuestion));
    const std::vector<std::byte> answer =
        sa_message(multi ? MadMethod::kGetMultiResponse : MadMethod::kGetTableResponse,
                   header.transaction_id, key, key);
    // The same question again, while the answer to it is on its way: that one will do.
    if (port_.send(administrator_, {.to = mad.from, .mad = answer, .timeout = 50ms, .retries = 10},
                   world_.scheduler.now())) {
      ++answers;
    }
  }
  void finished(AgentId, std::uint64_t, Bytes, MadResult) override { ++ended; }
  std::size_t answers = 0;
  std::size_t ended = 0;
  std::size_t traps = 0;

 private:
  ManagementWorld& world_;
  MadPort& port_;
  AgentId administrator_;
  AgentId subnet_;
};

// Asks the manager and its neighbours for one thing after the other.
class Asker final : public MadClient {
 public:
  Asker(ManagementWorld& world, ManagedHost& host, std::size_t questions)
      : world_(world), host_(host), port_(host.management.mad_port(1)), left_(questions) {
    const auto add = [this](MgmtClass mgmt_class, std::uint8_t version, bool rmpp) {
      return *port_.add_agent({.mgmt_class = mgmt_class, .class_version = version, .rmpp = rmpp},
                              *this);
    };
    sa_ = add(MgmtClass::kSubnAdm, wire::kSaClassVersion, true);
    smp_ = add(MgmtClass::kSubnLid, 1, false);
    perf_ = add(MgmtClass::kPerf, 1, false);
  }
  void start() {
    for (int at_once = 0; at_once < 4; ++at_once)
      ask();
  }
  void received(AgentId agent, const ReceivedMad& mad) override {
    ASSERT_TRUE(mad.cookie);
    ASSERT_EQ(open_.erase(*mad.cookie), 1u) << "answered twice, or after it had ended";
    ++answered;
    EXPECT_TRUE(agent != sa_ || holds(mad.mad, *mad.cookie));
    if (agent == smp_) {
      const auto info = *wire::NodeInfo::parse(mad.mad.subspan(64));
      EXPECT_EQ(info.node_guid, Guid{0x1000'0000u + mad.from.lid.value()});
    }
    EXPECT_TRUE(agent != perf_ || wire::load_u8(mad.mad.data() + 65) == 1);
    ask();
  }
  void finished(AgentId, std::uint64_t cookie, Bytes, MadResult result) override {
    ASSERT_EQ(open_.erase(cookie), 1u);
    // Aborted: the manager has given up sending a long answer to a long question.
    EXPECT_NE(result, MadResult::kSent);
    ++timed_out;
    ask();
  }
  [[nodiscard]] bool done() const { return left_ == 0 && open_.empty(); }
  std::size_t answered = 0;
  std::size_t timed_out = 0;

 private:
  void ask() {
    if (left_ == 0) return;
    --left_;
    Random& random = world_.random();
    const std::uint64_t cookie = random.next();
    open_.insert(cookie);
    MadRequest request{.timeout = 100ms, .retries = 20, .cookie = cookie};
    const std::uint64_t id = ++last_id_;
    std::vector<std::byte> bytes;
    AgentId agent = sa_;
    if (random.chance(0.5)) {
      const bool multi = random.chance(0.3);
      bytes = sa_message(multi ? MadMethod::kGetMulti : MadMethod::kGetTable, id, cookie,
                         cookie ^ kQuestion);
      if (!multi) {
        // A short question: one datagram, without RMPP.
        bytes.resize(kHeaders);
        wire::RmppHeader{.version = 0}.write(bytes);
      }
      request.to = {.lid = Lid{1}, .qpn = kQp1, .qkey = kGsiQKey};
    } else {
      const bool smp = random.chance(0.5);
      agent = smp ? smp_ : perf_;
      MadBuffer mad = smp ? make_smp(MadMethod::kGet, SmAttribute::kNodeInfo)
                          : make_mad(MgmtClass::kPerf, 1, MadMethod::kGet, 0x1D);
      if (!smp) wire::store_u8(mad.data() + 65, 1);
      wire::store_be64(mad.data() + 8, id);
      bytes.assign(mad.begin(), mad.end());
      // To itself too.
      const auto lid = static_cast<std::uint16_t>(random.between(1, world_.hosts().size()));
      request.to = {.lid = Lid{lid}, .qpn = smp ? kQp0 : kQp1, .qkey = smp ? QKey{} : kGsiQKey};
    }
    request.mad = bytes;
    const auto sent = port_.send(agent, request, world_.scheduler.now());
    ASSERT_TRUE(sent) << sent.error().message;
  }

  ManagementWorld& world_;
  ManagedHost& host_;
  MadPort& port_;
  AgentId sa_;
  AgentId smp_;
  AgentId perf_;
  std::size_t left_;
  std::uint64_t last_id_ = 0;
  std::set<std::uint64_t> open_;
};

struct Outcome {
  std::size_t answered = 0;
  std::size_t timed_out = 0;
  std::size_t traps = 0;
  std::uint64_t trace = 0;
};

Outcome run(std::uint64_t seed, const SubnetFaults& faults) {
  ManagementWorld world(seed, faults);
  Manager manager(world, world.add());
  const std::size_t hosts = world.random().between(1, 4);
  constexpr std::size_t kQuestions = 30;
  std::vector<std::unique_ptr<Asker>> askers;
  for (std::size_t i = 0; i < hosts; ++i) {
    askers.push_back(std::make_unique<Asker>(world, world.add(), kQuestions));
  }
  for (std::size_t i = 0; i < hosts; ++i) {
    world.hosts()[i + 1]->call([&](NodeManagement& node) {
      askers[i]->start();
      node.description_changed(world.scheduler.now());
      node.key_violated(1, {.key = 7}, world.scheduler.now());
    });
  }
  // Until nothing is left to happen: no timer that runs for ever, no exchange that hangs.
  EXPECT_TRUE(world.scheduler.run_until(at(2h)));
  Outcome outcome{.traps = manager.traps, .trace = world.trace};
  for (const auto& asker : askers) {
    EXPECT_TRUE(asker->done());
    EXPECT_EQ(asker->answered + asker->timed_out, kQuestions);
    outcome.answered += asker->answered;
    outcome.timed_out += asker->timed_out;
  }
  EXPECT_EQ(manager.answers, manager.ended);
  for (const auto& host : world.hosts()) {
    EXPECT_FALSE(host->management.deadline());
    const ManagementCounters& counters = host->management.counters();
    EXPECT_EQ(counters.get(ManagementCounter::kTrapsRepressed), host->lid() == Lid{1} ? 0u : 2u);
  }
  return outcome;
}

SubnetFaults some_faults(Random& random) {
  return {.loss = 0.3 * static_cast<double>(random.below(101)) / 100,
          .duplicate = 0.3 * static_cast<double>(random.below(101)) / 100,
          .delay = Duration(random.between(100, 5'000'000)),
          .jitter = Duration(random.below(20'000'000))};
}

TEST(ManagementSimulation, AnswersEverythingOnAGoodSubnet) {
  for (const std::uint64_t seed : sim::seeds(30)) {
    SCOPED_TRACE(replay(seed));
    const Outcome outcome = run(seed, {});
    EXPECT_EQ(outcome.timed_out, 0u);
    if (HasFailure()) return;
  }
}

TEST(ManagementSimulation, PutsMessagesTogetherThatOvertakeAndRepeatThemselves) {
  for (const std::uint64_t seed : sim::seeds(30)) {
    SCOPED_TRACE(replay(seed));
    const Outcome outcome = run(seed, {.duplicate = 0.3, .delay = 10us, .jitter = 500us});
    EXPECT_EQ(outcome.timed_out, 0u);
    if (HasFailure()) return;
  }
}

TEST(ManagementSimulation, EndsEveryRequestOnceOnABadSubnet) {
  std::size_t answered = 0;
  std::size_t timed_out = 0;
  for (const std::uint64_t seed : sim::seeds(60)) {
    SCOPED_TRACE(replay(seed));
    Random random(seed * 77);
    const Outcome outcome = run(seed, some_faults(random));
    answered += outcome.answered;
    timed_out += outcome.timed_out;
    if (HasFailure()) return;
  }
  // With twenty repetitions hardly any is given up.
  EXPECT_GT(answered, 20 * timed_out);
}

TEST(ManagementSimulation, RunsTheSameUnderTheSameSeed) {
  for (const std::uint64_t seed : sim::seeds(5)) {
    Random random(seed * 77);
    const SubnetFaults faults = some_faults(random);
    EXPECT_EQ(run(seed, faults).trace, run(seed, faults).trace);
    EXPECT_NE(run(seed, faults).trace, run(seed + 1, faults).trace);
  }
}

}  // namespace
}  // namespace weft::mgmt::test
