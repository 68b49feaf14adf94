// SPDX-License-Identifier: Apache-2.0
// A place for a data service in this process on a port of a channel adapter: it is handed the
// packets that are its, raw and by reference, as many at a time as have come for a queue, and sends
// packets as whoever made them.
//
//   auto place = *RawService::attach(adapter, 1, consumer, {.queues = 4}, entropy);
//   place->divert(Lid{0xF});
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/entropy.h"
#include "base/error.h"
#include "fabric/channel_adapter.h"
#include "fabric/raw_port.h"

namespace weft::fabric {

// What a service does with its packets.
class RawConsumer {
 public:
  virtual ~RawConsumer() = default;
  // Packets of one of its queues, in the order in which they came; those that it does not move out
  // are dropped. From inside the fabric's run(); sending is allowed, coming and going is not. Those
  // that it keeps take up the port's receive buffer (Packet::hold), so that their sender waits,
  // until they go out by a link or are let go. The payload of a packet may be in memory of a
  // program, which can change it at any time: copy, then look.
  virtual void take(std::uint16_t queue, std::span<link::PacketPtr> packets, Time now) = 0;
};

struct RawOptions {
  std::uint16_t queues = 1;  // 1 to hca::ReceiveSideScaling::kMostQueues
  // On which core each runs that is worked on elsewhere; those beyond the last: none in particular.
  std::vector<unsigned> cores = {};
  // Not all is done that take() was given when it returns: the service says drained().
  bool says_drained = false;
};

class RawService final : private RawPort::Client {
 public:
  // All but the entropy outlive it. invalid_argument: no such port, or number of queues.
  static Expected<std::unique_ptr<RawService>> attach(ChannelAdapter& adapter,
                                                      mgmt::PortNumber port, RawConsumer& consumer,
                                                      const RawOptions& options, Entropy& entropy);
  // Its rules end, and what has come and was not taken is dropped. Before the fabric goes.
  ~RawService() override;

  // What it gets, and gets no more; errors as RawPort has them.
  Expected<void> divert(const RawRule& rule) { return port_.divert(set_, rule); }
  Expected<void> restore(const RawRule& rule) { return port_.restore(set_, rule); }
  // As RawPort::send() has it.
  Sent send(link::PacketPtr packet, Time now) { return port_.send(set_, std::move(packet), now); }
  void drained(std::uint16_t queue) { port_.drained(set_, queue); }
  // To move flows to queues of cores.
  [[nodiscard]] hca::ReceiveSideScaling& scaling() { return port_.scaling(set_); }

 private:
  class Queue final : public RawQueue {
   public:
    explicit Queue(RawService& service) : service_(service) {}
    void arrive(link::PacketPtr packet, Time) override {
      if (packets.empty()) service_.port_.wake();
      packets.push_back(std::move(packet));
    }
    std::vector<link::PacketPtr> packets;

   private:
    RawService& service_;
  };

  RawService(RawPort& port, RawPort::Set set, RawConsumer& consumer, bool says_drained)
      : port_(port), set_(set), consumer_(consumer), says_drained_(says_drained) {
    port_.add(*this);
  }
  void run(Time now) override;

  RawPort& port_;
  const RawPort::Set set_;
  RawConsumer& consumer_;
  const bool says_drained_;
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<link::PacketPtr> burst_;  // empty but in run(): its memory is kept
};

}  // namespace weft::fabric
