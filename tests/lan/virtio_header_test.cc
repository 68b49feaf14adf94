// SPDX-License-Identifier: Apache-2.0
#include "lan/virtio_header.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "group_frames.h"

namespace weft::lan::test {
namespace {

TEST(VirtioHeader, IsReadAndWrittenAsTheKernelHasIt) {
  const std::vector<std::byte> tcp = bytes_of("01814200a80522001000");
  std::array<std::byte, VirtioHeader::kSize> header;
  std::ranges::copy(tcp, header.begin());
  const auto offload = VirtioHeader::read(header);
  ASSERT_TRUE(offload);
  EXPECT_EQ(*offload, (Offload{.gso = Offload::Gso::kTcpv4,
                               .ecn = true,
                               .needs_checksum = true,
                               .gso_size = 1448,
                               .header_length = 66,
                               .checksum_start = 34,
                               .checksum_offset = 16}));
  std::array<std::byte, VirtioHeader::kSize> written;
  VirtioHeader::write(*offload, written);
  EXPECT_EQ(written, header);
  header[1] = std::byte{3};  // UDP fragmentation, which nobody offers
  EXPECT_FALSE(VirtioHeader::read(header));
  header[1] = std::byte{0};
  header[0] = std::byte{4};
  EXPECT_FALSE(VirtioHeader::read(header));
}

}  // namespace
}  // namespace weft::lan::test
