// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_service_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/gid_text.h"
#include "base/quantity.h"
#include "fabric/toml_string.h"

namespace weft::fabric {
namespace {

Expected<LabServiceMember> read_member(const Value& value) {
  const auto text = value.string();
  const auto port = text ? parse_lab_port(*text) : std::nullopt;
  if (!port) {
    return value.wrong(
        "must be a port, as in \"fw\" or \"fw:2\", a list of ports, or a list of "
        "pairs, as in [[\"fw1\", \"fw2\"]]");
  }
  return LabServiceMember{.at = *port, .lids = {}};
}

Done read_at(LabService& service, const Value& value) {
  auto instances = value.array();
  if (!instances) instances = std::vector{value};
  for (const Value& each : *instances) {
    LabServiceInstance& instance = service.instances.emplace_back();
    auto members = each.array();
    if (members && members->size() != 2) {
      return each.wrong("a pair has two ports, as in [\"fw1\", \"fw2\"]");
    }
    if (!members) members = std::vector{each};
    for (const Value& member : *members) {
      auto read = read_member(member);
      if (!read) return tl::unexpected(read.error());
      instance.push_back(std::move(*read));
    }
  }
  return {};
}

// A word of two: whether it is the second one.
Done read_word(bool& field, const Value& value, std::string_view no, std::string_view yes) {
  const auto text = value.string();
  if (!text || (*text != no && *text != yes)) {
    return value.wrong(fmt::format("must be \"{}\" or \"{}\"", no, yes));
  }
  field = *text == yes;
  return {};
}

Done read_type(LabService& service, const Value& value) {
  const auto text = value.string();
  if (!text || std::ranges::find(kServiceTypes, *text) == kServiceTypes.end()) {
    return value.wrong(fmt::format("must be one of {}", fmt::join(kServiceTypes, ", ")));
  }
  service.type = *text;
  return {};
}

Done read_select(LabService& service, const Value& value) {
  const auto text = value.string();
  using Select = LabService::Select;
  if (text && *text == "lids") {
    service.select = Select::kLids;
  } else if (text && *text == "gids") {
    service.select = Select::kGids;
  } else if (text && *text == "others") {
    service.select = Select::kOthers;
  } else if (text && *text == "copies") {
    service.select = Select::kCopies;
  } else {
    return value.wrong("must be \"lids\", \"gids\", \"others\" or \"copies\"");
  }
  return {};
}

std::optional<GidPrefix> prefix_in(const std::string& text) {
  if (const auto gid = parse_gid(text)) return GidPrefix(*gid, GidPrefix::kMostBits);
  return text.find('/') == std::string::npos ? std::nullopt : parse_gid_prefix(text);
}

Done read_gids(LabService& service, const Value& value) {
  auto gids = value.array();
  if (!gids) gids = std::vector{value};
  for (const Value& each : *gids) {
    const auto text = each.string();
    const auto prefix = text ? prefix_in(*text) : std::nullopt;
    if (!prefix) return each.wrong("must be a GID, or a prefix of GIDs as in \"fd00::/64\"");
    service.gids.push_back(*prefix);
  }
  return {};
}

// Read into a list that is dealt out when all ports are known.
struct ServiceText {
  LabService service;
  std::vector<Lid> lids;
  std::optional<Where> lids_where;
};

Done read_lids(ServiceText& text, const Value& value) {
  auto lids = value.array();
  if (!lids) lids = std::vector{value};
  text.lids_where = value.where();
  for (const Value& each : *lids) {
    if (Done done =
            store(text.lids.emplace_back(), each.integer(1, kMaxLids).map([](std::int64_t lid) {
              return Lid{static_cast<std::uint16_t>(lid)};
            }));
        !done) {
      return done;
    }
  }
  return {};
}

// Those of all types.
Keys<ServiceText> usual_keys() {
  using Text = ServiceText;
  return {
      {"at", [](Text& text, const Value& value) { return read_at(text.service, value); }},
      {"type", [](Text& text, const Value& value) { return read_type(text.service, value); }},
      {"lids", read_lids},
      {"pair",
       [](Text& text, const Value& value) {
         return read_word(text.service.both_work, value, "standby", "both");
       }},
      {"balance",
       [](Text& text, const Value& value) {
         return read_word(text.service.by_load, value, "hash", "load");
       }},
      {"if_down",
       [](Text& text, const Value& value) {
         return read_word(text.service.bypass, value, "refuse", "bypass");
       }},
      {"select", [](Text& text, const Value& value) { return read_select(text.service, value); }},
      {"gids", [](Text& text, const Value& value) { return read_gids(text.service, value); }},
  };
}

// What the service is of, as far as it is said: its keys depend on it. Empty: nothing that is.
std::string type_in(const std::string& name, const Value& table) {
  std::string type = name;
  for (const auto& [key, value] :
       table.table().value_or(std::vector<std::pair<std::string, Value>>{})) {
    if (key == "type") type = value.string().value_or("");
  }
  const bool known = std::ranges::find(kServiceTypes, type) != kServiceTypes.end();
  return known ? type : "";
}

// Of a service that does not work in the daemon, the command that is told what it is, and so this
// key; empty: it is none of those.
std::string_view told_by(std::string_view type, const ServiceKey& key) {
  const bool of_place = key.is_of("external") || key.name == "mirror_to" || key.name == "threads";
  if (of_place) return "";
  return type == "process" ? "service run" : type == "external" ? "serve" : "";
}

Done read_service(ServiceText& text, const std::string& name, const Value& table) {
  const std::string type = type_in(name, table);
  Keys<ServiceText> keys = usual_keys();
  for (const ServiceKey& row : service_keys()) {
    // Without a type, it is that which is wrong.
    if (!type.empty() && !row.is_of(type)) continue;
    keys.push_back({row.name, [read = row.read](ServiceText& to, const Value& value) {
                      return read(to.service, value);
                    }});
  }
  const auto entries = table.table();
  if (!entries) return tl::unexpected(entries.error());
  for (const auto& [key, value] : *entries) {
    const auto row = std::ranges::find(service_keys(), std::string_view(key), &ServiceKey::name);
    if (type.empty() || row == service_keys().end() || row->is_of(type)) continue;
    if (const std::string_view command = told_by(type, *row); !command.empty()) {
      return value.wrong(fmt::format(
          "is said where the service works, and not here: weft {} --set {}=VALUE", command, key));
    }
    std::vector<std::string_view> names;
    for (const Key<ServiceText>& each : keys)
      names.push_back(each.name);
    return value.wrong(fmt::format("is of type {}, and this is of type {}, which has {}",
                                   fmt::join(row->types, ", "), type, fmt::join(names, ", ")));
  }
  return read_keys(keys, text, table);
}

// One for each port; of a service at one port all.
Done deal_out(const LabBuilder& builder, ServiceText& text) {
  if (!text.lids_where) return {};
  std::vector<LabServiceMember*> members;
  for (LabServiceInstance& instance : text.service.instances) {
    for (LabServiceMember& member : instance)
      members.push_back(&member);
  }
  if (members.size() == 1 && !text.lids.empty()) {
    members.front()->lids = text.lids;
    return {};
  }
  if (members.size() != text.lids.size()) {
    return builder.wrong(*text.lids_where,
                         fmt::format("{} LIDs for {} ports: there is one for each port, in the "
                                     "order of `at`",
                                     text.lids.size(), members.size()));
  }
  for (std::size_t i = 0; i < members.size(); ++i)
    members[i]->lids = {text.lids[i]};
  return {};
}

Done read_ends(LabPolicyEnds& ends, const Value& value, bool asks) {
  auto list = value.array();
  if (!list) list = std::vector{value};
  for (const Value& each : *list) {
    if (asks) {
      if (const auto lid = each.integer(1, kMaxLids)) {
        ends.lids.push_back(Lid{static_cast<std::uint16_t>(*lid)});
        continue;
      }
    }
    const auto text = each.string();
    const auto prefix = text ? prefix_in(*text) : std::nullopt;
    const auto port = text ? parse_lab_port(*text) : std::nullopt;
    if (prefix) {
      ends.gids.push_back(*prefix);
    } else if (port && text->find(':') == std::string::npos) {
      ends.nodes.push_back(port->node);
    } else if (port) {
      ends.ports.push_back(*port);
    } else {
      return each.wrong(
          fmt::format("must be a node, a port as in \"a:2\", a GID, a prefix of GIDs "
                      "as in \"fd00:0:0:2::/64\"{}",
                      asks ? ", or a LID" : ""));
    }
  }
  return {};
}

Done read_service_id(LabPolicy& policy, const Value& value) {
  if (const auto number = value.integer(0, std::numeric_limits<std::int64_t>::max())) {
    const auto id = static_cast<std::uint64_t>(*number);
    policy.service_ids = std::pair(id, id);
    return {};
  }
  const auto text = value.string();
  const std::size_t dash = text ? text->find('-') : 0;
  const auto first = text ? parse_integer(std::string_view(*text).substr(0, dash)) : std::nullopt;
  const auto last = first && dash != std::string::npos
                        ? parse_integer(std::string_view(*text).substr(dash + 1))
                        : first;
  if (!first || !last || *last < *first) {
    return value.wrong("must be a service ID, or a range of them as in \"0x1000-0x1fff\"");
  }
  policy.service_ids = std::pair(*first, *last);
  return {};
}

Done read_through(LabPolicy& policy, const Value& value) {
  auto names = value.array();
  if (!names) names = std::vector{value};
  for (const Value& each : *names) {
    const auto text = each.string();
    if (!text) return each.wrong("must be the name of a service, or a list of them");
    if (std::ranges::find(policy.through, *text) != policy.through.end()) {
      return each.wrong(fmt::format("{} is named twice", *text));
    }
    policy.through.push_back(*text);
  }
  if (policy.through.empty())
    return value.wrong("must be the name of a service, or a list of them");
  return {};
}

Done read_sl(std::optional<Sl>& field, const Value& value) {
  const auto sl = value.integer(0, 15);
  if (!sl) return tl::unexpected(sl.error());
  field = Sl{static_cast<std::uint8_t>(*sl)};
  return {};
}

struct PolicyText {
  LabPolicy policy;
  bool answers = false;
};

Keys<PolicyText> policy_keys() {
  using Text = PolicyText;
  return {
      {"name",
       [](Text& text, const Value& value) -> Done {
         const auto name = value.string();
         if (!name || !good_name(*name)) {
           return value.wrong(
               fmt::format("a name has 1 to {} letters, digits and ._-, the first no -", kMaxName));
         }
         text.policy.name = *name;
         return {};
       }},
      {"from",
       [](Text& text, const Value& value) { return read_ends(text.policy.from, value, false); }},
      {"to",
       [](Text& text, const Value& value) { return read_ends(text.policy.to, value, false); }},
      {"requester",
       [](Text& text, const Value& value) {
         return read_ends(text.policy.requester, value, true);
       }},
      {"service_id",
       [](Text& text, const Value& value) { return read_service_id(text.policy, value); }},
      {"pkey",
       [](Text& text, const Value& value) -> Done {
         const auto pkey = value.integer(1, 0xFFFF);
         if (!pkey || (*pkey & 0x7FFF) == 0) {
           return value.wrong("must be a P_Key, as in 0x8001");
         }
         text.policy.pkey = PKey{static_cast<std::uint16_t>(*pkey)};
         return {};
       }},
      {"sl", [](Text& text, const Value& value) { return read_sl(text.policy.sl, value); }},
      {"qos_class",
       [](Text& text, const Value& value) {
         return store(text.policy.qos_class, value.integer(0, 4095));
       }},
      {"through", [](Text& text, const Value& value) { return read_through(text.policy, value); }},
      {"answer",
       [](Text& text, const Value& value) {
         text.answers = true;
         return read_word(text.policy.refused, value, "direct", "none");
       }},
      {"answer_sl",
       [](Text& text, const Value& value) { return read_sl(text.policy.answer_sl, value); }},
      {"symmetric",
       [](Text& text, const Value& value) {
         return store(text.policy.symmetric, value.boolean());
       }},
  };
}

}  // namespace

Done add_services(LabBuilder& builder, const Value& table) {
  const auto entries = table.table();
  if (!entries) return tl::unexpected(entries.error());
  for (const auto& [name, value] : *entries) {
    ServiceText text;
    text.service.name = name;
    if (Done done = read_service(text, name, value); !done) return done;
    if (Done done = deal_out(builder, text); !done) return done;
    if (Done done = builder.add_service(std::move(text.service), value.where()); !done) return done;
  }
  return {};
}

namespace {

Done read_policy(LabPolicy& policy, const Value& table) {
  PolicyText text;
  if (Done done = read_keys(policy_keys(), text, table); !done) return done;
  if (text.answers == !text.policy.through.empty()) {
    return table.wrong(text.answers ? "has through and answer: it can have one of them"
                                    : "needs through = \"SERVICE\", or answer = \"direct\" or "
                                      "\"none\"");
  }
  if (text.policy.refused && text.policy.answer_sl) {
    return table.wrong("has answer_sl, and answer = \"none\": there is no path that could have it");
  }
  policy = std::move(text.policy);
  return {};
}

// It quotes what it met as it was, line ends too.
std::string description_of(const toml::parse_error& error) {
  std::string description(error.description());
  std::ranges::replace_if(
      description, [](char c) { return !printable(c); }, '?');
  return description;
}

}  // namespace

Expected<LabPolicy> parse_policy(std::string_view text, const Lab& lab, const std::string& name) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return fail(std::errc::invalid_argument,
                fmt::format("{}: {}", name, description_of(parsed.error())));
  }
  // No line: a rule that somebody has typed is one.
  const LabBuilder builder(name, lab);
  LabPolicy policy;
  if (Done done = read_policy(policy, Value(builder, parsed.table(), "")); !done) {
    return tl::unexpected(done.error());
  }
  if (Done done = builder.check_policy(policy, {}); !done) return tl::unexpected(done.error());
  return policy;
}

