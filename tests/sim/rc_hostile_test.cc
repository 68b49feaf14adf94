// SPDX-License-Identifier: Apache-2.0
// Packets that no honest peer sends, in every state: the connection stays right or fails by the
// rules, memory that is not lent stays as it is, and what is kept for the peer stays bounded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "rc_puppet.h"
#include "wire/atomic_ack_eth.h"
#include "wire/atomic_eth.h"
#include "wire/weft_ack.h"

namespace {

// Bytes of the heap in use, so that a test can see what a peer makes us keep.
std::atomic<std::int64_t> g_heap{0};

}  // namespace

void* operator new(std::size_t size) {
  void* const memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) std::abort();
  g_heap += static_cast<std::int64_t>(malloc_usable_size(memory));
  return memory;
}
void operator delete(void* memory) noexcept {
  if (memory != nullptr) g_heap -= static_cast<std::int64_t>(malloc_usable_size(memory));
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

namespace weft::sim::test {
namespace {

using hca::CompletionStatus;
using hca::ConnectedCounter;
using hca::QpState;
using hca::SendOpcode;
using wire::AckType;
using wire::NakCode;
using wire::Opcode;
using wire::Syndrome;

class RcHostile : public ::testing::TestWithParam<bool> {
 protected:
  RcHostile() : stage(GetParam()) {}
  void SetUp() override { stage.connect(); }

  void send(wire::Bth bth, Bytes headers = {}, std::size_t payload = 0) {
    stage.puppet().send(bth, headers, PuppetStage::payload(payload));
  }
  void expect_nak(NakCode code) {
    ASSERT_TRUE(stage.run());
    ASSERT_FALSE(stage.puppet().received().empty()) << "no answer";
    EXPECT_EQ(stage.puppet().received().back().bth.opcode, Opcode::rc_acknowledge);
    EXPECT_EQ(stage.puppet().received().back().syndrome(), Syndrome::nak(code));
    EXPECT_EQ(stage.queue_pair().state(), QpState::kErr);
    stage.expect_nothing_else_touched();
  }
  // The connection still works, in both directions.
  void expect_alive(std::uint32_t next_psn) {
    stage.puppet().forget();
    send(PuppetStage::bth(Opcode::rc_write_only, next_psn), stage.reth(0, 10), 10);
    ASSERT_TRUE(stage.run());
    ASSERT_FALSE(stage.puppet().received().empty());
    EXPECT_EQ(stage.puppet().received().back().bth.psn, Psn{next_psn});
    EXPECT_EQ(stage.queue_pair().state(), QpState::kRts);
    stage.expect_nothing_else_touched();
  }

  PuppetStage stage;
};

TEST_P(RcHostile, SurvivesNoiseInEveryState) {
  Random random(7);
  for (const QpState state : {QpState::kReset, QpState::kInit, QpState::kRtr, QpState::kRts,
                              QpState::kSqd, QpState::kErr}) {
    PuppetStage other(GetParam());
    if (state >= QpState::kInit) {
      ASSERT_TRUE(other.host().initialize(PuppetStage::kQpn, other.setup()).has_value());
    }
    if (state >= QpState::kRtr) other.connect();
    if (state >= QpState::kSqd) {
      (void)other.host().modify(PuppetStage::kQpn, {.state = state}, hca::kAttrState);
    }
    for (int i = 0; i < 2000; ++i) {
      std::vector<std::byte> noise(random.between(12, 80) & ~std::uint64_t{3});
      for (std::byte& b : noise)
        b = static_cast<std::byte>(random.next());
      // Half of it is addressed well, and near the right numbers.
      if (random.chance(0.5)) {
        auto bth = *wire::Bth::parse(noise);
        bth.transport_version = 0;
        bth.pkey = kDefaultPKey;
        bth.dest_qp = PuppetStage::kQpn;
        bth.psn = Psn{static_cast<std::uint32_t>(random.between(95, 110))};
        bth.pad_count = 0;
        bth.write(noise);
      }
      other.puppet().send_raw(noise);
    }
    EXPECT_TRUE(other.run());
    EXPECT_TRUE(other.host().complaints().empty());
    other.expect_nothing_else_touched();
    if (state == QpState::kReset || state == QpState::kInit || state == QpState::kErr) {
      EXPECT_TRUE(other.puppet().received().empty()) << "an answer in a state that has none";
    }
  }
}

TEST_P(RcHostile, DropsWhatIsAddressedWrongly) {
  const auto good = PuppetStage::bth(Opcode::rc_write_only, 100);
  auto bad = good;
  bad.pkey = PKey{0x8001};
  send(bad, stage.reth(0, 8), 8);
  bad = good;
  bad.transport_version = 1;
  send(bad, stage.reth(0, 8), 8);
  bad = good;
  bad.opcode = Opcode::uc_write_only;
  send(bad, stage.reth(0, 8), 8);
  bad.opcode = static_cast<Opcode>(0x1F);
  send(bad, stage.reth(0, 8), 8);
  bad.opcode = Opcode::rd_send_only;
  send(bad, PuppetStage::payload(12), 8);
  send(good, PuppetStage::payload(4), 0);  // shorter than its headers
  Puppet stranger(stage.scheduler(), stage.network(), {PuppetStage::gid(3), 0xD000},
                  {PuppetStage::gid(1), 0xC000});
  stranger.send(good, stage.reth(0, 8), PuppetStage::payload(8));
  ASSERT_TRUE(stage.run());
  EXPECT_TRUE(stage.puppet().received().empty());
  EXPECT_TRUE(stranger.received().empty());
  EXPECT_EQ(stage.counter(ConnectedCounter::kRxBadPKey), 1u);
  EXPECT_EQ(stage.counter(ConnectedCounter::kRxBadVersion), 1u);
  // An opcode that is not known says nothing of the lengths that must follow.
  EXPECT_EQ(
      stage.counter(ConnectedCounter::kRxBadOpcode) + stage.counter(ConnectedCounter::kRxMalformed),
      4u);
  EXPECT_EQ(stage.counter(ConnectedCounter::kRxBadSource), 1u);
  expect_alive(100);
}

struct Sequence {
  const char* name;
  std::vector<Opcode> opcodes;
};

class RcHostileSequence : public RcHostile {};

// IBA 9.7.4.1.2, table 34: what may follow what.
TEST_P(RcHostileSequence, IsAnInvalidRequest) {
  const Sequence sequences[] = {
      {"middle of nothing", {Opcode::rc_send_middle}},
      {"end of nothing", {Opcode::rc_send_last}},
      {"middle of no write", {Opcode::rc_write_middle}},
      {"end of no write", {Opcode::rc_write_last_imm}},
      {"a beginning within a message", {Opcode::rc_send_first, Opcode::rc_send_first}},
      {"a whole message within one", {Opcode::rc_send_first, Opcode::rc_send_only}},
      {"a write's end to a send", {Opcode::rc_send_first, Opcode::rc_write_last}},
      {"a send's end to a write", {Opcode::rc_write_first, Opcode::rc_send_last}},
      {"a read within a message", {Opcode::rc_send_first, Opcode::rc_read_request}},
      {"an atomic within a message", {Opcode::rc_write_first, Opcode::rc_fetch_add}},
      {"an invalidating end of a write", {Opcode::rc_write_first, Opcode::rc_send_last_invalidate}},
  };
  for (const Sequence& sequence : sequences) {
    SCOPED_TRACE(sequence.name);
    PuppetStage other(GetParam());
    other.connect();
    other.post_receives(4);
    std::uint32_t psn = 100;
    for (const Opcode opcode : sequence.opcodes) {
      const wire::OpcodeInfo& info = wire::info(opcode);
      std::vector<std::byte> headers(info.headers_size);
      if (info.has(wire::kReth)) headers = other.reth(0, info.has_payload ? 2048 : 8);
      other.puppet().send(PuppetStage::bth(opcode, psn++), headers,
                          PuppetStage::payload(info.has_payload ? PuppetStage::kMtu : 0));
    }
    ASSERT_TRUE(other.run());
    ASSERT_FALSE(other.puppet().received().empty());
    EXPECT_EQ(other.puppet().received().back().syndrome(), Syndrome::nak(NakCode::invalid_request));
    EXPECT_EQ(other.puppet().received().back().bth.psn, Psn{psn - 1});
    EXPECT_EQ(other.queue_pair().state(), QpState::kErr);
    EXPECT_EQ(other.completions().size(), 4u) << "all receives come back";
    other.expect_nothing_else_touched();
  }
}

TEST_P(RcHostile, RefusesAFirstPacketThatIsNotFull) {
  stage.post_receives(1);
  send(PuppetStage::bth(Opcode::rc_send_first, 100), {}, PuppetStage::kMtu - 4);
  expect_nak(NakCode::invalid_request);
}

TEST_P(RcHostile, RefusesAWriteOfMoreThanItAnnounced) {
  send(PuppetStage::bth(Opcode::rc_write_first, 100), stage.reth(0, 1100), PuppetStage::kMtu);
  send(PuppetStage::bth(Opcode::rc_write_middle, 101), {}, PuppetStage::kMtu);
  expect_nak(NakCode::invalid_request);
}

TEST_P(RcHostile, RefusesAWriteOfLessThanItAnnounced) {
  send(PuppetStage::bth(Opcode::rc_write_first, 100), stage.reth(0, 3000), PuppetStage::kMtu);
  send(PuppetStage::bth(Opcode::rc_write_last, 101), {}, 100);
  expect_nak(NakCode::invalid_request);
}

TEST_P(RcHostile, RefusesAWriteLongerThanAnyMessage) {
  send(PuppetStage::bth(Opcode::rc_write_first, 100), stage.reth(0, 0x8000'0001),
       PuppetStage::kMtu);
  ASSERT_TRUE(stage.run());
  ASSERT_FALSE(stage.puppet().received().empty());
  EXPECT_EQ(stage.puppet().received().back().syndrome().type(), AckType::nak);
  EXPECT_EQ(stage.queue_pair().state(), QpState::kErr);
  stage.expect_nothing_else_touched();
}

TEST_P(RcHostile, RefusesAReadThatReachesOutOfTheRegion) {
  send(PuppetStage::bth(Opcode::rc_read_request, 100), stage.reth(PuppetStage::kPart - 8, 9));
  expect_nak(NakCode::remote_access_error);
}

TEST_P(RcHostile, RefusesAnAtomicOutsideOfTheRegion) {
  std::array<std::byte, wire::AtomicEth::kSize> eth{};
  wire::AtomicEth{.virtual_address = stage.remote().iova + PuppetStage::kPart,
                  .rkey = RKey{stage.remote().key},
                  .swap_or_add = 1}
      .write(eth);
  send(PuppetStage::bth(Opcode::rc_fetch_add, 100), eth);
  expect_nak(NakCode::remote_access_error);
}

TEST_P(RcHostile, WritesNothingForAKeyThatMeetsInTheMidstOfAMessage) {
  // The region goes while the message is under way: what follows is refused.
  send(PuppetStage::bth(Opcode::rc_write_first, 100), stage.reth(0, 3072), PuppetStage::kMtu);
  ASSERT_TRUE(stage.run());
  ASSERT_TRUE(stage.host().memory_table().remove(stage.remote().key).has_value());
  send(PuppetStage::bth(Opcode::rc_write_middle, 101), {}, PuppetStage::kMtu);
  expect_nak(NakCode::remote_access_error);
  EXPECT_NE(stage.host().memory()[PuppetStage::kMemory / 2 + PuppetStage::kMtu], std::byte{0x5A});
}

TEST_P(RcHostile, AsksOnceForWhatIsMissing) {
  for (std::uint32_t psn = 101; psn < 120; ++psn)
    send(PuppetStage::bth(Opcode::rc_write_only, psn), stage.reth(0, 8), 8);
  ASSERT_TRUE(stage.run());
  ASSERT_FALSE(stage.puppet().received().empty());
  if (!GetParam()) {
    ASSERT_EQ(stage.puppet().received().size(), 1u);
    EXPECT_EQ(stage.puppet().received()[0].syndrome(), Syndrome::nak(NakCode::psn_sequence_error));
    EXPECT_EQ(stage.puppet().received()[0].bth.psn, Psn{100});
  }
  EXPECT_EQ(stage.queue_pair().state(), QpState::kRts);
}

TEST_P(RcHostile, AcknowledgesAgainWhatItHasSeen) {
  expect_alive(100);
  const std::byte after = stage.host().memory()[PuppetStage::kMemory / 2];
  stage.puppet().forget();
  stage.puppet().send(PuppetStage::bth(Opcode::rc_write_only, 100), stage.reth(0, 10),
                      std::vector<std::byte>(10, std::byte{0x11}));
  ASSERT_TRUE(stage.run());
  ASSERT_EQ(stage.puppet().received().size(), 1u);
  EXPECT_EQ(stage.puppet().received()[0].bth.psn, Psn{100});
  EXPECT_EQ(stage.host().memory()[PuppetStage::kMemory / 2], after) << "written twice";
  EXPECT_EQ(stage.counter(ConnectedCounter::kRxDuplicates), 1u);
  expect_alive(101);
}

TEST_P(RcHostile, KeepsLittleOfWhatComesAfterAGap) {
  send(PuppetStage::bth(Opcode::rc_write_only, 100), stage.reth(0, 8), 8);
  ASSERT_TRUE(stage.run());
  const std::int64_t before = g_heap;
  std::int64_t most = 0;
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    const std::uint32_t psn = 102 + i * 37 % 100'000;
    send(PuppetStage::bth(Opcode::rc_write_only, psn), stage.reth(0, PuppetStage::kMtu),
         PuppetStage::kMtu);
    if (i % 16 == 0) {
      stage.scheduler().run_until(stage.scheduler().now() + 200us);
      stage.puppet().forget();
      most = std::max(most, g_heap - before);
    }
  }
  ASSERT_TRUE(stage.run());
  EXPECT_LT(most, 5 << 20);
  EXPECT_EQ(stage.queue_pair().state(), QpState::kRts);
  // With the gap closed nothing is kept any more.
  stage.puppet().forget();
  send(PuppetStage::bth(Opcode::rc_write_only, 101), stage.reth(0, 10), 10);
  ASSERT_TRUE(stage.run());
  ASSERT_FALSE(stage.puppet().received().empty());
  EXPECT_GE(Psn::diff(stage.puppet().received().back().bth.psn, Psn{101}), 0);
  EXPECT_EQ(stage.queue_pair().state(), QpState::kRts);
  stage.expect_nothing_else_touched();
}

TEST_P(RcHostile, KeepsLittleOfReadsThatAreAskedForAgainAndAgain) {
  send(PuppetStage::bth(Opcode::rc_read_request, 100), stage.reth(0, PuppetStage::kPart));
  ASSERT_TRUE(stage.run());
  EXPECT_EQ(stage.puppet().received().size(), PuppetStage::kPart / PuppetStage::kMtu);
  const std::int64_t before = g_heap;
  std::int64_t most = 0;
  for (int i = 0; i < 5000; ++i) {
    send(PuppetStage::bth(Opcode::rc_read_request, 100), stage.reth(0, PuppetStage::kPart));
    if (i % 50 == 0) {
      stage.scheduler().run_until(stage.scheduler().now() + 100us);
      stage.puppet().forget();
      most = std::max(most, g_heap - before);
    }
  }
  stage.run();
  stage.puppet().forget();
  EXPECT_LT(most, 24 << 20) << "the network's own queues are in it";
  EXPECT_LT(g_heap - before, 1 << 20);
  EXPECT_EQ(stage.queue_pair().state(), QpState::kRts);
}

TEST_P(RcHostile, RefusesMoreReadsThanWereAgreed) {
  // They arrive in one run, so that none can be answered in between.
  for (std::uint32_t i = 0; i < 40; ++i)
    send(PuppetStage::bth(Opcode::rc_read_request, 100 + i * 64), stage.reth(0, 65'536));
  ASSERT_TRUE(stage.run());
  const auto& all = stage.puppet().received();
  ASSERT_FALSE(all.empty());
  std::uint64_t naks = 0;
  for (const PuppetPacket& packet : all) {
    if (packet.bth.opcode == Opcode::rc_acknowledge) {
      naks += packet.syndrome() == Syndrome::nak(NakCode::invalid_request);
    }
  }
  EXPECT_LE(naks, 1u);
  EXPECT_EQ(stage.queue_pair().state() == QpState::kErr, naks == 1);
}

TEST_P(RcHostile, IgnoresAcknowledgementsOfWhatItNeverSent) {
  const auto ack = PuppetStage::aeth(Syndrome::ack());
  for (const std::uint32_t psn : {499u, 500u, 501u, 0xFFFFFFu, 0u, 700u})
    send(PuppetStage::bth(Opcode::rc_acknowledge, psn), ack);
  for (const NakCode code : {NakCode::psn_sequence_error, NakCode::remote_access_error}) {
    send(PuppetStage::bth(Opcode::rc_acknowledge, 500), PuppetStage::aeth(Syndrome::nak(code)));
  }
  send(PuppetStage::bth(Opcode::rc_acknowledge, 500), PuppetStage::aeth(Syndrome::rnr_nak(31)));
  send(PuppetStage::bth(Opcode::rc_read_response_only, 500), ack, 100);
  send(PuppetStage::bth(Opcode::rc_read_response_middle, 500), {}, PuppetStage::kMtu);
  ASSERT_TRUE(stage.run());
  ASSERT_EQ(stage.post(1, SendOpcode::kRdmaWrite, 100), std::errc{});
  stage.scheduler().run_until(stage.scheduler().now() + 100us);
  // Of the one packet that is outstanding only an acknowledgement of it counts.
  for (const std::uint32_t psn : {501u, 600u, 498u})
    send(PuppetStage::bth(Opcode::rc_acknowledge, psn), ack);
  send(PuppetStage::bth(Opcode::rc_read_response_only, 500), ack, 100);
  stage.scheduler().run_until(stage.scheduler().now() + 1ms);
  EXPECT_TRUE(stage.completions().empty());
  send(PuppetStage::bth(Opcode::rc_acknowledge, 500), ack);
  ASSERT_TRUE(stage.run());
  ASSERT_EQ(stage.completions().size(), 1u);
  EXPECT_EQ(stage.completions()[0].status, CompletionStatus::kSuccess);
  EXPECT_GE(stage.counter(ConnectedCounter::kRxGhostAcks), 9u);
  expect_alive(100);
}

TEST_P(RcHostile, TakesNoMoreOfAReadThanItAskedFor) {
  ASSERT_EQ(stage.post(1, SendOpcode::kRdmaRead, 100), std::errc{});
  stage.scheduler().run_until(stage.scheduler().now() + 100us);
  const auto ack = PuppetStage::aeth(Syndrome::ack());
  send(PuppetStage::bth(Opcode::rc_read_response_only, 500), ack, 104);
  stage.scheduler().run_until(stage.scheduler().now() + 1ms);
  const std::byte next = stage.host().memory()[PuppetStage::kMemory / 4 + 100];
  EXPECT_NE(next, std::byte{0x5A}) << "written behind the buffer";
  // Dropped, or fatal to the request (IBA 9.9.2, class B: a bad response).
  for (const hca::Completion& c : stage.completions())
    EXPECT_EQ(c.status, CompletionStatus::kBadResponse);
  stage.run();
  stage.expect_nothing_else_touched();
}

TEST_P(RcHostile, BelievesNoBitmapMoreThanItMust) {
  if (!GetParam()) GTEST_SKIP() << "there are none without extensions";
  // All but the first are said to have arrived, and nothing else is ever said.
  ASSERT_EQ(stage.post(1, SendOpcode::kRdmaWrite, 20 * PuppetStage::kMtu), std::errc{});
  for (int round = 0; round < 50; ++round) {
    stage.scheduler().run_until(stage.scheduler().now() + 1ms);
    wire::WeftAck lie{.aeth = {.syndrome = Syndrome::ack()}, .window = 0xFFFF'FFFF};
    for (std::uint32_t bit = 0; bit < 2048; bit += 1 + static_cast<std::uint32_t>(round) % 3)
      lie.set(bit);
    std::vector<std::byte> payload(lie.size());
    lie.write(payload);
    stage.puppet().send(PuppetStage::bth(Opcode::weft_rc_acknowledge, 499), {}, payload);
  }
  stage.puppet().forget();
  ASSERT_TRUE(stage.run(100s)) << "neither done nor given up";
  ASSERT_EQ(stage.completions().size(), 1u);
  EXPECT_EQ(stage.completions()[0].status, CompletionStatus::kTransportRetryExceeded);
}

TEST_P(RcHostile, GoesOnWhenABitmapWasALie) {
  if (!GetParam()) GTEST_SKIP() << "there are none without extensions";
  ASSERT_EQ(stage.post(1, SendOpcode::kRdmaWrite, 20 * PuppetStage::kMtu), std::errc{});
  stage.scheduler().run_until(stage.scheduler().now() + 1ms);
  wire::WeftAck lie{.aeth = {.syndrome = Syndrome::ack()}, .window = 100'000};
  for (std::uint32_t bit = 0; bit < 18; ++bit)
    lie.set(bit);
  std::vector<std::byte> payload(lie.size());
  lie.write(payload);
  stage.puppet().send(PuppetStage::bth(Opcode::weft_rc_acknowledge, 499), {}, payload);
  stage.scheduler().run_until(stage.scheduler().now() + 1ms);
  // From now on an honest peer, which had none of it.
  Psn expected{500};
  for (int round = 0; round < 3000 && stage.completions().empty(); ++round) {
    for (const PuppetPacket& packet : stage.puppet().received()) {
      if (packet.bth.psn == expected) ++expected;
    }
    stage.puppet().forget();
    send(PuppetStage::bth(Opcode::rc_acknowledge, (expected - 1).value()),
         PuppetStage::aeth(Syndrome::ack()));
    stage.scheduler().run_until(stage.scheduler().now() + 1ms);
  }
  ASSERT_EQ(stage.completions().size(), 1u);
  EXPECT_NE(stage.completions()[0].status, CompletionStatus::kFlushed);
  if (stage.completions()[0].status == CompletionStatus::kSuccess) {
    EXPECT_EQ(expected, Psn{520}) << "complete, though packets were never sent again";
  }
}

TEST_P(RcHostile, IsNotStoppedByNotificationsOfCongestion) {
  ASSERT_EQ(stage.post(1, SendOpcode::kRdmaWrite, 40 * PuppetStage::kMtu), std::errc{});
  Psn expected{500};
  for (int round = 0; round < 3000 && stage.completions().empty(); ++round) {
    for (int i = 0; i < 5; ++i)
      send(PuppetStage::bth(Opcode::cnp, 0, false), {}, 16);
    for (const PuppetPacket& packet : stage.puppet().received()) {
      if (packet.bth.psn == expected) ++expected;
    }
    stage.puppet().forget();
    send(PuppetStage::bth(Opcode::rc_acknowledge, (expected - 1).value()),
         PuppetStage::aeth(Syndrome::ack()));
    stage.scheduler().run_until(stage.scheduler().now() + 1ms);
  }
  ASSERT_EQ(stage.completions().size(), 1u);
  EXPECT_EQ(stage.completions()[0].status, CompletionStatus::kSuccess);
}

INSTANTIATE_TEST_SUITE_P(Extensions, RcHostile, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "On" : "Off"; });
INSTANTIATE_TEST_SUITE_P(Extensions, RcHostileSequence, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "On" : "Off"; });

}  // namespace
}  // namespace weft::sim::test
