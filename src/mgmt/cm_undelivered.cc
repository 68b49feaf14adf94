// SPDX-License-Identifier: Apache-2.0
// What the network says of messages that it could not deliver (ICMP). A kernel's connection manager
// is there as long as its host is, and never meets this; ours may not have been started over there.
#include <array>

#include "mgmt/connection_manager.h"
#include "wire/cm_field.h"

namespace weft::mgmt {
namespace {

// So many times in a row. The first is the beginning: at CmConfig's 500 ms for the first retry that
// is a second and a half, in which a peer's host may start its agent.
constexpr unsigned kMostUndelivered = 3;

std::optional<wire::CmMessage> awaited(CmState state) {
  switch (state) {
    case CmState::kReqSent:
      return wire::CmMessage::kReq;
    case CmState::kRepSent:
      return wire::CmMessage::kRep;
    case CmState::kDreqSent:
      return wire::CmMessage::kDreq;
    case CmState::kSidrSent:
      return wire::CmMessage::kSidrReq;
    default:
      return std::nullopt;
  }
}

}  // namespace

// REQ, REP, DREQ and SIDR_REQ begin with the ID that their sender gave.
CmEntry* ConnectionManager::quoted(Bytes mad, const Gid& destination) {
  const auto header = wire::MadHeader::parse(mad);
  constexpr std::size_t kFront = wire::MadHeader::kSize + sizeof(std::uint32_t);
  if (!header || mad.size() < kFront || header->mgmt_class != wire::MgmtClass::kCommMgt) {
    return nullptr;
  }
  CmEntry* entry = table_.find(CmId{wire::load_be32(mad.data() + wire::MadHeader::kSize)});
  if (entry == nullptr || entry->transaction != header->transaction_id ||
      entry->route.path.dgid != destination) {
    return nullptr;
  }
  const auto message = awaited(entry->state);
  return message && static_cast<std::uint16_t>(*message) == header->attribute_id ? entry : nullptr;
}

void ConnectionManager::undelivered(Bytes mad, const Gid& destination, Time now) {
  counters_.add(CmCounter::kRxReports);
  CmEntry* const entry = quoted(mad, destination);
  if (entry == nullptr || entry->repeat.undelivered >= entry->repeat.sent) {
    return counters_.add(CmCounter::kRxStrayReports);
  }
  if (++entry->repeat.undelivered < kMostUndelivered) return;
  counters_.add(CmCounter::kUndelivered);
  out_.stop(*entry);
  give_up(*entry, now);
  deliver_events(now);
}

}  // namespace weft::mgmt
