// SPDX-License-Identifier: Apache-2.0
#include "phy/code/block_code.h"

#include <array>
#include <atomic>
#include <cassert>

#include "phy/code/block_kernels.h"

namespace weft::phy {
namespace {

struct BlockKernels {
  std::array<BlockKernel, 2> all{};
  std::size_t count = 0;
};

BlockKernels find_block_kernels() {
  BlockKernels found;
  found.all[found.count++] = detail::kPortableBlock;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi") &&
      __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("bmi") &&
      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt")) {
    found.all[found.count++] = detail::kVbmiBlock;
  }
#endif
  return found;
}

// The kernel in use is settled by the first call: until then it is one that chooses and passes the
// call on. Choosing twice at once is harmless, both choose the same.
const BlockKernel& choose_block_kernel();

constexpr BlockKernel kChoosingBlock{
    "choosing",
    [](Bytes data, std::uint16_t* out, Disparity before) {
      return choose_block_kernel().encode(data, out, before);
    },
    [](std::span<const std::uint16_t> words, std::byte* out, Disparity& disparity) {
      return choose_block_kernel().decode(words, out, disparity);
    }};

constinit std::atomic<const BlockKernel*> block_kernel_in_use{&kChoosingBlock};

const BlockKernel& choose_block_kernel() {
  const BlockKernel* const best = &block_kernels().back();
  block_kernel_in_use.store(best, std::memory_order_release);
  return *best;
}

}  // namespace

std::span<const BlockKernel> block_kernels() {
  static const BlockKernels kernels = find_block_kernels();
  return {kernels.all.data(), kernels.count};
}

Disparity encode_block(Bytes data, std::span<std::uint16_t> out, Disparity before) {
  assert(out.size() >= data.size());
  return block_kernel_in_use.load(std::memory_order_acquire)->encode(data, out.data(), before);
}

std::size_t decode_block(std::span<const std::uint16_t> words, MutableBytes out,
                         Disparity& disparity) {
  assert(out.size() >= words.size());
  return block_kernel_in_use.load(std::memory_order_acquire)->decode(words, out.data(), disparity);
}

}  // namespace weft::phy
