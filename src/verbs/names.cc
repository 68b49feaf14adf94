// SPDX-License-Identifier: Apache-2.0
// Names of enumerators and conversions of rates.
#include <array>
#include <cstddef>

#include "verbs/abi.h"

namespace {

constexpr const char* kUnknown = "unknown";

template <std::size_t kSize>
const char* name_at(const std::array<const char*, kSize>& names, int value) {
  if (value < 0 || static_cast<std::size_t>(value) >= kSize) return kUnknown;
  const char* const name = names[static_cast<std::size_t>(value)];
  return name != nullptr ? name : kUnknown;
}

constexpr std::array<const char*, IBV_WC_TM_RNDV_INCOMPLETE + 1> kStatus{
    "success",
    "local length error",
    "local QP operation error",
    "local EE context operation error",
    "local protection error",
    "Work Request Flushed Error",
    "memory management operation error",
    "bad response error",
    "local access error",
    "remote invalid request error",
    "remote access error",
    "remote operation error",
    "transport retry counter exceeded",
    "RNR retry counter exceeded",
    "local RDD violation error",
    "remote invalid RD request",
    "aborted error",
    "invalid EE context number",
    "invalid EE context state",
    "fatal error",
    "response timeout error",
    "general error",
    "TM error",
    "TM software rendezvous",
};

constexpr std::array<const char*, IBV_EVENT_WQ_FATAL + 1> kEvents{
    "CQ error",
    "local work queue catastrophic error",
    "invalid request local work queue error",
    "local access violation work queue error",
    "communication established",
    "send queue drained",
    "path migrated",
    "path migration request error",
    "local catastrophic error",
    "port active",
    "port error",
    "LID change",
    "P_Key change",
    "SM change",
    "SRQ catastrophic error",
    "SRQ limit reached",
    "last WQE reached",
    "client reregistration",
    "GID table change",
    "WQ fatal",
};

constexpr std::array<const char*, IBV_NODE_UNSPECIFIED + 1> kNamesNodes{
    nullptr,
    "InfiniBand channel adapter",
    "InfiniBand switch",
    "InfiniBand router",
    "iWARP NIC",
    "usNIC",
    "usNIC UDP",
    "unspecified",
};

constexpr std::array<const char*, IBV_PORT_ACTIVE_DEFER + 1> kPortStates{
    "no state change (NOP)", "down", "init", "armed", "active", "active defer",
};

struct Rate {
  ibv_rate rate;
  int mult;  // of 2.5 Gb/s; kNone where there is no whole one
  int mbps;  // as the lanes signal, so 14 Gb/s FDR is 14,062
};
constexpr int kNone = -1;

constexpr Rate kRates[]{{IBV_RATE_2_5_GBPS, 1, 2'500},       {IBV_RATE_5_GBPS, 2, 5'000},
                        {IBV_RATE_10_GBPS, 4, 10'000},       {IBV_RATE_20_GBPS, 8, 20'000},
                        {IBV_RATE_30_GBPS, 12, 30'000},      {IBV_RATE_40_GBPS, 16, 40'000},
                        {IBV_RATE_60_GBPS, 24, 60'000},      {IBV_RATE_80_GBPS, 32, 80'000},
                        {IBV_RATE_120_GBPS, 48, 120'000},    {IBV_RATE_14_GBPS, kNone, 14'062},
                        {IBV_RATE_56_GBPS, kNone, 56'250},   {IBV_RATE_112_GBPS, kNone, 112'500},
                        {IBV_RATE_168_GBPS, kNone, 168'750}, {IBV_RATE_25_GBPS, kNone, 25'781},
                        {IBV_RATE_100_GBPS, kNone, 103'125}, {IBV_RATE_200_GBPS, kNone, 206'250},
                        {IBV_RATE_300_GBPS, kNone, 309'375}, {IBV_RATE_28_GBPS, 11, 28'125},
                        {IBV_RATE_50_GBPS, 20, 53'125},      {IBV_RATE_400_GBPS, 160, 425'000},
                        {IBV_RATE_600_GBPS, 240, 637'500},   {IBV_RATE_800_GBPS, 320, 850'000},
                        {IBV_RATE_1200_GBPS, 480, 1'275'000}};

}  // namespace

const char* ibv_wc_status_str(ibv_wc_status status) {
  return name_at(kStatus, status);
}

const char* ibv_event_type_str(ibv_event_type event) {
  return name_at(kEvents, event);
}

const char* ibv_node_type_str(ibv_node_type node_type) {
  return name_at(kNamesNodes, node_type);
}

const char* ibv_port_state_str(ibv_port_state port_state) {
  return name_at(kPortStates, port_state);
}

int ibv_rate_to_mult(ibv_rate rate) {
  for (const Rate& row : kRates) {
    if (row.rate == rate) return row.mult;
  }
  return kNone;
}

ibv_rate mult_to_ibv_rate(int mult) {
  for (const Rate& row : kRates) {
    if (row.mult == mult && mult != kNone) return row.rate;
  }
  return IBV_RATE_MAX;
}

int ibv_rate_to_mbps(ibv_rate rate) {
  for (const Rate& row : kRates) {
    if (row.rate == rate) return row.mbps;
  }
  return kNone;
}

ibv_rate mbps_to_ibv_rate(int mbps) {
  for (const Rate& row : kRates) {
    if (row.mbps == mbps) return row.rate;
  }
  return IBV_RATE_MAX;
}
