// SPDX-License-Identifier: Apache-2.0
// The performance agent: every counter in its place, at its width, reset by its own bit.
#include <gtest/gtest.h>

#include "mad_fixture.h"
#include "mgmt/perf/counter_layout.h"
#include "wire/class_port_info.h"

namespace weft::mgmt::test {
namespace {

using wire::NodeType;
using wire::PerfAttribute;

MadBuffer perf(MadMethod method, PerfAttribute attribute, std::uint8_t port,
               std::uint16_t select = 0, std::uint32_t select2 = 0) {
  MadBuffer mad = make_mad(MgmtClass::kPerf, 1, method, static_cast<std::uint16_t>(attribute));
  std::byte* data = data_of(mad).data();
  wire::store_u8(data + 1, port);
  wire::store_be16(data + 2, select);
  if (attribute == PerfAttribute::kPortCounters) {
    wire::store_u8(data + 18, static_cast<std::uint8_t>(select2));
  } else {
    wire::store_be32(data + 4, select2);
  }
  return mad;
}

struct CountingSwitch : ManagedFixture {
  CountingSwitch() : ManagedFixture(NodeType::kSwitch, 3) {
    node.infos[0].lid = Lid{5};
    // Each counter another value, which fits each field.
    std::uint64_t value = 1;
    for (const CounterField& field : kPortCountersExtended) {
      node.counts[2].*field.count = value++ % 15 + 1;
    }
  }
};

TEST(PerformanceAgent, SaysWhatItCan) {
  CountingSwitch node;
  const SentMad answer = node.ask(perf(MadMethod::kGet, PerfAttribute::kClassPortInfo, 0));
  ASSERT_EQ(answer.status(), MadStatus::kOk);
  EXPECT_EQ(answer.envelope.dest_qp, kQp1);
  EXPECT_EQ(answer.envelope.qkey, kGsiQKey);
  const auto info = *wire::ClassPortInfo::parse(answer.data());
  EXPECT_EQ(info.class_version, 1);
  EXPECT_TRUE(info.capability_mask & wire::kPerfAllPortSelect);
  EXPECT_TRUE(info.capability_mask & wire::kPerfExtendedWidth);
}

TEST(PerformanceAgent, AnswersWithItsOwnKeyOfThePartition) {
  CountingSwitch node;
  wire::PKeyBlock keys;
  keys.pkeys[0] = PKey{0x7FFF};
  keys.pkeys[1] = PKey{0x8011};
  keys.pkeys[2] = PKey{0xFFFF};
  node.node.set_pkeys(0, 0, keys);
  const auto answered_with = [&](PKey theirs) {
    node.management.receive({.port = 1,
                             .slid = Lid{9},
                             .dlid = Lid{5},
                             .source_qp = kQp1,
                             .dest_qp = kQp1,
                             .qkey = kGsiQKey,
                             .pkey = theirs},
                            perf(MadMethod::kGet, PerfAttribute::kClassPortInfo, 0), {});
    return node.outlet.take().envelope.pkey;
  };
  EXPECT_EQ(answered_with(PKey{0x0011}), PKey{0x8011}) << "limited members do not hear each other";
  EXPECT_EQ(answered_with(PKey{0x8011}), PKey{0x8011});
  EXPECT_EQ(answered_with(PKey{0x7FFF}), PKey{0xFFFF});
  EXPECT_EQ(answered_with(PKey{0xFFFF}), PKey{0x7FFF}) << "the first that pairs";
}

TEST(PerformanceAgent, PutsEachCounterWhereTheStandardHasIt) {
  CountingSwitch node;
  const PortCounts& counts = node.node.counts[2];
  const SentMad brief = node.ask(perf(MadMethod::kGet, PerfAttribute::kPortCounters, 2));
  const std::byte* at = brief.data().data();
  EXPECT_EQ(wire::load_u8(at + 1), 2);
  EXPECT_EQ(wire::load_be16(at + 4), counts.symbol_errors);
  EXPECT_EQ(wire::load_u8(at + 7), counts.link_downed);
  EXPECT_EQ(wire::load_be16(at + 14), counts.transmit_discards);
  EXPECT_EQ(wire::load_u8(at + 17), counts.receive_constraint_errors);
  EXPECT_EQ(wire::load_u8(at + 19),
            counts.local_link_integrity_errors << 4 | counts.excessive_buffer_overruns);
  EXPECT_EQ(wire::load_be16(at + 20), counts.qp1_dropped);
  EXPECT_EQ(wire::load_be16(at + 22), counts.vl15_dropped);
  EXPECT_EQ(wire::load_be32(at + 24), counts.transmit_words);
  EXPECT_EQ(wire::load_be32(at + 36), counts.receive_packets);
  EXPECT_EQ(wire::load_be32(at + 40), counts.transmit_wait);
  const SentMad wide = node.ask(perf(MadMethod::kGet, PerfAttribute::kPortCountersExtended, 2));
  at = wide.data().data();
  EXPECT_EQ(wire::load_be64(at + 8), counts.transmit_words);
  EXPECT_EQ(wire::load_be64(at + 64), counts.multicast_receive_packets);
  EXPECT_EQ(wire::load_be64(at + 72), counts.symbol_errors);
  EXPECT_EQ(wire::load_be64(at + 176), counts.qp1_dropped);
}

TEST(PerformanceAgent, SticksAtTheHighestValueOfEachField) {
  CountingSwitch node;
  for (const CounterField& field : kPortCountersExtended) {
    node.node.counts[1].*field.count = std::uint64_t{1} << 40;
  }
  const SentMad brief = node.ask(perf(MadMethod::kGet, PerfAttribute::kPortCounters, 1));
  const Bytes counters = brief.data().subspan(4, 14);
  EXPECT_TRUE(std::all_of(counters.begin(), counters.end(),
                          [](std::byte byte) { return byte == std::byte{0xFF}; }));
  EXPECT_EQ(wire::load_be32(brief.data().data() + 24), 0xFFFF'FFFFu);
  const SentMad wide = node.ask(perf(MadMethod::kGet, PerfAttribute::kPortCountersExtended, 1));
  EXPECT_EQ(wire::load_be64(wide.data().data() + 8), std::uint64_t{1} << 40);
}

TEST(PerformanceAgent, CountsAnewWhatWasSelectedAndNothingElse) {
  for (const CounterField& chosen : kPortCounters) {
    CountingSwitch node;
    const PortCounts before = node.node.counts[2];
    const auto select = static_cast<std::uint16_t>(1u << chosen.select);
    const auto select2 = static_cast<std::uint8_t>(1u << chosen.select >> 16);
    ASSERT_EQ(
        node.ask(perf(MadMethod::kSet, PerfAttribute::kPortCounters, 2, select, select2)).status(),
        MadStatus::kOk);
    for (const CounterField& field : kPortCounters)
      node.node.counts[2].*field.count += 1;
    const SentMad brief = node.ask(perf(MadMethod::kGet, PerfAttribute::kPortCounters, 2));
    const SentMad wide = node.ask(perf(MadMethod::kGet, PerfAttribute::kPortCountersExtended, 2));
    // 64 bits are never ambiguous: what was not selected goes on, and so do the other attribute's.
    for (const CounterField& field : kPortCountersExtended) {
      const bool both = std::any_of(kPortCounters.begin(), kPortCounters.end(),
                                    [&](const auto& other) { return other.count == field.count; });
      EXPECT_EQ(wire::load_be64(wide.data().data() + field.byte),
                before.*field.count + (both ? 1 : 0));
    }
    for (const CounterField& field : kPortCounters) {
      if (field.bits != 32) continue;
      const std::uint64_t old = field.count == chosen.count ? 0 : before.*field.count;
      EXPECT_EQ(wire::load_be32(brief.data().data() + field.byte), old + 1) << int{field.byte};
    }
  }
}

TEST(PerformanceAgent, CountsOnFromAValueThatIsWritten) {
  CountingSwitch node;
  MadBuffer mad = perf(MadMethod::kSet, PerfAttribute::kPortCounters, 2, 1u << 12);
  wire::store_be32(data_of(mad).data() + 24, 1000);
  EXPECT_EQ(wire::load_be32(node.ask(mad).data().data() + 24), 1000u);
  node.node.counts[2].transmit_words += 5;
  const SentMad brief = node.ask(perf(MadMethod::kGet, PerfAttribute::kPortCounters, 2));
  EXPECT_EQ(wire::load_be32(brief.data().data() + 24), 1005u);
}

TEST(PerformanceAgent, AddsUpAllPortsAndResetsThemTogether) {
  CountingSwitch node;
  for (std::size_t port = 1; port <= 3; ++port)
    node.node.counts[port].receive_packets = port * 10;
  const SentMad sum = node.ask(perf(MadMethod::kGet, PerfAttribute::kPortCounters, 0xFF));
  EXPECT_EQ(wire::load_be32(sum.data().data() + 36), 60u);
  node.ask(perf(MadMethod::kSet, PerfAttribute::kPortCounters, 0xFF, 0xFFFF, 3));
  const SentMad after = node.ask(perf(MadMethod::kGet, PerfAttribute::kPortCounters, 3));
  EXPECT_EQ(wire::load_be32(after.data().data() + 36), 0u);
}

TEST(PerformanceAgent, SamplesAPortForAWhile) {
  CountingSwitch node;
  MadBuffer mad = perf(MadMethod::kSet, PerfAttribute::kPortSamplesControl, 2);
  std::byte* data = data_of(mad).data();
  wire::store_be32(data + 28, 250);   // 1 us until it begins
  wire::store_be32(data + 32, 1000);  // 4 us
  wire::store_be16(data + 36, 0xBEEF);
  wire::store_be16(data + 38, 3);  // packets sent
  wire::store_be16(data + 42, 2);  // words received
  const auto status_of = [](const SentMad& sent) { return wire::load_u8(sent.data().data() + 11); };
  const MadBuffer look = perf(MadMethod::kGet, PerfAttribute::kPortSamplesControl, 2);
  const MadBuffer read = perf(MadMethod::kGet, PerfAttribute::kPortSamplesResult, 2);
  EXPECT_EQ(status_of(node.ask(mad, at(0s))), 1);
  EXPECT_EQ(node.management.deadline(), at(1us));
  node.node.counts[2].transmit_packets += 7;  // too early
  node.management.run(at(1us));
  EXPECT_EQ(status_of(node.ask(look, at(2us))), 2);
  node.node.counts[2].transmit_packets += 5;
  node.node.counts[2].receive_words += std::uint64_t{1} << 35;
  // Another one has to wait until this has ended.
  MadBuffer other = mad;
  wire::store_be16(data_of(other).data() + 36, 0x1111);
  EXPECT_EQ(wire::load_be16(node.ask(other, at(3us)).data().data() + 36), 0xBEEF);
  EXPECT_EQ(wire::load_be16(node.ask(read, at(3us)).data().data() + 2), 2);
  EXPECT_EQ(node.management.deadline(), at(5us));
  node.management.run(at(5us));
  node.node.counts[2].transmit_packets += 9;  // too late
  EXPECT_FALSE(node.management.deadline());
  const SentMad result = node.ask(read, at(6us));
  EXPECT_EQ(wire::load_be16(result.data().data()), 0xBEEF);
  EXPECT_EQ(wire::load_be16(result.data().data() + 2), 0);
  EXPECT_EQ(wire::load_be32(result.data().data() + 4), 5u);
  EXPECT_EQ(wire::load_be32(result.data().data() + 8), 0u);
  EXPECT_EQ(wire::load_be32(result.data().data() + 12), 0xFFFF'FFFFu);
  wire::store_be16(data + 38, 6);
  EXPECT_EQ(node.ask(mad, at(7us)).status(), MadStatus::kInvalidValue);
  wire::store_u8(data + 1, 0xFF);
  EXPECT_EQ(node.ask(mad, at(7us)).status(), MadStatus::kInvalidValue);
}

TEST(PerformanceAgent, RefusesPortsAndAttributesThatAreNotThere) {
  CountingSwitch node;
  EXPECT_EQ(node.ask(perf(MadMethod::kGet, PerfAttribute::kPortCounters, 4)).status(),
            MadStatus::kInvalidValue);
  ManagedFixture adapter(NodeType::kChannelAdapter, 1);
  EXPECT_EQ(adapter.ask(perf(MadMethod::kGet, PerfAttribute::kPortCountersExtended, 0)).status(),
            MadStatus::kInvalidValue);
  EXPECT_EQ(node.ask(perf(MadMethod::kGet, static_cast<PerfAttribute>(0x15), 1)).status(),
            MadStatus::kBadMethodAttribute);
  EXPECT_EQ(node.ask(perf(MadMethod::kSet, PerfAttribute::kClassPortInfo, 1)).status(),
            MadStatus::kBadMethodAttribute);
  MadBuffer version = perf(MadMethod::kGet, PerfAttribute::kPortCounters, 1);
  wire::store_u8(version.data() + 2, 9);
  EXPECT_EQ(node.ask(version).status(), MadStatus::kBadVersion);
}

}  // namespace
}  // namespace weft::mgmt::test
