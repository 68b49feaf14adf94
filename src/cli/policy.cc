// SPDX-License-Identifier: Apache-2.0
// `weft policy`: which paths of a lab lead through data services.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/policy_export.h"
#include "cli/policy_file.h"
#include "cli/report_view.h"
#include "cli/sm_place.h"
#include "cli/style.h"
#include "cli/table.h"
#include "fabric/toml_string.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

// "from=a,b": a key of [[policy]], and what it is to be. "symmetric" alone is true.
struct Setting {
  std::string key;
  std::vector<std::string> values;
};

Expected<Setting> setting_in(const std::string& word) {
  const std::size_t equals = word.find('=');
  Setting setting{.key = word.substr(0, equals), .values = {}};
  const bool good = !setting.key.empty() && setting.key.find_first_not_of(
                                                "abcdefghijklmnopqrstuvwxyz_") == std::string::npos;
  if (!good || (equals == std::string::npos && word != "symmetric")) {
    return fail(std::errc::invalid_argument,
                fmt::format("{}: want KEY=VALUE, as in from=a, or KEY=VALUE,VALUE", word));
  }
  if (equals == std::string::npos) {
    setting.values.emplace_back("true");
    return setting;
  }
  std::string_view rest = std::string_view(word).substr(equals + 1);
  for (;;) {
    const std::size_t comma = rest.find(',');
    setting.values.emplace_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) return setting;
    rest.remove_prefix(comma + 1);
  }
}

// As a lab file has it.
std::string toml_of(const Setting& setting) {
  constexpr std::array<std::string_view, 6> kNumbers{"requester", "service_id", "pkey",
                                                     "sl",        "qos_class",  "answer_sl"};
  const bool may_be_number = std::ranges::find(kNumbers, setting.key) != kNumbers.end();
  std::vector<std::string> values;
  for (const std::string& value : setting.values) {
    const bool plain =
        (may_be_number && parse_integer(value)) || (setting.key == "symmetric" && value != "");
    values.push_back(plain ? value : fabric::quoted(value));
  }
  return values.size() == 1 ? fmt::format("{} = {}\n", setting.key, values.front())
                            : fmt::format("{} = [{}]\n", setting.key, fmt::join(values, ", "));
}

// A rule as people call it: by its number, or its name.
Json rule_called(const std::string& text) {
  const auto number = parse_integer(text);
  return number ? Json(*number) : Json(text);
}

Expected<void> describe_rule(Json& request, const PolicyOptions& options) {
  std::string text;
  for (const std::string& word : options.words) {
    const auto setting = setting_in(word);
    if (!setting) return tl::unexpected(setting.error());
    text += toml_of(*setting);
  }
  request["text"] = text;
  if (options.before) request["before"] = rule_called(*options.before);
  return {};
}

Expected<void> describe_query(Json& request, const PolicyOptions& options) {
  if (options.words.size() < 2) {
    return fail(std::errc::invalid_argument, "explain wants two ends, as in a b, or GIDs");
  }
  request["from"] = options.words[0];
  request["to"] = options.words[1];
  constexpr std::array<std::string_view, 5> kNumbers{"slid", "service_id", "pkey", "sl",
                                                     "qos_class"};
  for (std::size_t i = 2; i < options.words.size(); ++i) {
    const auto setting = setting_in(options.words[i]);
    if (!setting) return tl::unexpected(setting.error());
    const std::string& value = setting->values.front();
    if (setting->key == "requester") {
      request["requester"] = value;
      continue;
    }
    const auto number = parse_integer(value);
    if (std::ranges::find(kNumbers, setting->key) == kNumbers.end() || !number) {
      return fail(std::errc::invalid_argument,
                  fmt::format("{}: want requester=WHO, or one of {} with a number",
                              options.words[i], fmt::join(kNumbers, ", ")));
    }
    request[setting->key] = *number;
  }
  return {};
}

Expected<Json> request_of(const PolicyOptions& options) {
  Json request{{"do", "sm"}, {"what", "policy"}, {"action", options.action}};
  const auto wrong = [](const std::string& text) {
    return fail(std::errc::invalid_argument, text);
  };
  if (options.before && options.action != "add") return wrong("--before is of add only");
  const bool is_export = options.action == "export";
  const bool is_save = options.action == "save";
  if (options.json && is_export) {
    return wrong("export prints what a lab file has: --json is not of it");
  }
  if (options.save && options.action != "add" && options.action != "delete") {
    return wrong("--save is of add and delete only");
  }
  // At a node it is a process of this user's that is asked.
  if ((options.save || is_save) && !options.node && !options.port) {
    if (auto may = may_save_policies(options.lab); !may) return tl::unexpected(may.error());
  }
  if (options.action == "list" || options.action == "log" || is_export || is_save) {
    if (!options.words.empty()) return wrong(options.words[0] + ": one word too many");
    if (is_export || is_save) request["action"] = "list";
  } else if (options.action == "add") {
    if (auto done = describe_rule(request, options); !done) return tl::unexpected(done.error());
  } else if (options.action == "delete") {
    if (options.words.size() != 1) return wrong("delete wants one rule, by its number or its name");
    request["rule"] = rule_called(options.words[0]);
  } else if (options.action == "drain" || options.action == "restore") {
    if (options.words.size() != 1) {
      return wrong(options.action + " wants one port at which a service is, as in fw or fw:2");
    }
    request["at"] = options.words[0];
  } else if (options.action == "explain") {
    if (auto done = describe_query(request, options); !done) return tl::unexpected(done.error());
  } else {
    return wrong(
        fmt::format("{}: no such action (there are list, add, delete, drain, "
                    "restore, explain, log, export and save)",
                    options.action));
  }
  return request;
}

