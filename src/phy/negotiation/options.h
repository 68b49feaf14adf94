// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/error.h"
#include "base/time.h"

namespace weft::phy {

enum class SpeedMode : std::uint8_t { kSdrOnly, kDdrOnly, kAuto };

// What a port is configured with; check() says whether it can be. The first four are those of the
// DDR auto-negotiation specification (Mellanox document 2429), clause 2.2, with its defaults.
struct NegotiationOptions {
  std::uint32_t burst_len = 4;       // copies of a message in one transmission
  std::uint32_t max_retry = 4;       // transmissions of a message, the first one included
  Duration xmit_time_out = 1ms;      // how long an acknowledgement is waited for
  Duration ddr_time_out = 400ms;     // how long the link may take to come up at DDR
  Duration return_time_out = 1s;     // and at SDR after a sweep; the specification is silent
  std::uint32_t max_attempts = 3;    // negotiations, until one's outcome has held for ddr_time_out
  Duration longest_iteration = 10s;  // a peer that asks for longer ones is not believed

  SpeedMode mode = SpeedMode::kAuto;
  std::uint32_t lanes = 4;  // 1, 4, 8 or 12
  // Settings to try: NOI of the specification, which is a peer's number of iterations, and NRI.
  std::uint32_t transmit_configurations = 9;
  std::uint32_t receive_configurations = 5;
  Duration delta = 50ms;  // how long each receive configuration is tried
  Duration soak = 150ms;  // what both ends take to settle, before and after
  bool no_sweep = false;  // ask for it
  // What a port that does not sweep asks its peer to send, and with what it receives.
  std::uint32_t default_iteration = 0;
  std::uint32_t default_receive = 0;
  // Drawn by whoever makes the port: marks its negotiations, so that messages of others are known.
  std::uint32_t first_id = 1;

  // What this port needs for an iteration: soak + receive configurations x delta + soak.
  [[nodiscard]] Duration iteration_duration() const {
    return soak + receive_configurations * delta + soak;
  }
  // What it says of that: milliseconds, rounded up.
  [[nodiscard]] std::uint32_t iteration_ms() const;
  // The error names the option and what it may be.
  [[nodiscard]] Expected<void> check() const;

  friend bool operator==(const NegotiationOptions&, const NegotiationOptions&) = default;
};

}  // namespace weft::phy
