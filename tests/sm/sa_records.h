// SPDX-License-Identifier: Apache-2.0
// What tests of the administrator ask with, and compare answers with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wire/sa/member_record.h"
#include "wire/sa/sa_header.h"

namespace weft::sm {

inline std::uint16_t status_of(wire::SaStatus status) {
  return static_cast<std::uint16_t>(status);
}

// As the data of a question, which has room for every record.
template <class Record>
std::vector<std::byte> bytes_of(const Record& record) {
  std::vector<std::byte> data(wire::SaHeader::kDataSize);
  record.write(data);
  return data;
}

// What whoever makes a multicast group has to say of it.
inline constexpr std::uint64_t kToMakeGroup =
    wire::MemberRecord::kHasMgid | wire::MemberRecord::kHasPortGid |
    wire::MemberRecord::kHasJoinState | wire::MemberRecord::kHasQKey |
    wire::MemberRecord::kHasTrafficClass | wire::MemberRecord::kHasPKey |
    wire::MemberRecord::kHasFlowLabel | wire::MemberRecord::kHasSl;

}  // namespace weft::sm
