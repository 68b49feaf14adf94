// SPDX-License-Identifier: Apache-2.0
#include "link/vl_arbitration.h"

#include <algorithm>
#include <cassert>

#include "link/iba_values.h"

namespace weft::link {
namespace {

constexpr std::size_t kWeightUnit = 64;     // bytes
constexpr std::int64_t kLimitUnit = 4'096;  // bytes

constexpr bool has(std::uint16_t lanes, Vl vl) {
  return (lanes >> vl.value() & 1) != 0;
}

}  // namespace

void VlArbitration::set(Table table, std::size_t first, std::span<const Entry> entries) {
  if (first >= kMaxEntries) return;
  Wheel& wheel = table == Table::kLow ? low_ : high_;
  const std::size_t end = std::min(first + entries.size(), kMaxEntries);
  if (wheel.entries.size() < end) wheel.entries.resize(end);
  std::copy_n(entries.begin(), end - first,
              wheel.entries.begin() + static_cast<std::ptrdiff_t>(first));
  wheel.lanes = 0;
  for (const Entry& entry : wheel.entries) {
    if (entry.weight != 0) wheel.lanes = static_cast<std::uint16_t>(wheel.lanes | bit(entry.vl));
  }
  wheel.at = wheel.entries.size() - 1;  // so that the first turn is to the first entry
  wheel.left = 0;
  chosen_ = nullptr;
}

VlArbitration::Entry VlArbitration::get(Table table, std::size_t index) const {
  const Wheel& wheel = table == Table::kLow ? low_ : high_;
  return index < wheel.entries.size() ? wheel.entries[index] : Entry{};
}

void VlArbitration::set_high_limit(std::uint8_t limit) {
  limit_ = limit;
  refill_high();
}

// A limit of 0 allows one packet, whatever its length.
void VlArbitration::refill_high() {
  high_left_ = std::max<std::int64_t>(1, limit_ * kLimitUnit);
}

bool VlArbitration::Wheel::turn_to(std::uint16_t sendable) {
  if (left > 0 && has(sendable, entries[at].vl)) return true;
  std::size_t next = at;
  for (std::size_t step = 0; step < entries.size(); ++step) {
    next = next + 1 < entries.size() ? next + 1 : 0;
    const Entry& entry = entries[next];
    if (entry.weight == 0 || !has(sendable, entry.vl)) continue;
    at = next;
    left = entry.weight;
    return true;
  }
  return false;
}

std::optional<Vl> VlArbitration::choose_by_tables(std::uint16_t sendable) {
  const bool low = (low_.lanes & sendable) != 0;
  const bool high = (high_.lanes & sendable) != 0;
  counts_high_ = low && limit_ != kUnlimited;
  if (!counts_high_) refill_high();
  if (!high && !low) return std::nullopt;
  chosen_ = high && (high_left_ > 0 || !low) ? &high_ : &low_;
  const bool found = chosen_->turn_to(sendable);
  assert(found);
  (void)found;
  return chosen_->entries[chosen_->at].vl;
}

void VlArbitration::count(std::size_t bytes) {
  chosen_->left -= static_cast<int>((bytes + kWeightUnit - 1) / kWeightUnit);
  if (chosen_ == &high_) {
    if (counts_high_) high_left_ -= static_cast<std::int64_t>(bytes);
  } else {
    refill_high();
  }
}

}  // namespace weft::link
