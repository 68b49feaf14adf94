// SPDX-License-Identifier: Apache-2.0
#include "service/firewall/packet_key.h"

#include <array>

namespace weft::service::firewall {
namespace {

using wire::CmMessage;
using wire::Transport;

bool is_connected(const Fields& fields) {
  return fields.transport == Transport::rc || fields.transport == Transport::uc ||
         fields.transport == Transport::xrc;
}

// IBA annex A4: service IDs of the sockets direct protocol, 0x0000'0000'0001'pppp.
bool is_sdp(wire::ServiceId service) {
  return service.value() >> 16 == 1;
}

Traffic traffic_of_raw(const Fields& fields) {
  constexpr std::array<std::uint16_t, 3> kKnown{0x0800, 0x0806, 0x86DD};
  for (const std::uint16_t type : kKnown) {
    if (fields.ether_type == type) return Traffic::raw;
  }
  return Traffic::opaque;
}

void add_mad(MatchKey& key, const Fields& fields) {
  key.set(Field::mad_class, static_cast<std::uint64_t>(fields.mad.mgmt_class));
  key.set(Field::mad_method, static_cast<std::uint64_t>(fields.mad.method));
  key.set(Field::mad_attribute, fields.mad.attribute);
  key.set(Field::mad_modifier, fields.mad.modifier);
  if (!fields.cm.present) return;
  const CmMessage message = fields.cm.message;
  key.set(Field::cm_message, static_cast<std::uint64_t>(message));
  if (message == CmMessage::kReq || message == CmMessage::kSidrReq)
    key.set(Field::service, fields.cm.service_id.value());
}

void add_ip(MatchKey& key, const IpFields& ip) {
  key.set(Field::ip_source, Wide(ip.source));
  key.set(Field::ip_destination, Wide(ip.destination));
  key.set(Field::protocol, ip.protocol);
  if (ip.ports) {
    key.set(Field::source_port, ip.source_port);
    key.set(Field::destination_port, ip.destination_port);
  }
  if (!ip.by_request) key.set(Field::fragment, ip.later_fragment ? 2u : (ip.fragment ? 1u : 0u));
}

void add_transport(MatchKey& key, const Fields& fields) {
  key.set(Field::opcode, static_cast<std::uint64_t>(fields.opcode));
  key.set(Field::pkey, fields.pkey.value());
  key.set(Field::partition, fields.pkey.value() & 0x7FFFu);
  key.set(Field::dest_qp, fields.dest_qp.value());
  if (fields.has_source_qp) {
    key.set(Field::src_qp, fields.source_qp.value());
    key.set(Field::qkey, fields.qkey.value());
  }
  key.set(Field::size, fields.payload_size);
  if (fields.has_reth || (fields.starts_message && fields.ends_message))
    key.set(Field::message, fields.message_size());
}

}  // namespace

Traffic traffic_of(const Fields& fields, wire::ServiceId service) {
  if (fields.form == Form::kRawIpv6) return Traffic::raw;
  if (fields.form == Form::kRawEtherType) return traffic_of_raw(fields);
  if (fields.form != Form::kTransport) return Traffic::opaque;
  const bool datagram = fields.transport == Transport::ud;
  if (!datagram && !is_connected(fields)) return Traffic::opaque;
  if (fields.content == Content::kMad) return fields.cm.present ? Traffic::cm : Traffic::mad;
  const bool lan = service == kLanService || (datagram && fields.qkey == kLanGroupQKey);
  const bool sound = fields.problem == Problem::kNone || fields.problem == Problem::kPartFrame;
  const bool looks_lan =
      datagram && (fields.content == Content::kLan || fields.content == Content::kLanGroups);
  if (lan || (looks_lan && sound)) return Traffic::lan;
  const bool ipoib = datagram && fields.qkey == kIpoibQKey;
  if (ipoib || (fields.content == Content::kIpoib && sound)) return Traffic::ipoib;
  if (is_connected(fields)) return is_sdp(service) ? Traffic::sdp : Traffic::connected;
  return Traffic::datagram;
}

bool is_doubtful(const Fields& fields, Traffic traffic) {
  if (fields.form == Form::kMalformed) return true;
  if (fields.problem == Problem::kNone || fields.problem == Problem::kPartFrame) return false;
  return traffic == Traffic::mad || traffic == Traffic::cm || traffic == Traffic::ipoib ||
         traffic == Traffic::lan || traffic == Traffic::raw;
}

MatchKey key_of(const Fields& fields, Traffic traffic) {
  MatchKey key;
  key.set(Field::traffic, static_cast<std::uint64_t>(traffic));
  if (fields.size >= 8) {
    key.set(Field::slid, fields.slid.value());
    key.set(Field::dlid, fields.dlid.value());
    key.set(Field::sl, fields.sl.value());
    key.set(Field::vl, fields.vl.value());
  }
  if (fields.global) {
    key.set(Field::sgid, Wide(fields.sgid));
    key.set(Field::dgid, Wide(fields.dgid));
  }
  if (fields.transport_at != 0) add_transport(key, fields);
  const bool inside = traffic == Traffic::ipoib || traffic == Traffic::lan;
  if (inside || traffic == Traffic::raw || fields.form == Form::kRawEtherType) {
    if (fields.ether_type != 0) key.set(Field::ether_type, fields.ether_type);
  }
  if (traffic == Traffic::lan && fields.lan.total != 0 && fields.lan.offset == 0 &&
      fields.content == Content::kLan) {
    const auto number = [](const MacAddress& mac) {
      std::uint64_t out = 0;
      for (const std::uint8_t octet : mac)
        out = out << 8 | octet;
      return out;
    };
    key.set(Field::ether_source, number(fields.lan.source));
    key.set(Field::ether_destination, number(fields.lan.destination));
    if (fields.lan.tags > 0) key.set(Field::vlan, fields.lan.vlan & 0xFFFu);
  }
  if (traffic == Traffic::mad || traffic == Traffic::cm) add_mad(key, fields);
  const bool has_ip = inside || traffic == Traffic::raw || traffic == Traffic::cm;
  if (has_ip && fields.ip.version != 0) add_ip(key, fields.ip);
  return key;
}

Bytes private_data_of(const Fields& fields, Bytes packet) {
  const bool asks = fields.cm.present && (fields.cm.message == CmMessage::kReq ||
                                          fields.cm.message == CmMessage::kSidrReq);
  if (!asks || fields.cm.private_at + std::size_t{fields.cm.private_size} > packet.size())
    return {};
  return packet.subspan(fields.cm.private_at, fields.cm.private_size);
}

void add_private_data(MatchKey& key, Bytes private_data, std::span<const PrivateBytes> places) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    const PrivateBytes& place = places[i];
    if (std::size_t{place.offset} + place.length > private_data.size()) continue;
    std::uint64_t value = 0;
    for (const std::byte byte : private_data.subspan(place.offset, place.length))
      value = value << 8 | static_cast<std::uint64_t>(byte);
    key.set(static_cast<Field>(index(Field::private0) + i), value);
  }
}

void add_request(MatchKey& key, const MatchKey& request) {
  constexpr std::array<Field, 12> kNarrow{
      Field::service,  Field::private0, Field::private1,    Field::private2,
      Field::private3, Field::private4, Field::private5,    Field::private6,
      Field::private7, Field::protocol, Field::source_port, Field::destination_port};
  for (const Field field : kNarrow) {
    if (request.has(field) && !key.has(field)) key.set(field, request.narrow(field));
  }
  for (const Field field : {Field::ip_source, Field::ip_destination}) {
    if (request.has(field) && !key.has(field)) key.set(field, request.wide(field));
  }
}

}  // namespace weft::service::firewall
