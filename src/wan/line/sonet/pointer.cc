// SPDX-License-Identifier: Apache-2.0
#include "wan/line/sonet/pointer.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "wire/endian.h"

namespace weft::wan::sonet {
namespace {

constexpr unsigned kNormalFlag = 0b0110;
constexpr unsigned kNewDataFlag = 0b1001;
constexpr std::uint16_t kValueBits = 0x3FF;
// SS, which says of which kind of unit the pointer is: 10 in SDH, nothing in SONET.
constexpr std::uint16_t kSdhBits = 0b10 << 10;
// A step may follow another one in the fourth frame after it (G.707, 8.1.3).
constexpr unsigned kFramesBetweenSteps = 3;
constexpr unsigned kConcatenationLost = 8;
constexpr unsigned kConcatenationFound = 3;

// Times are frames one after the other. In a state, the first row that applies counts.
constexpr std::array kPointerRows{
    PointerRow{PointerState::kSearching, PointerSign::kOther, 3, PointerState::kNormal},
    PointerRow{PointerState::kSearching, PointerSign::kAis, 3, PointerState::kAis},
    PointerRow{PointerState::kSearching, PointerSign::kInvalid, 8, PointerState::kLost},
    PointerRow{PointerState::kNormal, PointerSign::kOther, 3, PointerState::kNormal},
    PointerRow{PointerState::kNormal, PointerSign::kNewData, 8, PointerState::kLost},
    PointerRow{PointerState::kNormal, PointerSign::kNewData, 1, PointerState::kNormal},
    PointerRow{PointerState::kNormal, PointerSign::kAis, 3, PointerState::kAis},
    PointerRow{PointerState::kNormal, PointerSign::kInvalid, 8, PointerState::kLost},
    PointerRow{PointerState::kAis, PointerSign::kOther, 3, PointerState::kNormal},
    PointerRow{PointerState::kAis, PointerSign::kNewData, 1, PointerState::kNormal},
    PointerRow{PointerState::kAis, PointerSign::kInvalid, 8, PointerState::kLost},
    PointerRow{PointerState::kLost, PointerSign::kOther, 3, PointerState::kNormal},
    PointerRow{PointerState::kLost, PointerSign::kAis, 3, PointerState::kAis},
};

constexpr std::array<std::string_view, static_cast<std::size_t>(PointerState::kCount)>
    kPointerStates{"searching", "normal", "AIS", "lost"};
constexpr std::array<std::string_view, static_cast<std::size_t>(PointerSign::kCount)> kPointerSigns{
    "the value in force", "new data flag", "all ones",     "increment",
    "decrement",          "another value", "nothing valid"};

constexpr unsigned distance(unsigned one, unsigned other) {
  return static_cast<unsigned>(std::popcount(one ^ other));
}
constexpr unsigned flag_of(std::uint16_t word) {
  return word >> 12;
}
constexpr bool has_new_data(std::uint16_t word) {
  return distance(flag_of(word), kNewDataFlag) <= 1;
}

}  // namespace

std::uint16_t pointer_word(PointerFlag flag, std::uint16_t value, bool sdh) {
  const unsigned bits = flag == PointerFlag::kNewData ? kNewDataFlag : kNormalFlag;
  return static_cast<std::uint16_t>(bits << 12 | (sdh ? kSdhBits : 0U) | (value & kValueBits));
}

void write_pointers(MutableBytes row, const Geometry& g, std::uint16_t word, bool sdh) {
  assert(row.size() >= g.overhead());
  const std::uint16_t other =
      word == kAisPointer ? kAisPointer : pointer_word(PointerFlag::kNewData, kValueBits, sdh);
  const auto h1 = row.first(g.thirds());
  const auto h2 = row.subspan(g.thirds(), g.thirds());
  std::ranges::fill(h1, static_cast<std::byte>(other >> 8));
  std::ranges::fill(h2, static_cast<std::byte>(other & 0xFF));
  h1[0] = static_cast<std::byte>(word >> 8);
  h2[0] = static_cast<std::byte>(word & 0xFF);
}

std::string_view to_text(PointerState state) {
  return kPointerStates[static_cast<std::size_t>(state)];
}
std::string_view to_text(PointerSign sign) {
  return kPointerSigns[static_cast<std::size_t>(sign)];
}
std::span<const PointerRow> pointer_rows() {
  return kPointerRows;
}

void PointerInterpreter::lose() {
  state_ = PointerState::kSearching;
  times_ = {};
  std::ranges::fill(missing_for_, std::uint8_t{0});
  broken_ = false;
}

PointerState PointerInterpreter::state() const {
  return state_ == PointerState::kNormal && broken_ ? PointerState::kLost : state_;
}

std::optional<std::uint16_t> PointerInterpreter::value() const {
  if (state() != PointerState::kNormal) return std::nullopt;
  return value_;
}

PointerSign PointerInterpreter::sign_of(std::uint16_t word) const {
  if (word == kAisPointer) return PointerSign::kAis;
  const auto value = static_cast<std::uint16_t>(word & kValueBits);
  const bool is_value = value < kPointers;
  if (has_new_data(word)) return is_value ? PointerSign::kNewData : PointerSign::kInvalid;
  if (distance(flag_of(word), kNormalFlag) > 1) return PointerSign::kInvalid;
  if (state_ == PointerState::kNormal) {
    if (value == value_) return PointerSign::kNormal;
    const unsigned turned = value ^ value_;
    const bool increments = std::popcount(turned & kIncrementBits) >= 3;
    const bool decrements = std::popcount(turned & kDecrementBits) >= 3;
    if (increments != decrements && since_step_ > kFramesBetweenSteps) {
      return increments ? PointerSign::kIncrement : PointerSign::kDecrement;
    }
  }
  return is_value ? PointerSign::kOther : PointerSign::kInvalid;
}

void PointerInterpreter::count(PointerSign sign, std::uint16_t value) {
  const auto times = [this](PointerSign of) -> unsigned& {
    return times_[static_cast<std::size_t>(of)];
  };
  const unsigned before = times(sign);
  const unsigned invalid = times(PointerSign::kInvalid);
  times_ = {};
  times(sign) = before + 1;
  if (sign == PointerSign::kOther) {
    if (value != other_) times(sign) = 1;
    other_ = value;
    times(PointerSign::kInvalid) = invalid + 1;
  }
}

PointerStep PointerInterpreter::follow(PointerSign sign, std::uint16_t value) {
  for (const PointerRow& row : kPointerRows) {
    if (row.from != state_ || times_[static_cast<std::size_t>(row.sign)] < row.times) continue;
    state_ = row.to;
    if (sign != PointerSign::kNewData || state_ == PointerState::kLost) times_ = {};
    if (state_ != PointerState::kNormal) return PointerStep::kNone;
    value_ = value;
    since_step_ = 0;
    return PointerStep::kNewData;
  }
  return PointerStep::kNone;
}

PointerStep PointerInterpreter::take(Bytes row, const Geometry& g) {
  assert(row.size() >= g.overhead());
  take_others(row, g);
  if (since_step_ <= kFramesBetweenSteps) ++since_step_;
  const auto word = static_cast<std::uint16_t>(std::to_integer<unsigned>(row[0]) << 8 |
                                               std::to_integer<unsigned>(row[g.thirds()]));
  const PointerSign sign = sign_of(word);
  const auto value = static_cast<std::uint16_t>(word & kValueBits);
  count(sign, value);
  if (sign == PointerSign::kIncrement) {
    value_ = static_cast<std::uint16_t>((value_ + 1) % kPointers);
    since_step_ = 0;
    return PointerStep::kIncrement;
  }
  if (sign == PointerSign::kDecrement) {
    value_ = static_cast<std::uint16_t>((value_ + kPointers - 1) % kPointers);
    since_step_ = 0;
    return PointerStep::kDecrement;
  }
  return follow(sign, value);
}

void PointerInterpreter::take_others(Bytes row, const Geometry& g) {
  bool complete = true;
  bool lost = false;
  for (std::size_t i = 0; i < missing_for_.size(); ++i) {
    const auto word =
        static_cast<std::uint16_t>(std::to_integer<unsigned>(row[i + 1]) << 8 |
                                   std::to_integer<unsigned>(row[g.thirds() + i + 1]));
    std::uint8_t& missing = missing_for_[i];
    if (word != kAisPointer && has_new_data(word) && (word & kValueBits) == kValueBits) {
      missing = 0;
      continue;
    }
    complete = false;
    if (missing < kConcatenationLost) ++missing;
    lost = lost || missing == kConcatenationLost;
  }
  complete_for_ = complete ? complete_for_ + 1 : 0;
  if (lost) broken_ = true;
  if (complete_for_ >= kConcatenationFound) broken_ = false;
}

}  // namespace weft::wan::sonet
