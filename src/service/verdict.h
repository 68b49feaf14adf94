// SPDX-License-Identifier: Apache-2.0
// What a service says is to become of a packet.
#pragma once

#include <cstdint>

#include "base/time.h"

namespace weft::service {

// What went by under a verdict that counted for a whole flow.
struct Tally {
  std::uint64_t packets = 0;
  std::uint64_t bytes = 0;
};

// A name for everything that a service may take back at once: Host::revoke(tag). Tags are chosen by
// the service, as of a connection or of its rules as a whole; different ones may be taken back
// together, which costs a question and never a wrong verdict.
using FlowTag = std::uint32_t;

class Verdict {
 public:
  enum class Action : std::uint8_t {
    kForward,  // on to the next service, and then to where it goes; changed if the service has
    kDrop,     // counted under `reason`
    kHold,     // kept until the service releases `key`, or until `until`: then it is dropped
  };

  [[nodiscard]] static constexpr Verdict forward() { return Verdict(Action::kForward); }
  // `reason`: index into Service::drop_reasons().
  [[nodiscard]] static constexpr Verdict drop(std::uint16_t reason) {
    Verdict verdict(Action::kDrop);
    verdict.reason_ = reason;
    return verdict;
  }
  // Packets held under one key keep their order. When Host::release(key) is called, they are shown
  // to the same service again. They are bounded (RuntimeOptions): one too many is dropped.
  [[nodiscard]] static constexpr Verdict hold(std::uint64_t key, Time until) {
    Verdict verdict(Action::kHold);
    verdict.key_ = key;
    verdict.until_ = until;
    return verdict;
  }

  // A copy of the packet as it came goes to the mirror too, whatever becomes of it.
  [[nodiscard]] constexpr Verdict mirrored() const {
    Verdict verdict = *this;
    verdict.mirror_ = true;
    return verdict;
  }
  // The verdict counts for every packet of the same FlowKey (flow_key.h), until Host::revoke(tag):
  // the service is not asked again. Only forward and drop; a service that has changed the packet
  // must not say so. `tally`, which outlives the service's place in the runtime, counts what goes
  // by; nullptr: nobody counts.
  [[nodiscard]] constexpr Verdict for_flow(FlowTag tag, Tally* tally = nullptr) const {
    Verdict verdict = *this;
    verdict.whole_flow_ = true;
    verdict.tag_ = tag;
    verdict.tally_ = tally;
    return verdict;
  }

  [[nodiscard]] constexpr Action action() const { return action_; }
  [[nodiscard]] constexpr std::uint16_t reason() const { return reason_; }
  [[nodiscard]] constexpr bool mirror() const { return mirror_; }
  [[nodiscard]] constexpr bool whole_flow() const { return whole_flow_; }
  [[nodiscard]] constexpr FlowTag tag() const { return tag_; }
  [[nodiscard]] constexpr Tally* tally() const { return tally_; }
  [[nodiscard]] constexpr std::uint64_t key() const { return key_; }
  [[nodiscard]] constexpr Time until() const { return until_; }

 private:
  constexpr explicit Verdict(Action action) : action_(action) {}

  Action action_;
  bool mirror_ = false;
  bool whole_flow_ = false;
  std::uint16_t reason_ = 0;
  FlowTag tag_ = 0;
  Tally* tally_ = nullptr;
  std::uint64_t key_ = 0;
  Time until_{};
};

}  // namespace weft::service
