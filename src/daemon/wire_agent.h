// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "base/entropy.h"
#include "daemon/event_files.h"
#include "daemon/host_interfaces.h"
#include "daemon/management.h"
#include "daemon/program_tap.h"
#include "io/reactor.h"
#include "port/port.h"
#include "port/roce/slot_group.h"
#include "rdmacm/command_core.h"

namespace weft::daemon {

struct WireChoice {
  bool roce = false;
  std::uint16_t cm_port = 0;  // of queue pair 1 on `udp`; 0 on `roce`
  friend auto operator<=>(const WireChoice&, const WireChoice&) = default;
};

// What one wire shares among the processes of a host: queue pair 1, its rdma_cm, and on `roce` the
// slots of UDP port 4791.
class WireAgent final : private rdmacm::EventSignal,
                        private Management::Receiver,
                        private port::PacketTaps {
 public:
  // EADDRINUSE, with a message that says who may be the other, when queue pair 1 is taken.
  static Expected<std::unique_ptr<WireAgent>> open(const WireChoice& choice,
                                                   std::uint16_t roce_port,
                                                   const HostInterfaces& interfaces,
                                                   io::Reactor& reactor, Entropy& entropy);
  ~WireAgent() override;

  // An rdma_cm file: its name, and the descriptor that a program polls. The agent keeps that too.
  struct File {
    std::uint64_t id = 0;
    int events = -1;
  };
  // `tap`: what is done with packets of queue pair 1 that are the file's.
  Expected<File> open_file(const TapChoice& tap);
  void close_file(std::uint64_t file);
  rdmacm::Reply execute(std::uint64_t file, Bytes command, Bytes extra, std::uint64_t other);

  // EOPNOTSUPP on `udp`, where queue pairs have ports of their own.
  Expected<port::Slot> take_slot();
  // Hears what the owner of slot `slot` is to be told.
  using AgreementSink = std::function<void(std::uint8_t slot, const hca::Agreement& agreement)>;
  void set_agreement_sink(AgreementSink sink) { agreement_sink_ = std::move(sink); }

  void interfaces_changed() { core_->interfaces_changed(); }
  // Nobody uses it and nothing of it can be in the network any more.
  [[nodiscard]] bool idle() const { return core_->channels() == 0 && manager_->ids() == 0; }
  // Of rdma_cm, of the connection manager, of queue pair 1 and of its sockets.
  [[nodiscard]] std::vector<CounterValue> counters() const;
  [[nodiscard]] const rdmacm::CommandCore& core() const { return *core_; }

 private:
  WireAgent(const HostInterfaces& interfaces, io::Reactor& reactor);
  void received(Bytes mad, const hca::Path& from) override;
  void undelivered(Bytes mad, const Gid& destination) override;
  port::PacketTap* of_arriving(Bytes frame, const Gid& source, const Gid& destination) override;
  port::PacketTap* of_leaving(const hca::Burst& burst) override;
  [[nodiscard]] std::vector<port::PacketTap*> all() override;
  [[nodiscard]] port::PacketTap* tap_of(rdmacm::ChannelId channel);
  void raised(rdmacm::ChannelId channel) override { events_.raised(channel); }
  void withdrawn(rdmacm::ChannelId channel, std::size_t count) override {
    events_.withdrawn(channel, count);
  }
  void agreed(const hca::Agreement& agreement) override;
  void set_timer();

  const HostInterfaces& interfaces_;
  io::Reactor& reactor_;
  std::shared_ptr<port::SlotGroup> slots_;                         // null on `udp`
  std::map<rdmacm::ChannelId, std::unique_ptr<ProgramTap>> taps_;  // gone after what asks for them
  std::unique_ptr<port::Port> port_;
  std::unique_ptr<Management> management_;
  std::unique_ptr<mgmt::ConnectionManager> manager_;
  std::unique_ptr<rdmacm::CommandCore> core_;
  EventFiles events_;
  AgreementSink agreement_sink_;
  io::Timer timer_;
};

}  // namespace weft::daemon
