// SPDX-License-Identifier: Apache-2.0
// The rules of firewalls that lab files and commands name, read from their files, at the beginning
// and anew while they are at work.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"
#include "fabric/lab_service.h"
#include "service/firewall/firewall.h"
#include "service/firewall/program.h"

namespace weft::daemon {

// Made ready for so many instances. `file` empty: the usual rules, by which what nobody has begun
// does not go on. Errors name the file, with line and column where one of these is wrong.
[[nodiscard]] Expected<std::vector<service::firewall::Program>> read_programs(
    const std::string& file, std::size_t instances);

// The rules of a firewall's instances as its file has them now. Errors: it has no file, besides.
[[nodiscard]] Expected<std::vector<service::firewall::Program>> read_programs_anew(
    const fabric::LabService& service, std::size_t instances);

// Other rules are in force.
struct FirewallReload {
  std::size_t rules = 0;
  std::size_t connections = 0;  // that go on
  std::size_t forgotten = 0;    // that the new rules would not have let begin
};
[[nodiscard]] FirewallReload exchange(service::firewall::Firewall& firewall,
                                      service::firewall::Program program, Time now);
// "12 rules; 3 connections go on, 1 is forgotten".
[[nodiscard]] std::string to_string(const FirewallReload& reload);

}  // namespace weft::daemon
