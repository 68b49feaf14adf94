// SPDX-License-Identifier: Apache-2.0
// Every CRC kernel against the definition, bit by bit, and the incremental functions against a
// full computation. The first 16 bytes choose the registers and where to cut; the rest is data.
#include "wire/crc.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "input.h"
#include "wire/endian.h"

namespace {

using namespace weft;
using namespace weft::wire;
using fuzz::require;

constexpr std::size_t kParameters = 16;

template <class Register>
Register by_definition(Register state, Register generator, Bytes bytes) {
  for (const std::byte byte : bytes) {
    state = static_cast<Register>(state ^ std::to_integer<unsigned>(byte));
    for (int bit = 0; bit < 8; ++bit) {
      state = static_cast<Register>((state >> 1) ^ ((state & 1) != 0 ? generator : 0));
    }
  }
  return state;
}

CrcPair by_definition(CrcPair state, Bytes bytes) {
  return {by_definition<std::uint32_t>(state.icrc, 0xEDB8'8320, bytes),
          by_definition<std::uint16_t>(state.vcrc, 0xD008, bytes)};
}

CrcPair combine(CrcPair head, CrcPair tail_from_zero, std::size_t tail_size) {
  return {crc32_combine(head.icrc, tail_from_zero.icrc, tail_size),
          crc16_combine(head.vcrc, tail_from_zero.vcrc, tail_size)};
}

// Bytes [from, from + size) become others: the CRCs must follow.
void change(CrcPair state, Bytes data, std::size_t from, std::size_t size) {
  std::vector<std::byte> changed(data.begin(), data.end());
  std::vector<std::byte> difference(size);
  for (std::size_t i = 0; i < size; ++i) {
    difference[i] = data[data.size() - 1 - i] | std::byte{1};
    changed[from + i] ^= difference[i];
  }
  const std::size_t distance = data.size() - from - size;
  const CrcPair before = by_definition(state, data);
  const CrcPair after = by_definition(state, changed);
  require((before.icrc ^ crc32_change(difference, distance)) == after.icrc);
  require((before.vcrc ^ crc16_change(difference, distance)) == after.vcrc);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kParameters) return 0;
  const Bytes parameters = std::as_bytes(std::span(data, kParameters));
  const Bytes bytes = std::as_bytes(std::span(data, size)).subspan(kParameters);
  const CrcPair state{load_le32(parameters.data()), load_le16(parameters.data() + 4)};
  const std::size_t cut = load_le16(parameters.data() + 6) % (bytes.size() + 1);

  const CrcPair expected = by_definition(state, bytes);
  for (const CrcKernel& kernel : crc_kernels()) {
    require(kernel.crc32(state.icrc, bytes) == expected.icrc);
    require(kernel.crc16(state.vcrc, bytes) == expected.vcrc);
    require(kernel.both(state, bytes) == expected);
    const std::size_t place = cut % 64;  // in a cache line
    std::vector<std::byte> copy(place + bytes.size());
    const MutableBytes copied = MutableBytes(copy).subspan(place);
    require(kernel.copy32(state.icrc, copied.data(), bytes) == expected.icrc);
    require(std::equal(copied.begin(), copied.end(), bytes.begin()));
    const CrcPair head = kernel.both(state, bytes.first(cut));
    require(kernel.both(head, bytes.subspan(cut)) == expected);
    const CrcPair tail = kernel.both({0, 0}, bytes.subspan(cut));
    require(combine(head, tail, bytes.size() - cut) == expected);
  }
  require(crc32_unshift(crc32_shift(state.icrc, cut), cut) == state.icrc);
  const std::size_t most = bytes.size() - cut;
  change(state, bytes, cut, std::min<std::size_t>(most, load_u8(parameters.data() + 8)));
  return 0;
}
