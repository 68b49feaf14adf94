// SPDX-License-Identifier: Apache-2.0
// A port of a lab at which data services work in the daemon: packets that the port takes for them
// go through the services and on to where they are really for, which the node asks the subnet
// administrator as any host asks for a path.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/buffer_pool.h"
#include "base/counters.h"
#include "base/entropy.h"
#include "base/error.h"
#include "base/ids.h"
#include "base/time.h"
#include "fabric/channel_adapter.h"
#include "fabric/raw_service.h"
#include "link/packet_pool.h"
#include "mgmt/port_agents.h"
#include "service/runtime.h"

namespace weft::daemon {

enum class ServicePlaceCounter : std::uint8_t { kNoMemory, kRefused, kUnasked, kCount };
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(ServicePlaceCounter::kCount)>
    kServicePlaceCounters{{
        {"no_memory", "packets dropped for want of memory to look at them, or to send them"},
        {"not_sent", "packets dropped that the port did not send"},
        {"unasked", "questions for a path that could not be sent: there is no administrator"},
    }};

class ServicePlace final : private fabric::RawConsumer,
                           private service::RuntimeUser,
                           private service::PathAsker,
                           private mgmt::PortAgents::User {
 public:
  // Who hears what services tell their other instances, and has the copies that they want kept.
  class Peers {
   public:
    virtual ~Peers() = default;
    virtual void publish(ServicePlace& from, std::size_t service, Bytes record) = 0;
    virtual void mirror(ServicePlace& from, Bytes packet, const service::Arrival& arrival) = 0;
  };

  // A whole packet in one piece.
  static constexpr std::size_t kBlock =
      link::Packet::kMaxHeader + link::PacketPool::kPayloadBlock + 128;
  // What packets are made of. They lie in it wherever they are in the fabric, which it outlives.
  struct Memory {
    link::PacketPool& packets;
    BufferPool& blocks;  // of kBlock bytes
  };

  // Of a port of `node`; all but the entropy outlive it. Errors: no such port; the port has no room
  // for its questions.
  static Expected<std::unique_ptr<ServicePlace>> open(
      fabric::ChannelAdapter& node, mgmt::PortNumber port,
      std::vector<std::unique_ptr<service::Service>> services, Memory memory, Peers& peers,
      Entropy& entropy);
  ~ServicePlace() override;

  // Packets to these LIDs are the services', and no others. Errors: one of them is already
  // somebody else's at this port; then it stays his, and the rest is done.
  Expected<void> set_lids(std::span<const Lid> lids);
  [[nodiscard]] const std::vector<Lid>& lids() const { return lids_; }
  // Packets that fit the rule besides (RawPort has its errors).
  Expected<void> divert(const fabric::RawRule& rule);
  // Answers of the administrator may be others by now.
  void paths_changed() { runtime_->paths_changed(); }

  // What another instance of the services here has published.
  void apply(std::size_t service, Bytes record, Time now) { runtime_->apply(service, record, now); }

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const { return runtime_->deadline(); }

  [[nodiscard]] const fabric::ChannelAdapter& node() const { return node_; }
  [[nodiscard]] mgmt::PortNumber port() const { return port_; }
  [[nodiscard]] const service::Runtime& runtime() const { return *runtime_; }
  [[nodiscard]] std::span<const std::unique_ptr<service::Service>> services() const {
    return services_;
  }
  [[nodiscard]] std::vector<CounterValue> counters() const { return counters_.snapshot(); }

 private:
  ServicePlace(fabric::ChannelAdapter& node, mgmt::PortNumber port,
               std::vector<std::unique_ptr<service::Service>> services, Memory memory, Peers& peers,
               Entropy& entropy);

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

  // fabric::RawConsumer
  void take(std::uint16_t queue, std::span<link::PacketPtr> packets, Time now) override;
  // service::RuntimeUser
  void send(Bytes packet, std::uint8_t out_port, bool sealed) override;
  void mirror(Bytes packet, const service::Arrival& arrival) override;
  void publish(std::size_t service, Bytes record) override;
  // service::PathAsker
  void ask(std::uint64_t number, const service::PathQuestion& question) override;
  // mgmt::PortAgents::User
  void received(mgmt::PortNumber port, const mgmt::ReceivedMad& mad) override;
  void finished(mgmt::PortNumber port, std::uint64_t cookie, mgmt::MadResult result) override;

  void handle(std::uint16_t queue, std::span<link::PacketPtr> packets, Time now);
  [[nodiscard]] bool copy(link::Packet& packet, Copy& out);
  void forward(Copy& copy, Time now);

  fabric::ChannelAdapter& node_;
  const mgmt::PortNumber port_;
  Memory memory_;
  Peers& peers_;
  std::vector<std::unique_ptr<service::Service>> services_;
  mgmt::PortAgents agents_;
  std::unique_ptr<service::Runtime> runtime_;
  std::unique_ptr<fabric::RawService> raw_;
  std::vector<Lid> lids_;
  CounterSet<ServicePlaceCounter, kServicePlaceCounters> counters_;
  std::array<Copy, service::Runtime::kBurst> copies_;
  std::array<service::Item, service::Runtime::kBurst> items_;
};

}  // namespace weft::daemon
