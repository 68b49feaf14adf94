// SPDX-License-Identifier: Apache-2.0
// The kernels one by one, for block_code.cc to choose from. A kernel may be called only on a
// machine that has its instructions.
#pragma once

#include "phy/code/block_code.h"

namespace weft::phy::detail {

extern const BlockKernel kPortableBlock;  // one table, and the disparity beside it
#if defined(__x86_64__)
extern const BlockKernel kVbmiBlock;  // AVX-512 VBMI, 64 characters at a step
#endif

}  // namespace weft::phy::detail
