// SPDX-License-Identifier: Apache-2.0
#include "hca/receive_filter.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>

#include "hca/types.h"
#include "wire/grh.h"

namespace weft::hca {
namespace {

constexpr std::uint8_t kMostLmc = 7;  // IBA 4.1.3: three bits
constexpr Lid kPermissiveLid{0xFFFF};
constexpr std::size_t kDgidOffset = 24;  // in a GRH

bool is_management(const wire::Lrh& lrh) {
  return lrh.vl == kManagementVl || lrh.dlid == kPermissiveLid;
}

bool is_group(Lid lid) {
  return lid != Lid{} && !is_unicast(lid);
}

std::optional<Gid> dgid_of(const wire::Lrh& lrh, Bytes after_lrh) {
  if (lrh.next_header != wire::Lnh::iba_global || after_lrh.size() < wire::Grh::kSize) {
    return std::nullopt;
  }
  return wire::load_gid(after_lrh.data() + kDgidOffset);
}

template <class Map, class Key>
Expected<void> divert(Map& map, const Key& key, QueueSet to, const std::string& name) {
  const auto [at, is_new] = map.try_emplace(key, to);
  if (is_new || at->second == to) return {};
  return fail(std::errc::file_exists, fmt::format("{}: goes to other raw queues already", name));
}

std::string text(Lid lid) {
  return fmt::format("LID {:#x}", lid.value());
}

std::string text(const GidPrefix& prefix) {
  const std::string all = prefix.to_string();
  return "GID " + (prefix.bits() < GidPrefix::kMostBits ? all : all.substr(0, all.find('/')));
}

template <class Map, class Key>
Expected<void> restore(Map& map, const Key& key) {
  if (map.erase(key) != 0) return {};
  return fail(std::errc::invalid_argument, text(key) + ": goes to no raw queues");
}

}  // namespace

Expected<void> ReceiveFilter::set_own_lids(Lid base, std::uint8_t lmc) {
  if (lmc > kMostLmc) {
    return fail(std::errc::invalid_argument, fmt::format("LMC {}: must be 0 to 7", lmc));
  }
  if (base != Lid{} && !is_unicast(base)) {
    return fail(std::errc::invalid_argument, text(base) + ": is not that of a port");
  }
  own_mask_ = static_cast<std::uint16_t>(0xFFFFU << lmc);
  own_base_ = Lid{static_cast<std::uint16_t>(base.value() & own_mask_)};
  has_lids_ = base != Lid{};
  return {};
}

Expected<void> ReceiveFilter::set_own_gids(std::span<const Gid> gids) {
  if (gids.size() > kMostGids) {
    return fail(std::errc::invalid_argument,
                fmt::format("{} GIDs: a port has at most {}", gids.size(), kMostGids));
  }
  own_gids_ = {gids.begin(), gids.end()};
  return {};
}

Expected<void> ReceiveFilter::divert_lid(Lid dlid, QueueSet to) {
  if (!is_unicast(dlid)) {
    return fail(std::errc::invalid_argument, text(dlid) + ": is not a unicast LID");
  }
  if (auto diverted = divert(lids_, dlid, to, text(dlid)); !diverted) return diverted;
  diverted_.set(dlid.value());
  return {};
}

Expected<void> ReceiveFilter::restore_lid(Lid dlid) {
  if (auto restored = restore(lids_, dlid); !restored) return restored;
  diverted_.reset(dlid.value());
  return {};
}

std::size_t ReceiveFilter::PrefixHash::operator()(const GidPrefix& prefix) const noexcept {
  // As of Random in base/random.h, of which it is a step for each word.
  std::uint64_t z = prefix.subnet() + 0x9E37'79B9'7F4A'7C15 * (prefix.bits() + 1);
  for (const std::uint64_t more : {prefix.rest(), std::uint64_t{0}}) {
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
    z ^= (z >> 27) ^ more;
  }
  return static_cast<std::size_t>(z);
}

Expected<void> ReceiveFilter::divert_gids(const GidPrefix& prefix, QueueSet to) {
  if (prefix == GidPrefix(Gid{}, GidPrefix::kMostBits)) {
    return fail(std::errc::invalid_argument, "GID ::: is no address");
  }
  const bool is_new = !gids_.contains(prefix);
  if (is_new && gids_.size() >= kMostGids) {
    return fail(std::errc::invalid_argument,
                fmt::format("{} prefixes of GIDs go to raw queues, and no more may", kMostGids));
  }
  if (auto diverted = divert(gids_, prefix, to, text(prefix)); !diverted) return diverted;
  if (is_new && of_length_[prefix.bits()]++ == 0) {
    lengths_.insert(
        std::lower_bound(lengths_.begin(), lengths_.end(), prefix.bits(), std::greater<>()),
        prefix.bits());
  }
  return {};
}

Expected<void> ReceiveFilter::restore_gids(const GidPrefix& prefix) {
  if (auto restored = restore(gids_, prefix); !restored) return restored;
  if (--of_length_[prefix.bits()] == 0) std::erase(lengths_, prefix.bits());
  return {};
}

std::optional<QueueSet> ReceiveFilter::find(const Gid& dgid) const {
  const GidPrefix whole(dgid, GidPrefix::kMostBits);
  for (const unsigned bits : lengths_) {
    if (const auto found = gids_.find(whole.first(bits)); found != gids_.end()) {
      return found->second;
    }
  }
  return std::nullopt;
}

std::optional<ReceiveFilter::Match> ReceiveFilter::match(const wire::Lrh& lrh,
                                                         Bytes after_lrh) const {
  if (diverted_[lrh.dlid.value()]) {
    return Match{lids_.find(lrh.dlid)->second, FilterCounter::kByLid};
  }
  const bool looks_at_gids = !gids_.empty() || other_gids_;
  const auto dgid = looks_at_gids ? dgid_of(lrh, after_lrh) : std::nullopt;
  if (dgid) {
    if (const auto to = find(*dgid)) return Match{*to, FilterCounter::kByGid};
  }
  if (other_lids_ && has_lids_ && !owns(lrh.dlid)) {
    return Match{*other_lids_, FilterCounter::kOtherLid};
  }
  if (dgid && other_gids_ && !own_gids_.contains(*dgid)) {
    return Match{*other_gids_, FilterCounter::kOtherGid};
  }
  return std::nullopt;
}

Steered ReceiveFilter::steer(const wire::Lrh& lrh, Bytes after_lrh) {
  if (is_management(lrh)) {
    counters_.add_in_turn(FilterCounter::kManagement);
    return {};
  }
  const auto matched = match(lrh, after_lrh);
  if (!matched) {
    counters_.add_in_turn(FilterCounter::kEngine);
    if (watcher_) counters_.add_in_turn(FilterCounter::kWatched);
    return {.engine = true, .raw = watcher_};
  }
  counters_.add_in_turn(matched->why);
  // Members on this port are to hear of it, too.
  const bool shared = is_group(lrh.dlid);
  if (shared) counters_.add_in_turn(FilterCounter::kShared);
  return {.engine = shared, .raw = matched->to};
}

}  // namespace weft::hca
