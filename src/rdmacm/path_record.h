// SPDX-License-Identifier: Apache-2.0
// Path records in the two forms of the rdma_cm command interface: the SA's own
// (wire/sa/path_record.h) and the kernel's structure.
#pragma once

#include <rdma/ib_user_sa.h>

#include <cstdint>

#include "base/ids.h"
#include "hca/types.h"
#include "wire/sa/path_record.h"

namespace weft::rdmacm {

struct PathRecord {
  Gid dgid{};
  Gid sgid{};
  Lid dlid{};  // fabrics
  Lid slid{};
  std::uint32_t flow_label = 0;
  std::uint8_t hop_limit = 64;
  std::uint8_t traffic_class = 0;
  PKey pkey = kDefaultPKey;
  Sl sl{};
  std::uint32_t mtu = 1024;      // bytes
  std::uint64_t rate_mbps = 0;   // 0: unknown
  std::uint8_t rate = 0;         // the code itself; 0: that of rate_mbps
  std::uint8_t packet_life = 0;  // exponent: 4.096 us * 2^n

  PathRecord() = default;
  explicit PathRecord(const wire::PathRecord& record);

  [[nodiscard]] static PathRecord parse(const ib_path_rec_data& data);
  // As the answer to a question for one path.
  [[nodiscard]] wire::PathRecord record() const;
  [[nodiscard]] ib_path_rec_data packed() const;
  [[nodiscard]] ib_user_path_rec unpacked() const;
};

// 1 for 256 bytes to 5 for 4096 (IBA 15.2.5.16, MTU).
[[nodiscard]] std::uint8_t mtu_code(std::uint32_t bytes);
[[nodiscard]] std::uint32_t mtu_bytes(std::uint8_t code);
// The largest rate of IBA 15.2.5.16 that is not above; 10 Gbit/s for what is below or unknown.
[[nodiscard]] std::uint8_t rate_code(std::uint64_t mbps);

}  // namespace weft::rdmacm
