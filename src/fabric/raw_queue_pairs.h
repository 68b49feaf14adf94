// SPDX-License-Identifier: Apache-2.0
// The raw queue pairs of one attachment: what their port hands them, and what they send. Queue
// pairs that ask for the same packets share them, flow by flow, those of several programs too.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/entropy.h"
#include "base/error.h"
#include "base/ids.h"
#include "fabric/raw_port.h"

namespace weft::fabric {

class RawQueuePairs {
 public:
  // Who has them.
  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void arrive_raw(link::PacketPtr packet, Qpn to, Time now) = 0;
  };

  // All outlive it.
  RawQueuePairs(RawPort& port, Owner& owner, Entropy& entropy)
      : port_(port), owner_(owner), entropy_(entropy) {}
  RawQueuePairs(const RawQueuePairs&) = delete;
  RawQueuePairs& operator=(const RawQueuePairs&) = delete;
  ~RawQueuePairs();

  // Another one. not_enough_memory: the port has no more sets of queues.
  Expected<void> add(Qpn qpn);
  void remove(Qpn qpn);
  [[nodiscard]] bool contains(Qpn qpn) const { return all_.contains(qpn); }
  // Of one that it has; errors as RawPort::divert() and add_queue() have them, and
  // not_enough_memory for one with kMostRules.
  Expected<void> divert(Qpn qpn, const RawRule& rule);
  Expected<void> restore(Qpn qpn, const RawRule& rule);
  Sent send(Qpn from, link::PacketPtr packet, Time now);
  // Whether their owner takes nothing any more.
  void set_stuck(bool stuck);

  static constexpr std::size_t kMostRules = 256;

 private:
  // A place among those that get the packets of a rule.
  struct Share {
    RawRule rule;
    RawPort::Set set;
    std::uint16_t queue = 0;
  };
  class One final : public RawQueue {
   public:
    One(RawQueuePairs& all, Qpn qpn, RawPort::Set sends) : sends(sends), all_(all), qpn_(qpn) {}
    void arrive(link::PacketPtr packet, Time now) override {
      all_.owner_.arrive_raw(std::move(packet), qpn_, now);
    }
    [[nodiscard]] bool is_stuck() const override { return all_.stuck_; }
    const RawPort::Set sends;  // a set without rules: what it sends is from there
    std::vector<Share> shares;

   private:
    RawQueuePairs& all_;
    const Qpn qpn_;
  };
  void leave(const Share& share);

  RawPort& port_;
  Owner& owner_;
  Entropy& entropy_;
  bool stuck_ = false;
  std::unordered_map<Qpn, std::unique_ptr<One>> all_;
};

}  // namespace weft::fabric
