// SPDX-License-Identifier: Apache-2.0
#include "wan/sealed_path.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "wan/frame.h"
#include "wire/endian.h"

namespace weft::wan {
namespace {

constexpr std::uint64_t kNameMask = (std::uint64_t{1} << 56) - 1;

std::uint64_t name_of(Bytes datagram) {
  return wire::load_be64(datagram.data()) & kNameMask;
}

}  // namespace

SealedPath::Generation::Generation(SealKeys taken, const Options& options)
    : keys(std::move(taken)),
      sealer(*keys.outgoing, {.limits = options.limits, .first = {}}),
      opener(*keys.incoming, {.limits = options.limits, .old_time = options.old_time}) {
  wire::store_be64(head.data(), std::uint64_t{kVersion} << 56 | (keys.name & kNameMask));
}

void SealedPath::take(SealKeys keys, Time now) {
  expire(now);
  if (generations_.size() == kMostKeys) {
    drop(generations_.begin() + (generations_.front().get() == sending_ ? 1 : 0));
  }
  generations_.push_back(std::make_unique<Generation>(std::move(keys), options_));
  counters_.add_in_turn(SealedPathCounter::kKeys);
}

SealedPath::Generations::const_iterator SealedPath::find(std::uint64_t name) const {
  return std::ranges::find_if(generations_, [name](const auto& generation) {
    return (generation->keys.name & kNameMask) == (name & kNameMask);
  });
}

void SealedPath::use(std::uint64_t name, Time now) {
  if (const auto begun = find(name); begun != generations_.end()) begin_with(begun, now);
}

void SealedPath::begin_with(Generations::const_iterator begun, Time now) {
  const bool later = std::any_of(begun, generations_.cend(), [this](const auto& generation) {
    return generation.get() == sending_;
  });
  if (later) return;
  sending_ = begun->get();
  sending_->epoch_since = now;
  spent_ = false;
}

// A datagram of these keys was genuine: the other end has them, and those before them, with which
// nothing is sealed any more, are needed no longer than things are under way.
void SealedPath::come(Generations::const_iterator genuine, Time now) {
  begin_with(genuine, now);
  std::for_each(generations_.cbegin(), genuine, [&](const auto& before) {
    if (!before->until) before->until = now + options_.old_time;
  });
}

void SealedPath::drop(Generations::const_iterator dropped) {
  accumulate(gone_, (*dropped)->sealer.counters().snapshot());
  accumulate(gone_, (*dropped)->opener.counters().snapshot());
  generations_.erase(dropped);
}

void SealedPath::expire(Time now) {
  for (std::size_t i = generations_.size(); i-- > 0;) {
    Generation& generation = *generations_[i];
    generation.opener.expire(now);
    if (generation.until && now >= *generation.until) {
      drop(generations_.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

bool SealedPath::knows(Bytes datagram) const {
  return datagram.size() >= kOverhead && datagram[0] == std::byte{kVersion} &&
         find(name_of(datagram)) != generations_.end();
}

// Where its frame is opened to: where it lies, if that can be.
MutableBytes SealedPath::room_for(Bytes datagram) {
  const std::size_t size = datagram.size() - kOverhead;
  const Bytes sealed = datagram.subspan(kHead + SealHeader::kSize, size);
  if (landing_ != nullptr) {
    if (const MutableBytes there = landing_->writable(sealed); !there.empty()) return there;
  }
  if (frame_.size() < size) frame_.resize(size);
  return frame_;
}

std::optional<SealedPath::Arrived> SealedPath::receive(Bytes datagram, Time now, Bytes beside) {
  const auto refuse = [this](SealedPathCounter why) {
    counters_.add_in_turn(why);
    return std::nullopt;
  };
  expire(now);
  if (datagram.size() < kOverhead || datagram[0] != std::byte{kVersion}) {
    return refuse(SealedPathCounter::kNotSealed);
  }
  const auto found = find(name_of(datagram));
  if (found == generations_.end()) return refuse(SealedPathCounter::kUnknownKeys);
  Generation& generation = **found;
  const auto opened = generation.opener.open(datagram, kHead, room_for(datagram), now, beside);
  if (!opened) {
    // The other end does not know, and goes on in vain.
    if (opened.error() == OpenCounter::kWorn) spent_ = true;
    return std::nullopt;
  }
  const bool newest = opened->sequence >= generation.end && !generation.until;
  generation.end = std::max(generation.end, opened->sequence + 1);
  come(found, now);
  return Arrived{.frame = opened->frame, .newest = newest};
}

std::size_t SealedPath::longest_frame() const {
  const std::size_t carried = carrier_.longest_frame();
  return std::min(carried - std::min(carried, kOverhead), kLongestFrame);
}

void SealedPath::send(std::span<const OutFrame> frames, Time now) {
  expire(now);
  if (needs_keys()) return counters_.add_in_turn(SealedPathCounter::kNoKeys, frames.size());
  if (now >= sending_->epoch_since + options_.epoch_time) {
    sending_->sealer.rotate();
    sending_->epoch_since = now;
  }
  std::size_t size = 0;
  for (const OutFrame& frame : frames)
    size += Sealer::size_of(kHead, frame.size);
  if (memory_.size() < size) memory_.resize(size);
  sealed_.clear();
  out_.clear();
  sealed_.reserve(frames.size());  // what is sent refers to its elements
  MutableBytes room = memory_;
  for (const OutFrame& frame : frames) {
    const auto datagram = sending_->sealer.seal(sending_->head, frame.parts, room, frame.options);
    if (!datagram) {
      spent_ = true;  // it will have none again
      continue;
    }
    room = room.subspan(datagram->size());
    sealed_.emplace_back(*datagram);
    out_.push_back({.parts = std::span(&sealed_.back(), 1),
                    .size = datagram->size(),
                    .traffic_class = frame.traffic_class,
                    .options = frame.options});
  }
  if (!out_.empty()) carrier_.send(out_, now);
}

std::vector<CounterValue> SealedPath::counters() const {
  std::vector<CounterValue> out = counters_.snapshot();
  accumulate(out, SealCounters().snapshot());
  accumulate(out, OpenCounters().snapshot());
  accumulate(out, gone_);
  for (const auto& generation : generations_) {
    accumulate(out, generation->sealer.counters().snapshot());
    accumulate(out, generation->opener.counters().snapshot());
  }
  return out;
}

}  // namespace weft::wan
