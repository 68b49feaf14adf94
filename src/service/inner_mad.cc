// SPDX-License-Identifier: Apache-2.0
#include "service/inner.h"
#include "wire/cm_alternate.h"
#include "wire/cm_connect.h"
#include "wire/cm_disconnect.h"
#include "wire/cm_ip.h"
#include "wire/cm_refuse.h"
#include "wire/cm_sidr.h"
#include "wire/endian.h"
#include "wire/ip_protocol.h"

namespace weft::service::detail {
namespace {

namespace ip_protocol = wire::ip_protocol;

using wire::CmMessage;

// IBA A4.5: service IDs of the sockets direct protocol end in the port.
constexpr std::uint64_t kSdpFirst = 0x1'0000;
constexpr std::uint64_t kPortMask = 0xFFFF;

// The header of a hello message (IBA A4.3.2), which says addresses as annex A11 does, but
// elsewhere: 16 bytes of message header, version, IP version(4), 10 bytes, source port, 2 bytes,
// addresses.
constexpr std::size_t kHelloSize = 64;

void take_addresses(std::uint8_t version, std::uint16_t port, const std::byte* source,
                    const std::byte* destination, Fields& out) {
  if (version != 4 && version != 6) return;
  IpFields& ip = out.ip;
  ip.version = version;
  ip.by_request = true;
  ip.ports = true;
  ip.source_port = port;
  ip.destination_port = static_cast<std::uint16_t>(out.cm.service_id.value() & kPortMask);
  const auto address = [version](const std::byte* at) {
    return version == 4 ? Gid::from_ipv4(wire::load_be32(at + 12)) : wire::load_gid(at);
  };
  ip.source = address(source);
  ip.destination = address(destination);
}

// REQ and SIDR_REQ, of which the private data begins with addresses, as their service ID says.
void read_addresses(Bytes data, Fields& out) {
  const std::uint64_t id = out.cm.service_id.value();
  if ((id & ~kPortMask) == kSdpFirst) {
    out.cm.sdp = true;
    out.ip.protocol = ip_protocol::kTcp;
    if (data.size() < kHelloSize) return;
    const std::byte* const at = data.data();
    take_addresses(wire::load_u8(at + 17) >> 4, wire::load_be16(at + 28), at + 32, at + 48, out);
    return;
  }
  const auto space = static_cast<wire::PortSpace>(id >> 16);
  const bool udp = space == wire::PortSpace::kUdp || space == wire::PortSpace::kIpoib;
  if (!udp && space != wire::PortSpace::kTcp && space != wire::PortSpace::kIb) return;
  const auto header = wire::CmIpHeader::parse(data);
  if (!header) return;
  if (space != wire::PortSpace::kIb) out.ip.protocol = udp ? ip_protocol::kUdp : ip_protocol::kTcp;
  take_addresses(header->ip_version, header->source_port, data.data() + 4, data.data() + 20, out);
}

void private_data(std::size_t at, std::size_t size, Fields& out) {
  out.cm.private_at = static_cast<std::uint16_t>(out.payload_at + wire::MadHeader::kSize + at);
  out.cm.private_size = static_cast<std::uint16_t>(size);
}

void read_req(Bytes body, Fields& out) {
  const auto req = *wire::CmReq::parse(body);
  CmFields& cm = out.cm;
  cm.service_id = req.service_id;
  cm.local_qp = req.local_qpn;
  cm.qkey = req.local_qkey;
  cm.starting_psn = req.starting_psn;
  cm.pkey = req.pkey;
  cm.transport = req.transport;
  cm.path_mtu = req.path_mtu;
  cm.primary_local_gid = req.primary.local_gid;
  cm.primary_remote_gid = req.primary.remote_gid;
  cm.primary_local_lid = req.primary.local_lid;
  cm.primary_remote_lid = req.primary.remote_lid;
  private_data(140, wire::kReqPrivateData, out);
  read_addresses(body.subspan(140, wire::kReqPrivateData), out);
}

void read_rep(Bytes body, Fields& out) {
  const auto rep = *wire::CmRep::parse(body);
  out.cm.local_qp = rep.local_qpn;
  out.cm.qkey = rep.local_qkey;
  out.cm.starting_psn = rep.starting_psn;
  private_data(36, wire::kRepPrivateData, out);
}

void read_sidr_req(Bytes body, Fields& out) {
  const auto req = *wire::CmSidrReq::parse(body);
  out.cm.remote_comm_id = {};
  out.cm.pkey = req.pkey;
  out.cm.service_id = req.service_id;
  private_data(16, wire::kSidrReqPrivateData, out);
  read_addresses(body.subspan(16, wire::kSidrReqPrivateData), out);
}

void read_sidr_rep(Bytes body, Fields& out) {
  const auto rep = *wire::CmSidrRep::parse(body);
  out.cm.remote_comm_id = {};
  out.cm.reason = static_cast<std::uint16_t>(rep.status);
  out.cm.local_qp = rep.qpn;
  out.cm.service_id = rep.service_id;
  out.cm.qkey = rep.qkey;
  private_data(96, wire::kSidrRepPrivateData, out);
}

void read_message(CmMessage message, Bytes body, Fields& out) {
  CmFields& cm = out.cm;
  cm.present = true;
  cm.message = message;
  cm.local_comm_id = wire::CommId{wire::load_be32(body.data())};
  cm.remote_comm_id = wire::CommId{wire::load_be32(body.data() + 4)};
  switch (message) {
    case CmMessage::kReq:
      cm.remote_comm_id = {};
      return read_req(body, out);
    case CmMessage::kRep:
      return read_rep(body, out);
    case CmMessage::kSidrReq:
      return read_sidr_req(body, out);
    case CmMessage::kSidrRep:
      return read_sidr_rep(body, out);
    case CmMessage::kMra:
      return private_data(10, wire::kMraPrivateData, out);
    case CmMessage::kRej:
      cm.reason = static_cast<std::uint16_t>(wire::CmRej::parse(body)->reason);
      return private_data(84, wire::kRejPrivateData, out);
    case CmMessage::kRtu:
    case CmMessage::kDrep:
      return private_data(8, wire::kRtuPrivateData, out);
    case CmMessage::kDreq:
      cm.remote_qp = wire::CmDreq::parse(body)->remote_qpn;
      return private_data(12, wire::kDreqPrivateData, out);
    case CmMessage::kLap:
      cm.remote_qp = wire::CmLap::parse(body)->remote_qpn;
      return private_data(64, wire::kLapPrivateData, out);
    case CmMessage::kApr:
      cm.reason = static_cast<std::uint16_t>(wire::CmApr::parse(body)->status);
      return private_data(84, wire::kAprPrivateData, out);
  }
  // Of no message that there is.
  cm = {};
}

}  // namespace

void read_mad(Bytes payload, Fields& out) {
  out.content = Content::kMad;
  if (payload.size() != wire::kMadSize) {
    out.problem = Problem::kMadLength;
    return;
  }
  const auto header = *wire::MadHeader::parse(payload);
  out.mad = {.mgmt_class = header.mgmt_class,
             .class_version = header.class_version,
             .method = header.method,
             .status = header.status,
             .attribute = header.attribute_id,
             .modifier = header.attribute_modifier,
             .transaction = header.transaction_id};
  if (header.base_version != wire::MadHeader::kBaseVersion) {
    out.problem = Problem::kMadVersion;
    return;
  }
  if (header.mgmt_class != wire::MgmtClass::kCommMgt) return;
  if (header.class_version != wire::kCmClassVersion) {
    out.problem = Problem::kMadVersion;
    return;
  }
  if (header.method != wire::MadMethod::kSend) return;
  read_message(static_cast<CmMessage>(header.attribute_id), payload.subspan(wire::MadHeader::kSize),
               out);
}

}  // namespace weft::service::detail
