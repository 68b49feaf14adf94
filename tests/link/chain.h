// SPDX-License-Identifier: Apache-2.0
// A row of elements joined by links, all of it drawn from a seed: two stations at the ends, relays
// between them, traffic both ways on all lanes, and whatever goes wrong with links.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "rig.h"

namespace weft::link {

// Looks over a link's shoulder: no sender sends more than the largest limit that it was ever told.
class CreditMonitor : public LinkTap {
 public:
  void sent(std::size_t from, const Packet& packet, Time now) override;
  void sent(std::size_t from, const wire::FlowControl& packet, Time now) override;

  [[nodiscard]] std::uint64_t excesses() const { return excesses_; }
  // Changes with every packet, its time, and their order.
  [[nodiscard]] std::uint64_t digest() const { return digest_; }

 private:
  struct Count {  // without a modulus
    std::int64_t sent = 0;
    std::int64_t limit = 0;
  };
  void mix(std::uint64_t value) { digest_ = (digest_ ^ value) * 0x9E37'79B9'7F4A'7C15 + 1; }

  std::array<std::array<Count, kVls>, 2> counts_{};  // by sending end
  std::uint64_t excesses_ = 0;
  std::uint64_t digest_ = 0;
};

// Sends on what comes in at one port out at the other, on another lane.
class Relay : public PortOwner {
 public:
  Relay(Worker& worker, const PortOptions& left_options, const PortOptions& right_options,
        unsigned lane_shift);
  void received(Port& port, PacketPtr packet, Time now) override;
  void state_changed(Port&, PortState, Time) override {}
  void wake(Port& port) override { worker_.wake(port); }

 private:
  Worker& worker_;
  const unsigned lane_shift_;

 public:
  Port left;
  Port right;
};

// An end: sends numbered packets, keeps what it gets for a while.
class Terminal : public PortOwner {
 public:
  Terminal(Worker& worker, const PortOptions& options);
  void received(Port& port, PacketPtr packet, Time now) override;
  void state_changed(Port&, PortState, Time) override {}
  void wake(Port& port) override { worker_.wake(port); }

  void send(PacketPool& pool, Random& random, Time now);
  // Lets go of all but `kept` packets.
  void release(std::size_t kept);

 private:
  Worker& worker_;
  std::vector<PacketPtr> kept_;
  std::array<std::uint32_t, kVls> next_{};  // by SL
  std::array<std::uint32_t, kVls> seen_{};  // the last number of each SL, plus one

 public:
  std::uint64_t sent = 0;
  std::uint64_t delivered = 0;
  std::uint64_t out_of_order = 0;
  Port port;
};

class Chain {
 public:
  struct Faults {
    bool loss = false;
    bool flaps = false;
    bool lifetimes = false;
  };
  Chain(std::uint64_t seed, std::size_t relays, const Faults& faults);
  ~Chain();

  // Some time with traffic and faults, then faults end and everything comes to rest.
  void run(int steps);

  [[nodiscard]] std::uint64_t sent() const { return first_->sent + last_->sent; }
  [[nodiscard]] std::uint64_t delivered() const { return first_->delivered + last_->delivered; }
  [[nodiscard]] std::uint64_t out_of_order() const {
    return first_->out_of_order + last_->out_of_order;
  }
  [[nodiscard]] std::uint64_t lost_for_a_reason() const;
  [[nodiscard]] std::uint64_t counted(PortCounter counter) const;
  [[nodiscard]] std::uint64_t excesses() const;
  [[nodiscard]] std::uint64_t waiting() const;
  [[nodiscard]] std::uint64_t in_use() const { return pool_.in_use(); }
  [[nodiscard]] std::uint64_t digest() const;
  [[nodiscard]] std::string describe() const;

 private:
  [[nodiscard]] PortOptions draw_options();
  [[nodiscard]] Emulation draw_emulation();
  void step();
  // What a subnet manager does: brings every link up as far as its ends are.
  void manage();
  void come_to_rest();

  Random random_;
  const Faults faults_;
  CreditUpdates updates_;
  BufferPool payloads_{PacketPool::kPayloadBlock, 100'000};
  PacketPool pool_{100'000, payloads_};
  Worker worker_;
  std::vector<std::unique_ptr<CreditMonitor>> monitors_;
  std::vector<std::unique_ptr<DirectLink>> links_;
  std::unique_ptr<Terminal> first_;
  std::vector<std::unique_ptr<Relay>> relays_;
  std::unique_ptr<Terminal> last_;
  std::vector<Port*> ports_;  // in a row: two for each link
};

}  // namespace weft::link
