// SPDX-License-Identifier: Apache-2.0
// An extender of a lab that carries RoCEv2 between hosts here and at other sites: the bridge, and
// the interface that the hosts here are on.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/time.h"
#include "daemon/wan/device_absence.h"
#include "io/ethernet_device.h"
#include "io/reactor.h"
#include "link/packet_pool.h"
#include "link/port.h"
#include "wan/roce/roce_bridge.h"

namespace weft::daemon {

class RoceSide final : private wan::RoceUser {
 public:
  // `interface`: one of this machine, or "tap:NAME" for a TAP interface. `port`: those that lead to
  // other sites are like it. `wake`: call run() soon; comes once until run() is called. Errors name
  // the interface, and say which capability is missing. The reactor and the pool outlive it.
  static Expected<std::unique_ptr<RoceSide>> open(const std::string& interface,
                                                  const link::PortOptions& port,
                                                  link::PacketPool& pool, io::Reactor& reactor,
                                                  std::function<void()> wake);
  RoceSide(const RoceSide&) = delete;
  RoceSide& operator=(const RoceSide&) = delete;
  ~RoceSide() override = default;

  // One more site: what its tunnel is joined to.
  [[nodiscard]] link::Port& add_site() { return bridge_.site(bridge_.add_site()); }

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;
  // Lets go of the packets that wait.
  void stop() { bridge_.drop_waiting(); }

  // As docs/cli.md has it.
  [[nodiscard]] nlohmann::json report() const;

 private:
  static constexpr std::size_t kTurn = 8;  // calls for frames that have come, before others

  RoceSide(std::unique_ptr<io::EthernetDevice> device, std::string interface,
           const link::PortOptions& port, link::PacketPool& pool, io::Reactor& reactor,
           std::function<void()> wake);

  // wan::RoceUser
  MutableBytes room() override;
  void put(Bytes frame) override;
  void wake() override { wake_(); }

  void on_ready(std::uint32_t events);
  void receive(Time now);
  void flush();

  std::unique_ptr<io::EthernetDevice> device_;
  io::Reactor& reactor_;
  io::Reactor::Registration watch_;
  std::function<void()> wake_;
  std::vector<std::array<std::byte, wan::kLongestRawPacket>> memory_;
  std::vector<Bytes> frames_;  // in it, that wait to leave
  std::uint64_t refused_ = 0;  // by the interface: too long for it, or it is down
  bool watching_for_room_ = false;
  DeviceAbsence absence_;
  wan::RoceBridge bridge_;
};

}  // namespace weft::daemon
