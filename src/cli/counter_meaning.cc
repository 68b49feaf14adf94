// SPDX-License-Identifier: Apache-2.0
#include "cli/counter_meaning.h"

#include <algorithm>
#include <array>

#include "daemon/agent_report.h"
#include "hca/connected_counters.h"
#include "hca/ud_counters.h"
#include "port/ring/ring_counters.h"
#include "port/udp/udp_counters.h"

namespace weft::cli {
namespace {

constexpr std::array<std::string_view, 34> kOrdinary{"tx_packets",
                                                     "tx_bytes",
                                                     "tx_acks",
                                                     "tx_probes",
                                                     "tx_keep_alives",
                                                     "tx_window_stalls",
                                                     "tx_credit_stalls",
                                                     "tx_credits",
                                                     "rx_packets",
                                                     "rx_bytes",
                                                     "rx_acks",
                                                     "rx_buffered",
                                                     "rx_multicast",
                                                     "rx_credits",
                                                     "udp_tx_calls",
                                                     "udp_tx_blocked",
                                                     "udp_rx_calls",
                                                     "udp_rx_datagrams",
                                                     "ring_tx_packets",
                                                     "ring_tx_blocked",
                                                     "ring_rx_packets",
                                                     "cm_commands",
                                                     "cm_commands_refused",
                                                     "cm_events",
                                                     "cm_tx_mads",
                                                     "cm_tx_rejects",
                                                     "cm_rx_mads",
                                                     "cm_rx_repeated",
                                                     "qp1_tx_mads",
                                                     "qp1_rx_mads",
                                                     "agent_sessions",
                                                     "agent_sessions_ended",
                                                     "cm_refused_no_listener",
                                                     "cm_requests_unheard"};

}  // namespace

std::vector<std::span<const CounterInfo>> all_counters() {
  std::vector<std::span<const CounterInfo>> all{hca::kConnectedCounters, hca::kUdCounters,
                                                port::kUdpCounters, port::kRingCounters};
  const auto of_agents = daemon::reported_counters();
  all.insert(all.end(), of_agents.begin(), of_agents.end());
  return all;
}

std::span<const std::string_view> ordinary_counters() {
  return kOrdinary;
}

std::string_view meaning_of(std::string_view counter) {
  for (const auto layer : all_counters()) {
    for (const CounterInfo& info : layer) {
      if (info.name == counter) return info.help;
    }
  }
  return "";
}

bool is_ordinary(std::string_view counter) {
  return std::find(kOrdinary.begin(), kOrdinary.end(), counter) != kOrdinary.end();
}

}  // namespace weft::cli