std::string word_of(const Json& value) {
  return printable(value.is_string() ? value.get<std::string>() : value.dump());
}

// The values of a list, or "-".
std::string words_of(const Json& object, const char* name) {
  std::vector<std::string> words;
  for (const Json& value : list_of(object, name))
    words.push_back(word_of(value));
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, ","));
}

// ", SL 3" where a rule gives one.
std::string level_of(const Json& object) {
  if (!object.contains("answer_sl")) return "";
  return fmt::format(", SL {}", number_of(object, "answer_sl"));
}

std::string answer_of(const Json& rule) {
  return (rule.contains("through") ? "through " + words_of(rule, "through")
                                   : printable(text_of(rule, "answer"))) +
         level_of(rule);
}

// What else it looks at.
std::string conditions_of(const Json& rule) {
  std::vector<std::string> words;
  for (const char* name : {"requester", "service_id", "pkey", "sl", "qos_class"}) {
    if (!rule.contains(name)) continue;
    words.push_back(fmt::format(
        "{}={}", name, rule[name].is_array() ? words_of(rule, name) : word_of(rule[name])));
  }
  if (rule.value("symmetric", Json()) == Json(true)) words.emplace_back("symmetric");
  return words.empty() ? "-" : fmt::format("{}", fmt::join(words, " "));
}

void print_rules(const Json& report, const Style& style) {
  Table table({"RULE", "NAME", "FROM", "TO", "IF", "ANSWER", "HITS"});
  for (const Json& rule : list_of(report, "rules")) {
    table.add({fmt::to_string(number_of(rule, "rule")),
               rule.contains("name") ? printable(text_of(rule, "name")) : "-",
               words_of(rule, "from"), words_of(rule, "to"), conditions_of(rule), answer_of(rule),
               fmt::to_string(number_of(rule, "hits"))});
  }
  const Json& otherwise = object_of(report, "otherwise");
  table.add({"else", "-", "-", "-", "-", printable(text_of(otherwise, "answer")),
             fmt::to_string(number_of(otherwise, "hits"))});
  fmt::print("{}", table.to_string(style));
}

const char* state_of(const Json& port) {
  if (port.value("drained", Json()) == Json(true)) return "drained";
  return port.value("well", Json()) == Json(true) ? "well" : "not well";
}

void print_steered(const Json& report, const Style& style) {
  if (list_of(report, "services").empty()) return;
  Table table({"SERVICE", "AT", "STATE", "LIDS"});
  for (const Json& service : list_of(report, "services")) {
    for (const Json& instance : list_of(service, "instances")) {
      if (!instance.is_array()) continue;
      for (const Json& port : instance) {
        const std::string at = printable(text_of(port, "at"));
        std::vector<std::string> lids;
        for (const Json& lid : list_of(port, "lids")) {
          const std::string where = printable(text_of(lid, "leads_to"));
          const std::string number = fmt::to_string(number_of(lid, "lid"));
          lids.push_back(where == at ? number : fmt::format("{} (at {})", number, where));
        }
        table.add({printable(text_of(service, "name")), at, state_of(port),
                   lids.empty() ? "-" : fmt::format("{}", fmt::join(lids, ","))});
      }
    }
  }
  fmt::print("\n{}", table.to_string(style));
}

void print_explanation(const Json& report, const Style& style) {
  const Json& rule = object_of(report, "rule");
  fmt::print("{} to {}, asked by {}", printable(text_of(report, "from")),
             printable(text_of(report, "to")), printable(text_of(report, "requester")));
  if (report.contains("as_service")) {
    fmt::print(" for service {}", printable(text_of(report, "as_service")));
  }
  fmt::print(", P_Key {:#06x}, SL {}\n", number_of(report, "pkey"), number_of(report, "sl"));
  for (const Json& passed : list_of(report, "passed")) {
    fmt::print("  rule {}: not for its {}\n", number_of(passed, "rule"),
               printable(text_of(passed, "unmet")));
  }
  const bool has_rule = report.contains("rule");
  const std::string name =
      has_rule ? fmt::format("rule {}{}", number_of(rule, "rule"),
                             rule.contains("name") ? " " + printable(text_of(rule, "name")) : "")
               : "no rule";
  fmt::print("  {}: {}\n", name, has_rule ? answer_of(rule) : "what else there is");
  if (report.contains("reason")) fmt::print("  {}\n", printable(text_of(report, "reason")));
  for (const Json& hop : list_of(report, "hops")) {
    fmt::print("  {} at {}, LID {}\n", printable(text_of(hop, "service")),
               printable(text_of(hop, "at")), number_of(hop, "lid"));
  }
  const std::string answer = text_of(report, "answer");
  fmt::print("{}{}\n",
             answer == "none"     ? style.red("no path")
             : answer == "direct" ? style.bold("the real LID")
                                  : style.bold("through services"),
             level_of(report));
}

