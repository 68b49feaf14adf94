// SPDX-License-Identifier: Apache-2.0
// Whose messages are whose: programs of a host share one queue pair 1.
#include "mgmt/connection_manager.h"
#include "wire/cm_field.h"

namespace weft::mgmt {
namespace {

// What a message names at the front of its body: its sender's ID, and mostly the receiver's. A
// SIDR_REP has no more than the ID that came with the question.
struct Named {
  wire::CmMessage message{};
  CmId first{};
  CmId second{};
};

std::optional<Named> names_of(Bytes mad) {
  const auto header = wire::MadHeader::parse(mad);
  if (!header || mad.size() != wire::kMadSize || header->mgmt_class != wire::MgmtClass::kCommMgt) {
    return std::nullopt;
  }
  const std::byte* body = mad.data() + wire::MadHeader::kSize;
  return Named{static_cast<wire::CmMessage>(header->attribute_id), CmId{wire::load_be32(body)},
               CmId{wire::load_be32(body + sizeof(std::uint32_t))}};
}

}  // namespace

Expected<void> ConnectionManager::set_owner(CmId id, std::uint64_t owner) {
  CmEntry* const entry = table_.find(id);
  if (entry == nullptr) return fail(std::errc::no_such_file_or_directory, "there is no such ID");
  entry->owner = owner;
  return {};
}

std::uint64_t ConnectionManager::owner_of_leaving(Bytes mad, const hca::Path& to) {
  const auto named = names_of(mad);
  if (!named) return 0;
  const CmEntry* const entry = named->message == wire::CmMessage::kSidrRep
                                   ? table_.find_by_peer(peer_of(to), named->first, true)
                                   : table_.find(named->first);
  return entry == nullptr ? 0 : entry->owner;
}

std::uint64_t ConnectionManager::owner_of_arriving(Bytes mad, const hca::Path& from) {
  const auto named = names_of(mad);
  if (!named) return 0;
  const CmEntry* entry = nullptr;
  switch (named->message) {
    case wire::CmMessage::kReq:
    case wire::CmMessage::kSidrReq:
      entry = table_.find_by_peer(peer_of(from), named->first,
                                  named->message == wire::CmMessage::kSidrReq);
      break;
    case wire::CmMessage::kSidrRep:
      entry = table_.find(named->first);
      break;
    default:
      entry = table_.find(named->second);
  }
  return entry == nullptr ? 0 : entry->owner;
}

}  // namespace weft::mgmt
