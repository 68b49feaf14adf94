// SPDX-License-Identifier: Apache-2.0
// The other end of a port under test: does what a script says, whatever the port does. It keeps to
// the specification but for what the script has it do otherwise, and has nothing of
// phy/negotiation but the form of messages.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "phy/conformance/port.h"
#include "phy/conformance/story.h"
#include "phy/negotiation/advertisement.h"

namespace weft::phy::conformance {

struct PeerScript {
  static constexpr std::uint32_t kNever = UINT32_MAX;

  enum class Asks : std::uint8_t {
    kFirst,      // as soon as the link is up
    kWhenAsked,  // once it has been asked, and has answered
    kNever,
  };

  Asks asks = Asks::kFirst;
  Advertisement capabilities{.ddr = true, .iteration_ms = 500, .iterations = 3};
  std::uint32_t configurations = 3;          // that it can transmit with
  std::optional<std::uint32_t> chooses = 1;  // an iteration; nothing: it has found none

  // Each by exchange, of capabilities and of results.
  std::array<std::uint32_t, 2> misses{};  // so many requests of the port; kNever: all of them
  std::array<bool, 2> hears_answers{true, true};
  std::array<bool, 2> answers{true, true};
  Duration answers_after{};  // a request came
  // How long it goes on answering once it has all that it needs; before it leaves.
  Duration lingers = 1ms;
  // Sent as they are: before the capabilities, and before the result.
  std::vector<wire::MadBuffer> before_capabilities{};
  std::vector<wire::MadBuffer> before_result{};
  std::uint32_t reserved = 0;         // bits that it sets in the first word of all that it says
  bool repeats_capabilities = false;  // its first request again, before the result
};

// The parameters of clause 2.2 are those of `rules`.
[[nodiscard]] std::unique_ptr<Port> make_scripted_peer(const PeerScript& script, const Rules& rules,
                                                       SerdesControl& serdes, PortOutput& output);

}  // namespace weft::phy::conformance
