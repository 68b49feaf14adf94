// SPDX-License-Identifier: Apache-2.0
// The kernels one by one, for crc.cc to choose from. A kernel may be called only on a machine that
// has its instructions.
#pragma once

#include "wire/crc.h"

namespace weft::wire::detail {

extern const CrcKernel kPortableCrc;  // tables, 16 bytes at a step
#if defined(__x86_64__)
extern const CrcKernel kPclmulCrc;      // PCLMULQDQ, four 128-bit lanes
extern const CrcKernel kVpclmul256Crc;  // VPCLMULQDQ with AVX2, four 256-bit lanes
extern const CrcKernel kVpclmulCrc;     // VPCLMULQDQ with AVX-512, four 512-bit lanes
#endif

}  // namespace weft::wire::detail
