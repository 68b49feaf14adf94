// SPDX-License-Identifier: Apache-2.0
// Exchanges of which only packets were seen.
#include "phy/conformance/captured.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <list>
#include <vector>

#include "findings.h"
#include "mgmt/mad_packet.h"
#include "phy/conformance/replay.h"
#include "phy/negotiation/advertisement.h"

namespace weft::phy::conformance {
namespace {

using test::failed;
using test::Ids;
using test::verdict_of;

// What a capture of a diagram holds.
class Recording {
 public:
  explicit Recording(unsigned diagram) {
    const Exchange exchange = replay(diagram);
    for (const Observation& seen : exchange.observations) {
      if (seen.kind != Observation::Kind::kMessage) continue;
      const SeenMad& mad = seen.mad;
      add(seen.time, seen.node,
          make_advertisement_mad({{.acknowledge = mad.acknowledge(),
                                   .serdes_configured = mad.serdes_configured(),
                                   .no_sweep = mad.no_sweep(),
                                   .ddr = mad.ddr(),
                                   .iteration_ms = mad.duration_ms,
                                   .iterations = mad.iterations},
                                  mad.head->header.transaction_id}));
    }
  }

  void add(Time time, unsigned node, const wire::MadBuffer& mad, Lid lid = Lid{0xFFFF}) {
    std::array<std::byte, mgmt::kMaxMadPacket> bytes;
    const mgmt::MadEnvelope envelope{.slid = lid, .dlid = lid};
    const std::size_t size = mgmt::write_mad_packet(envelope, mad, Psn{0}, bytes);
    add_bytes(time, node, std::vector<std::byte>(bytes.begin(), bytes.begin() + size));
  }
  void add_bytes(Time time, unsigned node, std::vector<std::byte> packet) {
    kept.push_back(std::move(packet));
    packets.push_back({time, node, kept.back()});
  }
  // Something else, later on.
  void add_other(Duration later) {
    const wire::MadHeader header{.mgmt_class = wire::MgmtClass::kSubnDirected,
                                 .class_version = 1,
                                 .method = wire::MadMethod::kGet,
                                 .attribute_id = 0x0011};
    wire::MadBuffer mad{};
    header.write(mad);
    add(packets.back().time + later, 0, mad);
  }

  std::list<std::vector<std::byte>> kept;
  std::vector<CapturedPacket> packets;
};

std::vector<Finding> findings_of(const Recording& recording, unsigned node) {
  return judge(captured_exchange(recording.packets).exchange, node, {});
}

TEST(Captured, exchanges_of_the_diagrams_pass) {
  for (unsigned diagram = 1; diagram <= kDiagrams; ++diagram) {
    Recording recording(diagram);
    recording.add_other(1s);
    for (unsigned node = 0; node < 2; ++node) {
      const auto findings = findings_of(recording, node);
      EXPECT_EQ(failed(findings), Ids{}) << diagram << " node " << node;
      for (const char* const id :
           {"class", "lids", "lane", "queue-pair", "bandwidth", "advertises", "acknowledges",
            "sweeps", "sweep-duration", "serdes-configured", "advertises-result", "retries"}) {
        EXPECT_EQ(verdict_of(findings, id), Verdict::kPass) << id << " of " << diagram;
      }
      // What no capture shows.
      for (const char* const id : {"returns", "goes-to-ddr", "chosen-works", "polling"})
        EXPECT_EQ(verdict_of(findings, id), Verdict::kNotExercised) << id;
    }
  }
}

TEST(Captured, packets_count_as_messages_by_what_is_in_them) {
  Recording recording(1);
  const std::size_t messages = recording.packets.size();
  recording.add_other(1ms);
  std::vector<std::byte> damaged = recording.kept.front();
  damaged[100] ^= std::byte{1};
  recording.add_bytes(recording.packets.back().time, 1, damaged);
  recording.add_bytes(recording.packets.back().time, 1, {});
  const CapturedExchange seen = captured_exchange(recording.packets);
  EXPECT_EQ(seen.messages, messages);
  EXPECT_EQ(seen.damaged, 1U);
  EXPECT_EQ(seen.exchange.begin, recording.packets.front().time);
  EXPECT_EQ(seen.exchange.end, recording.packets.back().time);
  EXPECT_FALSE(seen.exchange.lines);
}

TEST(Captured, packets_of_another_envelope_fail_in_that) {
  Recording recording(1);
  const Recording other(1);
  Recording wrong(1);
  wrong.packets.clear();
  std::size_t at = 0;
  for (const CapturedPacket& packet : other.packets) {
    const auto mad = mgmt::parse_mad_packet(packet.packet, mgmt::PortNumber{1})->mad;
    wire::MadBuffer copy;
    std::copy(mad.begin(), mad.end(), copy.begin());
    wrong.add(packet.time, packet.node, copy, ++at == 9 ? Lid{7} : Lid{0xFFFF});
  }
  const unsigned node = other.packets[8].node;
  EXPECT_EQ(failed(findings_of(wrong, node)).count("lids"), 1U);
  EXPECT_EQ(failed(findings_of(wrong, 1 - node)), Ids{});
}

TEST(Captured, exchange_without_the_acknowledgements_of_one_end_fails_there) {
  Recording recording(1);
  std::erase_if(recording.packets, [](const CapturedPacket& packet) {
    const auto mad = read_mad(mgmt::parse_mad_packet(packet.packet, mgmt::PortNumber{1})->mad);
    return packet.node == 1 && mad.speech() == Speech::kCapabilitiesAck;
  });
  EXPECT_EQ(failed(findings_of(recording, 1)), Ids{"acknowledges"});
  EXPECT_EQ(failed(findings_of(recording, 0)), Ids{});
}

TEST(Captured, results_before_the_sweep_can_be_over_fail) {
  Recording recording(1);
  // All from the results on comes 100 ms too early.
  for (CapturedPacket& packet : recording.packets) {
    const auto mad = read_mad(mgmt::parse_mad_packet(packet.packet, mgmt::PortNumber{1})->mad);
    if (mad.serdes_configured()) packet.time -= 100ms;
  }
  EXPECT_EQ(failed(findings_of(recording, 0)), Ids{"sweep-duration"});
}

TEST(Captured, exchange_that_ends_in_the_midst_is_no_failure) {
  const Recording whole(2);
  for (std::size_t size = 0; size <= whole.packets.size(); ++size) {
    Recording cut(2);
    cut.packets.resize(size);
    for (unsigned node = 0; node < 2; ++node)
      EXPECT_EQ(failed(findings_of(cut, node)), Ids{}) << size << " packets, node " << node;
  }
}

TEST(Captured, exchange_that_begins_in_the_midst_is_no_failure) {
  const Recording whole(1);
  for (std::size_t size = 1; size <= whole.packets.size(); ++size) {
    Recording cut(1);
    cut.packets.erase(cut.packets.begin(), cut.packets.begin() + static_cast<std::ptrdiff_t>(size));
    for (unsigned node = 0; node < 2; ++node)
      EXPECT_EQ(failed(findings_of(cut, node)), Ids{}) << "without " << size << ", node " << node;
  }
}

}  // namespace
}  // namespace weft::phy::conformance
