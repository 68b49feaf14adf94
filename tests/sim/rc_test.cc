// SPDX-License-Identifier: Apache-2.0
// Connections between two programs, over networks as bad as a seed likes, against a model.
#include <gtest/gtest.h>

#include "rc_some_world.h"
#include "rc_world.h"
#include "sim/seeds.h"

namespace weft::sim::test {
namespace {

using hca::ConnectedCounter;

class RcModel : public ::testing::TestWithParam<bool> {};

TEST_P(RcModel, IsKeptToOverAnyNetwork) {
  std::uint64_t gave_up = 0;
  const auto all = seeds(50);
  for (const std::uint64_t seed : all) {
    SCOPED_TRACE(replay(seed));
    RcWorld world(seed, some_world(seed, GetParam()));
    world.run();
    world.check();
    gave_up += world.gave_up();
    if (::testing::Test::HasFailure()) return;
  }
  // With one packet in five lost, eight attempts in a row may fail: 0.36^8 for one packet.
  EXPECT_LE(gave_up, all.size() / 50 + 1);
}

INSTANTIATE_TEST_SUITE_P(Extensions, RcModel, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "On" : "Off"; });

class RcOverAGoodNetwork : public ::testing::TestWithParam<bool> {};

// Nothing is lost, so nothing may be sent twice, and nobody may wait for a timer.
TEST_P(RcOverAGoodNetwork, SendsNothingTwice) {
  for (const std::uint64_t seed : seeds(20)) {
    SCOPED_TRACE(replay(seed));
    WorldOptions options = some_world(seed, GetParam());
    options.faults = {};
    options.socket_buffer = 1'000'000;
    options.receives_late = 0us;
    options.receive_batch = 128;
    options.depth = 128;
    options.pause = 0us;
    options.setup.ack_timeout = 14;
    RcWorld world(seed, options);
    world.run();
    world.check();
    EXPECT_EQ(world.network().overrun, 0u);
    EXPECT_EQ(world.counter(ConnectedCounter::kTxTimeouts), 0u);
    EXPECT_EQ(world.counter(ConnectedCounter::kTxNaks), 0u);
    if (world.counter(ConnectedCounter::kTxRnrNaks) == 0) {
      EXPECT_EQ(world.counter(ConnectedCounter::kTxRetransmitted), 0u);
      EXPECT_EQ(world.counter(ConnectedCounter::kRxDuplicates), 0u);
    }
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_P(RcOverAGoodNetwork, NeverHasWhatIsNotOfTheStandardWithoutExtensions) {
  if (GetParam()) GTEST_SKIP() << "they are allowed";
  for (const std::uint64_t seed : seeds(20)) {
    SCOPED_TRACE(replay(seed));
    RcWorld world(seed, some_world(seed, false));
    std::uint64_t strange = 0;
    for (int host = 0; host < 2; ++host) {
      world.host(host).on_send = [&strange](Qpn, const hca::Burst& burst) {
        for (const hca::OutPacket& packet : burst.packets()) {
          const auto bth = *wire::Bth::parse(packet.header);
          strange +=
              bth.opcode > wire::Opcode::rc_send_only_invalidate && bth.opcode != wire::Opcode::cnp;
          strange += bth.transport_version != 0;
          // The reserved bits beside FECN and BECN, and beside AckReq.
          strange += (packet.header[4] & std::byte{0x3F}) != std::byte{0};
          strange += (packet.header[8] & std::byte{0x7F}) != std::byte{0};
        }
        return hca::SendResult{};
      };
    }
    world.run();
    EXPECT_EQ(strange, 0u);
    if (::testing::Test::HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Extensions, RcOverAGoodNetwork, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "On" : "Off"; });

// Somebody who knows addresses and numbers but is not the peer, and repeats what he has seen.
class Forger {
 public:
  Forger(RcWorld& world, Random random) : world_(world), random_(random) {
    for (int host = 0; host < 2; ++host) {
      world.host(host).on_send = [this, host](Qpn from, const hca::Burst& burst) {
        record(host, from, burst);
        return hca::SendResult{};
      };
    }
    for (int i = 0; i < 300; ++i) {
      world.scheduler().at(Time{} + Duration(static_cast<std::int64_t>(random_.below(20'000'000))),
                           [this] { forge(); });
    }
  }

 private:
  struct Seen {
    int to = 0;
    Qpn qpn{};
    std::vector<std::byte> transport;
  };

  void record(int host, Qpn, const hca::Burst& burst) {
    for (const hca::OutPacket& packet : burst.packets()) {
      if (seen_.size() >= 400 && !random_.chance(0.02)) continue;
      Seen seen{.to = 1 - host, .qpn = burst.destination, .transport = {}};
      seen.transport.assign(packet.header.begin(), packet.header.begin() + packet.header_length);
      for (const Bytes piece : burst.pieces(packet))
        seen.transport.insert(seen.transport.end(), piece.begin(), piece.end());
      seen.transport.resize(packet.length());
      if (seen_.size() < 400) {
        seen_.push_back(std::move(seen));
      } else {
        seen_[random_.below(seen_.size())] = std::move(seen);
      }
    }
  }

  void forge() {
    if (seen_.empty()) return;
    Seen seen = seen_[random_.below(seen_.size())];
    Gid source = world_.host(1 - seen.to).gid();
    auto bth = *wire::Bth::parse(seen.transport);
    switch (random_.below(6)) {
      case 0:
        source = Gid::from_ipv4(0x0A0000FF);
        break;
      case 1:
        bth.pkey = PKey{0x8123};
        break;
      case 2:
        bth.transport_version = 3;
        break;
      case 3:
        bth.opcode = static_cast<wire::Opcode>(random_.between(0x20, 0x7F));
        break;
      case 4:
        seen.transport.resize(random_.below(seen.transport.size()) | 1);
        break;
      default:  // as it was
        break;
    }
    if (seen.transport.size() >= wire::Bth::kSize) bth.write(seen.transport);
    world_.host(seen.to).queue_pair(seen.qpn).receive(
        {.transport = seen.transport, .source = source, .destination = world_.host(seen.to).gid()},
        world_.scheduler().now());
    world_.host(seen.to).look_at(seen.qpn);
  }

  RcWorld& world_;
  Random random_;
  std::vector<Seen> seen_;
};

TEST_P(RcModel, IsKeptToWhileStrangersSendAndPacketsAreReplayed) {
  for (const std::uint64_t seed : seeds(50)) {
    SCOPED_TRACE(replay(seed));
    WorldOptions options = some_world(seed, GetParam());
    options.faults.loss /= 2;
    RcWorld world(seed, options);
    const Forger forger(world, Random(seed + 1));
    world.run();
    world.check();
    if (::testing::Test::HasFailure()) return;
  }
}

class SharedReceives : public ::testing::TestWithParam<bool> {};

TEST_P(SharedReceives, ServeSeveralConnections) {
  for (const std::uint64_t seed : seeds(50)) {
    SCOPED_TRACE(replay(seed));
    WorldOptions options = some_world(seed, GetParam());
    options.plan.connections += 1;
    options.plan.shared_receives = true;
    options.plan.longest_rare = 0;
    RcWorld world(seed, options);
    world.run();
    world.check();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST_P(SharedReceives, ServeXrcTargets) {
  for (const std::uint64_t seed : seeds(50)) {
    SCOPED_TRACE(replay(seed));
    WorldOptions options = some_world(seed, GetParam());
    options.plan.service = hca::QpType::kXrcInitiator;
    options.plan.both_ways = false;
    options.plan.shared_receives = true;
    options.plan.longest_rare = 0;
    RcWorld world(seed, options);
    world.run();
    world.check();
    if (::testing::Test::HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Extensions, SharedReceives, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "On" : "Off"; });

TEST(UcModel, DeliversWholeMessagesOrNone) {
  for (const std::uint64_t seed : seeds(50)) {
    SCOPED_TRACE(replay(seed));
    WorldOptions options = some_world(seed, seed % 2 == 0);
    options.plan.service = hca::QpType::kUc;
    options.plan.reads = false;
    RcWorld world(seed, options);
    world.run();
    world.check_unreliable();
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(UcModel, DeliversEverythingInOrderOverAGoodNetwork) {
  for (const std::uint64_t seed : seeds(20)) {
    SCOPED_TRACE(replay(seed));
    WorldOptions options = some_world(seed, false);
    options.plan.service = hca::QpType::kUc;
    options.plan.reads = false;
    options.plan.longest_rare = 0;
    options.plan.messages = 20;  // nothing paces UC: they must fit into the socket's buffer
    options.plan.connections = 1;
    options.depth = 128;
    options.faults = {};
    options.socket_buffer = 4'000'000;
    options.receives_late = 0us;
    options.receive_batch = 128;
    options.batch = 1;
    options.pause = 50us;
    RcWorld world(seed, options);
    world.run();
    world.check_unreliable();
    EXPECT_EQ(world.received(), options.plan.both_ways ? 40u : 20u);
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace weft::sim::test
