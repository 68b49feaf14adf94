// SPDX-License-Identifier: Apache-2.0
#include "sm/pkey_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "sm/subnet_changes.h"

namespace weft::sm {
namespace {

using wire::PKeyBlock;
using wire::SmAttribute;

constexpr std::size_t kPkeyTablesBlock = PKeyBlock::kEntries;
constexpr std::uint16_t kNumberBits = 0x7FFF;

std::uint16_t number(PKey key) {
  return static_cast<std::uint16_t>(key.value() & kNumberBits);
}

bool is_full(PKey key) {
  return (key.value() & ~kNumberBits) != 0;
}

std::size_t blocks_for(std::size_t entries) {
  return (entries + kPkeyTablesBlock - 1) / kPkeyTablesBlock;
}

// The P_Key that belongs at index 0; nothing: none of them.
std::optional<PKey> first_of(const Partitions::Keys& wanted) {
  if (wanted.first) return wanted.first;
  for (const PKey key : wanted.all) {
    if (number(key) == Partitions::kDefaultNumber) return key;
  }
  return std::nullopt;
}

class Placement {
 public:
  Placement(std::span<const PKeyBlock> now, std::size_t entries)
      : now_(std::min(entries, now.size() * kPkeyTablesBlock)), table_(entries) {
    for (std::size_t i = 0; i < now_.size(); ++i)
      now_[i] = now[i / kPkeyTablesBlock].pkeys[i % kPkeyTablesBlock];
    const auto used =
        std::find_if(now_.rbegin(), now_.rend(), [](PKey key) { return number(key) != 0; });
    end_ = std::max<std::size_t>(1, static_cast<std::size_t>(now_.rend() - used));
  }

  bool put(std::size_t at, PKey key) {
    if (at >= table_.size() || table_[at] != PKey{}) return false;
    table_[at] = key;
    end_ = std::max(end_, at + 1);
    return true;
  }
  // Where it is, or where the partition is in its other membership.
  bool keep(PKey key, bool as_it_is) {
    for (std::size_t i = 1; i < now_.size(); ++i) {
      const bool same = as_it_is ? now_[i] == key : number(now_[i]) == number(key);
      if (same && put(i, key)) return true;
    }
    return false;
  }
  bool add(PKey key) {
    if (put(end_, key)) return true;
    for (std::size_t i = 1; i < table_.size(); ++i) {
      if (put(i, key)) return true;
    }
    return false;
  }
  [[nodiscard]] std::vector<PKeyBlock> blocks() const {
    std::vector<PKeyBlock> blocks(blocks_for(table_.size()));
    for (std::size_t i = 0; i < table_.size(); ++i)
      blocks[i / kPkeyTablesBlock].pkeys[i % kPkeyTablesBlock] = table_[i];
    return blocks;
  }

