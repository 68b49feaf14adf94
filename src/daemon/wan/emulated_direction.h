// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/time.h"
#include "wan/delay_line.h"
#include "wan/path_model.h"

namespace weft::daemon {

enum class EmulatorCounter : std::uint8_t {
  kDelivered,
  kDeliveredBytes,
  kNoMemory,
  kForeign,
  kNotSent,
  kFlowGone,
  kCount,
};
inline constexpr std::array<CounterInfo, static_cast<std::size_t>(EmulatorCounter::kCount)>
    kEmulatorCounterInfo{{
        {"delivered", "packets, or pieces of a stream, that went on"},
        {"delivered_bytes", "and their bytes"},
        {"no_memory", "packets dropped because no memory was left for what is under way"},
        {"foreign", "datagrams dropped because they are not from the target"},
        {"not_sent", "datagrams that the kernel refused to send"},
        {"flow_gone", "packets dropped because their client's place went to another, or it left"},
    }};
using EmulatorCounters = CounterSet<EmulatorCounter, kEmulatorCounterInfo>;

// One way through the emulator: the model says what becomes of what is read, the line has it until
// it goes on, the counters say what came of it.
struct EmulatedDirection {
  // Nothing is sent sooner than this after what was sent before it, so that what came together
  // leaves in few calls. Packets are late by so much at most, unless the machine is.
  static constexpr Duration kGrain = 50us;

  // `memory`: of the line, in bytes.
  EmulatedDirection(const wan::PathEmulation& emulation, std::size_t memory, Time now)
      : model(emulation, now), line(memory) {}

  // Datagrams that were read into the line's room: packets of `segment` bytes each (0: one), the
  // last one may be shorter.
  void carry_datagrams(MutableBytes run, std::size_t segment, std::uint8_t traffic_class,
                       std::uint32_t flow, Time now);
  // A piece of a stream that was read there; empty: its end.
  void carry_stream(MutableBytes piece, std::uint32_t flow, Time now);
  // When there is next something to send.
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] nlohmann::json report(Time now);

  wan::PathModel model;
  wan::DelayLine line;
  EmulatorCounters counters;
  Time sent_at{};  // when something was sent last
};

}  // namespace weft::daemon
