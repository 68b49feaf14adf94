// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "wire/crc_kernels.h"
#include "wire/crc_slice.h"

namespace weft::wire::detail {
namespace {

constexpr std::size_t kSlices = 16;

std::uint32_t crc32(std::uint32_t state, Bytes bytes) {
  return update_sliced<std::uint32_t, kSlices>(kSlices32<kSlices>, state, bytes);
}

std::uint32_t copy32(std::uint32_t state, std::byte* to, Bytes bytes) {
  std::copy(bytes.begin(), bytes.end(), to);
  return crc32(state, {to, bytes.size()});
}

std::uint16_t crc16(std::uint16_t state, Bytes bytes) {
  return update_sliced<std::uint16_t, kSlices>(kSlices16<kSlices>, state, bytes);
}

CrcPair both(CrcPair state, Bytes bytes) {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left >= kSlices; at += kSlices, left -= kSlices) {
    state.icrc = slice_step<std::uint32_t, kSlices>(kSlices32<kSlices>, state.icrc, at);
    state.vcrc = slice_step<std::uint16_t, kSlices>(kSlices16<kSlices>, state.vcrc, at);
  }
  state.icrc = update_bytewise(kSlices32<kSlices>[0], state.icrc, at, left);
  state.vcrc = update_bytewise(kSlices16<kSlices>[0], state.vcrc, at, left);
  return state;
}

// Horner's rule from the highest power of `a`, which is its bit 0.
template <class Register, Register kGenerator>
Register multiply(std::uint64_t a, Register b) {
  Register product = 0;
  for (int i = 0; i < 64; ++i, a >>= 1) {
    const auto overflow = static_cast<Register>(-(product & 1) & kGenerator);
    const auto term = static_cast<Register>(-(a & 1) & b);
    product = static_cast<Register>((product >> 1) ^ overflow ^ term);
  }
  return product;
}

}  // namespace

const CrcKernel kPortableCrc{"portable",
                             crc32,
                             copy32,
                             crc16,
                             both,
                             multiply<std::uint32_t, kP32Reflected>,
                             multiply<std::uint16_t, kP16Reflected>};

}  // namespace weft::wire::detail
