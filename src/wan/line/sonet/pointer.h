// SPDX-License-Identifier: Apache-2.0
// Pointers say where in the payload of a frame a container begins, and let it move by a unit where
// the clock that it comes with is not the frame's (G.707, 8.1). Of a concatenation the first
// pointer is one, and all others say that they belong to it (8.1.7).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "wan/line/sonet/geometry.h"

namespace weft::wan::sonet {

// H1 and H2 as a number of 16 bits: four of the new data flag, two that are 10 in SDH, ten of the
// value, of which the first, third … are I bits and the others D bits.
inline constexpr std::uint16_t kAisPointer = 0xFFFF;
inline constexpr std::uint16_t kIncrementBits = 0x2AA;
inline constexpr std::uint16_t kDecrementBits = 0x155;

enum class PointerFlag : std::uint8_t { kNormal, kNewData };
// `value` may have bits inverted and is taken modulo 1024.
[[nodiscard]] std::uint16_t pointer_word(PointerFlag flag, std::uint16_t value, bool sdh);

// What a pointer does in one frame.
enum class PointerStep : std::uint8_t {
  kNone,       // the container goes on as before
  kIncrement,  // the unit after H3 is stuff: the container comes later (positive justification)
  kDecrement,  // H3 has octets of the container: it comes earlier (negative justification)
  kNewData     // the container begins elsewhere
};

// Writes H1 and H2 of a whole frame into its row of pointers; H3 is left alone. All ones everywhere
// for kAisPointer.
void write_pointers(MutableBytes row, const Geometry& g, std::uint16_t word, bool sdh);

// --- receiving -----------------------------------------------------------------------------------

enum class PointerState : std::uint8_t {
  kSearching,  // nothing has been seen yet: not a defect
  kNormal,
  kAis,
  kLost,
  kCount
};

// What one pointer is, given the value in force. Several may fit: the first one that does counts.
enum class PointerSign : std::uint8_t {
  kNormal,     // the value in force
  kNewData,    // new data flag, at least three of four bits, and a value that is one
  kAis,        // all ones
  kIncrement,  // at least three of five I bits inverted, at most two D bits, not soon after a step
  kDecrement,  // the other way round
  kOther,      // another value that is one: counts as invalid, but may be accepted
  kInvalid,
  kCount
};

// A row of the state machine of pointers: so many of a sign, one after the other, in a state.
struct PointerRow {
  PointerState from{};
  PointerSign sign{};
  std::uint8_t times = 1;  // of kOther: all of the same value
  PointerState to{};
};
[[nodiscard]] std::string_view to_text(PointerState state);
[[nodiscard]] std::string_view to_text(PointerSign sign);
[[nodiscard]] std::span<const PointerRow> pointer_rows();

// Interprets pointers frame by frame (ITU-T G.783, annex on pointer interpretation).
class PointerInterpreter {
 public:
  // Of a level whose frames have `concatenated` further pointers, N - 1.
  explicit PointerInterpreter(std::size_t concatenated) : missing_for_(concatenated) {}

  // The row of pointers of the next frame; what it does to the container.
  PointerStep take(Bytes row, const Geometry& g);
  // Frames are missing: nothing is in force until it has been seen again.
  void lose();

  // Lost, too, is what belongs to a concatenation that is.
  [[nodiscard]] PointerState state() const;
  // In force; nothing while there is an AIS, or the pointer is lost.
  [[nodiscard]] std::optional<std::uint16_t> value() const;

 private:
  using Counts = std::array<unsigned, static_cast<std::size_t>(PointerSign::kCount)>;

  [[nodiscard]] PointerSign sign_of(std::uint16_t word) const;
  void count(PointerSign sign, std::uint16_t value);
  PointerStep follow(PointerSign sign, std::uint16_t value);
  void take_others(Bytes row, const Geometry& g);

  PointerState state_ = PointerState::kSearching;
  std::uint16_t value_ = 0;
  std::uint16_t other_ = 0;                // the last value that was another one
  Counts times_{};                         // of each sign, one after the other
  unsigned since_step_ = 0;                // frames since the container was moved
  std::vector<std::uint8_t> missing_for_;  // of each further pointer: frames without its indication
  unsigned complete_for_ = 0;              // frames in which none was missing
  bool broken_ = false;                    // there is no concatenation
};

}  // namespace weft::wan::sonet
