// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/cm_mads.h"

#include "base/ids.h"
#include "io/clock.h"
#include "mgmt/own_pkey.h"
#include "wire/cm_field.h"

namespace weft::daemon {
namespace {

mgmt::MadAddress address_of(const hca::Path& to, std::uint16_t pkey_index) {
  mgmt::MadAddress out{.lid = to.dlid,
                       .sl = to.sl,
                       .path_bits = to.source_path_bits,
                       .qpn = kQp1,
                       .qkey = kGsiQKey,
                       .pkey_index = pkey_index};
  if (to.global) {
    out.global = mgmt::GlobalAddress{.gid = to.dgid,
                                     .gid_index = to.sgid_index,
                                     .flow_label = to.flow_label,
                                     .hop_limit = to.hop_limit,
                                     .traffic_class = to.traffic_class};
  }
  return out;
}

}  // namespace

CmMads::CmMads(const LabHosts& hosts, std::size_t node, Receiver& receiver)
    : hosts_(hosts), node_(node), receiver_(receiver), agents_(this->node().management(), *this) {
}

CmMads::~CmMads() {
  agents_.close();
  node().management_used();
}

Expected<void> CmMads::open() {
  mgmt::AgentRequest wanted{.mgmt_class = wire::MgmtClass::kCommMgt,
                            .class_version = wire::kCmClassVersion,
                            .own_transactions = true};
  wanted.methods.set(static_cast<std::size_t>(wire::MadMethod::kSend));
  return agents_.open(node().port_count(), wanted);
}

void CmMads::send(const hca::Path& to, PKey pkey, std::span<const std::byte, mgmt::kMadSize> mad) {
  const auto send_from = [&](mgmt::PortNumber port) {
    // Whichever kind of member the port is.
    const PKey full(static_cast<std::uint16_t>(pkey.value() | kFullMemberBit));
    const std::uint16_t index = mgmt::own_pkey(node(), port, full).index;
    return agents_.send(port, {.to = address_of(to, index), .mad = mad}, io::now());
  };
  const auto place = hosts_.find(to.sgid);
  const bool ours = place && place->node == node_;
  const auto sent =
      ours ? send_from(place->port) : Expected<void>(fail(std::errc::address_not_available, ""));
  counters_.add(sent ? CmMadCounter::kTxMads : CmMadCounter::kTxLost);
  node().management_used();
}

void CmMads::received(mgmt::PortNumber port, const mgmt::ReceivedMad& mad) {
  counters_.add(CmMadCounter::kRxMads);
  hca::Path from;
  from.sgid = hosts_.gid_of({node_, port});
  from.dlid = mad.from.lid;
  from.sl = mad.from.sl;
  from.source_path_bits = mad.from.path_bits;
  from.global = mad.from.global.has_value();
  if (mad.from.global) {
    from.dgid = mad.from.global->gid;
    from.flow_label = mad.from.global->flow_label;
    from.hop_limit = mad.from.global->hop_limit;
    from.traffic_class = mad.from.global->traffic_class;
  }
  receiver_.received(mad.mad, from, mgmt::pkey_at(node(), port, mad.from.pkey_index));
}

}  // namespace weft::daemon
