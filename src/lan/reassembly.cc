// SPDX-License-Identifier: Apache-2.0
#include "lan/reassembly.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace weft::lan {
namespace {

// Calls `word(index, bits)` for the words that have the bits from `first` to before `end`.
template <class Word>
void for_words(std::size_t first, std::size_t end, Word&& word) {
  while (first < end) {
    const std::size_t bit = first % 64;
    const std::size_t bits = std::min(end - first, 64 - bit);
    const std::uint64_t ones = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    word(first / 64, ones << bit);
    first += bits;
  }
}

std::size_t first_unit(const LanMessage& message) {
  return message.header.offset / LanHeader::kUnit;
}
std::size_t end_unit(const LanMessage& message) {
  const std::size_t end = message.header.offset + message.part.size();
  return (end + LanHeader::kUnit - 1) / LanHeader::kUnit;
}

}  // namespace

Reassembly::Reassembly(const Options& options, LanCounters& counters)
    : options_(options), counters_(counters), frames_(options.frames), rooms_(options.frames) {
  assert(options.frames >= 1 && options.frames_each >= 1);
}

std::optional<LanMessage> Reassembly::add(Source source, const LanMessage& message, Time now) {
  Frame* frame = find(source, message.header.number);
  if (frame == nullptr) {
    const auto verdict = window(source).look(message.header.number);
    if (verdict != ArrivalWindow::Verdict::kNew) {
      counters_.add_in_turn(verdict == ArrivalWindow::Verdict::kLate ? LanCounter::kRxLate
                                                                     : LanCounter::kRxDoubled);
      return std::nullopt;
    }
    if (message.whole()) {
      window(source).mark(message.header.number);
      return message;
    }
    frame = &begin(source, message.header, now);
  }
  switch (fit(*frame, message)) {
    case Fits::kDoubled:
      counters_.add_in_turn(LanCounter::kRxDoubled);
      return std::nullopt;
    case Fits::kConflict:
      drop(*frame, LanCounter::kRxConflict);
      return std::nullopt;
    case Fits::kYes:
      put(*frame, message);
      break;
  }
  if (frame->missing != 0) return std::nullopt;
  window(source).mark(message.header.number);
  close(*frame);
  return LanMessage{.header = frame->header,
                    .part = Bytes(room(*frame).bytes).first(message.header.total)};
}

Reassembly::Frame* Reassembly::find(Source source, std::uint32_t number) {
  if (open_ == 0) return nullptr;
  const auto found = std::ranges::find_if(frames_, [&](const Frame& frame) {
    return frame.open && frame.source == source && frame.header.number == number;
  });
  return found == frames_.end() ? nullptr : &*found;
}

Reassembly::Frame& Reassembly::begin(Source source, const LanHeader& header, Time now) {
  Frame& frame = place_for(source);
  Room& its_room = room(frame);
  if (its_room.bytes.size() < header.total) its_room.bytes.resize(header.total);
  const std::size_t units = (header.total + LanHeader::kUnit - 1) / LanHeader::kUnit;
  std::fill_n(its_room.come.begin(), (units + 63) / 64, 0);
  frame.open = true;
  frame.source = source;
  frame.header = header;
  frame.header.offset = 0;
  frame.begun = now;
  frame.missing = header.total;
  ++open_;
  return frame;
}

// One that is not open, or that was so for longest: of the sender, if it has as many as it may.
Reassembly::Frame& Reassembly::place_for(Source source) {
  Frame* unused = nullptr;
  Frame* oldest = nullptr;
  Frame* oldest_own = nullptr;
  std::size_t own = 0;
  for (Frame& frame : frames_) {
    if (!frame.open) {
      if (unused == nullptr) unused = &frame;
      continue;
    }
    if (oldest == nullptr || frame.begun < oldest->begun) oldest = &frame;
    if (frame.source != source) continue;
    ++own;
    if (oldest_own == nullptr || frame.begun < oldest_own->begun) oldest_own = &frame;
  }
  Frame* const place = own >= options_.frames_each ? oldest_own
                       : unused != nullptr         ? unused
                                                   : oldest;
  if (place->open) drop(*place, LanCounter::kRxCrowded);
  return *place;
}

