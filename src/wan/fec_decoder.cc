// SPDX-License-Identifier: Apache-2.0
#include "wan/fec_decoder.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "wan/erasure_code.h"
#include "wire/crc.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

// The network may mix up so many blocks; and what a block's numbers may span.
constexpr std::size_t kMixedBlocks = 4;
constexpr std::size_t kLeastKept = 128;

// The frame in a symbol; nothing: none can be.
std::optional<Bytes> frame_in(Bytes symbol) {
  const std::size_t length = wire::load_be16(symbol.data());
  symbol = symbol.subspan(RepairItem::kLengthSize);
  if (length < FrameHead::kSize || length > symbol.size()) return std::nullopt;
  return symbol.first(length);
}

}  // namespace

void FecDecoder::begin(const FecCode& code) {
  for (const Block& block : blocks_)
    forget(block);
  blocks_.clear();
  code_ = code;
  end_ = 0;
  kept_.clear();
  recovered_.clear();
  if (!code.any()) return;
  const std::size_t frames = std::size_t{code.frames} + code.repairs;
  kept_.resize(std::clamp(std::bit_ceil(kMixedBlocks * frames), kLeastKept, kMostKept));
}

const FecDecoder::Kept* FecDecoder::find(std::uint64_t number) const {
  const Kept& kept = kept_[number % kept_.size()];
  return kept.number == number ? &kept : nullptr;
}

void FecDecoder::keep(std::uint64_t number, Bytes frame) {
  if (!code_.any() || is_old(number)) return;
  advance(number);
  Kept& kept = slot(number);
  kept.number = number;
  kept.frame.assign(frame.begin(), frame.end());
  std::erase_if(blocks_, [this](const Block& block) { return finish(block); });
}

void FecDecoder::take(const RepairItem& item, std::uint64_t number) {
  counters_.add_in_turn(TunnelCounter::kRxRepairs);
  const bool ours = item.index < code_.repairs && item.back <= number &&
                    static_cast<std::size_t>(std::popcount(item.members)) <= code_.frames;
  if (!ours) return counters_.add_in_turn(TunnelCounter::kRxRepairRefused);
  advance(number);
  if (is_old(number - item.back)) return;
  Block* const block = block_of(item, number - item.back);
  if (block == nullptr) return counters_.add_in_turn(TunnelCounter::kRxRepairRefused);
  const bool known = std::ranges::any_of(
      block->repairs, [&](const Repair& repair) { return repair.index == item.index; });
  if (!known) {
    block->repairs.push_back(
        {.index = item.index, .symbol = {item.symbol.begin(), item.symbol.end()}});
  }
  const std::uint64_t first = block->first;
  if (finish(*block)) {
    std::erase_if(blocks_, [first](const Block& each) { return each.first == first; });
  }
}

// The one that it is of, maybe a new one. Null: it contradicts what was said of the block before.
FecDecoder::Block* FecDecoder::block_of(const RepairItem& item, std::uint64_t first) {
  const auto found = std::ranges::find(blocks_, first, &Block::first);
  if (found == blocks_.end()) {
    if (blocks_.size() == kMostBlocks) {
      forget(blocks_.front());
      blocks_.pop_front();
    }
    return &blocks_.emplace_back(
        Block{.first = first, .members = item.members, .check = item.check, .repairs = {}});
  }
  const bool same = found->members == item.members && found->check == item.check &&
                    found->repairs.front().symbol.size() == item.symbol.size();
  return same ? &*found : nullptr;
}

std::vector<FecDecoder::Member> FecDecoder::members_of(const Block& block) {
  std::vector<Member> out;
  for (std::uint64_t rest = block.members; rest != 0; rest &= rest - 1) {
    out.push_back({.index = out.size(),
                   .number = block.first + static_cast<std::uint64_t>(std::countr_zero(rest))});
  }
  return out;
}

std::vector<FecDecoder::Member> FecDecoder::missing(const Block& block) const {
  std::vector<Member> out = members_of(block);
  std::erase_if(out, [this](const Member& member) { return find(member.number) != nullptr; });
  return out;
}

