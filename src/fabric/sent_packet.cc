// SPDX-License-Identifier: Apache-2.0
#include "fabric/sent_packet.h"

#include "fabric/packet_view.h"
#include "hca/raw_packet.h"
#include "link/iba_values.h"
#include "wire/deth.h"
#include "wire/packet.h"

namespace weft::fabric {
namespace {

bool is_of_queue_pairs(wire::Transport transport) {
  using wire::Transport;
  return transport == Transport::rc || transport == Transport::uc || transport == Transport::ud ||
         transport == Transport::xrc;
}

}  // namespace

bool SentPacket::read(const link::Packet& packet, Qpn source) {
  size = packet.size();
  const std::size_t covered = size - wire::kVcrcSize;
  Bytes rest = packet.header();
  const wire::Lrh lrh = wire::Lrh::read(rest);
  if (lrh.link_version != 0 || lrh.vl == kManagementVl || is_raw(lrh) ||
      lrh.packet_bytes() != covered) {
    return false;
  }
  sl = lrh.sl;
  dlid = lrh.dlid;
  slid = lrh.slid;
  rest = rest.subspan(wire::Lrh::kSize);
  if (lrh.next_header == wire::Lnh::iba_global) {
    grh = wire::Grh::parse(rest);
    if (!grh || !hca::is_right(*grh, covered)) return false;
    rest = rest.subspan(wire::Grh::kSize);
  }
  if (rest.size() < wire::Bth::kSize) return false;
  const wire::Bth bth = *wire::Bth::parse(rest);
  if (bth.transport_version != 0 || bth.dest_qp <= kQp1) return false;
  pkey = bth.pkey;
  const wire::OpcodeInfo& opcode = wire::info(bth.opcode);
  if (!opcode.known() || !is_of_queue_pairs(opcode.transport)) return false;
  const std::size_t headers = packet.header().size() - rest.size() + wire::Bth::kSize;
  if (headers + opcode.headers_size + bth.pad_count + wire::kIcrcSize > covered) return false;
  if (opcode.has(wire::kDeth)) {
    const auto deth = wire::Deth::parse(rest.subspan(wire::Bth::kSize));
    if (!deth || deth->src_qp != source || (deth->qkey.value() & kPrivilegedQKeyBit) != 0) {
      return false;
    }
  }
  // A payload stays where the program can change it whenever it likes, so to read it here would
  // prove nothing, and cost as much as to carry the packet. The receiver checks the ICRC.
  return !packet.sealed || !packet.payload().empty() || packet.vcrc_good();
}

bool SentPacket::read_raw(const link::Packet& packet) {
  size = packet.size();
  const auto head = hca::read_raw_head(packet.header());
  if (!head || head->lrh.packet_bytes() != size - wire::kVcrcSize) return false;
  sl = head->lrh.sl;
  dlid = head->lrh.dlid;
  slid = head->lrh.slid;
  grh = head->grh;
  if (head->pkey) pkey = *head->pkey;
  return !packet.sealed || !packet.payload().empty() || packet.vcrc_good();
}

bool SentPacket::agrees_with(const NodePort& port) const {
  return port.owns(slid) && port.has_pkey(pkey) && (!grh || port.has_gid(grh->sgid)) &&
         size <= link::longest_packet(port.link().neighbor_mtu());
}

}  // namespace weft::fabric