 private:
  std::vector<PKey> now_;
  std::vector<PKey> table_;
  std::size_t end_ = 1;  // after the last that is used
};

}  // namespace

PlacedKeys place_keys(std::span<const PKeyBlock> now, std::size_t entries,
                      const Partitions::Keys& wanted) {
  Placement placement(now, entries);
  const auto first = first_of(wanted);
  std::vector<PKey> left;
  for (const PKey key : wanted.all) {
    if (key == first ? !placement.put(0, key) : !placement.keep(key, true)) left.push_back(key);
  }
  std::erase_if(left, [&](PKey key) { return placement.keep(key, false); });
  std::erase_if(left, [&](PKey key) { return placement.add(key); });
  return {.blocks = placement.blocks(), .left_out = left.size()};
}

Partitions::Keys PKeyTables::keys_of(const PortRef& at) const {
  return partitions_.keys_of({.guid = subnet_.port(at).guid,
                              .type = subnet_.nodes[at.node].info.type,
                              .is_manager = at == manager_});
}

void PKeyTables::read() {
  for (const PortRef& end : subnet_.end_ports()) {
    auto& known = subnet_.port(end).tables.pkeys;
    known.resize(blocks_for(subnet_.nodes[end.node].info.partition_cap));
    for (std::size_t block = 0; block < known.size(); ++block) {
      if (known[block]) continue;
      // What cannot be read is written.
      changes_.get(subnet_.route_to(end), SmAttribute::kPKeyTable,
                   static_cast<std::uint32_t>(block), [this, end, block](const SmpResult& result) {
                     if (!result.answered()) return;
                     subnet_.port(end).tables.pkeys[block] = PKeyBlock::parse(result.data);
                   });
    }
  }
}

void PKeyTables::write(const MayTouch& may_touch) {
  for (const PortRef& end : subnet_.end_ports()) {
    if (!may_touch(end)) continue;
    const Partitions::Keys keys = keys_of(end);
    write_end_port(end, keys);
    const auto& peer = subnet_.port(end).peer;
    const bool at_switch = end.port != 0 && peer && subnet_.nodes[peer->node].is_switch();
    if (at_switch && enforcement_ != Enforcement::kOff) write_switch_port(*peer, keys);
  }
}

void PKeyTables::write_end_port(const PortRef& at, const Partitions::Keys& keys) {
  const auto& known = subnet_.port(at).tables.pkeys;
  std::vector<PKeyBlock> now;
  for (const auto& block : known)
    now.push_back(block.value_or(PKeyBlock{}));
  const std::size_t entries = subnet_.nodes[at.node].info.partition_cap;
  const PlacedKeys placed = place_keys(now, entries, keys);
  if (placed.left_out > 0) {
    changes_.warn(fmt::format("{}: its P_Key table has {} entries, {} P_Keys are left out",
                              name_of(subnet_, at), entries, placed.left_out));
  }
  write_blocks(at, placed.blocks);
}

// What the adapter has, without gaps: indices mean nothing here. The full P_Key of a partition lets
// through what the limited one does.
void PKeyTables::write_switch_port(const PortRef& at, const Partitions::Keys& keys) {
  const auto& info = subnet_.nodes[at.node].switch_info;
  if (!info || !(info->inbound_enforcement_cap || info->outbound_enforcement_cap)) return;
  const std::size_t entries = info->partition_enforcement_cap;
  if (entries == 0) return;
  std::vector<PKey> table;
  for (const PKey key : keys.all) {
    const PKey full{static_cast<std::uint16_t>(key.value() | ~kNumberBits)};
    const bool covered =
        !is_full(key) && std::find(keys.all.begin(), keys.all.end(), full) != keys.all.end();
    if (!covered) table.push_back(key);
  }
  if (table.size() > entries) {
    changes_.warn(fmt::format("{} does not enforce partitions: it has {} entries for {} P_Keys",
                              name_of(subnet_, at), entries, table.size()));
    return;
  }
  std::vector<PKeyBlock> blocks(blocks_for(entries));
  for (std::size_t i = 0; i < table.size(); ++i)
    blocks[i / kPkeyTablesBlock].pkeys[i % kPkeyTablesBlock] = table[i];
  subnet_.port(at).tables.pkeys.resize(blocks.size());
  write_blocks(at, blocks);
  enforcing_.insert(std::uint64_t{at.node} << 8 | at.port);
}

void PKeyTables::write_blocks(const PortRef& at, const std::vector<PKeyBlock>& blocks) {
  auto& known = subnet_.port(at).tables.pkeys;
  const bool of_switch = subnet_.nodes[at.node].is_switch();
  for (std::size_t number = 0; number < blocks.size(); ++number) {
    const PKeyBlock& block = blocks[number];
    if (known[number] == block) continue;
    known[number].reset();  // until the node has confirmed it
    std::array<std::byte, wire::smp::kDataSize> data{};
    block.write(data);
    const auto modifier =
        static_cast<std::uint32_t>(number) | (of_switch ? std::uint32_t{at.port} << 16 : 0);
    changes_.set(subnet_.route_to(at), SmAttribute::kPKeyTable, modifier, data,
                 [this, at, number, block](const SmpResult& result) {
                   if (result.answered()) {
                     subnet_.port(at).tables.pkeys[number] = block;
                   } else {
                     changes_.failed("P_Key table of " + name_of(subnet_, at), result);
                   }
                 });
  }
}

// A port that enforced what it has from before would cut off whom it should not.
bool PKeyTables::ready(const PortRef& at) const {
  if (!enforcing_.contains(std::uint64_t{at.node} << 8 | at.port)) return false;
  const auto& known = subnet_.port(at).tables.pkeys;
  return std::all_of(known.begin(), known.end(),
                     [](const auto& block) { return block.has_value(); });
}

bool PKeyTables::enforces_in(const PortRef& at) const {
  const bool wanted = enforcement_ == Enforcement::kIn || enforcement_ == Enforcement::kBoth;
  return wanted && subnet_.nodes[at.node].switch_info->inbound_enforcement_cap && ready(at);
}

bool PKeyTables::enforces_out(const PortRef& at) const {
  const bool wanted = enforcement_ == Enforcement::kOut || enforcement_ == Enforcement::kBoth;
  return wanted && subnet_.nodes[at.node].switch_info->outbound_enforcement_cap && ready(at);
}

}  // namespace weft::sm
