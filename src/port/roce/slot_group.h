// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "port/roce/slot.h"
#include "wire/ip.h"

namespace weft::port {

struct SlotGroupConfig {
  std::uint16_t udp_port = wire::kRocePort;
  std::uint8_t slots = 16;                 // 2 to 255, the one of queue pair 1 included
  std::uint32_t socket_buffer = 4u << 20;  // bytes asked for, to receive
};

// UDP port 4791 of a host, divided: a group of sockets that share the port (SO_REUSEPORT), and a
// filter that picks one by the high bits of a packet's DestQP. The group is opened at once and kept
// together, since a member that closed would change the numbers of the others.
class SlotGroup final : public SlotSource, public std::enable_shared_from_this<SlotGroup> {
 public:
  // EADDRINUSE, with a message that says who may hold the port.
  static Expected<std::shared_ptr<SlotGroup>> open(const SlotGroupConfig& config);

  Expected<Slot> take() override;
  Expected<Slot> take_management() override;

 private:
  struct Member {
    io::UdpSocket socket;
    bool taken = false;
  };

  SlotGroup() = default;
  Expected<Slot> hand_out(std::size_t number);  // with mutex_ held

  std::mutex mutex_;
  std::vector<Member> members_;
  std::size_t next_ = 1;  // given back, a slot comes around again only after all others
};

// Slots out of a group of the process's own, which is opened with the first: what a program does
// that runs without a host agent.
class OwnSlots final : public SlotSource {
 public:
  explicit OwnSlots(const SlotGroupConfig& config) : config_(config) {}
  Expected<Slot> take() override;
  Expected<Slot> take_management() override;

 private:
  Expected<std::shared_ptr<SlotGroup>> group();

  const SlotGroupConfig config_;
  std::mutex mutex_;
  std::shared_ptr<SlotGroup> group_;
};

}  // namespace weft::port
