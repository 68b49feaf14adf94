// SPDX-License-Identifier: Apache-2.0
#include "cli/conform.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/lab_client.h"
#include "cli/report_view.h"
#include "cli/style.h"
#include "cli/table.h"
#include "io/capture_reader.h"
#include "io/text_file.h"
#include "phy/conformance/captured.h"
#include "phy/conformance/conformance.h"
#include "phy/conformance/replay.h"

namespace weft::cli {
namespace {

namespace kit = phy::conformance;
using Json = nlohmann::json;
using Judgement = std::vector<kit::Finding>;

constexpr std::size_t kMostCaptured = std::size_t{1} << 30;
// By how much the times of a capture or of a lab may be off.
constexpr Duration kSlack = 100us;

std::size_t count_of(const Judgement& findings, kit::Verdict verdict) {
  return static_cast<std::size_t>(std::count_if(
      findings.begin(), findings.end(),
      [verdict](const kit::Finding& finding) { return finding.outcome.verdict == verdict; }));
}

Json counts_json(const Judgement& findings) {
  return {{"pass", count_of(findings, kit::Verdict::kPass)},
          {"fail", count_of(findings, kit::Verdict::kFail)},
          {"not_exercised", count_of(findings, kit::Verdict::kNotExercised)}};
}

Json findings_json(const Judgement& findings) {
  Json out = counts_json(findings);
  out["requirements"] = Json::array();
  for (const kit::Finding& finding : findings) {
    const kit::Requirement& requirement = *finding.requirement;
    out["requirements"].push_back({{"id", requirement.id},
                                   {"clause", requirement.clause},
                                   {"text", requirement.text},
                                   {"verdict", kit::verdict_name(finding.outcome.verdict)},
                                   {"seen", finding.outcome.seen}});
  }
  return out;
}

void print_findings(const std::string& who, const Judgement& findings) {
  const Style style = Style::for_stream(stdout);
  Table table({"VERDICT", "REQUIREMENT", "CLAUSE", "SEEN"});
  for (const kit::Finding& finding : findings) {
    table.add({std::string(kit::verdict_name(finding.outcome.verdict)),
               std::string(finding.requirement->id), std::string(finding.requirement->clause),
               finding.outcome.seen});
  }
  fmt::print("{}", table.to_string(style));
  for (const kit::Finding& finding : findings) {
    if (finding.outcome.verdict != kit::Verdict::kFail) continue;
    fmt::print("{} {}: {} ({})\n", style.red("fail"), finding.requirement->id,
               finding.requirement->text, finding.requirement->clause);
  }
  fmt::print("{}: {} of {} requirements pass, {} fail, {} were not exercised\n", style.bold(who),
             count_of(findings, kit::Verdict::kPass), findings.size(),
             count_of(findings, kit::Verdict::kFail),
             count_of(findings, kit::Verdict::kNotExercised));
}

int status_of(std::size_t failed) {
  return failed == 0 ? kOk : kProblem;
}

Expected<std::vector<kit::Role>> roles_of(const std::string& word) {
  if (word == "requester") return std::vector{kit::Role::kRequester};
  if (word == "responder") return std::vector{kit::Role::kResponder};
  if (word == "both") return std::vector{kit::Role::kRequester, kit::Role::kResponder};
  return fail(std::errc::invalid_argument,
              fmt::format("--role {}: it is requester, responder or both", word));
}

// Weft's own port, against the scripted peer.
int conform_port(const LinkOptions& options) {
  const std::string role = options.role.empty() ? "both" : options.role;
  const auto roles = roles_of(role);
  if (!roles) return refuse("link", roles.error().message);
  const kit::ConformanceReport report = kit::run_conformance(kit::make_weft_port, *roles, {});
  if (options.json) {
    Json out = findings_json(report.findings);
    out["role"] = role;
    out["scenarios"] = Json::array();
    for (const kit::ScenarioReport& scenario : report.scenarios) {
      Json row = counts_json(scenario.findings);
      row["id"] = scenario.id;
      row["text"] = scenario.text;
      row["role"] = kit::role_name(scenario.role);
      out["scenarios"].push_back(std::move(row));
    }
    print_json(out);
  } else {
    Table table({"SCENARIO", "ROLE", "PASS", "FAIL", "WHAT HAPPENS"});
    for (const kit::ScenarioReport& scenario : report.scenarios) {
      table.add({std::string(scenario.id), std::string(kit::role_name(scenario.role)),
                 fmt::to_string(count_of(scenario.findings, kit::Verdict::kPass)),
                 fmt::to_string(count_of(scenario.findings, kit::Verdict::kFail)),
                 std::string(scenario.text)});
    }
    fmt::print("{}\n", table.to_string(Style::for_stream(stdout)));
    print_findings("Weft's port as " + (role == "both" ? "requester and responder" : role),
                   report.findings);
  }
  return status_of(kit::failures(report.findings));
}

// Both ends of an exchange.
int report_ends(const kit::Exchange& exchange, const std::array<std::string, 2>& names,
                std::array<kit::Rules, 2> rules, Json more, bool json) {
  std::size_t failed = 0;
  more["ends"] = Json::array();
  for (unsigned node = 0; node < 2; ++node) {
    rules[node].slack = kSlack;
    const Judgement findings = kit::judge(exchange, node, rules[node]);
    failed += kit::failures(findings);
    if (!json) {
      if (node != 0) fmt::print("\n");
      print_findings(printable(names[node]), findings);
      continue;
    }
    Json end = findings_json(findings);
    end["at"] = names[node];
    more["ends"].push_back(std::move(end));
  }
  if (json) print_json(more);
  return status_of(failed);
}

struct CaptureEnds {
  std::array<std::uint32_t, 2> interfaces{};
  std::array<std::string, 2> names{};
};

// Each direction of a link is an interface of its capture.
Expected<CaptureEnds> ends_of(const io::Capture& capture) {
  std::set<std::uint32_t> seen;
  for (const io::CaptureRecord& record : capture.records)
    seen.insert(record.interface);
  if (seen.empty()) return fail(std::errc::invalid_argument, "no packet of InfiniBand is in it");
  CaptureEnds ends;
  if (capture.interfaces.size() == 2) {
    ends.interfaces = {0, 1};
  } else if (seen.size() == 2) {
    ends.interfaces = {*seen.begin(), *seen.rbegin()};
  } else {
    return fail(std::errc::invalid_argument,
                fmt::format("packets of {} interfaces, not of the two ends of one link, which "
                            "cannot be told apart otherwise",
                            seen.size()));
  }
  for (unsigned node = 0; node < 2; ++node) {
    const std::uint32_t interface = ends.interfaces[node];
    ends.names[node] = fmt::format("end {}", node);
    if (interface < capture.interfaces.size() && !capture.interfaces[interface].empty()) {
      ends.names[node] = printable(capture.interfaces[interface]);
    }
  }
  return ends;
}

int conform_capture(const LinkOptions& options) {
  const auto file = io::read_text_file(options.capture, kMostCaptured);
  if (!file) return refuse("link", file.error().message);
  const auto capture = io::read_capture(std::as_bytes(std::span(*file)));
  if (!capture) return refuse("link", options.capture + ": " + capture.error().message);
  const auto ends = ends_of(*capture);
  if (!ends) return refuse("link", options.capture + ": " + ends.error().message);
  std::vector<kit::CapturedPacket> packets;
  for (const io::CaptureRecord& record : capture->records) {
    if (!record.whole) continue;
    packets.push_back({.time = Time(record.timestamp),
                       .node = record.interface == ends->interfaces[0] ? 0U : 1U,
                       .packet = record.packet});
  }
  const kit::CapturedExchange seen = kit::captured_exchange(packets);
  if (seen.messages == 0) {
    return refuse("link", options.capture +
                              ": no message of the DDR auto-negotiation is in it: SMPs with a "
                              "directed route and attribute 0x02C9");
  }
  if (!options.json) {
    fmt::print("{} messages among {} packets{}\n", seen.messages, capture->records.size(),
               seen.damaged == 0 ? "" : fmt::format(", {} were damaged", seen.damaged));
  }
  return report_ends(seen.exchange, ends->names, {},
                     {{"messages", seen.messages},
                      {"packets", capture->records.size()},
                      {"damaged", seen.damaged}},
                     options.json);
}

int conform_link(const LinkOptions& options) {
  const auto lab = choose_running_lab(options.lab);
  if (!lab) return refuse("link", lab.error().message);
  const auto answer = ask_parts(*lab, {{"do", "link"}, {"link", options.action}});
  if (!answer) return refuse("link", answer.error().message);
  const Json& report = answer->report;
  if (!report.contains("negotiation")) {
    return refuse("link", options.action +
                              ": its ports negotiate nothing: speed = \"auto\" in the lab file "
                              "lets them");
  }
  const Json& negotiation = object_of(report, "negotiation");
  std::array<std::string, 2> names;
  const Json& ends = list_of(negotiation, "ends");
  std::array<kit::Rules, 2> rules;
  for (unsigned node = 0; node < 2 && node < ends.size(); ++node) {
    names[node] = text_of(ends[node], "at");
    rules[node] = timeline_rules(ends[node]);
  }
  return report_ends(timeline_exchange(negotiation), names, rules,
                     {{"link", text_of(report, "name")}}, options.json);
}

Json step_json(const phy::FlowStep& step) {
  Json out{{"ns", step.time.time_since_epoch().count()}, {"node", step.node}};
  if (step.kind == phy::FlowStep::Kind::kMessage) {
    out["message"] = phy::advertisement_name(step.message);
    out["says"] = phy::advertisement_text(step.message);
    out["copies"] = step.copies;
    out["arrived"] = step.arrived;
  } else {
    out["state"] = phy::state_name(step.state);
  }
  return out;
}

int replay_diagram(const LinkOptions& options) {
  if (*options.replay < 1 || *options.replay > kit::kDiagrams) {
    return refuse("link", fmt::format("--replay {}: the specification has flow diagrams 1 to {}",
                                      *options.replay, kit::kDiagrams));
  }
  const std::vector<phy::FlowStep> steps = kit::flow_of(kit::replay(*options.replay));
  const std::string outline = phy::flow_outline(steps);
  if (!options.json) {
    fmt::print("{}\n{}\n{}",
               Style::for_stream(stdout).bold(fmt::format("Flow diagram {}: {}", *options.replay,
                                                          kit::diagram_text(*options.replay))),
               outline, phy::flow_text(steps, Time{}));
    return kOk;
  }
  Json out{{"diagram", *options.replay},
           {"text", kit::diagram_text(*options.replay)},
           {"outline", Json::array()},
           {"steps", Json::array()}};
  for (std::size_t at = 0; at < outline.size(); at = outline.find('\n', at) + 1)
    out["outline"].push_back(outline.substr(at, outline.find('\n', at) - at));
  for (const phy::FlowStep& step : steps)
    out["steps"].push_back(step_json(step));
  print_json(out);
  return kOk;
}

}  // namespace

int conform(const LinkOptions& options) {
  const bool names_link = options.action != "show";
  const int ways = (names_link ? 1 : 0) + (options.role.empty() ? 0 : 1) +
                   (options.capture.empty() ? 0 : 1) + (options.replay ? 1 : 0);
  if (ways > 1) {
    return refuse("link", "conform takes one of --role, --capture, --replay and a link");
  }
  if (!options.lab.empty() && !names_link) {
    return refuse("link", "--lab goes with a link: weft link --lab LAB conform LINK");
  }
  if (options.replay) return replay_diagram(options);
  if (!options.capture.empty()) return conform_capture(options);
  if (names_link) return conform_link(options);
  return conform_port(options);
}

}  // namespace weft::cli
