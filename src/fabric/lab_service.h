// SPDX-License-Identifier: Apache-2.0
// Data services of a lab, and the rules that lead paths through them (docs/data-services.md).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/gid_prefix.h"
#include "base/ids.h"
#include "fabric/lab_external.h"
#include "fabric/lab_service_kinds.h"

namespace weft::fabric {

// What a service does. Of a process, that is its own business.
inline constexpr std::array<std::string_view, 8> kServiceTypes{
    "firewall", "monitor", "capture", "balancer", "limiter", "router", "process", "external"};

struct LabServiceMember {
  LabPort at;
  std::vector<Lid> lids;  // its service LIDs; none: the subnet manager chooses
  friend bool operator==(const LabServiceMember&, const LabServiceMember&) = default;
};
using LabServiceInstance = std::vector<LabServiceMember>;  // one, or a pair

struct LabService {
  // Which packets that arrive at its ports are its.
  enum class Select : std::uint8_t {
    kLids,    // to its service LIDs
    kGids,    // whose GRH has one of its DGIDs
    kOthers,  // all that are not to the port's own LIDs or GIDs
    kCopies,  // copies of what is for the port itself: a tap, which forwards nothing
  };
  std::string name;
  std::string type;  // of kServiceTypes
  std::vector<LabServiceInstance> instances;
  bool both_work = false;  // of a pair; else one stands by
  bool by_load = false;    // how paths are spread over instances; else by their ends
  bool bypass = false;     // paths are direct while no instance is well; else there are none
  Select select = Select::kLids;
  std::vector<GidPrefix> gids;  // with kGids
  // Of what works in the daemon: P_Keys that packets come with, and what they go on with; whether
  // neither end sees the other's QP numbers and Q_Keys.
  std::vector<std::pair<PKey, PKey>> pkeys;
  bool hide_queue_pairs = false;
  std::string mirror_to;  // who gets copies of what it drops; empty: nobody
  // In which it works, each with flows of its own; 1: in that of the daemon, with all else there.
  unsigned threads = 1;
  // Of one type alone.
  std::string rules;     // file of a firewall's; empty: its usual ones
  bool dry_run = false;  // of a firewall: what its rules refuse goes on, and is counted
  LabMonitor monitor;
  LabCapture capture;
  LabLimiter limiter;
  LabBalancer balancer;
  LabExternal external;
  friend bool operator==(const LabService&, const LabService&) = default;

  // It works in threads of its own in the daemon, each of which is a program on the adapter.
  [[nodiscard]] bool has_threads() const { return threads > 1; }
  // It works on a server outside of the fabric.
  [[nodiscard]] bool is_external() const { return type == "external"; }
  // It sees packets, and no path leads through it.
  [[nodiscard]] bool is_tap() const { return select == Select::kCopies; }
};

// Ends of paths: all that any of these says; nothing: every one.
struct LabPolicyEnds {
  std::vector<std::string> nodes;  // all their ports
  std::vector<LabPort> ports;
  std::vector<GidPrefix> gids;  // a GID is a prefix of 128 bits
  std::vector<Lid> lids;        // of who asks alone
  friend bool operator==(const LabPolicyEnds&, const LabPolicyEnds&) = default;
  [[nodiscard]] bool is_any() const {
    return nodes.empty() && ports.empty() && gids.empty() && lids.empty();
  }
};

struct LabPolicy {
  std::string name;  // may be empty
  LabPolicyEnds from;
  LabPolicyEnds to;
  LabPolicyEnds requester;
  std::optional<std::pair<std::uint64_t, std::uint64_t>> service_ids;  // the last one with it
  std::optional<PKey> pkey;
  std::optional<Sl> sl;
  std::optional<std::uint16_t> qos_class;
  std::vector<std::string> through;  // services; none: what `refused` says
  bool refused = false;              // there is no such path; else it is direct
  std::optional<Sl> answer_sl;       // that the path gets
  bool symmetric = false;
  friend bool operator==(const LabPolicy&, const LabPolicy&) = default;
};

// What a lab has of both, in the order of its file.
struct LabServices {
  std::vector<LabService> services;
  std::vector<LabPolicy> policies;
  // Where rules are instead of in the lab file, as that has it; empty: there.
  std::string policy_file;
  friend bool operator==(const LabServices&, const LabServices&) = default;

  [[nodiscard]] const LabService* find(std::string_view name) const;
};

}  // namespace weft::fabric
