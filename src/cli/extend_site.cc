// SPDX-License-Identifier: Apache-2.0
#include "cli/extend_site.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "cli/program.h"
#include "cli/suggest.h"

namespace weft::cli {

Expected<std::string> part_of_extenders(const fabric::Lab& lab, const std::string& file,
                                        const std::string& wanted) {
  if (lab.extenders.empty()) {
    return fail(std::errc::invalid_argument,
                fmt::format("{}: lab {} has no extender: it needs a table [extender.NAME]", file,
                            lab.name));
  }
  if (lab.parts.empty()) {
    if (lab.nodes.size() == lab.extenders.size()) return std::string();
    return fail(std::errc::invalid_argument,
                fmt::format("{}: the extenders of lab {} run where all of it does, with weft up; "
                            "for a process of their own give them a part (part = \"NAME\", and "
                            "[part] with it and another one)",
                            file, lab.name));
  }
  std::set<std::string_view> parts;
  for (const fabric::LabExtender& extender : lab.extenders)
    parts.insert(lab.parts[lab.nodes[extender.node].part].name);
  if (wanted.empty() && parts.size() == 1) return std::string(*parts.begin());
  if (parts.contains(wanted)) return wanted;
  return fail(std::errc::invalid_argument,
              wanted.empty() ? fmt::format("lab {} has extenders in several parts: say with --part "
                                           "which to run ({})",
                                           lab.name, fmt::join(parts, ", "))
                             : fmt::format("--part {}: the extenders of lab {} are in {}", wanted,
                                           lab.name, fmt::join(parts, ", ")));
}

namespace {

int extend_site(const ExtendOptions& plan, UpOptions site) {
  if (plan != ExtendOptions{}) {
    return refuse("extend", fmt::format("{}: a lab file runs; --json and what is of a plan go "
                                        "without one",
                                        site.file));
  }
  site.extend = true;
  return up(site);
}

int key_of_site(const ExtendOptions& plan, SiteKeyOptions key) {
  const std::vector<std::string> actions{"keygen", "fingerprint"};
  if (std::find(actions.begin(), actions.end(), key.action) == actions.end()) {
    return refuse("extend", fmt::format("{}: no such action{} (there are keygen and fingerprint), "
                                        "nor a lab file, as in site.toml",
                                        key.action, did_you_mean(key.action, actions)));
  }
  key.json = plan.json;
  ExtendOptions rest = plan;
  rest.json = false;
  if (rest != ExtendOptions{}) {
    return refuse("extend", fmt::format("{}: takes a file, and nothing of a plan", key.action));
  }
  return site_key(key);
}

}  // namespace

int extend_command(const ExtendOptions& plan, const SiteKeyOptions& key, const UpOptions& site) {
  if (key.file.empty() && key.action.find_first_of("./") != key.action.npos) {
    UpOptions named = site;
    named.file = key.action;
    return extend_site(plan, named);
  }
  if (site != UpOptions{}) {
    return refuse("extend", "--part and --detach are for the extenders of a lab file: name it");
  }
  if (!key.action.empty()) return key_of_site(plan, key);
  if (plan.plan) return extend(plan);
  return refuse("extend",
                "say what to do: name a lab file, or --plan is required, or keygen or fingerprint");
}

}  // namespace weft::cli
