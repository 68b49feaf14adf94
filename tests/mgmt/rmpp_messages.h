// SPDX-License-Identifier: Apache-2.0
// Long messages for tests of RMPP, and what is asked of their segments.
#pragma once

#include <algorithm>
#include <vector>

#include "mad_fixture.h"
#include "mgmt/mad/rmpp_sender.h"
#include "wire/sa/sa_header.h"

namespace weft::mgmt::test {

using wire::RmppHeader;
using wire::RmppStatus;
using wire::RmppType;

inline constexpr std::size_t kOffset = wire::SaHeader::kDataOffset;
inline constexpr std::size_t kSegment = wire::SaHeader::kDataSize;

// An answer of the subnet administrator with `data` bytes of records.
inline std::vector<std::byte> message_of(std::size_t data, std::uint64_t transaction_id = 99) {
  std::vector<std::byte> message(kOffset + data);
  wire::MadHeader{.mgmt_class = MgmtClass::kSubnAdm,
                  .class_version = wire::kSaClassVersion,
                  .method = MadMethod::kGetTableResponse,
                  .transaction_id = transaction_id,
                  .attribute_id = 0x11}
      .write(message);
  RmppHeader{.type = RmppType::kData, .flags = wire::kRmppActive}.write(message);
  wire::SaHeader{.attribute_offset = 14}.write(message);
  for (std::size_t i = 0; i < data; ++i) {
    message[kOffset + i] = static_cast<std::byte>(i * 7 + i / 251);
  }
  return message;
}

inline RmppHeader header_of(const MadBuffer& mad) {
  return *RmppHeader::parse(mad);
}

inline RmppHeader ack(std::uint32_t segment, std::uint32_t window_last) {
  return {.type = RmppType::kAck,
          .flags = wire::kRmppActive,
          .segment = segment,
          .length_or_window = window_last};
}

// All that the sender may send now.
inline std::vector<MadBuffer> burst(RmppSender& sender) {
  std::vector<MadBuffer> all;
  for (MadBuffer mad{}; sender.next(mad);)
    all.push_back(mad);
  return all;
}

// What was put together: RMPP's own header aside, the message that was sent.
inline bool same(Bytes received, Bytes sent) {
  constexpr std::size_t kBehind = RmppHeader::kOffset + RmppHeader::kSize;
  return received.size() == sent.size() &&
         std::equal(sent.begin(), sent.begin() + RmppHeader::kOffset, received.begin()) &&
         std::equal(sent.begin() + kBehind, sent.end(), received.begin() + kBehind);
}

}  // namespace weft::mgmt::test
