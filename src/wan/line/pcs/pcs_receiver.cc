// SPDX-License-Identifier: Apache-2.0
#include "wan/line/pcs/pcs_receiver.h"

#include <algorithm>

#include "wire/endian.h"

namespace weft::wan {

namespace {

bool are_headers(std::span<const std::uint8_t> headers) {
  // Eight at once; the two bits of a good one differ.
  constexpr std::uint64_t kEach = 0x0101'0101'0101'0101;
  const Bytes octets = std::as_bytes(headers);
  std::size_t i = 0;
  for (; i + sizeof kEach <= octets.size(); i += sizeof kEach) {
    const std::uint64_t eight = wire::load_le64(octets.data() + i);
    if (((eight ^ eight >> 1) & kEach) != kEach) return false;
  }
  return std::ranges::all_of(headers.subspan(i), is_header);
}

}  // namespace

PcsReceiver::PcsReceiver(const Options& options, XgmiiSink& sink, PcsCounters& counters)
    : options_(options), sink_(sink), counters_(counters), rate_(options.error_rate_blocks) {
}

void PcsReceiver::take(Bytes octets) {
  while (!octets.empty()) {
    const Bytes piece = octets.first(std::min(octets.size(), kPiece));
    octets = octets.subspan(piece.size());
    const MutableBytes room = MutableBytes(bits_).subspan(filled_);
    if (options_.order == BitOrder::kMostFirst) {
      reverse_bits(piece, room);
    } else {
      std::copy(piece.begin(), piece.end(), room.begin());
    }
    filled_ += piece.size();
    while (waiting() > 0) {
      if (lock_.locked()) {
        read(std::min(waiting(), kBatch));
      } else {
        search();
      }
    }
    const Bytes left = Bytes(bits_).first(filled_).subspan(at_ / 8);
    std::copy(left.begin(), left.end(), bits_.begin());
    filled_ = left.size();
    at_ %= 8;
  }
}

void PcsReceiver::interrupted() {
  filled_ = at_ = 0;
  if (!lock_.locked()) return;
  lock_ = {};
  lost();
}

// One block. Descrambling goes on, so that it is in step once blocks are.
void PcsReceiver::search() {
  unpack(1);
  ++blocks_;
  sink_.control(kLocalFaultWord);
  at_ += kBlockBits;
  if (lock_.slips(headers_[0])) {
    ++at_;
    counters_.add_in_turn(PcsCounter::kSlips);
  } else if (lock_.locked()) {
    counters_.add_in_turn(PcsCounter::kLocked);
  }
}

void PcsReceiver::unpack(std::size_t count) {
  descrambler_.unpack(Bytes(bits_).first(filled_), at_, std::span(payloads_).first(count),
                      headers_);
}

void PcsReceiver::read(std::size_t count) {
  const BlockDescrambler before = descrambler_;
  unpack(count);
  if (!rate_.high() && are_headers(std::span(headers_).first(count))) return read_good(count);
  descrambler_ = before;
  read_bad(count);
}

void PcsReceiver::read_good(std::size_t count) {
  lock_.see_good(count);
  rate_.see_good(count);
  at_ += count * kBlockBits;
  blocks_ += count;
  hand_on(count);
}

// Those of the next `count` blocks up to which all stays as it is; their headers are known.
void PcsReceiver::read_bad(std::size_t count) {
  std::size_t good = 0;
  bool slips = false;
  const bool was_high = rate_.high();
  for (; good < count && !slips && rate_.high() == was_high; ++good) {
    if (!is_header(headers_[good])) counters_.add_in_turn(PcsCounter::kBadHeaders);
    rate_.see(headers_[good]);
    slips = lock_.slips(headers_[good]);
  }
  unpack(good);
  at_ += good * kBlockBits + (slips ? 1 : 0);
  blocks_ += good;
  // With the last of them it may have become too many.
  hand_on(was_high ? 0 : good - (slips || rate_.high() ? 1 : 0));
  if (!was_high && rate_.high()) {
    counters_.add_in_turn(PcsCounter::kHighErrorRate);
    states_.restart();
  }
  if (rate_.high() || was_high) {
    for (std::size_t i = 0; i < (was_high ? good : 1); ++i)
      sink_.control(kLocalFaultWord);
  }
  if (!slips) return;
  counters_.add_in_turn(PcsCounter::kSlips);
  lost();
}

void PcsReceiver::hand_on(std::size_t count) {
  states_.take(std::span(payloads_).first(count), headers_, sink_);
  counters_.add_in_turn(PcsCounter::kErrorWords, states_.take_errors());
}

void PcsReceiver::lost() {
  counters_.add_in_turn(PcsCounter::kLockLost);
  rate_.restart();
  states_.restart();
  sink_.control(kLocalFaultWord);
}

}  // namespace weft::wan
