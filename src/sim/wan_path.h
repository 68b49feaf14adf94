// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "sim/scheduler.h"
#include "wan/path_model.h"

namespace weft::sim {

// One direction of a WAN between two sites of a simulation, as `weft wan-emulator` has it.
class WanPath {
 public:
  using Deliver = std::function<void(std::vector<std::byte> packet, std::uint8_t traffic_class)>;

  WanPath(Scheduler& scheduler, const wan::PathEmulation& emulation, Deliver deliver)
      : scheduler_(scheduler), model_(emulation, scheduler.now()), deliver_(std::move(deliver)) {}
  WanPath(const WanPath&) = delete;  // what is under way knows it by its place
  WanPath& operator=(const WanPath&) = delete;

  // `traffic_class`: IPv4's type of service or IPv6's traffic class, ECN bits included.
  void send(Bytes packet, std::uint8_t traffic_class = 0);
  void change(const wan::PathEmulation& emulation) { model_.change(emulation, scheduler_.now()); }
  [[nodiscard]] const wan::PathModel& model() const { return model_; }

 private:
  void arrive_at(Time when, std::vector<std::byte> packet, std::uint8_t traffic_class);

  Scheduler& scheduler_;
  wan::PathModel model_;
  Deliver deliver_;
};

}  // namespace weft::sim
