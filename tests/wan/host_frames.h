// SPDX-License-Identifier: Apache-2.0
// Frames of hosts with RoCE, and of their questions for addresses.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "../wire/capture.h"
#include "wan/encapsulation/ends.h"
#include "wire/endian.h"

namespace weft::wan::test {

using Frame = std::vector<std::byte>;

inline constexpr MacAddress kOurs{2, 0, 0, 0, 0, 1};
inline constexpr MacAddress kTheirs{2, 0, 0, 0, 0, 2};
inline constexpr MacAddress kOthers{2, 0, 0, 0, 0, 3};
inline constexpr MacAddress kAll{255, 255, 255, 255, 255, 255};

inline void put_macs(Frame& frame, const MacAddress& source, const MacAddress& destination) {
  const auto bytes = std::as_writable_bytes(std::span(frame));
  std::ranges::copy(std::as_bytes(std::span(destination)), bytes.begin());
  std::ranges::copy(std::as_bytes(std::span(source)), bytes.begin() + 6);
}
// A frame of what Linux's rdma_rxe sent, with other addresses of Ethernet.
inline Frame rxe_frame(std::string_view capture, const MacAddress& source,
                       const MacAddress& destination) {
  for (auto& [where, bytes] : wire::test::roce_frames()) {
    if (!where.starts_with(capture)) continue;
    put_macs(bytes, source, destination);
    return bytes;
  }
  ADD_FAILURE() << "no frame of " << capture;
  return {};
}
// As long as Ethernet wants frames to be.
inline Frame question(const MacAddress& source, const MacAddress& destination = kAll) {
  Frame frame(60);
  put_macs(frame, source, destination);
  wire::store_be64(frame.data() + 12, 0x0806'0001'0800'0604);
  return frame;
}
inline Frame solicitation(const MacAddress& source) {
  Frame frame(14 + 40 + 32);
  put_macs(frame, source, {0x33, 0x33, 0xFF, 0, 0, 2});
  wire::store_be16(frame.data() + 12, 0x86DD);
  wire::store_u8(frame.data() + 14, 0x60);
  wire::store_be16(frame.data() + 18, 32);
  wire::store_u8(frame.data() + 20, 58);
  wire::store_u8(frame.data() + 21, 255);
  wire::store_u8(frame.data() + 54, 135);
  return frame;
}

}  // namespace weft::wan::test
