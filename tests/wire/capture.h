// SPDX-License-Identifier: Apache-2.0
// The genuine packets of tests/data, for the tests of wire/.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace weft::wire::test {

struct CapturedPacket {
  std::string where;  // "rc-atomic.pcap #3"
  std::vector<std::byte> bytes;
};

// LRH through VCRC of every packet in tests/data/ib.
std::vector<CapturedPacket> link_packets();
// Every Ethernet frame in tests/data/roce that carries UDP to port 4791.
std::vector<CapturedPacket> roce_frames();

}  // namespace weft::wire::test
