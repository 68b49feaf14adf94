// SPDX-License-Identifier: Apache-2.0
// A port that raises its link from SDR to DDR together with the port at the other end, by the DDR
// auto-negotiation specification (Mellanox document 2429). docs/link-training.md shows the states.
//
// The port is told that its link came up or went down, what MADs arrive, and the time; it commands
// its SerDes, sends MADs, and says when expire() is due.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/bytes.h"
#include "base/time.h"
#include "phy/link_speed.h"
#include "phy/negotiation/advertisement.h"
#include "phy/negotiation/negotiation_counters.h"
#include "phy/negotiation/options.h"
#include "phy/negotiation/serdes_control.h"
#include "phy/negotiation/state_table.h"
#include "phy/negotiation/sweep.h"
#include "phy/negotiation/timeline.h"

namespace weft::phy {

// All that a negotiation remembers, but for its sweep and what it counts.
struct NegotiationVariables {
  static constexpr std::size_t kPastPeers = 4;

  NegotiationState state = NegotiationState::kDown;
  NegotiationReason reason = NegotiationReason::kNone;
  LinkSpeed speed = LinkSpeed::kSdr;  // that the SerDes was last set to
  std::uint32_t attempts = 0;         // since an outcome has held
  std::uint32_t retry_cnt_0 = 0;      // RetryCnt0: requests sent, of this phase
  std::uint32_t retry_cnt_ack = 0;    // RetryCntAck: acknowledgements sent, of this phase
  // A negotiation's number is the upper half of its TransactionIDs, a transmission's the lower one.
  // Of the peer 0 is a number that says nothing.
  std::uint32_t own_id = 0;
  std::uint32_t transmissions = 0;
  std::optional<std::uint32_t> peer_id{};
  std::array<std::uint32_t, kPastPeers> past_peer_ids{};  // of its negotiations that are over
  std::optional<Advertisement> peer{};                    // its capabilities
  std::optional<Advertisement> peer_result{};
  std::optional<SweepChoice> choice{};  // this port's, of its last sweep or by default
  std::optional<Time> deadline{};       // the sweep has its own
  Time hold_off{};                      // until then, requests are copies of what was answered

  friend bool operator==(const NegotiationVariables&, const NegotiationVariables&) = default;
};

// What came of it, once the negotiation has ended.
struct NegotiationResult {
  LinkSpeed speed = LinkSpeed::kSdr;
  NegotiationReason reason = NegotiationReason::kNone;
  // At DDR, but for a port that is DDR only.
  std::optional<std::uint32_t> transmit{};  // the configuration that the peer has chosen
  std::optional<SweepChoice> receive{};     // what this port has chosen
};

class DdrNegotiation {
 public:
  enum class Receipt : std::uint8_t {
    kTaken,    // acted on, or a copy of what was
    kDropped,  // and counted
    kNotOurs,  // of another class or attribute: for subnet management to answer
  };

  // `options` pass their check(); `serdes` and `output` outlive this, and do not call it back.
  DdrNegotiation(const NegotiationOptions& options, SerdesControl& serdes,
                 NegotiationOutput& output);

  // The port is switched on, or is reset: its link is down, and is to be trained.
  void start(Time now);
  // The link is up at the speed that the SerDes was set to, or is so no longer.
  void link_up(LinkSpeed speed, Time now);
  void link_down(Time now);
  Receipt receive(Bytes mad, Time now);
  void expire(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  // Whether the subnet manager is to be told that the link is down and polls (clause 2.2): the
  // negotiation has not ended yet.
  [[nodiscard]] bool negotiating() const {
    return vars_.state != NegotiationState::kDdr && vars_.state != NegotiationState::kEndedSdr;
  }
  // Nothing while negotiating().
  [[nodiscard]] std::optional<NegotiationResult> result() const;

  [[nodiscard]] NegotiationState state() const { return vars_.state; }
  [[nodiscard]] const NegotiationVariables& variables() const { return vars_; }
  [[nodiscard]] const NegotiationOptions& options() const { return options_; }
  [[nodiscard]] const Sweep& sweep() const { return sweep_; }
  [[nodiscard]] const NegotiationCounters& counters() const { return counters_; }

  // For who puts a port back to where it was: tests that try every way from there.
  void restore(const NegotiationVariables& variables, const Sweep& sweep) {
    vars_ = variables;
    sweep_ = sweep;
  }

 private:
  bool dispatch(NegotiationEvent event, const AdvertisementMad* mad, Time now);
  [[nodiscard]] bool holds(NegotiationGuard guard, const AdvertisementMad* mad, Time now) const;
  void act(NegotiationAction action, const AdvertisementMad* mad, Time now);
  void enter(const NegotiationRow& row, Time now);

  // What arrives.
  [[nodiscard]] std::optional<NegotiationCounter> unusable(const AdvertisementMad& mad) const;
  [[nodiscard]] NegotiationEvent classify(const AdvertisementMad& mad) const;
  [[nodiscard]] bool is_repeated(NegotiationEvent event) const;

  // What a port does.
  void begin();
  void forget_peer();
  void learn(const AdvertisementMad& mad);
  void send_request(Time now);
  void answer(const AdvertisementMad& mad, Time now);
  void refuse(const AdvertisementMad& mad, Time now);
  void send_answer(const AdvertisementMad& mad, Time now);
  void send(const AdvertisementMad& mad, Time now);
  void begin_result(Time now);
  void set_default_choice();
  void start_sweep(Time now);
  void go_ddr(Time now);
  void hold(Time now);
  void set_line(LinkSpeed speed, LineUse use);

  [[nodiscard]] Advertisement own_message() const;
  [[nodiscard]] bool in_capability_phase() const;
  [[nodiscard]] bool in_result_phase() const;
  [[nodiscard]] bool is_past(std::uint32_t id) const;
  [[nodiscard]] bool skips_sweep() const;

  NegotiationOptions options_;
  SerdesControl& serdes_;
  NegotiationOutput& output_;
  NegotiationVariables vars_;
  Sweep sweep_;
  NegotiationCounters counters_;
};

}  // namespace weft::phy
