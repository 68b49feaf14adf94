// SPDX-License-Identifier: Apache-2.0
// What happens to a port that negotiates, as it is told to whoever watches.
#pragma once

#include <cstdint>

#include "base/time.h"
#include "phy/negotiation/advertisement.h"
#include "phy/negotiation/state_table.h"
#include "wire/mad.h"

namespace weft::phy {

struct TimelineEvent {
  enum class Kind : std::uint8_t {
    kState,    // `state` was entered from `before`, because of `event`
    kSent,     // `copies` of `message` went out in `state`
    kTaken,    // `message` came, and was `event` in `state`
    kIgnored,  // `message` came, and `state` had no use for it
  };

  Kind kind = Kind::kState;
  Time time{};
  NegotiationState state{};
  NegotiationState before{};
  NegotiationEvent event{};
  NegotiationReason reason = NegotiationReason::kNone;  // of an end
  Advertisement message{};
  std::uint32_t copies = 0;
};

// Where a port's messages and its timeline go.
class NegotiationOutput {
 public:
  virtual ~NegotiationOutput() = default;
  // To the port at the other end: on VL15 from QP0 to QP0, with permissive LIDs.
  virtual void send(wire::MadBytes mad, Time now) = 0;
  virtual void record(const TimelineEvent& event) = 0;
};

}  // namespace weft::phy
