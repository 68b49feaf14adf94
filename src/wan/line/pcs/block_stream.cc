// SPDX-License-Identifier: Apache-2.0
#include "wan/line/pcs/block_stream.h"

#include <array>
#include <atomic>
#include <cassert>

#include "wan/line/pcs/block_stream_kernels.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

struct BlockStreamKernels {
  std::array<BlockStreamKernel, 3> all{};
  std::size_t count = 0;
};

BlockStreamKernels find_block_stream_kernels() {
  BlockStreamKernels found;
  found.all[found.count++] = detail::kPortableBlockStream;
#if defined(__x86_64__)
  if (!__builtin_cpu_supports("avx2")) return found;
  found.all[found.count++] = detail::kAvx2BlockStream;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2")) {
    found.all[found.count++] = detail::kAvx512BlockStream;
  }
#endif
  return found;
}

const BlockStreamKernel& kernel_in_use() {
  static const BlockStreamKernel& best = block_stream_kernels().back();
  return best;
}

// The octets of a word, each turned round: halves of it, quarters and bits change places.
std::uint64_t turned(std::uint64_t octets) {
  const auto swap = [&](unsigned by, std::uint64_t lower) {
    octets = (octets >> by & lower) | (octets & lower) << by;
  };
  swap(4, 0x0F0F'0F0F'0F0F'0F0F);
  swap(2, 0x3333'3333'3333'3333);
  swap(1, 0x5555'5555'5555'5555);
  return octets;
}

}  // namespace

std::span<const BlockStreamKernel> block_stream_kernels() {
  static const BlockStreamKernels kernels = find_block_stream_kernels();
  return {kernels.all.data(), kernels.count};
}

void BlockScrambler::scramble(std::span<const std::uint64_t> from, std::span<std::uint64_t> to) {
  assert(to.size() >= from.size());
  sent_ = kernel_in_use().scramble(from.data(), to.data(), from.size(), sent_);
}

void BlockScrambler::pack(std::span<const std::uint64_t> payloads,
                          std::span<const std::uint8_t> headers, MutableBytes octets) {
  const std::size_t groups = payloads.size() / kGroupBlocks;
  assert(payloads.size() % kGroupBlocks == 0 && headers.size() >= payloads.size());
  assert(octets.size() >= groups * kGroupOctets);
  sent_ = kernel_in_use().pack(payloads.data(), headers.data(), groups, octets.data(), sent_);
}

void BlockDescrambler::unpack(Bytes octets, std::size_t at, std::span<std::uint64_t> payloads,
                              std::span<std::uint8_t> headers) {
  assert(headers.size() >= payloads.size());
  assert(8 * octets.size() >= at + payloads.size() * kBlockBits);
  heard_ =
      kernel_in_use().unpack(octets, at, payloads.size(), payloads.data(), headers.data(), heard_);
}

void reverse_bits(Bytes from, MutableBytes to) {
  assert(to.size() >= from.size());
  constexpr std::size_t kStep = sizeof(std::uint64_t);
  std::size_t i = 0;
  for (; i + kStep <= from.size(); i += kStep)
    wire::store_le64(to.data() + i, turned(wire::load_le64(from.data() + i)));
  for (; i < from.size(); ++i)
    to[i] = static_cast<std::byte>(turned(std::to_integer<std::uint64_t>(from[i])));
}

}  // namespace weft::wan
