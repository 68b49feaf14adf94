// SPDX-License-Identifier: Apache-2.0
// What became of a flow: verdicts of its services, and what is changed of its packets. Looked up
// for each packet, so that services are not asked again and no path is looked up. It holds nothing
// that cannot be found again: a flow that is pushed out costs a question.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/entropy.h"
#include "base/ids.h"
#include "service/flow_key.h"
#include "service/verdict.h"

namespace weft::service {

// More than one lab's chain has; each costs a place in every flow.
inline constexpr std::size_t kMostServices = 4;

// What is changed of a packet on its way out.
struct Rewrite {
  // kHop: one hop less, of packets that have one to spare.
  enum Has : std::uint8_t { kPKey = 1, kDestQp = 2, kSourceQp = 4, kQKey = 8, kHop = 16 };
  Lid dlid{};
  Lid slid{};
  Sl sl{};
  std::uint8_t has = 0;
  PKey pkey{};
  Qpn dest_qp{};
  Qpn source_qp{};
  QKey qkey{};
};

// Everything that verdicts of flows depend on, by what may change at once. A flow remembers the sum
// of the generations of what it depends on.
class Leases {
 public:
  static constexpr std::size_t kSlots = 4096;
  using Slot = std::uint16_t;

  // Of service `of` (or kMostServices for the runtime's own). Two may share a slot.
  [[nodiscard]] static Slot slot(std::size_t of, FlowTag tag) {
    const std::uint64_t mixed = (std::uint64_t{tag} << 3 | of) * 0x9E37'79B9'7F4A'7C15;
    return static_cast<Slot>(mixed >> 52);
  }
  [[nodiscard]] std::uint32_t generation(Slot slot) const { return generations_[slot]; }
  void revoke(Slot slot) { ++generations_[slot]; }
  // Of everything.
  void revoke_all() { ++all_; }
  [[nodiscard]] std::uint32_t all() const { return all_; }

 private:
  std::array<std::uint32_t, kSlots> generations_{};
  std::uint32_t all_ = 0;
};

struct alignas(64) Flow {
  static constexpr std::uint8_t kNobody = 0xFF;
  static constexpr std::size_t kSlots = kMostServices + 2;

  FlowKey key{};
  std::uint32_t generation = 0;
  std::uint8_t slots = 0;          // in use
  std::uint8_t ask = 0;            // bit for each service that sees every packet
  std::uint8_t dropper = kNobody;  // the service that drops them all
  std::uint8_t credit = 0;         // of use, while others want its place
  std::uint16_t reason = 0;
  std::uint8_t out_port = 0;
  bool used = false;
  bool mirror = false;
  std::array<Leases::Slot, kSlots> slot{};
  Rewrite rewrite{};
  std::array<Tally*, kMostServices> tally{};

  [[nodiscard]] bool holds(const Leases& leases) const {
    std::uint32_t sum = leases.all();
    for (std::size_t i = 0; i < slots; ++i)
      sum += leases.generation(slot[i]);
    return sum == generation;
  }
  void lease(const Leases& leases) {
    generation = leases.all();
    for (std::size_t i = 0; i < slots; ++i)
      generation += leases.generation(slot[i]);
  }
  void depend_on(Leases::Slot on) { slot[slots++] = on; }
};

class FlowCache {
 public:
  // `flows`: rounded up to a power of two; at 192 bytes each.
  FlowCache(std::size_t flows, Entropy& entropy);

  [[nodiscard]] std::uint64_t hash(const FlowKey& key) const { return key.hash(secret_); }
  void prefetch(std::uint64_t hash) const {
    const Flow* const set = &flows_[first(hash)];
    __builtin_prefetch(set);
    __builtin_prefetch(reinterpret_cast<const std::byte*>(set) + 64);
  }
  // nullptr: not known, or no longer so.
  [[nodiscard]] Flow* find(const FlowKey& key, std::uint64_t hash, const Leases& leases) {
    Flow* const set = &flows_[first(hash)];
    for (std::size_t i = 0; i < kWays; ++i) {
      Flow& flow = set[i];
      if (!flow.used || !(flow.key == key)) continue;
      if (!flow.holds(leases)) {
        flow.used = false;
        return nullptr;
      }
      if (flow.credit < kMostCredit) ++flow.credit;
      return &flow;
    }
    return nullptr;
  }
  // Where a flow that is not there may be put; nullptr: all that might give way have been used
  // since somebody last wanted their place. So a flood of new flows does not push out those in use.
  [[nodiscard]] Flow* place(std::uint64_t hash, const Leases& leases);
  [[nodiscard]] std::size_t capacity() const { return flows_.size(); }

 private:
  static constexpr std::size_t kWays = 4;
  static constexpr std::uint8_t kMostCredit = 64;
  [[nodiscard]] std::size_t first(std::uint64_t hash) const { return (hash & mask_) * kWays; }

  std::array<std::uint64_t, FlowKey::kWords + 1> secret_{};
  std::size_t mask_ = 0;
  std::vector<Flow> flows_;
};

}  // namespace weft::service
