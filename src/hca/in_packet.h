// SPDX-License-Identifier: Apache-2.0
// A packet of a connection after its common checks, as the halves of a queue pair see it.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "wire/opcode.h"

namespace weft::hca {

struct InPacket {
  wire::Opcode opcode{};
  const wire::OpcodeInfo* info = nullptr;
  Psn psn{};
  bool ack_request = false;
  bool solicited = false;
  bool congestion = false;  // the peer says that the way to it is congested (BECN of a response)
  std::uint8_t pad = 0;
  Bytes extended{};  // extended transport headers, exactly info->headers_size bytes
  Bytes payload{};   // without pad bytes
};

}  // namespace weft::hca
