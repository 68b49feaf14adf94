// SPDX-License-Identifier: Apache-2.0
#include "sm/sa/guid_records.h"

#include <algorithm>

#include "base/random.h"
#include "wire/endian.h"
#include "wire/sa/sa_layout.h"
#include "wire/sm/tables.h"

namespace weft::sm {
namespace {

using wire::SaStatus;

constexpr std::size_t kGuidRecordsBlock = wire::GuidBlock::kEntries;
constexpr std::uint64_t kHasLid = 1u << 0;
constexpr std::uint64_t kHasBlock = 1u << 1;
constexpr unsigned kFirstGuid = 4;  // as a component
constexpr std::size_t kBlockNumber = 2;
constexpr std::size_t kData = 8;  // where the block begins in the record
// Of an EUI-64: whoever administers the subnet has made it up.
constexpr std::uint64_t kLocallyAdministered = std::uint64_t{0x02} << 56;
constexpr std::uint64_t kRest = ~std::uint64_t{0} >> 8;
constexpr int kMostDraws = 1000;

bool names(const SaRequest& request, std::size_t entry) {
  return (request.sa.component_mask >> (kFirstGuid + entry) & 1) != 0;
}

// The same at each time for the same entry, unless somebody else has it: who asks again, another
// manager too, finds what it had.
Guid choose(const SubnetView& view, Guid port, std::size_t index) {
  Random random(port.value() + index);
  for (int draw = 0; draw < kMostDraws; ++draw) {
    const Guid guid{(random.next() & kRest) | kLocallyAdministered};
    if (view.end_of(guid) == SubnetView::kNobody) return guid;
  }
  return {};
}

}  // namespace

std::optional<GuidRecords::Block> GuidRecords::block_of(const SubnetView& view,
                                                        const SaRequest& request, SaReply& reply) {
  const auto fail = [&](SaStatus status) {
    reply.fail(status);
    return std::nullopt;
  };
  if (!request.has(kHasLid | kHasBlock)) return fail(SaStatus::kInsufficientComponents);
  const std::uint32_t end = view.end_of(Lid{wire::load_be16(request.data.data())});
  if (end == SubnetView::kNobody || request.requester == SubnetView::kNobody) {
    return fail(SaStatus::kRequestInvalid);
  }
  if (request.requester != end && !request.trusted) return fail(SaStatus::kDenied);
  const std::size_t first = wire::load_u8(request.data.data() + kBlockNumber) * kGuidRecordsBlock;
  const std::size_t entries = view.port_of(view.ends()[end]).info->guid_cap;
  // The first of all is the port's own.
  if (first >= entries || (first == 0 && names(request, 0))) {
    return fail(SaStatus::kRequestInvalid);
  }
  return Block{.end = end, .first = first, .entries = std::min(entries - first, kGuidRecordsBlock)};
}

void GuidRecords::answer(const SubnetView& view, const Block& block, std::uint8_t refused,
                         SaReply& reply) {
  const ViewEnd& end = view.ends()[block.end];
  wire::GuidBlock shown;
  for (std::size_t i = 0; i < block.entries; ++i) {
    if ((refused >> i & 1) == 0) shown.guids[i] = view.guid_at(end.guid, block.first + i);
  }
  const MutableBytes record = reply.add(wire::kGuidInfoRecord.size);
  wire::store_be16(record.data(), end.lid.value());
  wire::store_u8(record.data() + kBlockNumber,
                 static_cast<std::uint8_t>(block.first / kGuidRecordsBlock));
  shown.write(record.subspan(kData));
}

void GuidRecords::put(SubnetView& view, Guid port, std::size_t index, Guid guid) {
  const Guid before = view.aliases().at(port, index);
  view.aliases().put(port, index, guid);
  if (before != Guid{}) events_.push_back({.added = false, .guid = before});
  if (guid != Guid{}) events_.push_back({.added = true, .guid = guid});
  ++generation_;
  if (store_ == nullptr) return;
  const auto number = static_cast<std::uint8_t>(index);  // below a GUIDCap
  if (guid != Guid{}) {
    store_->record_alias({.port = port, .index = number, .guid = guid});
  } else {
    store_->forget_alias(port, number);
  }
}

void GuidRecords::record_all(const SubnetView& view) const {
  if (store_ == nullptr) return;
  for (const auto& [port, guids] : view.aliases().ports()) {
    for (std::size_t index = 0; index < guids.size(); ++index) {
      if (guids[index] == Guid{}) continue;
      store_->record_alias(
          {.port = port, .index = static_cast<std::uint8_t>(index), .guid = guids[index]});
    }
  }
}

// Nobody is told: it has been there all the time.
bool GuidRecords::restore(SubnetView& view, const AliasGuid& alias) {
  AliasMap& aliases = view.aliases();
  const bool has_place = alias.index != 0 && alias.port != Guid{} && alias.guid != Guid{} &&
                         aliases.at(alias.port, alias.index) == Guid{} &&
                         !aliases.port_of(alias.guid) && aliases.size() < most_;
  if (!has_place) return false;
  aliases.put(alias.port, alias.index, alias.guid);
  restored_.insert(alias.port);
  ++generation_;
  return true;
}

bool GuidRecords::give(SubnetView& view, Guid port, std::size_t index, Guid asked) {
  const Guid now = view.aliases().at(port, index);
  Guid guid = asked;
  if (asked == Guid{}) guid = now == Guid{} ? choose(view, port, index) : now;
  if (guid == now && now != Guid{}) return true;
  const bool is_free = guid != Guid{} && view.end_of(guid) == SubnetView::kNobody;
  if (!is_free || (now == Guid{} && view.aliases().size() >= most_)) return false;
  put(view, port, index, guid);
  return true;
}

void GuidRecords::set(SubnetView& view, const SaRequest& request, SaReply& reply) {
  const auto block = block_of(view, request, reply);
  if (!block) return;
  const auto asked = *wire::GuidBlock::parse(request.data.subspan(kData));
  const Guid port = view.ends()[block->end].guid;
  std::uint8_t refused = 0;
  for (std::size_t i = 0; i < kGuidRecordsBlock; ++i) {
    if (!names(request, i)) continue;
    const bool given = i < block->entries && give(view, port, block->first + i, asked.guids[i]);
    if (!given) refused = static_cast<std::uint8_t>(refused | 1u << i);
  }
  answer(view, *block, refused, reply);
}

void GuidRecords::remove(SubnetView& view, const SaRequest& request, SaReply& reply) {
  const auto block = block_of(view, request, reply);
  if (!block) return;
  const Guid port = view.ends()[block->end].guid;
  for (std::size_t i = 0; i < block->entries; ++i) {
    const bool there = view.aliases().at(port, block->first + i) != Guid{};
    if (there && names(request, i)) put(view, port, block->first + i, Guid{});
  }
  answer(view, *block, 0, reply);
}

void GuidRecords::forget_missing(SubnetView& view) {
  std::vector<std::pair<Guid, std::size_t>> gone;
  for (const auto& [port, guids] : view.aliases().ports()) {
    for (std::size_t index = 0; index < guids.size(); ++index) {
      if (guids[index] == Guid{}) continue;
      const std::uint32_t end = view.end_of(guids[index]);
      const bool is_there = end != SubnetView::kNobody && view.ends()[end].guid == port &&
                            index < view.port_of(view.ends()[end]).info->guid_cap;
      if (!is_there) gone.emplace_back(port, index);
    }
  }
  for (const auto& [port, index] : gone)
    put(view, port, index, Guid{});
  const auto is_gone = [&](Guid port) { return view.end_of(port) == SubnetView::kNobody; };
  std::erase_if(refused_, is_gone);
  std::erase_if(restored_, is_gone);
}

void GuidRecords::adopt(SubnetView& view, const ViewEnd& port) {
  const SubnetPort& found = view.port_of(port);
  const std::size_t entries =
      std::min<std::size_t>(found.info->guid_cap, found.tables.guids.size() * kGuidRecordsBlock);
  const auto left = [&](std::size_t index) {
    const auto& block = found.tables.guids[index / kGuidRecordsBlock];
    return block ? std::optional(block->guids[index % kGuidRecordsBlock]) : std::nullopt;
  };
  // A port that has nothing where it was given something before this life has lost it, and gets it
  // again; else another manager has taken it back. What it has no more may be another entry's by
  // now.
  const bool has_lost = restored_.erase(port.guid) > 0;
  for (std::size_t index = 1; index < entries; ++index) {
    const Guid own = view.aliases().at(port.guid, index);
    const Guid now = left(index).value_or(own);
    if (own == Guid{} || now == own || (has_lost && now == Guid{})) continue;
    put(view, port.guid, index, Guid{});
  }
  for (std::size_t index = 1; index < entries; ++index) {
    const Guid guid = left(index).value_or(Guid{});
    if (guid == Guid{} || guid == view.aliases().at(port.guid, index)) continue;
    if (view.end_of(guid) == SubnetView::kNobody && view.aliases().size() < most_) {
      put(view, port.guid, index, guid);
    } else {
      refused_.insert(port.guid);
      ++generation_;
    }
  }
}

std::vector<PortGuids> GuidRecords::tables(const SubnetView& view) const {
  const auto& aliases = view.aliases().ports();
  std::vector<PortGuids> tables;
  for (const auto& [port, guids] : aliases)
    tables.push_back({.port = port, .guids = guids});
  for (const Guid port : refused_) {
    if (!aliases.contains(port)) tables.push_back({.port = port, .guids = {}});
  }
  return tables;
}

}  // namespace weft::sm
