// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace weft::host {

// As guarded_copy().
using CopyKernel = bool (*)(void* to, const void* from, std::size_t length);

// Copies in machine code that this processor can run, the best one last. They cost nothing extra
// because the fault handler knows their instructions. None where there are none for the processor,
// or where a sanitizer shall watch.
std::span<const CopyKernel> copy_kernels();

// For a fault handler: whether the fault was in one of them, which then returns false when the
// context is resumed.
bool skip_copy(void* context);

}  // namespace weft::host
