// SPDX-License-Identifier: Apache-2.0
// The kernels one by one, for payload_scrambler.cc to choose from. A kernel may be called only on a
// machine that has its instructions.
#pragma once

#include "wan/line/payload_scrambler.h"

namespace weft::wan::detail {

extern const PayloadScramblerKernel kPortablePayloadScrambler;  // a word at a time
#if defined(__x86_64__)
extern const PayloadScramblerKernel kAvx2PayloadScrambler;  // 32 octets at a time, by 1 + x^344
#endif

}  // namespace weft::wan::detail
