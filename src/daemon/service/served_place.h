// SPDX-License-Identifier: Apache-2.0
// What an external server does for one place of a lab: the packets that the place sends go through
// the service here and back, for the place to put them into the fabric. Paths are asked of the
// place, which asks its subnet administrator; what the service tells its other instances goes
// through the place too. A router has a place at several ports of one node of the lab, each with a
// way of its own; they are called by numbers here that say nothing of the lab's.
//
// A core: it is run when it was woken or its deadline has come.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/buffer_pool.h"
#include "base/counters.h"
#include "base/entropy.h"
#include "base/time.h"
#include "daemon/service/place_ports.h"
#include "link/packet_pool.h"
#include "service/runtime.h"
#include "wan/external/external_end.h"

namespace weft::daemon {

enum class ServedPlaceCounter : std::uint8_t { kNoMemory, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(ServedPlaceCounter::kCount)>
    kServedPlaceCounters{{
        {"no_memory", "packets dropped for want of memory to look at them, or to send them"},
    }};

class ServedPlace final : private service::RuntimeUser, private service::PathAsker {
 public:
  // A whole packet in one piece.
  static constexpr std::size_t kBlock =
      link::Packet::kMaxHeader + link::PacketPool::kPayloadBlock + 128;
  struct Memory {
    link::PacketPool& packets;
    BufferPool& blocks;  // of kBlock bytes
  };
  // How often the place is told what was counted.
  static constexpr Duration kTell = 1s;

  using Services = std::vector<std::unique_ptr<service::Service>>;
  struct Manner {
    service::Chain chain{};  // all of it but the services, which are put in here
    std::size_t ports = 1;   // from number 1 on; at most 254
    InSubnet in_subnet{};    // empty: none of the services wants to know
  };

  // All but the entropy outlive it. `wake`: call run() soon; comes once until then.
  ServedPlace(Services services, const Manner& manner, Memory memory, Entropy& entropy,
              std::function<void()> wake);
  ServedPlace(const ServedPlace&) = delete;
  ServedPlace& operator=(const ServedPlace&) = delete;
  ~ServedPlace() override;

  [[nodiscard]] std::size_t ports() const { return sides_.size(); }
  // What the tunnel to that one is joined to, from 1; it is disconnected before this goes.
  [[nodiscard]] link::Port& port(std::size_t number = 1) { return sides_[number - 1]->end.port(); }
  [[nodiscard]] bool is_up(std::size_t number) const { return sides_[number - 1]->end.is_up(); }
  // All of them.
  [[nodiscard]] bool is_up() const;

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] const service::Runtime& runtime() const { return *runtime_; }
  // Of all services together.
  [[nodiscard]] std::vector<CounterValue> drops() const;
  [[nodiscard]] std::vector<CounterValue> service_counters() const;
  // Of the way to the place, and what was dropped here besides.
  [[nodiscard]] std::vector<CounterValue> counters() const;

 private:
  struct Copy {
    BufferRef block;
    // As the packet was cut, which it stays.
    std::size_t header = 0;
    std::size_t payload = 0;
    std::size_t trailer = 0;
    link::BufferHold hold{};
    [[nodiscard]] std::size_t size() const { return header + payload + trailer; }
  };

  // What it is at a port of the place.
  struct Side final : wan::ExternalUser {
    Side(ServedPlace& its_place, std::uint8_t its_number, link::PacketPool& pool)
        : place(its_place), number(its_number), end({}, pool, *this) {}
    void came(link::PacketPtr packet, Time now) override {
      place.came(number, std::move(packet), now);
    }
    void heard(const wan::ServiceMessage& message, Time now) override {
      place.heard(number, message, now);
    }
    void changed(bool up, Time now) override { place.changed(number, up, now); }
    void wake() override { place.wake(); }

    ServedPlace& place;
    const std::uint8_t number;
    wan::ExternalEnd end;
  };

  void came(std::uint8_t port, link::PacketPtr packet, Time now);
  void heard(std::uint8_t port, const wan::ServiceMessage& message, Time now);
  void changed(std::uint8_t port, bool up, Time now);
  void wake();
  void run_sides(Time now);
  // service::RuntimeUser
  void send(Bytes packet, std::uint8_t out_port, bool sealed) override;
  void mirror(Bytes packet, const service::Arrival& arrival) override;
  void publish(std::size_t service, Bytes record) override;
  // service::PathAsker
  void ask(std::uint64_t number, const service::PathQuestion& question) override;

  void handle(Time now);
  [[nodiscard]] bool copy(link::Packet& packet, Copy& out);
  void forward(Copy& copy, std::uint8_t port, Time now);
  void tell(Time now);
  void tell(wan::CounterTopic topic, const std::vector<CounterValue>& counters, Time now);

  Services services_;
  Memory memory_;
  const InSubnet in_subnet_;
  const std::function<void()> wake_;
  std::unique_ptr<service::Runtime> runtime_;
  std::vector<std::unique_ptr<Side>> sides_;
  CounterSet<ServedPlaceCounter, kServedPlaceCounters> counters_;
  Time now_{};  // of the call that it is in
  bool woken_ = false;
  std::optional<Time> tell_at_;  // while somebody is there
  std::size_t came_ = 0;         // of these, that are not handled yet
  std::array<Copy, service::Runtime::kBurst> copies_;
  std::array<service::Item, service::Runtime::kBurst> items_;
};

}  // namespace weft::daemon
