// SPDX-License-Identifier: Apache-2.0
// Addresses as agents say them, with indices into the port's tables, and the headers of packets.
#include <fmt/format.h>

#include <algorithm>

#include "mgmt/mad/mad_port_state.h"
#include "mgmt/mad_answer.h"
#include "mgmt/own_pkey.h"
#include "wire/sm/smp.h"

namespace weft::mgmt {
namespace {

// Entries of the P_Key table of a port, those of the management port of a switch included.
std::size_t pkey_entries(const ManagedNode& node, PortNumber port) {
  return node.node_info(port).partition_cap;
}

Gid gid_of(std::uint64_t prefix, Guid guid) {
  std::array<std::byte, 16> bytes{};
  wire::store_be64(bytes.data(), prefix);
  wire::store_be64(bytes.data() + 8, guid.value());
  return wire::load_gid(bytes.data());
}

Guid guid_at(const ManagedNode& node, PortNumber port, std::uint8_t index) {
  constexpr std::size_t kEntries = wire::GuidBlock::kEntries;
  return node.guids(port, static_cast<std::uint8_t>(index / kEntries)).guids[index % kEntries];
}

std::uint8_t gid_index(const ManagedNode& node, PortNumber port, const Gid& gid) {
  const wire::PortInfo info = node.port_info(port);
  for (unsigned i = 0; i < info.guid_cap; ++i) {
    const auto index = static_cast<std::uint8_t>(i);
    if (gid_of(info.gid_prefix, guid_at(node, port, index)) == gid) return index;
  }
  return 0;
}

}  // namespace

Expected<MadEnvelope> MadPort::State::envelope_to(const MadAddress& to,
                                                  wire::MgmtClass mgmt_class) const {
  const wire::PortInfo info = node.port_info(port);
  if (is_smp(mgmt_class) != (to.qpn == kQp0)) {
    return fail(std::errc::invalid_argument,
                fmt::format("queue pair {} takes no datagrams of management class {:#04x}",
                            to.qpn.value(), static_cast<unsigned>(mgmt_class)));
  }
  if (to.path_bits >= 1u << info.lmc) {
    return fail(std::errc::invalid_argument,
                fmt::format("path bits {}: the port has LMC {}", to.path_bits, info.lmc));
  }
  const bool permissive = to.lid == wire::kPermissiveLid;
  MadEnvelope envelope{
      .port = port,
      .slid = permissive ? wire::kPermissiveLid
                         : Lid{static_cast<std::uint16_t>(info.lid.value() | to.path_bits)},
      .dlid = to.lid,
      .sl = to.sl,
      .source_qp = is_smp(mgmt_class) ? kQp0 : kQp1,
      .dest_qp = to.qpn};
  if (is_smp(mgmt_class)) return envelope;
  if (to.pkey_index >= pkey_entries(node, port)) {
    return fail(std::errc::invalid_argument, fmt::format("P_Key index {}: the table has {} entries",
                                                         to.pkey_index, pkey_entries(node, port)));
  }
  envelope.pkey = pkey_at(node, port, to.pkey_index);
  envelope.qkey = to.qkey;
  if (!to.global) return envelope;
  if (to.global->gid_index >= info.guid_cap) {
    return fail(std::errc::invalid_argument, fmt::format("GID index {}: the table has {} entries",
                                                         to.global->gid_index, info.guid_cap));
  }
  envelope.grh =
      wire::Grh{.traffic_class = to.global->traffic_class,
                .flow_label = to.global->flow_label,
                .hop_limit = to.global->hop_limit,
                .sgid = gid_of(info.gid_prefix, guid_at(node, port, to.global->gid_index)),
                .dgid = to.global->gid};
  return envelope;
}

MadAddress MadPort::State::address_of(const MadEnvelope& envelope) const {
  const wire::PortInfo info = node.port_info(port);
  const unsigned offset = envelope.dlid.value() - unsigned{info.lid.value()};
  MadAddress from{.lid = envelope.slid,
                  .sl = envelope.sl,
                  .path_bits = static_cast<std::uint8_t>(offset < 1u << info.lmc ? offset : 0),
                  .qpn = envelope.source_qp,
                  .qkey = envelope.qkey};
  if (envelope.dest_qp == kQp0) return from;
  from.pkey_index = own_pkey(node, port, envelope.pkey).index;
  if (envelope.grh) {
    from.global = GlobalAddress{.gid = envelope.grh->sgid,
                                .gid_index = gid_index(node, port, envelope.grh->dgid),
                                .flow_label = envelope.grh->flow_label,
                                .hop_limit = envelope.grh->hop_limit,
                                .traffic_class = envelope.grh->traffic_class};
  }
  return from;
}

}  // namespace weft::mgmt
