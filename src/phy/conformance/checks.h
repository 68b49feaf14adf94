// SPDX-License-Identifier: Apache-2.0
// Whether a node kept to a requirement in one negotiation: a function for each, of those that
// requirements.cc lists. Where what it is about did not come up, or could not be seen, it was not
// exercised.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "phy/conformance/story.h"

namespace weft::phy::conformance {

enum class Verdict : std::uint8_t { kNotExercised, kPass, kFail };

struct Outcome {
  Verdict verdict = Verdict::kNotExercised;
  std::string seen{};  // with its time

  static Outcome pass(std::string seen) { return {Verdict::kPass, std::move(seen)}; }
  static Outcome fail(std::string seen) { return {Verdict::kFail, std::move(seen)}; }
};

// The form of messages (clause 2.1.3): format_checks.cc.
Outcome check_class(const Episode& episode);
Outcome check_lids(const Episode& episode);
Outcome check_lane(const Episode& episode);
Outcome check_queue_pair(const Episode& episode);
Outcome check_method(const Episode& episode);
Outcome check_attribute(const Episode& episode);
Outcome check_modifier(const Episode& episode);
Outcome check_reserved(const Episode& episode);
Outcome check_bandwidth(const Episode& episode);
Outcome check_iterations(const Episode& episode);
Outcome check_chosen_iteration(const Episode& episode);
Outcome check_no_sweep_set(const Episode& episode);
Outcome check_forbidden_fields(const Episode& episode);
Outcome check_other_attributes(const Episode& episode);

// Who says what when (clauses 2.1.1 to 2.1.3): exchange_checks.cc.
Outcome check_advertises(const Episode& episode);
Outcome check_acknowledges(const Episode& episode);
Outcome check_repeats_capabilities(const Episode& episode);
Outcome check_advertises_result(const Episode& episode);
Outcome check_acknowledges_result(const Episode& episode);
Outcome check_repeats_result(const Episode& episode);
Outcome check_answers_only(const Episode& episode);
Outcome check_serdes_configured(const Episode& episode);

// Where the link goes (clauses 2.1.1, 2.1.2, 2.1.4, 2.2): link_checks.cc.
Outcome check_starts_at_sdr(const Episode& episode);
Outcome check_sweeps(const Episode& episode);
Outcome check_skips_sweep(const Episode& episode);
Outcome check_sweeps_unacknowledged(const Episode& episode);
Outcome check_returns(const Episode& episode);
Outcome check_goes_to_ddr(const Episode& episode);
Outcome check_ddr_unacknowledged(const Episode& episode);
Outcome check_stays_at_sdr(const Episode& episode);
Outcome check_not_capable(const Episode& episode);
Outcome check_unanswered(const Episode& episode);
Outcome check_polling(const Episode& episode);
Outcome check_port_info(const Episode& episode);

// The trial of settings (clauses 2.1.1, 2.1.3 and 2.2): sweep_checks.cc.
Outcome check_sweep_iterations(const Episode& episode);
Outcome check_sweep_duration(const Episode& episode);
Outcome check_sweep_in_turn(const Episode& episode);
Outcome check_sweep_receives(const Episode& episode);
Outcome check_chosen_works(const Episode& episode);
Outcome check_transmits_as_chosen(const Episode& episode);
Outcome check_receives_as_found(const Episode& episode);

// Counts and times (clause 2.2): timing_checks.cc.
Outcome check_burst(const Episode& episode);
Outcome check_retries(const Episode& episode);
Outcome check_ack_retries(const Episode& episode);
Outcome check_xmit_time_out(const Episode& episode);
Outcome check_answered(const Episode& episode);
Outcome check_ddr_time_out(const Episode& episode);

}  // namespace weft::phy::conformance