Reassembly::Fits Reassembly::fit(const Frame& frame, const LanMessage& message) {
  if (!frame.header.same_frame(message.header)) return Fits::kConflict;
  const auto& come = room(frame).come;
  bool any = false;
  bool all = true;
  for_words(first_unit(message), end_unit(message), [&](std::size_t index, std::uint64_t bits) {
    any = any || (come[index] & bits) != 0;
    all = all && (come[index] & bits) == bits;
  });
  if (!any) return Fits::kYes;
  if (all) return Fits::kDoubled;
  // The same frame may come by two ways at once, cut for the MTU of each.
  return agrees(frame, message) ? Fits::kYes : Fits::kConflict;
}

// Whether what has come of the frame and is in this part too is the same.
bool Reassembly::agrees(const Frame& frame, const LanMessage& message) {
  const Room& its_room = room(frame);
  for (std::size_t unit = first_unit(message); unit < end_unit(message); ++unit) {
    if ((its_room.come[unit / 64] >> unit % 64 & 1) == 0) continue;
    const std::size_t at = unit * LanHeader::kUnit;
    const Bytes part = message.part.subspan(at - message.header.offset);
    const std::size_t size = std::min(part.size(), LanHeader::kUnit);
    if (std::memcmp(its_room.bytes.data() + at, part.data(), size) != 0) return false;
  }
  return true;
}

void Reassembly::put(Frame& frame, const LanMessage& message) {
  Room& its_room = room(frame);
  std::memcpy(its_room.bytes.data() + message.header.offset, message.part.data(),
              message.part.size());
  const std::size_t last = (frame.header.total - 1) / LanHeader::kUnit;
  const bool last_is_new = (its_room.come[last / 64] >> last % 64 & 1) == 0;
  std::size_t units = 0;
  for_words(first_unit(message), end_unit(message), [&](std::size_t index, std::uint64_t bits) {
    units += static_cast<std::size_t>(std::popcount(bits & ~its_room.come[index]));
    its_room.come[index] |= bits;
  });
  std::size_t bytes = units * LanHeader::kUnit;
  if (last_is_new && end_unit(message) == last + 1) {
    bytes -= (last + 1) * LanHeader::kUnit - frame.header.total;
  }
  assert(frame.missing >= bytes);
  frame.missing -= bytes;
}

void Reassembly::close(Frame& frame) {
  assert(frame.open && open_ > 0);
  frame.open = false;
  --open_;
}

void Reassembly::drop(Frame& frame, LanCounter why) {
  close(frame);
  counters_.add_in_turn(why);
  // What is still to come of it would otherwise begin it again.
  window(frame.source).mark(frame.header.number);
}

void Reassembly::forget(Source source) {
  for (Frame& frame : frames_)
    if (frame.open && frame.source == source) drop(frame, LanCounter::kRxSenderGone);
  window(source) = {};
}

void Reassembly::run(Time now) {
  if (open_ == 0) return;
  for (Frame& frame : frames_) {
    if (frame.open && now - frame.begun >= options_.patience) {
      drop(frame, LanCounter::kRxIncomplete);
    }
  }
}

std::optional<Time> Reassembly::deadline() const {
  std::optional<Time> next;
  if (open_ == 0) return next;
  for (const Frame& frame : frames_)
    if (frame.open && (!next || frame.begun + options_.patience < *next)) {
      next = frame.begun + options_.patience;
    }
  return next;
}

std::size_t Reassembly::memory() const {
  std::size_t bytes = 0;
  for (const Room& room : rooms_)
    bytes += room.bytes.capacity();
  return bytes;
}

ArrivalWindow& Reassembly::window(Source source) {
  if (source >= windows_.size()) windows_.resize(source + std::size_t{1});
  return windows_[source];
}

}  // namespace weft::lan