Done add_policies(LabBuilder& builder, const Value& array) {
  const auto entries = array.array();
  if (!entries) return array.wrong("rules are written [[policy]], one after the other");
  for (const Value& value : *entries) {
    LabPolicy policy;
    if (Done done = read_policy(policy, value); !done) return done;
    builder.add_policy(std::move(policy), value.where());
  }
  return {};
}

Expected<std::vector<LabPolicy>> parse_policies(std::string_view text, const Lab& lab,
                                                const std::string& file) {
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) {
    return fail(std::errc::invalid_argument,
                fmt::format("{}:{}: {}", file, parsed.error().source().begin.line,
                            description_of(parsed.error())));
  }
  LabBuilder builder(file, lab);
  const Keys<LabBuilder> keys{
      {"policy", [](LabBuilder& to, const Value& value) { return add_policies(to, value); }}};
  if (Done done = read_keys(keys, builder, Value(builder, parsed.table(), "")); !done) {
    return tl::unexpected(done.error());
  }
  if (Done done = builder.check_policies(); !done) return tl::unexpected(done.error());
  return builder.policies();
}

std::optional<LabPort> parse_lab_port(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  LabPort port{.node = text.substr(0, colon)};
  if (!good_name(port.node)) return std::nullopt;
  if (colon == std::string::npos) return port;
  const auto number = parse_integer(std::string_view(text).substr(colon + 1));
  if (!number || *number == 0 || *number > kMaxPorts) return std::nullopt;
  port.port = static_cast<std::uint8_t>(*number);
  return port;
}

std::string to_string(const LabPort& port) {
  return port.port == 1 ? port.node : fmt::format("{}:{}", port.node, port.port);
}

}  // namespace weft::fabric
