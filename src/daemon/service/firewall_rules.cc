// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/firewall_rules.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "io/text_file.h"
#include "service/firewall/rule_set.h"

namespace weft::daemon {
namespace {

namespace fw = service::firewall;

// Rules of a firewall that has none of its own.
constexpr std::string_view kUsualRules = R"(table fabric {
  chain forward {
    type filter hook forward priority 0; policy accept;
    ct state invalid drop
  }
}
)";

std::string counted(std::size_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

}  // namespace

Expected<std::vector<fw::Program>> read_programs(const std::string& file, std::size_t instances) {
  std::string text(kUsualRules);
  if (!file.empty()) {
    auto read = io::read_text_file(file, fw::kMostText);
    if (!read) return tl::unexpected(read.error());
    text = std::move(*read);
  }
  const auto rules = fw::RuleSet::parse(text, file);
  if (!rules) return tl::unexpected(rules.error());
  std::vector<fw::Program> programs;
  programs.reserve(instances);
  while (programs.size() < instances) {
    auto program = fw::Program::compile(*rules);
    if (!program) {
      return fail(program.error().code, fmt::format("{}: {}", file, program.error().message));
    }
    programs.push_back(std::move(*program));
  }
  return programs;
}

Expected<std::vector<fw::Program>> read_programs_anew(const fabric::LabService& service,
                                                      std::size_t instances) {
  const bool may_have_rules = service.type == "firewall" || service.type == "router";
  if (!may_have_rules || service.rules.empty()) {
    return fail(std::errc::operation_not_supported,
                fmt::format("{} has no file of rules{}", service.name,
                            may_have_rules ? "" : fmt::format(": it is a {}", service.type)));
  }
  return read_programs(service.rules, instances);
}

FirewallReload exchange(fw::Firewall& firewall, fw::Program program, Time now) {
  FirewallReload out{.rules = program.size()};
  out.forgotten = firewall.reload(std::move(program), now);
  out.connections = firewall.connections();
  return out;
}

std::string to_string(const FirewallReload& reload) {
  return fmt::format("{}; {} go{} on, {} {} forgotten", counted(reload.rules, "rule"),
                     counted(reload.connections, "connection"), reload.connections == 1 ? "es" : "",
                     reload.forgotten, reload.forgotten == 1 ? "is" : "are");
}

}  // namespace weft::daemon
