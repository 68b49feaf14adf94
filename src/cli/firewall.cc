// SPDX-License-Identifier: Apache-2.0
// `weft firewall`: whether rules are right, and what they would do with the packets of a capture.
#include "service/firewall/firewall.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/style.h"
#include "cli/table.h"
#include "io/capture_reader.h"
#include "io/text_file.h"
#include "service/firewall/packet_text.h"

namespace weft::cli {
namespace {

namespace fw = service::firewall;
using Json = nlohmann::json;
using service::Fields;

constexpr std::size_t kMostCapture = std::size_t{1} << 30;

Expected<fw::Program> read_rules(const std::string& file) {
  const auto text = io::read_text_file(file, fw::kMostText);
  if (!text) return tl::unexpected(text.error());
  auto rules = fw::RuleSet::parse(*text, file == "-" ? "standard input" : file);
  if (!rules) return tl::unexpected(rules.error());
  auto program = fw::Program::compile(std::move(*rules));
  if (!program) return fail(program.error().code, file + ": " + program.error().message);
  return program;
}

// What is much for one packet: tables looked up, rules tried, words of sets.
constexpr std::uint32_t kMuch = 128;

// Chains in which a packet may take long, since no field tells their rules apart.
std::vector<std::size_t> slow_chains(const fw::Program& program) {
  std::vector<std::size_t> out;
  for (std::size_t chain = 0; chain < program.rules().chains.size(); ++chain) {
    const auto& most = program.classifier(chain).most();
    if (std::uint64_t{most.tables} + most.rules + most.words > kMuch) out.push_back(chain);
  }
  return out;
}

int check(const FirewallOptions& options) {
  const auto program = read_rules(options.rules);
  if (!program) return refuse("firewall", program.error().message);
  const fw::Classifier::Most most = program->most();
  const auto slow = slow_chains(*program);
  if (options.json) {
    Json slow_names = Json::array();
    for (const std::size_t chain : slow)
      slow_names.push_back(program->rules().chains[chain].name);
    const Json out{{"rules", program->size()},
                   {"chains", program->rules().chains.size()},
                   {"policy", fw::verdict_name(program->rules().policy)},
                   {"table_bytes", program->table_bytes()},
                   {"most_tables", most.tables},
                   {"most_rules", most.rules},
                   {"most_words", most.words},
                   {"slow_chains", slow_names}};
    fmt::print("{}\n", out.dump());
  } else {
    fmt::print("{}: {} rules in {} chains, policy {}; tables of {} KiB\n", options.rules,
               program->size(), program->rules().chains.size(),
               fw::verdict_name(program->rules().policy), (program->table_bytes() + 1023) / 1024);
    fmt::print("in a chain, a packet comes by {} tables at most, {} rules{}\n", most.tables,
               most.rules,
               most.words == 0 ? "" : fmt::format(" and {} words of 64 rules", most.words));
    for (const std::size_t chain : slow) {
      const auto& in_chain = program->classifier(chain).most();
      fmt::print(
          "chain {} is slow: ranges of many of its {} rules overlap each other on every field; a "
          "packet may come by {} tables, {} rules and {} words\n",
          program->rules().chains[chain].name, program->classifier(chain).size(), in_chain.tables,
          in_chain.rules, in_chain.words);
    }
  }
  return kOk;
}

Json packet_json(std::size_t number, const Fields& fields, const fw::Decision& decision,
                 const fw::Program& program) {
  Json out{{"packet", number},
           {"verdict", fw::verdict_name(decision.action)},
           {"state", fw::text(decision.state)},
           {"traffic", fw::text(decision.traffic)},
           {"slid", fields.slid.value()},
           {"dlid", fields.dlid.value()},
           {"what", fw::what_text(fields)}};
  if (decision.doubt != fw::Doubt::none) out["doubt"] = fw::counter_of(decision.doubt).name;
  if (decision.rule != fw::Program::kPolicy) {
    const fw::Rule& rule = program.rule(decision.rule);
    out["line"] = rule.line;
    out["chain"] = program.chain_of(decision.rule).name;
    if (!rule.comment.empty()) out["comment"] = rule.comment;
  }
  return out;
}

std::string reason_of(const fw::Decision& decision, const fw::Program& program) {
  std::string out = "policy";
  if (decision.rule != fw::Program::kPolicy) {
    const fw::Rule& rule = program.rule(decision.rule);
    out = fmt::format("line {}", rule.line);
    if (!rule.comment.empty()) out += fmt::format(", {}", rule.comment);
  }
  if (decision.doubt != fw::Doubt::none)
    out += fmt::format(" ({})", fw::counter_of(decision.doubt).name);
  return out;
}

int test(const FirewallOptions& options) {
  auto program = read_rules(options.rules);
  if (!program) return refuse("firewall", program.error().message);
  const auto file = io::read_text_file(options.capture, kMostCapture);
  if (!file) return refuse("firewall", file.error().message);
  const auto capture = io::read_capture(std::as_bytes(std::span(*file)));
  if (!capture) {
    return refuse("firewall", fmt::format("{}: {}", options.capture, capture.error().message));
  }
  if (capture->records.empty()) {
    return refuse("firewall",
                  fmt::format("{}: {} records, but no InfiniBand packet (ERF type 21, or link type "
                              "247)",
                              options.capture, capture->others));
  }
  fw::Firewall firewall(std::move(*program), {});
  Table table({"PACKET", "VERDICT", "STATE", "BY", "FROM > TO", "WHAT"});
  std::map<std::string_view, std::size_t> totals{{"accept", 0}, {"drop", 0}, {"reject", 0}};
  for (std::size_t i = 0; i < capture->records.size(); ++i) {
    const io::CaptureRecord& record = capture->records[i];
    const Fields fields = Fields::parse(record.packet);
    const Time now(record.timestamp);
    firewall.run(now);
    const fw::Decision decision = firewall.decide(fields, record.packet, now);
    ++totals[fw::verdict_name(decision.action)];
    if (options.json) {
      fmt::print("{}\n", packet_json(i + 1, fields, decision, firewall.program()).dump());
    } else {
      table.add({fmt::format("{}", i + 1), std::string(fw::verdict_name(decision.action)),
                 std::string(fw::text(decision.state)), reason_of(decision, firewall.program()),
                 fw::ends_text(fields), fw::what_text(fields)});
    }
  }
  if (options.json) return kOk;
  fmt::print("{}", table.to_string(Style::for_stream(stdout)));
  fmt::print("{} packets: {} accepted, {} dropped, {} rejected{}\n", capture->records.size(),
             totals["accept"], totals["drop"], totals["reject"],
             capture->others == 0
                 ? ""
                 : fmt::format("; {} records are no InfiniBand packets", capture->others));
  return kOk;
}

}  // namespace

void define_firewall(CLI::App& firewall, FirewallOptions& options) {
  firewall
      .add_option("ACTION", options.action,
                  "check: whether the rules are right; test: what becomes of packets")
      ->required()
      ->check(CLI::IsMember({"check", "test"}));
  firewall.add_option("RULES", options.rules, "File of rules; -: standard input")->required();
  firewall.add_option("CAPTURE", options.capture, "Of test: packets, as weft capture writes them");
  firewall.add_flag("--json", options.json, "Print JSON; of test, a line for each packet");
}

int firewall(const FirewallOptions& options) {
  if (options.action == "check") {
    if (!options.capture.empty()) return refuse("firewall", "check takes rules only");
    return check(options);
  }
  if (options.capture.empty()) {
    return refuse("firewall", "test takes rules and a capture: weft firewall test RULES FILE");
  }
  return test(options);
}

}  // namespace weft::cli
