// SPDX-License-Identifier: Apache-2.0
// What a capture or a lab's link may say of a negotiation, true or not: the judge has one finding
// for each requirement, says what it saw wherever it passes or fails one, does not exercise what
// the exchange cannot show, and judges each node by what that one did.
#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "input.h"
#include "phy/conformance/captured.h"
#include "phy/conformance/judge.h"
#include "phy/negotiation/port_speeds.h"
#include "wire/endian.h"
#include "wire/link_crc.h"
#include "wire/packet.h"
#include "wire/sm/smp.h"

namespace {

using namespace weft;
using namespace weft::phy;
using namespace weft::phy::conformance;
using fuzz::Input;
using fuzz::require;

SeenMad some_mad(Input& input) {
  constexpr std::array<std::uint32_t, 8> kFlags{0x0000'0001, 0x8000'0001, 0x4000'0001, 0xC000'0001,
                                                0x2000'0001, 0xE000'0001, 0x0000'0000, 0x5000'0003};
  SeenMad mad{.flags = kFlags[input.one_of(kFlags.size())],
              .bandwidth = 5000,
              .duration_ms = static_cast<std::uint32_t>(input.one_of(3) * 10),
              .iterations = static_cast<std::uint32_t>(input.one_of(11))};
  if (input.one_of(4) == 0) mad.bandwidth = 0;
  if (input.one_of(2) == 0) return mad;
  SeenMad::Head head{.header = {.mgmt_class = wire::MgmtClass::kSubnDirected,
                                .class_version = 1,
                                .method = wire::MadMethod::kSend,
                                .transaction_id = std::uint64_t{input.one_of(4)} << 32,
                                .attribute_id = 0x02C9,
                                .attribute_modifier = 0x02C9},
                     .dr_slid = Lid{0xFFFF},
                     .dr_dlid = Lid{0xFFFF}};
  if (input.one_of(8) == 0) head.header.attribute_id = 0x11;
  // Mostly one thing is wrong, of all that can be.
  switch (input.one_of(16)) {
    case 0:
      head.header.mgmt_class = wire::MgmtClass::kSubnLid;
      break;
    case 1:
      head.header.method = wire::MadMethod::kGet;
      break;
    case 2:
      head.header.attribute_modifier = 1;
      break;
    case 3:
      head.dr_slid = Lid{1};
      break;
    case 4:
      mad.rest_zero = false;
      break;
    default:
      break;
  }
  mad.head = head;
  const std::uint8_t around = input.one_of(6);
  if (around == 0) return mad;
  mad.envelope =
      SeenMad::Envelope{.vl = Vl{static_cast<std::uint8_t>(around == 1 ? 0 : 15)},
                        .slid = Lid{static_cast<std::uint16_t>(around == 2 ? 1 : 0xFFFF)},
                        .dlid = Lid{0xFFFF},
                        .source_qp = Qpn{around == 3 ? 1U : 0U},
                        .dest_qp = Qpn{0}};
  return mad;
}

// A packet with such a MAD: LRH, BTH, DETH, and CRCs that are right.
std::vector<std::byte> some_packet(Input& input) {
  constexpr std::size_t kBefore = 8 + 12 + 8;
  SeenMad mad = some_mad(input);
  std::vector<std::byte> packet(kBefore + wire::kMadSize + wire::kIcrcSize + wire::kVcrcSize);
  packet[0] = std::byte{0xF0};  // VL 15
  packet[1] = std::byte{0x02};  // BTH comes next
  wire::store_be16(packet.data() + 2, 0xFFFF);
  wire::store_be16(packet.data() + 4,
                   static_cast<std::uint16_t>((packet.size() - wire::kVcrcSize) / 4));
  wire::store_be16(packet.data() + 6, 0xFFFF);
  packet[8] = std::byte{0x64};  // UD, send only
  wire::store_be16(packet.data() + 10, 0xFFFF);
  const auto bytes = MutableBytes(packet).subspan<kBefore, wire::kMadSize>();
  if (mad.head) {
    mad.head->header.write(bytes);
    wire::store_be16(bytes.data() + wire::smp::kDrSlidOffset, mad.head->dr_slid.value());
    wire::store_be16(bytes.data() + wire::smp::kDrDlidOffset, mad.head->dr_dlid.value());
  }
  std::byte* const words = bytes.data() + wire::smp::kDataOffset;
  wire::store_be32(words, mad.flags);
  wire::store_be32(words + 4, mad.bandwidth);
  wire::store_be32(words + 8, mad.duration_ms);
  wire::store_be32(words + 12, mad.iterations);
  wire::seal_link_packet(packet);
  if (input.rarely()) packet[input.byte()] ^= std::byte{1};
  return packet;
}

Observation some_event(Input& input) {
  Observation seen;
  seen.kind = static_cast<Observation::Kind>(input.one_of(8));
  seen.node = static_cast<unsigned>(input.one_of(2));
  seen.mad = some_mad(input);
  seen.speed = input.one_of(2) == 0 ? LinkSpeed::kSdr : LinkSpeed::kDdr;
  seen.use = input.one_of(2) == 0 ? LineUse::kTrain : LineUse::kIdle;
  seen.lane = static_cast<std::uint32_t>(input.one_of(2));
  seen.configuration = static_cast<std::uint32_t>(input.one_of(4));
  seen.measured = {.matched = input.one_of(2) != 0, .symbol_errors = input.one_of(2)};
  seen.polling = input.one_of(2) == 0;
  if (seen.configuration % 2 == 0) seen.speeds = port_speeds(SpeedMode::kAuto, seen.speed);
  return seen;
}

void check(const Exchange& exchange) {
  Rules rules;
  rules.slack = 10us;
  for (unsigned node = 0; node < 2; ++node) {
    const std::vector<Finding> findings = judge(exchange, node, rules);
    require(findings.size() == requirements().size());
    const bool spoke =
        std::any_of(exchange.observations.begin(), exchange.observations.end(),
                    [node](const Observation& seen) {
                      return seen.node == node && seen.kind == Observation::Kind::kMessage;
                    });
    for (std::size_t i = 0; i < findings.size(); ++i) {
      const Finding& finding = findings[i];
      require(finding.requirement == &requirements()[i]);
      const Verdict verdict = finding.outcome.verdict;
      require((verdict == Verdict::kNotExercised) == finding.outcome.seen.empty());
      require(!verdict_name(verdict).empty());
      const std::string_view id = finding.requirement->id;
      if (!exchange.lines) require(id != "returns" || verdict == Verdict::kNotExercised);
      if (!exchange.answers) require(id != "polling" || verdict == Verdict::kNotExercised);
      if (!exchange.configurations) {
        require(id != "sweep-in-turn" || verdict == Verdict::kNotExercised);
      }
      // Of a node that said nothing, the form of what it says cannot be wrong.
      if (!spoke) require(id != "burst" || verdict == Verdict::kNotExercised);
      if (!spoke) require(id != "bandwidth" || verdict == Verdict::kNotExercised);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  if (input.one_of(8) == 0) {
    // Packets of any kind.
    std::vector<CapturedPacket> packets;
    std::vector<std::vector<std::byte>> kept;
    while (!input.empty()) {
      if (input.one_of(2) != 0) {
        kept.push_back(some_packet(input));
        continue;
      }
      const Bytes some = input.some();
      kept.emplace_back(some.begin(), some.end());
    }
    Time at{};
    for (const auto& packet : kept)
      packets.push_back({at += 1us, static_cast<unsigned>(packets.size() % 2), packet});
    check(captured_exchange(packets).exchange);
    return 0;
  }
  Exchange exchange;
  exchange.lines = input.one_of(2) == 0;
  exchange.configurations = exchange.lines && input.one_of(2) == 0;
  exchange.answers = exchange.lines && input.one_of(2) == 0;
  constexpr std::array<Duration, 8> kSteps{0us, 1us, 10us, 200us, 1ms, 10ms, 500ms, 1s};
  Time now{};
  while (!input.empty()) {
    now += kSteps[input.one_of(kSteps.size())];
    Observation seen = some_event(input);
    seen.time = now;
    if (seen.kind != Observation::Kind::kMessage && !exchange.lines) {
      seen.kind = Observation::Kind::kMessage;
    }
    if (input.one_of(8) != 0) seen.arrived = now;
    const std::uint64_t copies = seen.kind == Observation::Kind::kMessage ? input.one_of(6) : 1;
    for (std::uint64_t copy = 0; copy < copies; ++copy)
      exchange.observations.push_back(seen);
  }
  exchange.end = now + kSteps[size % kSteps.size()];
  check(exchange);
  return 0;
}
