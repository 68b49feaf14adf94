// SPDX-License-Identifier: Apache-2.0
// Makes the services that lab files name, wherever they work: in the daemon, in processes of their
// own, on servers.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string_view>

#include "base/entropy.h"
#include "base/error.h"
#include "daemon/service/firewall_log.h"
#include "daemon/service/place_ports.h"
#include "fabric/lab.h"
#include "service/capture/capture.h"
#include "service/firewall/firewall.h"
#include "service/runtime.h"
#include "service/service.h"

namespace weft::daemon {

// Whether it is made here; that of a process is the process's own.
[[nodiscard]] bool works_in_daemon(const fabric::LabService& service);

struct MadeService {
  std::unique_ptr<service::CaptureRing> files{};  // of a capture, which it outlives
  std::unique_ptr<FirewallLines> log{};           // of a firewall, which it outlives
  std::unique_ptr<service::Service> service{};
  // Wants to know which subnets its ports are in; empty: it does not.
  InSubnet in_subnet{};
  // A firewall that packets are shown to before; null: none.
  std::unique_ptr<service::Service> before{};
  // The one of these two that is a firewall, whose rules can be exchanged; null: neither is.
  service::firewall::Firewall* firewall = nullptr;
  // What is to be told of it beside its counters (docs/cli.md); empty: nothing. While it is there.
  std::function<nlohmann::json()> describe{};
};

// One at this port. Errors: its rules cannot be read, with file, line and column; its files cannot
// be written; a type that Weft has not. `entropy` and `log` outlive it.
[[nodiscard]] Expected<MadeService> make_service(const fabric::Lab& lab,
                                                 const fabric::LabService& service,
                                                 const fabric::LabPort& at, Entropy& entropy,
                                                 FirewallLog& log);

// The types that work outside of the daemon too: in a process on a node of a lab, or on a server.
[[nodiscard]] std::span<const std::string_view> types_outside();
// One in a process of its own, or on a server. No lab is known there: `at` is for messages and the
// names of files. Errors: those of make_service(); a type that does not work there, or a tenant of
// a limiter by the name of a node.
[[nodiscard]] Expected<MadeService> make_service_outside(const fabric::LabService& service,
                                                         const fabric::LabPort& at,
                                                         Entropy& entropy, FirewallLog& log);

// What becomes of packets besides: all of a chain but its services.
[[nodiscard]] service::Chain chain_of(const fabric::LabService& service);

}  // namespace weft::daemon
