// SPDX-License-Identifier: Apache-2.0
// What Linux and adapters sent, as it would come out of a socket of wire `roce`, which does not
// tell the IPv4 Identification.
#include "../wire/capture.h"
#include "udp_fixture.h"
#include "wire/roce_frame.h"

namespace weft::port {
namespace {

using wire::test::CapturedPacket;
using wire::test::roce_frames;

struct Outcome {
  std::vector<Arrival> arrivals;
  std::uint64_t bad_icrc = 0;
};

Outcome through_a_socket(const wire::RoceFrame& frame, Bytes transport) {
  WireRules rules;
  rules.fixed_port = wire::kRocePort;
  rules.counts_identification = true;
  io::ReceivedDatagram about;
  about.source.address = frame.datagram.src;
  about.source.port = frame.datagram.src_port;
  about.destination = frame.datagram.dst;
  about.ttl = frame.datagram.hop_limit;
  about.tos = frame.datagram.traffic_class;
  UdpCounters counters;
  IcrcFlowCache flows;
  Collector collector;
  const ReceivedFrames frames(transport, about, wire::kRocePort, rules);
  frames.deliver(collector, counters, flows, nullptr, false);
  return {std::move(collector.arrivals), counters.get(UdpCounter::kRxBadIcrc)};
}

TEST(GenuinePackets, AreTakenThoughTheirIdentificationIsUnknown) {
  std::size_t identified = 0;
  for (const CapturedPacket& packet : roce_frames()) {
    const auto frame = wire::parse_ethernet(packet.bytes);
    ASSERT_TRUE(frame) << packet.where;
    const Outcome outcome = through_a_socket(*frame, frame->transport);
    ASSERT_EQ(outcome.arrivals.size(), 1u) << packet.where;
    EXPECT_EQ(outcome.arrivals[0].traffic_class, frame->datagram.traffic_class) << packet.where;
    if (frame->datagram.is_ipv4() && frame->datagram.identification != 0) ++identified;
  }
  EXPECT_GT(identified, 500u);
}

TEST(GenuinePackets, AreFoundOutWithAWrongBit) {
  for (const CapturedPacket& packet : roce_frames()) {
    const auto frame = wire::parse_ethernet(packet.bytes);
    ASSERT_TRUE(frame) << packet.where;
    for (std::size_t at = 0; at < frame->transport.size(); at += 7) {
      if (at == wire::Bth::kUncoveredByte) continue;
      std::vector<std::byte> spoilt(frame->transport.begin(), frame->transport.end());
      spoilt[at] ^= std::byte{0x10};
      const Outcome outcome = through_a_socket(*frame, spoilt);
      EXPECT_TRUE(outcome.arrivals.empty()) << packet.where << ", byte " << at;
      EXPECT_EQ(outcome.bad_icrc, 1u);
    }
  }
}

}  // namespace
}  // namespace weft::port
