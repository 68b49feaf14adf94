// SPDX-License-Identifier: Apache-2.0
#include "phy/conformance/requirements.h"

#include <algorithm>
#include <array>

namespace weft::phy::conformance {
namespace {

// What a message looks like.
constexpr auto kOfMessages = std::to_array<Requirement>({
    {"class", "2.1.3", "A message is an SMP with a directed route: its class is 0x81.",
     check_class},
    {"method", "2.1.3", "The method of a message is Send, 0x03.", check_method},
    {"attribute", "2.1.3", "The attribute of a message is 0x02C9.", check_attribute},
    {"modifier", "2.1.3", "The attribute modifier of a message is 0x000002C9.", check_modifier},
    {"lids", "2.1.3", "The LIDs of a message are permissive.", check_lids},
    {"lane", "2.1.3", "A message travels on VL15.", check_lane},
    {"queue-pair", "2.1.3", "A message is from queue pair 0 to queue pair 0.", check_queue_pair},
    {"reserved", "2.1.3, tables 1 and 2", "Reserved bits and bytes are sent as zero.",
     check_reserved},
    {"bandwidth", "2.1.3, table 2", "The sustained DDR receive bandwidth is 5000.",
     check_bandwidth},
    {"iterations", "2.1.3, table 2",
     "The number of iterations is not 0, and no more than can be chosen from: 9.",
     check_iterations},
    {"chosen-iteration", "2.1.3, table 2",
     "The chosen iteration is from 0 to 8, and one of those that there were.",
     check_chosen_iteration},
    {"no-sweep-set", "2.1.3, table 2",
     "Who wants no sweep sets NoSweep in every message and acknowledgement.", check_no_sweep_set},
});

// Capabilities.
constexpr auto kOfCapabilities = std::to_array<Requirement>({
    {"starts-at-sdr", "2.1.1, 1", "The link comes up at SDR, and the negotiation begins there.",
     check_starts_at_sdr},
    {"advertises", "2.1.1, 2", "A node advertises its capabilities once the link is up.",
     check_advertises},
    {"acknowledges", "2.1.1, 3",
     "A node acknowledges the advertisement of its peer with its own capabilities.",
     check_acknowledges},
    {"repeats-capabilities", "2.1.2, figure 2",
     "An acknowledgement says the same capabilities as the node's advertisement.",
     check_repeats_capabilities},
    {"answers-only", "2.1.3, table 2",
     "The Ack bit is set in answers to a message of the same kind, and in no other.",
     check_answers_only},
    {"forbidden-fields", "2.1.3, table 2",
     "A message is not acknowledged that has 0 iterations, more than there can be, "
     "another bandwidth, method or modifier.",
     check_forbidden_fields},
    {"other-attributes", "2.1.3", "An SMP with another attribute is not taken for a message.",
     check_other_attributes},
    {"not-capable", "2.1.3, table 2",
     "With a peer that says 5G = 0 a node neither sweeps nor leaves SDR.", check_not_capable},
    {"unanswered", "2.1.1, 2", "A node that is not answered neither sweeps nor leaves SDR.",
     check_unanswered},
});

// The sweep.
constexpr auto kOfSweep = std::to_array<Requirement>({
    {"sweeps", "2.1.1, 4", "Nodes that both are capable go to DDR, untrained, to sweep.",
     check_sweeps},
    {"skips-sweep", "2.1.1, 4", "When either node asked for it, the sweep is skipped.",
     check_skips_sweep},
    {"sweeps-unacknowledged", "2.1.2, figure 2",
     "A node that has not been acknowledged, but knows its peer's capabilities, goes on.",
     check_sweeps_unacknowledged},
    {"sweep-iterations", "2.1.3, table 2",
     "A sweep has as many iterations as the node that wants more of them has said.",
     check_sweep_iterations},
    {"sweep-duration", "2.1.3, table 2",
     "An iteration takes as long as the node that needs longer has said.", check_sweep_duration},
    {"sweep-in-turn", "2.1.1, 4",
     "A node transmits its configurations one after the other, each before any again.",
     check_sweep_in_turn},
    {"sweep-receives", "2.2, table 4",
     "In each iteration a node tries all its receive configurations, in the time that it "
     "has asked for.",
     check_sweep_receives},
    {"returns", "2.1.1, 5", "After the sweep a node goes back to SDR.", check_returns},
});

// Results.
constexpr auto kOfResults = std::to_array<Requirement>({
    {"serdes-configured", "2.1.3, table 2",
     "SerDesConf is set when the sweep is over, and in all messages from then on.",
     check_serdes_configured},
    {"advertises-result", "2.1.1, 6",
     "Back at SDR a node advertises which iteration it has chosen.", check_advertises_result},
    {"chosen-works", "2.1.1, 4 and 6",
     "A node chooses an iteration in which what it received was free of errors, if there "
     "was one.",
     check_chosen_works},
    {"acknowledges-result", "2.1.1, 7", "A node acknowledges the result of its peer.",
     check_acknowledges_result},
    {"repeats-result", "2.1.2, figure 2",
     "An acknowledgement says the same result as the node's advertisement.", check_repeats_result},
    {"transmits-as-chosen", "2.1.1, 7",
     "A node goes to DDR transmitting as in the iteration that its peer chose.",
     check_transmits_as_chosen},
    {"receives-as-found", "2.1.1, 7",
     "A node goes to DDR receiving with what it found good in the iteration it chose.",
     check_receives_as_found},
    {"goes-to-ddr", "2.1.1, 8", "When both have found settings, a node goes to DDR.",
     check_goes_to_ddr},
    {"ddr-unacknowledged", "2.1.2, figure 2",
     "A node whose result has not been acknowledged, but that knows its peer's, goes to "
     "DDR.",
     check_ddr_unacknowledged},
    {"stays-at-sdr", "2.1.1, 8", "When either has found no settings, a node stays at SDR.",
     check_stays_at_sdr},
});

// Counts, times, and what subnet management is told.
constexpr auto kOfCounts = std::to_array<Requirement>({
    {"burst", "2.2", "A transmission has BurstLen copies.", check_burst},
    {"retries", "2.2",
     "A request is sent MaxRetry times, unless it is answered before, and not more often.",
     check_retries},
    {"ack-retries", "2.2", "An acknowledgement is sent MaxRetry times at most.", check_ack_retries},
    {"xmit-time-out", "2.2",
     "An acknowledgement is waited for XmitTimeOut long, before a request is repeated.",
     check_xmit_time_out},
    {"answered", "2.2", "A request that was acknowledged is not repeated.", check_answered},
    {"ddr-time-out", "2.2",
     "A node whose link has not come up at DDR after DDRTimeOut goes back to SDR.",
     check_ddr_time_out},
    {"polling", "2.2",
     "A subnet manager is told LinkPhyState Polling until the negotiation is over.", check_polling},
    {"port-info", "2.1.4, table 3",
     "LinkSpeedSupported and LinkSpeedEnabled are 3, LinkSpeedActive is the speed there is.",
     check_port_info},
});

constexpr auto kRequirements = [] {
  std::array<Requirement, kOfMessages.size() + kOfCapabilities.size() + kOfSweep.size() +
                              kOfResults.size() + kOfCounts.size()>
      all{};
  auto at = std::copy(kOfMessages.begin(), kOfMessages.end(), all.begin());
  at = std::copy(kOfCapabilities.begin(), kOfCapabilities.end(), at);
  at = std::copy(kOfSweep.begin(), kOfSweep.end(), at);
  at = std::copy(kOfResults.begin(), kOfResults.end(), at);
  std::copy(kOfCounts.begin(), kOfCounts.end(), at);
  return all;
}();

}  // namespace

std::span<const Requirement> requirements() {
  return kRequirements;
}

}  // namespace weft::phy::conformance
