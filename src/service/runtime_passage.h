// SPDX-License-Identifier: Apache-2.0
// Internal to runtime.cc and runtime_passage.cc.
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "service/runtime.h"

namespace weft::service {

struct Runtime::Place final : public Host {
  Place(Runtime& owner, std::size_t number, Service& asked)
      : runtime(owner), index(number), service(asked), drops(asked.drop_reasons().size()) {}

  void release(std::uint64_t key) override { runtime.due_.push_back(held_key(key)); }
  void revoke(FlowTag tag) override { runtime.leases_.revoke(Leases::slot(index + 1, tag)); }
  void revoke_all() override { runtime.leases_.revoke_all(); }
  void publish(Bytes record) override { runtime.user_.publish(index, record); }
  bool send(Bytes packet, std::uint8_t port) override { return runtime.send(packet, port); }

  // Two things may have one number; then packets are shown to the service once too often.
  [[nodiscard]] std::uint64_t held_key(std::uint64_t key) const {
    return (key ^ (index + 1)) * 0x9E37'79B9'7F4A'7C15;
  }

  Runtime& runtime;
  const std::size_t index;  // among all services of the runtime
  Service& service;
  std::vector<std::uint64_t> drops;  // by reason
};

struct Runtime::Passage {
  Passage(Item& which, Running& by) : item(which), running(by) {}

  Item& item;
  Running& running;
  std::optional<Packet> packet;  // once its QP numbers are undone
  Ends ends{};
  Progress progress{};
  Rewrite rewrite{};
  Path path{};
  std::uint64_t path_key = 0;
  // For all packets of the flow:
  bool keepable = true;
  std::uint8_t ask = 0;
  std::uint8_t dropper = Flow::kNobody;
  std::uint16_t reason = 0;
  bool mirror = false;
  std::array<Tally*, kMostServices> tally{};
  std::array<Leases::Slot, Flow::kSlots> slot{};
  std::uint8_t slots = 0;

  void depend_on(Leases::Slot on) { slot[slots++] = on; }
};

namespace detail {
// Tags of the runtime's own leases, and their owner among those of Leases::slot().
inline constexpr std::size_t kRuntime = 0;
[[nodiscard]] inline FlowTag number_tag(Qpn number) {
  return number.value();
}
}  // namespace detail

}  // namespace weft::service
