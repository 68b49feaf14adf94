// SPDX-License-Identifier: Apache-2.0
// Questions to a subnet administrator, and its answers, as datagrams.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "wire/mad.h"
#include "wire/sa/sa_header.h"

namespace weft::daemon {

// Of the components that `mask` names, those of `record` are meant. IBA 15.2.1.
template <class Record>
[[nodiscard]] wire::MadBuffer sa_question(wire::MadMethod method, std::uint64_t mask,
                                          const Record& record, std::uint32_t transaction) {
  wire::MadBuffer mad{};
  const wire::MadHeader header{.mgmt_class = wire::MgmtClass::kSubnAdm,
                               .class_version = wire::kSaClassVersion,
                               .method = method,
                               .transaction_id = transaction,
                               .attribute_id = Record::kAttributeId};
  header.write(mad);
  wire::SaHeader{.component_mask = mask}.write(mad);
  record.write(MutableBytes(mad).subspan(wire::SaHeader::kDataOffset));
  return mad;
}

// The records of an answer of several, at most `most` of them. None: it has none, or is not one.
template <class Record>
[[nodiscard]] std::vector<Record> sa_records(Bytes mad, std::size_t most = ~std::size_t{0}) {
  std::vector<Record> out;
  const auto sa = wire::SaHeader::parse(mad);
  if (!sa || mad.size() < wire::SaHeader::kDataOffset) return out;
  const std::size_t stride = std::size_t{sa->attribute_offset} * 8;
  if (stride < Record::kSize) return out;
  Bytes rest = mad.subspan(wire::SaHeader::kDataOffset);
  while (rest.size() >= Record::kSize && out.size() < most) {
    out.push_back(*Record::parse(rest));
    rest = rest.subspan(std::min(stride, rest.size()));
  }
  return out;
}

}  // namespace weft::daemon