// What of a query rules look at besides its ends.
std::string asked_of(const Json& answer) {
  std::vector<std::string> words;
  if (answer.contains("as_service")) words.push_back("as " + text_of(answer, "as_service"));
  if (answer.contains("service_id")) {
    words.push_back(fmt::format("service_id={:#x}", number_of(answer, "service_id")));
  }
  if (answer.contains("qos_class")) {
    words.push_back(fmt::format("qos_class={}", number_of(answer, "qos_class")));
  }
  words.push_back(fmt::format("pkey={:#06x}", number_of(answer, "pkey")));
  return printable(fmt::format("{}", fmt::join(words, " ")));
}

// A way by its services and where these are; what a rule says that came to nothing is no path.
std::string told_of(const Json& answer) {
  std::vector<std::string> hops;
  for (const Json& hop : list_of(answer, "hops")) {
    hops.push_back(
        fmt::format("{} at {}", printable(text_of(hop, "service")), printable(text_of(hop, "at"))));
  }
  const std::string reason =
      answer.contains("reason") ? ": " + printable(text_of(answer, "reason")) : "";
  if (text_of(answer, "answer") == "none") return "no path" + reason;
  const std::string way = hops.empty() ? "direct" : fmt::format("{}", fmt::join(hops, ", "));
  return (number_of(answer, "paths") == 0 ? "no path, which would be " + way : way) + reason;
}

void print_log(const Json& report, const Style& style) {
  Table table({"AGO", "FROM", "TO", "ASKED BY", "WITH", "RULE", "ANSWER"});
  for (const Json& answer : list_of(report, "answers")) {
    const std::string rule =
        answer.contains("rule")
            ? fmt::format("{}{}", number_of(answer, "rule"),
                          answer.contains("name") ? " " + printable(text_of(answer, "name")) : "")
            : "else";
    const auto ms = static_cast<double>(number_of(answer, "ms_ago"));
    table.add({fmt::format("{:.1f} s", ms / 1000), printable(text_of(answer, "from")),
               printable(text_of(answer, "to")), printable(text_of(answer, "requester")),
               asked_of(answer), rule, told_of(answer)});
  }
  fmt::print("{}", table.to_string(style));
}

int print_export(const Json& report) {
  const auto text = rules_text(report);
  if (!text) return refuse("policy", text.error().message);
  fmt::print("{}", *text);
  return kOk;
}

}  // namespace

void define_policy(CLI::App& policy, PolicyOptions& options) {
  policy.add_option("ACTION", options.action,
                    "list (default), add, delete, drain, restore, explain, log, export or save");
  policy.add_option("WORD", options.words,
                    "Of add KEY=VALUE; of delete a rule; of drain and restore a port; of "
                    "explain two ends");
  policy.add_flag("--save", options.save, "Of add and delete: then save");
  policy.add_option("--before", options.before, "Of add: the rule before which it is to be")
      ->option_text("RULE");
  policy
      .add_option("--lab", options.lab,
                  "The lab; not needed when only one runs; OWNER/LAB: another user's")
      ->option_text("LAB");
  policy.add_option("--node", options.node, "The node at which weft sm run manages the subnet")
      ->option_text("NODE");
  policy.add_option("--port", options.port, "With --node: its port")->option_text("PORT");
  policy.add_flag("--json", options.json, "Print JSON");
}

int policy(const PolicyOptions& options) {
  const auto request = request_of(options);
  if (!request) return refuse("policy", request.error().message);
  const auto report = ask_manager_of(options.lab, options.node, options.port, *request);
  if (!report) return refuse("policy", report.error().message);
  const Style style = Style::for_stream(stdout);
  if (options.action == "export") return print_export(*report);
  if (options.action == "save" || options.save) {
    const auto file = save_policies(*report);
    const char* const so_far = options.save ? "done until the lab ends, and not saved: " : "";
    if (!file) return refuse("policy", so_far + file.error().message);
    fmt::print(stderr, "weft policy: the rules are in {}\n", printable(*file));
  }
  if (options.json) {
    print_json(*report);
  } else if (options.action == "explain") {
    print_explanation(*report, style);
  } else if (options.action == "log") {
    print_log(*report, style);
  } else {
    print_rules(*report, style);
    print_steered(*report, style);
  }
  return kOk;
}

}  // namespace weft::cli
