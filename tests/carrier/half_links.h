// SPDX-License-Identifier: Apache-2.0
// Two ports, each with its half of a link.
#pragma once

#include "../link/rig.h"
#include "link/half_link.h"

namespace weft::carrier {

using link::PortState;

// What a port of a node would say and hear.
struct Trainee final : link::TrainingPort {
  [[nodiscard]] link::Training training() const override { return own; }
  void heard_training(const link::Training& said) override { far = said; }
  link::Training own{.widths = 3, .speeds = 7, .extended_speeds = 1};
  link::Training far{};
};

struct HalfLinks {
  explicit HalfLinks(const link::PortOptions& options = {}, const link::Emulation& emulation = {})
      : a(worker, options), b(worker, options) {
    if (emulation.any()) {
      left.set_emulation(emulation, now());
      right.set_emulation(emulation, now());
    }
    left.join(a.port, now(), &a_training);
    right.join(b.port, now(), &b_training);
  }
  ~HalfLinks() {
    a.kept.clear();
    b.kept.clear();
    a.port.connect(nullptr, now());
    b.port.connect(nullptr, now());
  }

  [[nodiscard]] Time now() const { return worker.now(); }
  void send(link::Station& from, const link::PacketSpec& spec) {
    from.port.transmit(pool.copy(link::make_packet(spec)), spec.vl, now());
  }
  // As a subnet manager does.
  void set_both(PortState state) {
    for (link::Station* const each : {&a, &b})
      each->port.set_state(state, now());
  }

  BufferPool payloads{link::PacketPool::kPayloadBlock, 100'000};
  link::PacketPool pool{100'000, payloads};
  link::Worker worker;
  Trainee a_training;
  Trainee b_training;
  link::HalfLink left{pool, 0};
  link::HalfLink right{pool, 1};
  link::Station a;
  link::Station b;
};

}  // namespace weft::carrier
