// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace weft::mgmt {

// Where a connection is, from the consumer's side (IBA 12.9.7, figures 138 and 139).
enum class CmState : std::uint8_t {
  kIdle,  // over, or not begun: destroy() it
  kListen,
  kReqSent,      // until ConnectResponse
  kReqReceived,  // until accept() or reject()
  kRepSent,      // until Established
  kRepReceived,  // until ready() or reject()
  kEstablished,
  kDreqSent,      // until Disconnected
  kTimewait,      // until TimewaitExit
  kSidrSent,      // until SidrReply
  kSidrReceived,  // until sidr_reply()
};

const char* to_string(CmState state);

}  // namespace weft::mgmt
