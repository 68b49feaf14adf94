// SPDX-License-Identifier: Apache-2.0
// What a port under test is put through: a peer that does this, a cable that does that.
#pragma once

#include <string_view>
#include <vector>

#include "phy/conformance/bench.h"
#include "phy/conformance/scripted_peer.h"

namespace weft::phy::conformance {

// Of the port under test.
enum class Role : std::uint8_t {
  kRequester,  // it asks first: its peer asks once it has been asked, and has answered
  kResponder,  // it is asked first
};

struct Scenario {
  std::string_view id;    // "missed-acknowledgement"
  std::string_view text;  // one sentence
  NegotiationOptions port{};
  PeerScript peer{};
  BenchOptions bench{};
  Duration lasts = 30s;
};

// The port is node kTested, the peer the other one.
inline constexpr unsigned kTested = 1;

[[nodiscard]] std::vector<Scenario> scenarios(Role role, const Rules& rules);
// "requester", "responder".
[[nodiscard]] std::string_view role_name(Role role);

}  // namespace weft::phy::conformance
