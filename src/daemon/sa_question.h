// SPDX-License-Identifier: Apache-2.0
// Questions to a subnet administrator, as datagrams.
#pragma once

#include <cstdint>

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

}  // namespace weft::daemon