bool FecDecoder::finish(const Block& block) {
  const std::vector<Member> lost = missing(block);
  if (lost.empty()) return true;
  if (lost.size() > block.repairs.size()) return false;
  const auto symbols = solve(block, lost);
  if (!symbols || !fits(block, lost, *symbols)) {
    counters_.add_in_turn(TunnelCounter::kRxRepairRefused, block.repairs.size());
    return true;
  }
  for (std::size_t i = 0; i < lost.size(); ++i) {
    const Bytes frame = *frame_in((*symbols)[i]);
    Kept& kept = slot(lost[i].number);
    kept.number = lost[i].number;
    kept.frame.assign(frame.begin(), frame.end());
    recovered_.push_back(lost[i].number);
  }
  return true;
}

// The repairs, less what those frames that have come are in them, are sums of the missing ones.
std::optional<FecDecoder::Symbols> FecDecoder::solve(const Block& block,
                                                     const std::vector<Member>& missing) const {
  const std::vector<Member> members = members_of(block);
  const std::size_t size = block.repairs.front().symbol.size();
  Symbols sums;
  std::vector<std::uint8_t> coefficients;
  std::vector<std::uint8_t> matrix;
  for (std::size_t row = 0; row < missing.size(); ++row) {
    const Repair& repair = block.repairs[row];
    sums.push_back(repair.symbol);
    for (const Member& member : members)
      coefficients.push_back(repair_coefficient(repair.index, member.index));
    for (const Member& member : missing)
      matrix.push_back(repair_coefficient(repair.index, member.index));
  }
  const SymbolSums known(missing.size(), members.size(), coefficients);
  for (const Member& member : members) {
    const Kept* const kept = find(member.number);
    if (kept == nullptr) continue;
    if (RepairItem::kLengthSize + kept->frame.size() > size) return std::nullopt;
    std::array<std::byte, RepairItem::kLengthSize> length;
    wire::store_be16(length.data(), static_cast<std::uint16_t>(kept->frame.size()));
    known.add(member.index, length, 0, sums);
    known.add(member.index, kept->frame, length.size(), sums);
  }
  const auto inverted = inverse(std::move(matrix), missing.size());
  if (!inverted) return std::nullopt;
  const SymbolSums back(missing.size(), missing.size(), *inverted);
  Symbols out(missing.size(), std::vector<std::byte>(size));
  for (std::size_t row = 0; row < missing.size(); ++row)
    back.add(row, sums[row], 0, out);
  return out;
}

// Somebody may have changed a frame on its way, or made up a repair: then what was missing would be
// made of it, and the checksum over all frames of the block does not fit.
bool FecDecoder::fits(const Block& block, const std::vector<Member>& missing,
                      const Symbols& symbols) const {
  std::uint32_t check = wire::kIcrcPreset;
  std::size_t next = 0;
  for (const Member& member : members_of(block)) {
    const Kept* const kept = find(member.number);
    std::optional<Bytes> frame;
    if (next < missing.size() && missing[next].number == member.number) {
      frame = frame_in(symbols[next++]);
    } else if (kept != nullptr) {
      frame = kept->frame;
    }
    if (!frame) return false;
    check = wire::crc32_update(check, *frame);
  }
  return wire::crc32_finish(check) == block.check;
}

// What numbers have gone far beyond will not be repaired any more.
void FecDecoder::advance(std::uint64_t number) {
  end_ = std::max(end_, number + 1);
  std::erase_if(blocks_, [this](const Block& block) {
    const bool old = is_old(block.first);
    if (old) forget(block);
    return old;
  });
}

void FecDecoder::forget(const Block& block) {
  counters_.add_in_turn(TunnelCounter::kRxUnrecovered, missing(block).size());
}

std::optional<FecDecoder::Recovered> FecDecoder::next() {
  while (!recovered_.empty()) {
    const std::uint64_t number = recovered_.front();
    recovered_.pop_front();
    if (const Kept* const kept = find(number)) return Recovered{number, kept->frame};
  }
  return std::nullopt;
}

}  // namespace weft::wan
