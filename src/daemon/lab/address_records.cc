// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/address_records.h"

#include <algorithm>
#include <string_view>

#include "daemon/sa_question.h"
#include "wire/endian.h"
#include "wire/sa/service_record.h"

namespace weft::daemon {
namespace {

using wire::ServiceRecord;

constexpr std::uint64_t kService = 0x1000'0CE1'0041'5453;
constexpr std::string_view kName = "DAPL Address Translation Service";
constexpr std::size_t kAddressAt = 12;                             // in the data
constexpr std::uint64_t kHasAddress = std::uint64_t{0xFFFF} << 7;  // the first 16 bytes of it

ServiceRecord record_of(const Gid& address) {
  ServiceRecord record{.id = kService};
  std::ranges::copy(std::as_bytes(std::span(kName)), record.name.begin());
  wire::store_be32(record.data.data() + kAddressAt, address.ipv4());
  return record;
}

}  // namespace

wire::MadBuffer address_offer(const Gid& address, const Gid& gid, std::uint32_t transaction) {
  ServiceRecord record = record_of(address);
  record.gid = gid;
  record.lease = kAddressLease;
  constexpr std::uint64_t kOffered = ServiceRecord::kHasId | ServiceRecord::kHasGid |
                                     ServiceRecord::kHasLease | ServiceRecord::kHasName |
                                     kHasAddress;
  return sa_question(wire::MadMethod::kSet, kOffered, record, transaction);
}

// Hosts with several addresses number their services: the name is what all have in common.
wire::MadBuffer address_question(const Gid& address, std::uint32_t transaction) {
  return sa_question(wire::MadMethod::kGet, ServiceRecord::kHasName | kHasAddress,
                     record_of(address), transaction);
}

std::optional<Gid> read_address_answer(Bytes mad) {
  const auto header = wire::MadHeader::parse(mad);
  if (!header || header->status != 0 || header->method != wire::MadMethod::kGetResponse ||
      header->attribute_id != ServiceRecord::kAttributeId || mad.size() < wire::kMadSize) {
    return std::nullopt;
  }
  const auto record = ServiceRecord::parse(mad.subspan(wire::SaHeader::kDataOffset));
  if (!record || record->gid.is_zero() || record->gid.is_multicast() ||
      record->gid.is_ipv4_mapped()) {
    return std::nullopt;
  }
  return record->gid;
}

}  // namespace weft::daemon
