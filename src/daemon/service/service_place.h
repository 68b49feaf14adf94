// SPDX-License-Identifier: Apache-2.0
// A port of a lab at which data services work in the daemon: packets that the port takes for them
// go through the services and on to where they are really for, which the node asks the subnet
// administrator as any host asks for a path. A router is at several ports of its node.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

#include "base/buffer_pool.h"
#include "base/counters.h"
#include "base/entropy.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "daemon/sa_paths.h"
#include "fabric/channel_adapter.h"
#include "fabric/raw_service.h"
#include "link/packet_pool.h"
#include "service/runtime.h"

namespace weft::daemon {

enum class ServicePlaceCounter : std::uint8_t {
  kNoMemory,
  kRefused,
  kUnasked,
  kMirrorLost,
  kShown,
  kCount
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(ServicePlaceCounter::kCount)>
    kServicePlaceCounters{{
        {"no_memory", "packets dropped for want of memory to look at them, or to send them"},
        {"not_sent", "packets dropped that the port did not send"},
        {"unasked", "questions for a path that could not be sent: there is no administrator"},
        {"mirror_lost", "copies that services here wanted kept, and that nobody took"},
        {"shown", "copies that other services have sent here"},
    }};

class ServicePlace final : private service::RuntimeUser,
                           private service::PathAsker,
                           private SaPathUser {
 public:
  // Who hears what services tell their other instances, and has the copies that they want kept.
  class Peers {
   public:
    virtual ~Peers() = default;
    virtual void publish(ServicePlace& from, std::size_t service, Bytes record) = 0;
    // False: nobody has it.
    virtual bool mirror(ServicePlace& from, Bytes packet, const service::Arrival& arrival) = 0;
    // What time it is.
    [[nodiscard]] virtual Time now() const;
  };

  // A whole packet in one piece.
  static constexpr std::size_t kBlock =
      link::Packet::kMaxHeader + link::PacketPool::kPayloadBlock + 128;
  // What packets are made of. They lie in it wherever they are in the fabric, which it outlives.
  struct Memory {
    link::PacketPool& packets;
    BufferPool& blocks;  // of kBlock bytes
  };

  // What becomes of packets besides: all of a chain but its services, which are put in here.
  struct Manner {
    service::Chain chain{};
    bool is_tap = false;  // what comes are copies, and nothing goes on
  };

  // Of a port of `node`; all but the entropy outlive it. Errors: no such port; the port has no room
  // for its questions.
  static Expected<std::unique_ptr<ServicePlace>> open(
      fabric::ChannelAdapter& node, mgmt::PortNumber port,
      std::vector<std::unique_ptr<service::Service>> services, const Manner& manner, Memory memory,
      Peers& peers, Entropy& entropy);
  ~ServicePlace() override;

  // At one more port of the node: what comes there goes through the same services. Errors: no such
  // port.
  Expected<void> add_port(mgmt::PortNumber port, Entropy& entropy);

  // Packets to these LIDs are the services', and no others. Errors: one of them is already
  // somebody else's at this port; then it stays his, and the rest is done.
  Expected<void> set_lids(std::span<const Lid> lids) { return set_lids(port(), lids); }
  [[nodiscard]] const std::vector<Lid>& lids() const { return sides_.front()->lids; }
  // Of one of its ports.
  Expected<void> set_lids(mgmt::PortNumber port, std::span<const Lid> lids);
  [[nodiscard]] const std::vector<Lid>& lids(mgmt::PortNumber port) const {
    return side(port).lids;
  }
  // Packets that fit the rule besides (RawPort has its errors).
  Expected<void> divert(const fabric::RawRule& rule);
  // Answers of the administrator may be others by now.
  void paths_changed() { runtime_->paths_changed(); }

  // A copy of a packet that another service has mirrored: the services here see it, and it goes
  // nowhere. False: there is no memory for it.
  bool show(Bytes packet, service::Arrival arrival, Time now);

  // A port of the subnet has gone.
  void forget(Guid port);
  // The services here begin, and another instance of them is at work: they learn all that it knows.
  void catch_up(const ServicePlace& other, Time now);
  // What another instance of the services here has published.
  void apply(std::size_t service, Bytes record, Time now) { runtime_->apply(service, record, now); }

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const { return runtime_->deadline(); }

  [[nodiscard]] const fabric::ChannelAdapter& node() const { return node_; }
  // The first one.
  [[nodiscard]] mgmt::PortNumber port() const { return sides_.front()->port; }
  [[nodiscard]] const service::Runtime& runtime() const { return *runtime_; }
  [[nodiscard]] std::span<const std::unique_ptr<service::Service>> services() const {
    return services_;
  }
  [[nodiscard]] std::vector<CounterValue> counters() const { return counters_.snapshot(); }
  // Of the port's receive filter, which other services there share.
  [[nodiscard]] std::vector<CounterValue> filter_counters() const;
  [[nodiscard]] std::uint64_t count(ServicePlaceCounter counter) const {
    return counters_.get(counter);
  }

 private:
  ServicePlace(fabric::ChannelAdapter& node,
               std::vector<std::unique_ptr<service::Service>> services, const Manner& manner,
               Memory memory, Peers& peers, Entropy& entropy);

  struct Copy {
    BufferRef block;
    // As the packet was cut, which it stays.
    std::size_t header = 0;
    std::size_t payload = 0;
    std::size_t trailer = 0;
    bool sealed = true;
    link::BufferHold hold{};
    [[nodiscard]] std::size_t size() const { return header + payload + trailer; }
  };

  // What it is at a port.
  struct Side final : fabric::RawConsumer {
    Side(ServicePlace& its_place, mgmt::PortNumber its_port) : place(its_place), port(its_port) {}
    void take(std::uint16_t queue, std::span<link::PacketPtr> packets, Time now) override {
      place.take(port, queue, packets, now);
    }

    ServicePlace& place;
    const mgmt::PortNumber port;
    std::unique_ptr<fabric::RawService> raw{};
    std::vector<Lid> lids{};
  };

  // service::RuntimeUser
  void send(Bytes packet, std::uint8_t out_port, bool sealed) override;
  void mirror(Bytes packet, const service::Arrival& arrival) override;
  void publish(std::size_t service, Bytes record) override;
  // service::PathAsker
  void ask(std::uint64_t number, const service::PathQuestion& question) override;
  // SaPathUser
  void path_answered(std::uint64_t number, const SaPathAnswer& answer) override;

  // One of its ports.
  [[nodiscard]] Side& side(mgmt::PortNumber port) const;
  void take(mgmt::PortNumber port, std::uint16_t queue, std::span<link::PacketPtr> packets,
            Time now);
  void handle(mgmt::PortNumber port, std::uint16_t queue, std::span<link::PacketPtr> packets,
              Time now);
  [[nodiscard]] bool copy(link::Packet& packet, Copy& out);
  void forward(Copy& copy, mgmt::PortNumber port, Time now);

  fabric::ChannelAdapter& node_;
  const bool is_tap_;
  Memory memory_;
  Peers& peers_;
  std::vector<std::unique_ptr<service::Service>> services_;
  SaPaths questions_;
  std::unique_ptr<service::Runtime> runtime_;
  std::vector<std::unique_ptr<Side>> sides_;    // the first one is there from the start
  std::unordered_set<std::uint64_t> crossing_;  // questions about paths into another subnet
  CounterSet<ServicePlaceCounter, kServicePlaceCounters> counters_;
  std::array<Copy, service::Runtime::kBurst> copies_;
  std::array<service::Item, service::Runtime::kBurst> items_;
};

}  // namespace weft::daemon
