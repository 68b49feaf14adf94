// SPDX-License-Identifier: Apache-2.0
// A port of a channel adapter as data services have it: which packets go to them raw, with all
// headers and without protocol, to which of their receive queues, and what they send so.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/entropy.h"
#include "base/error.h"
#include "fabric/attachment.h"
#include "fabric/node_port.h"
#include "fabric/raw_rule.h"
#include "fabric/worker.h"
#include "hca/receive_filter.h"
#include "hca/receive_side_scaling.h"
#include "link/packet_pool.h"

namespace weft::fabric {

// A raw receive queue.
class RawQueue {
 public:
  virtual ~RawQueue() = default;
  // From inside the fabric's run(), or from inside of what sends. The ICRC of a packet that has one
  // was found right.
  virtual void arrive(link::PacketPtr packet, Time now) = 0;
  // Whoever has it takes nothing any more: what comes is dropped.
  [[nodiscard]] virtual bool is_stuck() const { return false; }
};

class RawPort final : private Task {
 public:
  // Whoever has work when the port's turn comes, which it does soon after wake().
  class Client {
   public:
    virtual ~Client() = default;
    virtual void run(Time now) = 0;
  };
  void add(Client& client) { clients_.push_back(&client); }
  // Not from inside run(). `dropped`: packets that it leaves behind.
  void remove(Client& client, std::size_t dropped);
  void wake() { worker_.wake(*this); }

  // The adapter that it is part of.
  class Adapter {
   public:
    virtual ~Adapter() = default;
    // Of what leaves by the port; 15: none.
    [[nodiscard]] virtual Vl lane(const NodePort& out, Sl sl) const = 0;
    // For the protocol engine, whatever a filter says.
    virtual void to_engine(NodePort& port, link::PacketPtr packet, Time now) = 0;
  };

  // All outlive it, but for the entropy, of which keys are drawn for each set.
  RawPort(Adapter& adapter, NodePort& port, Worker& worker, link::PacketPool& pool);

  // --- sets of queues ----------------------------------------------------------------------------
  using Set = hca::QueueSet;
  // Whether others may join it, or it is of one service alone.
  enum class Sharing : std::uint8_t { kOwn, kShared };
  // not_enough_memory: there are kMostSets.
  Expected<Set> open(Entropy& entropy, Sharing sharing = Sharing::kOwn);
  // Its rules end, and what it has sent to this port itself and has not arrived is dropped. Its
  // queues get nothing any more.
  void close(Set set);
  // Errors as hca::ReceiveFilter has them; of a rule without an address, file_exists.
  Expected<void> divert(Set set, const RawRule& rule);
  // invalid_argument: not of this set.
  Expected<void> restore(Set set, const RawRule& rule);
  // The shared one that has it. Nothing: none has.
  [[nodiscard]] std::optional<Set> shared_set_of(const RawRule& rule) const;
  // A queue, which must outlive its place in the set. Returns its number there. `core` as
  // hca::ReceiveSideScaling::add() has it, and errors.
  Expected<std::uint16_t> add_queue(Set set, RawQueue& queue,
                                    std::optional<unsigned> core = std::nullopt);
  void remove_queue(Set set, std::uint16_t queue);
  // All that arrived at the queue has been worked on: flows that are to go to another one do.
  void drained(Set set, std::uint16_t queue);
  [[nodiscard]] std::size_t queues(Set set) const;
  // Whether there are programs for what comes to that LID, and all of them take it. One that takes
  // packets by their GIDs does so whatever their LID: for all others than the port's own, or for
  // the whole subnet. Who takes those for some GIDs leaves the rest to nobody.
  [[nodiscard]] bool is_served(Lid dlid) const;
  // Grows when is_served() may say something else.
  [[nodiscard]] std::uint64_t revision() const { return revision_; }
  // A queue is stuck, or is no more.
  void queues_changed() { ++revision_; }
  [[nodiscard]] hca::ReceiveSideScaling& scaling(Set set) { return sets_[set.value()]->scaling; }

  // --- packets -----------------------------------------------------------------------------------
  // Takes what comes in and is for a set; the engine's stays in `packet`.
  void take(link::PacketPtr& packet, Time now) {
    if (filter_.diverts()) steer(packet, std::nullopt, now);
  }
  // Service LIDs that the subnet manager leads to this port, for what takes packets by other rules
  // than by these.
  void set_service_lids(std::vector<Lid> lids) { service_lids_ = std::move(lids); }
  // Whether what an application of this node sends there comes back to this port.
  [[nodiscard]] bool diverts(Lid dlid) const {
    return filter_.diverts(dlid) ||
           std::find(service_lids_.begin(), service_lids_.end(), dlid) != service_lids_.end();
  }
  // From a set's owner: any packet but subnet management's, from whomever it says that it is. What
  // is for this port itself goes to its engine, or to another set. kForged: it is no packet
  // (counted). Who forwards a packet that came in leaves it its hold, or moves that to the one that
  // he sends instead, so that credit is given back when there is room again.
  Sent send(Set from, link::PacketPtr packet, Time now);

  // PortInfo or GIDs are others.
  void changed();
  [[nodiscard]] const hca::FilterCounters& counters() const { return filter_.counters(); }

  static constexpr std::size_t kMostSets = 16'384;

 private:
  struct Queues {
    Queues(Entropy& entropy, Sharing is_shared) : scaling(entropy), sharing(is_shared) {}
    hca::ReceiveSideScaling scaling;
    const Sharing sharing;
    std::vector<RawQueue*> queues;  // by number; null: none
    std::vector<RawRule> rules;
    link::PacketQueue looped;  // for this port itself
  };

  void run(Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override { return std::nullopt; }
  // `from`: of the set that has sent it.
  void steer(link::PacketPtr& packet, std::optional<Set> from, Time now);
  void deliver(Set set, link::PacketPtr packet, Time now);
  Expected<void> set_rule(const RawRule& rule, Set set);
  Expected<void> clear_rule(const RawRule& rule);

  Adapter& adapter_;
  NodePort& port_;
  Worker& worker_;
  link::PacketPool& pool_;
  hca::ReceiveFilter filter_;
  std::vector<std::unique_ptr<Queues>> sets_;  // by number; null: free
  std::vector<std::uint16_t> free_;            // of these
  std::vector<Client*> clients_;
  std::vector<Lid> service_lids_;
  std::uint64_t revision_ = 0;
};

}  // namespace weft::fabric
