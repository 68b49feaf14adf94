// SPDX-License-Identifier: Apache-2.0
// The kernels of the CRC-32 one by one, for msb_crc.cc to choose from.
#pragma once

#include "wan/line/msb_crc.h"

namespace weft::wan::detail {

// The library's, which has one for each kind of processor.
[[nodiscard]] std::uint32_t crc32_msb_by_isal(std::uint32_t state, Bytes bytes);
#if defined(__x86_64__)
// With VPCLMULQDQ, and without AVX-512, of which the library makes use already.
[[nodiscard]] std::uint32_t crc32_msb_by_vpclmul(std::uint32_t state, Bytes bytes);
#endif

}  // namespace weft::wan::detail
