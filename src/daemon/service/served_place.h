// SPDX-License-Identifier: Apache-2.0
// What an external server does for one place of a lab: the packets that the place sends go through
// the service here and back, for the place to put them into the fabric. Paths are asked of the
// place, which asks its subnet administrator; what the service tells its other instances goes
// through the place too.
//
// A core: it is run when it was woken or its deadline has come.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/buffer_pool.h"
#include "base/counters.h"
#include "base/entropy.h"
#include "base/time.h"
#include "link/packet_pool.h"
#include "service/runtime.h"
#include "wan/external/external_end.h"

namespace weft::daemon {

enum class ServedPlaceCounter : std::uint8_t { kNoMemory, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(ServedPlaceCounter::kCount)>
    kServedPlaceCounters{{
        {"no_memory", "packets dropped for want of memory to look at them, or to send them"},
    }};

class ServedPlace final : private wan::ExternalUser,
                          private service::RuntimeUser,
                          private service::PathAsker {
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

  // All but the entropy outlive it. `wake`: call run() soon; comes once until then. `chain`: what
  // becomes of packets besides; the service is put in here.
  ServedPlace(std::unique_ptr<service::Service> service, Memory memory, Entropy& entropy,
              std::function<void()> wake, service::Chain chain = {});
  ServedPlace(const ServedPlace&) = delete;
  ServedPlace& operator=(const ServedPlace&) = delete;
  ~ServedPlace() override;

  // What the tunnel to the place is joined to; it is disconnected before this goes.
  [[nodiscard]] link::Port& port() { return end_.port(); }
  [[nodiscard]] bool is_up() const { return end_.is_up(); }

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] const service::Runtime& runtime() const { return *runtime_; }
  [[nodiscard]] const service::Service& service() const { return *service_; }
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

  // wan::ExternalUser
  void came(link::PacketPtr packet, Time now) override;
  void heard(const wan::ServiceMessage& message, Time now) override;
  void changed(bool up, Time now) override;
  void wake() override;
  // service::RuntimeUser
  void send(Bytes packet, std::uint8_t out_port, bool sealed) override;
  void mirror(Bytes packet, const service::Arrival& arrival) override;
  void publish(std::size_t service, Bytes record) override;
  // service::PathAsker
  void ask(std::uint64_t number, const service::PathQuestion& question) override;

  void handle(Time now);
  [[nodiscard]] bool copy(link::Packet& packet, Copy& out);
  void forward(Copy& copy, Time now);
  void tell(Time now);
  void tell(wan::CounterTopic topic, const std::vector<CounterValue>& counters, Time now);

  std::unique_ptr<service::Service> service_;
  Memory memory_;
  std::function<void()> wake_;
  std::unique_ptr<service::Runtime> runtime_;
  wan::ExternalEnd end_;
  CounterSet<ServedPlaceCounter, kServedPlaceCounters> counters_;
  Time now_{};  // of the call that it is in
  bool woken_ = false;
  std::optional<Time> tell_at_;  // while somebody is there
  std::size_t came_ = 0;         // of these, that are not handled yet
  std::array<Copy, service::Runtime::kBurst> copies_;
  std::array<service::Item, service::Runtime::kBurst> items_;
};

}  // namespace weft::daemon
