// SPDX-License-Identifier: Apache-2.0
#include "link/line.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace weft::link {
namespace {

constexpr std::size_t kDelimiters = 2;        // bytes: one before and one after a packet
constexpr Duration kOvertakenWithin = 100us;  // and else goes on

}  // namespace

Duration Line::time_on_line(std::size_t bytes) const {
  if (emulation_.rate_bytes_per_s == 0) return 0ns;
  const std::uint64_t nanoseconds =
      (std::uint64_t{bytes + kDelimiters} * 1'000'000'000 + emulation_.rate_bytes_per_s - 1) /
      emulation_.rate_bytes_per_s;
  return Duration(static_cast<std::int64_t>(nanoseconds));
}

void Line::occupy(std::size_t bytes, Time now) {
  free_at_ = std::max(free_at_, now) + time_on_line(bytes);
}

Time Line::arrival(Time now) {
  last_arrival_ = std::max({last_arrival_, now, free_at_ + emulation_.delay});
  return last_arrival_;
}

// A wrong symbol is a character of the code less often than not. Here it is a byte with a wrong
// bit, for packets have no symbols; the CRC finds it.
std::uint64_t Line::wrong_bits(std::size_t bytes, Time now) {
  std::uint64_t wrong = 0;
  if (emulation_.bit_errors > 0) {
    const double likely = emulation_.bit_errors * 8 * static_cast<double>(bytes);
    wrong += random_.chance(std::min(1.0, likely)) ? 1 : 0;
  }
  if (symbols_.trainer != nullptr) {
    wrong += symbols_.trainer->wrong_symbols(symbols_.to, bytes + kDelimiters, now);
  }
  return wrong;
}

PacketPtr Line::damaged(PacketPtr packet, std::uint64_t wrong_bits) {
  std::vector<std::byte> bytes(packet->size());
  packet->copy_to(bytes);
  const std::size_t bits = bytes.size() * 8;
  const std::size_t first = random_.below(bits);
  bytes[first / 8] ^= std::byte{1} << (first % 8);
  // The others elsewhere, so that they do not undo the first.
  for (std::uint64_t more = std::min<std::uint64_t>(wrong_bits, bytes.size()); more > 1; --more) {
    const std::size_t bit = (first / 8 * 8 + 8 + random_.below(bits - 8)) % bits;
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
  }
  packet = pool_.copy(bytes);
  counters_.add_in_turn(packet ? LinkCounter::kDamaged : LinkCounter::kNoMemory);
  return packet;
}

void Line::send(PacketPtr packet, Inbox& inbox, Time now) {
  occupy(packet->size(), now);
  const Time arrives = arrival(now);
  // Nothing is drawn where nothing is asked for, so that another fault leaves the seed's rest be.
  const auto happens = [&](double probability) {
    return probability > 0 && random_.chance(probability);
  };
  if (happens(emulation_.loss)) return counters_.add_in_turn(LinkCounter::kLost);
  if (const auto wrong = wrong_bits(packet->size(), now))
    packet = damaged(std::move(packet), wrong);
  if (!packet) return;
  if (happens(emulation_.duplicate)) {
    PacketPtr other = pool_.replicate(*packet);
    counters_.add_in_turn(other ? LinkCounter::kDuplicated : LinkCounter::kNoMemory);
    if (other) inbox.push(std::move(other), arrives);
  }
  if (!held_ && happens(emulation_.reorder)) {
    held_ = std::move(packet);
    held_until_ = arrives + kOvertakenWithin;
    return;
  }
  inbox.push(std::move(packet), arrives);
  if (!held_) return;
  counters_.add_in_turn(LinkCounter::kReordered);
  inbox.push(std::move(held_), arrives);
}

void Line::send(const wire::FlowControl& packet, Inbox& inbox, Time now) {
  occupy(wire::FlowControl::kSize, now);
  const Time arrives = arrival(now);
  if (emulation_.credit_loss > 0 && random_.chance(emulation_.credit_loss)) {
    return counters_.add_in_turn(LinkCounter::kCreditLost);
  }
  Inbox::Signal signal{.packet = packet};
  if (wrong_bits(wire::FlowControl::kSize, now) != 0) {
    counters_.add_in_turn(LinkCounter::kDamaged);
    signal.wrong_bit = static_cast<std::uint8_t>(random_.below(wire::FlowControl::kSize * 8));
  }
  inbox.push(signal, arrives);
}

std::optional<Time> Line::held_until() const {
  if (!held_) return std::nullopt;
  return held_until_;
}

void Line::release_held(Inbox& inbox, Time now) {
  if (!held_ || now < held_until_) return;
  last_arrival_ = std::max(last_arrival_, held_until_);
  inbox.push(std::move(held_), last_arrival_);
}

std::size_t Line::clear(Time now) {
  free_at_ = last_arrival_ = now;
  return std::exchange(held_, nullptr) ? 1 : 0;
}

}  // namespace weft::link
