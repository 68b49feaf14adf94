// SPDX-License-Identifier: Apache-2.0
// What the transmitter of a line sends, for targets: one packet at a time, when it has been put.
#pragma once

#include <utility>
#include <vector>

#include "base/bytes.h"
#include "wan/line/octet_stream.h"

namespace weft::fuzz {

class LinePackets final : public wan::PacketSource {
 public:
  // In place of what has not been taken yet.
  void put(Bytes packet) { waiting_.assign(packet.begin(), packet.end()); }
  [[nodiscard]] Bytes next() override {
    present_ = std::exchange(waiting_, {});
    return present_;
  }

 private:
  std::vector<std::byte> waiting_;
  std::vector<std::byte> present_;
};

}  // namespace weft::fuzz
