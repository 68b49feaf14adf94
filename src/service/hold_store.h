// SPDX-License-Identifier: Apache-2.0
// Packets that wait for a decision: bounded, each for a while.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "service/mapper.h"
#include "service/packet.h"

namespace weft::service {

// As far as it has come.
struct Progress {
  std::size_t service = 0;  // the next one of the chain to be asked
  Mapper::Undone undone{};
  Lid via{};  // what it came to
  std::optional<Gid> redirected{};
  std::uint8_t crosses_to = 0;  // as Packet has it, and
  bool leaves_as_own = false;
};

struct HeldPacket {
  std::vector<std::byte> bytes;
  Arrival arrival{};
  Progress progress{};
  Time until{};
};

// By a number for what they wait for.
class HoldStore {
 public:
  struct Options {
    std::size_t packets = 1024;
    std::size_t packets_each = 32;  // for one thing
    std::size_t bytes = 1 << 20;
  };
  explicit HoldStore(const Options& options) : options_(options) {}

  // False: there is no room.
  bool hold(std::uint64_t key, Bytes packet, const Arrival& arrival, const Progress& progress,
            Time until) {
    std::deque<HeldPacket>& queue = queues_[key];
    if (count_ >= options_.packets || queue.size() >= options_.packets_each ||
        bytes_ + packet.size() > options_.bytes) {
      if (queue.empty()) queues_.erase(key);
      return false;
    }
    ++count_;
    bytes_ += packet.size();
    queue.push_back({{packet.begin(), packet.end()}, arrival, progress, until});
    return true;
  }
  // All that wait for this, oldest first.
  [[nodiscard]] std::deque<HeldPacket> take(std::uint64_t key) {
    const auto found = queues_.find(key);
    if (found == queues_.end()) return {};
    std::deque<HeldPacket> out = std::move(found->second);
    queues_.erase(found);
    for (const HeldPacket& packet : out)
      forget(packet);
    return out;
  }
  // Lets go of those whose time is over; returns how many.
  std::size_t expire(Time now) {
    std::size_t expired = 0;
    for (auto queue = queues_.begin(); queue != queues_.end();) {
      const auto late = [&](const HeldPacket& packet) {
        if (packet.until > now) return false;
        forget(packet);
        ++expired;
        return true;
      };
      std::erase_if(queue->second, late);
      queue = queue->second.empty() ? queues_.erase(queue) : std::next(queue);
    }
    return expired;
  }
  [[nodiscard]] std::optional<Time> deadline() const {
    std::optional<Time> first;
    for (const auto& [key, queue] : queues_) {
      for (const HeldPacket& packet : queue)
        first = std::min(first.value_or(packet.until), packet.until);
    }
    return first;
  }
  [[nodiscard]] std::size_t size() const { return count_; }

 private:
  void forget(const HeldPacket& packet) {
    --count_;
    bytes_ -= packet.bytes.size();
  }

  const Options options_;
  std::unordered_map<std::uint64_t, std::deque<HeldPacket>> queues_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace weft::service
