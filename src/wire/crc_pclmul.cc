// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "wire/crc_fold.h"
#include "wire/crc_kernels.h"

#if defined(__x86_64__)

namespace weft::wire::detail {
namespace {

WEFT_PCLMUL std::uint32_t crc32(std::uint32_t state, Bytes bytes) {
  if (bytes.size() < 16) return crc32_short(state, bytes);
  return reduce32(fold_message(inject32(state), bytes.data(), bytes.size()));
}

WEFT_PCLMUL std::uint32_t copy32(std::uint32_t state, std::byte* to, Bytes bytes) {
  std::copy(bytes.begin(), bytes.end(), to);
  return crc32(state, {to, bytes.size()});
}

WEFT_PCLMUL std::uint16_t crc16(std::uint16_t state, Bytes bytes) {
  if (bytes.size() < 16) return crc16_short(state, bytes);
  return reduce16(fold_message(inject16(state), bytes.data(), bytes.size()));
}

WEFT_PCLMUL CrcPair both(CrcPair state, Bytes bytes) {
  if (bytes.size() < 16) return {crc32_short(state.icrc, bytes), crc16_short(state.vcrc, bytes)};
  const __m128i block = fold_message(inject_both(state), bytes.data(), bytes.size());
  return {reduce32(block), reduce16(block)};
}

WEFT_PCLMUL std::uint32_t multiply32(std::uint64_t a, std::uint32_t b) {
  return static_cast<std::uint32_t>(multiply_reduced<32>(a, b));
}

WEFT_PCLMUL std::uint16_t multiply16(std::uint64_t a, std::uint16_t b) {
  return static_cast<std::uint16_t>(multiply_reduced<16>(a, b));
}

}  // namespace

const CrcKernel kPclmulCrc{"pclmul", crc32, copy32, crc16, both, multiply32, multiply16};

}  // namespace weft::wire::detail

#endif  // __x86_64__
