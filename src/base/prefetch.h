// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft {

// Has the cache line of this address brought here for writing, while something else is done: of a
// line that another processor has read or written, the right to write to it takes as long to come
// as its bytes. Harmless for any address.
inline void prefetch_to_write(const void* address) {
#if defined(__x86_64__)
  // The compiler's own means reading, unless it may take for granted that there is this
  // instruction. To processors without it, it is a no-op.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
  __builtin_prefetch(address, 1);
#endif
}

}  // namespace weft
