// SPDX-License-Identifier: Apache-2.0
#include "phy/conformance/seen_mad.h"

#include <algorithm>

#include "wire/endian.h"
#include "wire/link_crc.h"
#include "wire/packet.h"
#include "wire/sm/smp.h"

namespace weft::phy::conformance {
namespace {

constexpr std::size_t kWordsBytes = 16;  // of the data of the SMP: table 1

constexpr std::uint8_t kDirectRouteClass = 0x81;
constexpr std::uint8_t kSend = 0x03;
constexpr std::uint16_t kAttribute = 0x02C9;
constexpr std::uint32_t kModifier = 0x0000'02C9;

}  // namespace

Speech SeenMad::speech() const {
  if (serdes_configured()) return acknowledge() ? Speech::kResultAck : Speech::kResult;
  return acknowledge() ? Speech::kCapabilitiesAck : Speech::kCapabilities;
}

SeenMad read_mad(wire::MadBytes mad) {
  const auto data = wire::smp::data(mad);
  const std::byte* const words = data.data();
  const auto rest = data.subspan(kWordsBytes);
  return {.head = SeenMad::Head{.header = *wire::MadHeader::parse(mad),
                                .dr_slid = wire::smp::dr_slid(mad),
                                .dr_dlid = wire::smp::dr_dlid(mad)},
          .flags = wire::load_be32(words),
          .bandwidth = wire::load_be32(words + 4),
          .duration_ms = wire::load_be32(words + 8),
          .iterations = wire::load_be32(words + 12),
          .rest_zero = std::all_of(rest.begin(), rest.end(),
                                   [](std::byte byte) { return byte == std::byte{0}; })};
}

std::variant<SeenMad, NoMessage> read_packet(Bytes packet) {
  const auto walked = wire::walk_link_packet(packet);
  if (!walked || !walked->transport || !walked->transport->deth) return NoMessage::kOther;
  const wire::TransportPacket& transport = *walked->transport;
  if (transport.payload.size() != wire::kMadSize) return NoMessage::kOther;
  const Bytes covered = packet.first(packet.size() - wire::kIcrcSize - wire::kVcrcSize);
  if (wire::link_icrc(covered) != transport.icrc) return NoMessage::kDamaged;
  SeenMad mad = read_mad(transport.payload.first<wire::kMadSize>());
  const wire::MadHeader& header = mad.head->header;
  const bool sent_directly = static_cast<std::uint8_t>(header.mgmt_class) == kDirectRouteClass &&
                             static_cast<std::uint8_t>(header.method) == kSend;
  if (header.attribute_id != kAttribute && !sent_directly) return NoMessage::kOther;
  mad.envelope = SeenMad::Envelope{.vl = walked->lrh.vl,
                                   .slid = walked->lrh.slid,
                                   .dlid = walked->lrh.dlid,
                                   .source_qp = transport.deth->src_qp,
                                   .dest_qp = transport.bth.dest_qp};
  return mad;
}

bool is_of_protocol(const SeenMad& mad) {
  return !mad.head ||
         (static_cast<std::uint8_t>(mad.head->header.mgmt_class) == kDirectRouteClass &&
          mad.head->header.attribute_id == kAttribute);
}

std::optional<std::string_view> forbidden_field(const SeenMad& mad) {
  if (mad.head) {
    if (static_cast<std::uint8_t>(mad.head->header.method) != kSend) return "its method";
    if (mad.head->header.attribute_modifier != kModifier) return "its modifier";
  }
  if (mad.bandwidth != 5000) return "its bandwidth";
  if (!mad.ddr()) return std::nullopt;
  if (mad.no_sweep() || mad.serdes_configured()) {
    if (mad.iterations > 8) return "its chosen iteration";
    return std::nullopt;
  }
  if (mad.iterations == 0 || mad.iterations > 9) return "its number of iterations";
  return std::nullopt;
}

std::string_view speech_name(Speech speech) {
  switch (speech) {
    case Speech::kCapabilities:
      return "Capabilities Advertisement";
    case Speech::kCapabilitiesAck:
      return "Capabilities Advertisement + ACK";
    case Speech::kResult:
      return "Result Advertisement";
    case Speech::kResultAck:
      return "Result Advertisement + ACK";
  }
  return "";
}

}  // namespace weft::phy::conformance
