// SPDX-License-Identifier: Apache-2.0
// 8b/10b, one character at a time (IBA vol 2, 5.2). block_code.h has it for many at once.
#pragma once

#include <cassert>
#include <cstdint>

#include "phy/code/character.h"
#include "phy/code/code_tables.h"

namespace weft::phy {

// The sending half: ten bits for a character, 'a' in bit 0, which goes first.
class Encoder {
 public:
  explicit Encoder(Disparity disparity = Disparity::kMinus) : disparity_(disparity) {}

  // `character` is of the code (is_in_code).
  std::uint16_t encode(Character character) {
    assert(is_in_code(character));
    const std::uint32_t entry = detail::kEncode[character.value | unsigned{character.control} << 8];
    const unsigned plus = static_cast<unsigned>(disparity_);
    disparity_ = Disparity(plus ^ entry >> detail::EncodeEntry::kFlipShift);
    return static_cast<std::uint16_t>(entry >> (plus * detail::EncodeEntry::kPlusShift) &
                                      detail::EncodeEntry::kCodeMask);
  }
  [[nodiscard]] Disparity disparity() const { return disparity_; }

 private:
  Disparity disparity_;
};

// The receiving half. It never loses its way for long: after an error its disparity is that of the
// bits that came.
class Decoder {
 public:
  struct Decoded {
    Character character;           // D0.0 if there is a code error
    bool code_error = false;       // ten bits that are no character at any disparity
    bool disparity_error = false;  // a character, but of the other disparity

    [[nodiscard]] bool error() const { return code_error || disparity_error; }
  };

  explicit Decoder(Disparity disparity = Disparity::kMinus) : disparity_(disparity) {}

  // The lower ten bits of `code`, as encode() makes them.
  Decoded decode(std::uint16_t code) {
    const unsigned entry = detail::kDecode[code & detail::EncodeEntry::kCodeMask];
    const unsigned before = static_cast<unsigned>(disparity_);
    disparity_ =
        (entry & detail::DecodeEntry::kAfter << before) != 0 ? Disparity::kPlus : Disparity::kMinus;
    const bool known = (entry & detail::DecodeEntry::kValid) != 0;
    const bool here = (entry & detail::DecodeEntry::kValidAt << before) != 0;
    return {.character = {static_cast<std::uint8_t>(entry),
                          (entry & detail::DecodeEntry::kControl) != 0},
            .code_error = !known,
            .disparity_error = known && !here};
  }
  [[nodiscard]] Disparity disparity() const { return disparity_; }

 private:
  Disparity disparity_;
};

}  // namespace weft::phy
