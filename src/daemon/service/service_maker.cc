// SPDX-License-Identifier: Apache-2.0
#include "daemon/service/service_maker.h"

#include <fmt/format.h>

#include <utility>

#include "io/text_file.h"
#include "service/firewall/firewall.h"
#include "service/firewall/rule_set.h"

namespace weft::daemon {
namespace {

using fabric::LabService;
namespace fw = service::firewall;

// Rules of a firewall that has none of its own: what nobody has begun does not go on.
constexpr std::string_view kUsualRules = R"(table fabric {
  chain forward {
    type filter hook forward priority 0; policy accept;
    ct state invalid drop
  }
}
)";
constexpr std::size_t kMostBytes = std::size_t{16} << 20;

Expected<std::unique_ptr<service::Service>> make_firewall(const LabService& service) {
  std::string text(kUsualRules);
  if (!service.rules.empty()) {
    auto read = io::read_text_file(service.rules, kMostBytes);
    if (!read) return tl::unexpected(read.error());
    text = std::move(*read);
  }
  auto rules = fw::RuleSet::parse(text, service.rules);
  if (!rules) return tl::unexpected(rules.error());
  auto program = fw::Program::compile(std::move(*rules));
  if (!program) return tl::unexpected(program.error());
  return std::make_unique<fw::Firewall>(std::move(*program), fw::FirewallOptions{});
}

}  // namespace

bool works_in_daemon(const LabService& service) {
  return service.type != "process";
}

Expected<std::unique_ptr<service::Service>> make_service(const LabService& service) {
  if (service.type == "firewall") return make_firewall(service);
  return fail(std::errc::not_supported,
              fmt::format("service {}: there is no {} yet; type = \"firewall\" works here, and "
                          "type = \"process\" is a process of its own",
                          service.name, service.type));
}

}  // namespace weft::daemon
