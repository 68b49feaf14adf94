// SPDX-License-Identifier: Apache-2.0
// Rules for paths, and data services: what there is, and what answers a query.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/gid_text.h"
#include "daemon/lab/admin_connection.h"
#include "daemon/lab/managed_subnet.h"
#include "fabric/lab.h"
#include "io/clock.h"
#include "wire/sa/path_record.h"

namespace weft::daemon {
namespace {

using Json = nlohmann::json;
using wire::PathRecord;

// Of a request; nothing: it has no such number, or one that is too large.
std::optional<std::uint64_t> number_of(const Json& request, const char* name, std::uint64_t most) {
  const auto found = request.find(name);
  if (found == request.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto number = found->get<std::uint64_t>();
  return number <= most ? std::optional(number) : std::nullopt;
}

std::string gid_text(const GidPrefix& prefix) {
  const std::string text = prefix.to_string();
  return prefix.bits() == GidPrefix::kMostBits ? text.substr(0, text.rfind('/')) : text;
}

// The rule that a request calls by its number, from 1 on, or its name.
Expected<std::size_t> find_rule(const sm::PathRules& rules, const Json& request) {
  const std::size_t count = rules.all().size();
  if (const auto number = number_of(request, "rule", SIZE_MAX)) {
    if (*number >= 1 && *number <= count) return *number - 1;
    return fail(std::errc::no_such_device,
                count == 0 ? "there are no rules"
                           : fmt::format("there is no rule {}: there are 1 to {}", *number, count));
  }
  const std::string name = text_of(request, "rule");
  if (const auto found = rules.find(name)) return *found;
  return fail(std::errc::no_such_device, fmt::format("there is no rule {}", name));
}

}  // namespace

// The port as people call it, or its GUID where the subnet does not have it.
std::string ManagedSubnet::port_name(Guid port) const {
  const sm::SubnetView& view = management_.administrator().view();
  const std::uint32_t end = view.end_of(port);
  return end == sm::SubnetView::kNobody ? fabric::to_string(port) : name_of(view.ends()[end].at);
}

Json ManagedSubnet::ends_json(const sm::EndMatch& ends) const {
  Json out = Json::array();
  for (const Guid port : ends.ports)
    out.push_back(port_name(port));
  for (const GidPrefix& prefix : ends.gids)
    out.push_back(gid_text(prefix));
  for (const Lid lid : ends.lids)
    out.push_back(lid.value());
  return out;
}

Json ManagedSubnet::rule_json(std::size_t index) const {
  const sm::PathRule& rule = management_.steering().rules().all()[index];
  Json out{{"rule", index + 1}, {"hits", management_.steering().hits(index)}};
  if (!rule.name.empty()) out["name"] = rule.name;
  if (!rule.from.is_any()) out["from"] = ends_json(rule.from);
  if (!rule.to.is_any()) out["to"] = ends_json(rule.to);
  if (!rule.requester.is_any()) out["requester"] = ends_json(rule.requester);
  if (rule.service_ids) {
    out["service_id"] =
        fmt::format("0x{:x}-0x{:x}", rule.service_ids->first, rule.service_ids->last);
  }
  if (rule.pkey) out["pkey"] = rule.pkey->value();
  if (rule.sl) out["sl"] = rule.sl->value();
  if (rule.qos_class) out["qos_class"] = *rule.qos_class;
  if (rule.action == sm::PathAction::kThrough) {
    out["through"] = rule.through;
  } else {
    out["answer"] = sm::to_string(rule.action);
  }
  if (rule.answer_sl) out["answer_sl"] = rule.answer_sl->value();
  out["symmetric"] = rule.symmetric;
  return out;
}

Json ManagedSubnet::services_json() const {
  const sm::DataServices& services = management_.steering().services();
  const std::vector<sm::ServiceLid> leads = services.lids();
  Json out = Json::array();
  for (const sm::DataService& service : services.services()) {
    Json instances = Json::array();
    for (const auto& members : service.instances) {
      Json ports = Json::array();
      for (const sm::ServiceMember& member : members) {
        Json lids = Json::array();
        for (const Lid lid : member.lids) {
          const auto lead = std::ranges::find(leads, lid, &sm::ServiceLid::lid);
          lids.push_back({{"lid", lid.value()}, {"leads_to", port_name(lead->port)}});
        }
        ports.push_back({{"at", port_name(member.port)},
                         {"well", services.is_well(member.port)},
                         {"drained", services.is_drained(member.port)},
                         {"lids", std::move(lids)}});
      }
      instances.push_back(std::move(ports));
    }
    out.push_back({{"name", service.name}, {"instances", std::move(instances)}});
  }
  return out;
}

Expected<Json> ManagedSubnet::policy(const Json& request) {
  const std::string action = text_of(request, "action");
  if (action == "explain") return explain_policy(request);
  if (action == "log") return policy_log();
  if (action == "delete") {
    const auto rule = find_rule(management_.steering().rules(), request);
    if (!rule) return tl::unexpected(rule.error());
    if (auto removed = management_.steering().remove(*rule); !removed) {
      return tl::unexpected(removed.error());
    }
  } else if (action == "drain" || action == "restore") {
    if (auto done = set_drained(request, action == "drain"); !done) {
      return tl::unexpected(done.error());
    }
  } else if (action != "list") {
    return fail(std::errc::operation_not_supported,
                fmt::format("policy: this subnet manager cannot '{}'", action));
  }
  Json rules = Json::array();
  for (std::size_t i = 0; i < management_.steering().rules().all().size(); ++i)
    rules.push_back(rule_json(i));
  return Json{{"services", services_json()},
              {"rules", std::move(rules)},
              {"otherwise",
               {{"answer", sm::to_string(management_.steering().rules().default_action())},
                {"hits", management_.steering().hits(std::nullopt)}}}};
}

Expected<void> ManagedSubnet::add_rule(const Json& request, sm::PathRule rule) {
  sm::PathSteering& steering = management_.steering();
  std::size_t before = steering.rules().all().size();
  if (request.contains("before")) {
    const auto found = find_rule(steering.rules(), Json{{"rule", request["before"]}});
    if (!found) return tl::unexpected(found.error());
    before = *found;
  }
  return steering.insert(before, std::move(rule));
}

// The port of an instance, by what people call it; by its GUID while it is gone, too, or in another
// subnet, where a service is that joins that one to this.
Expected<void> ManagedSubnet::set_drained(const Json& request, bool drained) {
  sm::DataServices& services = management_.steering().services();
  const std::string name = text_of(request, "at");
  const auto end = find_end(name);
  const std::string number = request.contains("guid") ? text_of(request, "guid") : name;
  const auto guid = number.starts_with("0x") ? parse_guid(number) : std::nullopt;
  if (!end && !guid) return tl::unexpected(end.error());
  const Guid port = end ? end->guid : *guid;
  std::vector<std::string> there;
  for (const sm::DataService& service : services.services()) {
    for (const auto& members : service.instances) {
      for (const sm::ServiceMember& member : members) {
        if (member.port == port) {
          services.set_drained(port, drained);
          return {};
        }
        there.push_back(port_name(member.port));
      }
    }
  }
  return fail(std::errc::no_such_device,
              there.empty() ? fmt::format("{}: there are no data services", name)
                            : fmt::format("{}: no data service is there; they are at {}", name,
                                          fmt::join(there, ", ")));
}

// A GID as it is, whoever has it; of anything else, its port's.
Expected<Gid> ManagedSubnet::gid_called(const std::string& name) const {
  const sm::SubnetView& view = management_.administrator().view();
  if (const auto gid = parse_gid(name); gid && !gid->is_multicast()) return *gid;
  const auto end = find_end(name);
  if (!end) return tl::unexpected(end.error());
  return view.gid_of(*end);
}

Expected<Json> ManagedSubnet::explain_policy(const Json& request) const {
  const sm::SubnetView& view = management_.administrator().view();
  const auto source = gid_called(text_of(request, "from"));
  if (!source) return tl::unexpected(source.error());
  const auto destination = gid_called(text_of(request, "to"));
  if (!destination) return tl::unexpected(destination.error());
  const std::string asker = text_of(request, "requester");
  const auto requester = find_end(asker.empty() ? text_of(request, "from") : asker);
  if (!requester) return tl::unexpected(requester.error());
  PathRecord asked{.dgid = *destination, .sgid = *source};
  std::uint64_t mask = PathRecord::kHasSgid | PathRecord::kHasDgid;
  const auto take = [&](const char* name, std::uint64_t most, std::uint64_t component, auto&& set) {
    const auto number = number_of(request, name, most);
    if (!number) return;
    set(*number);
    mask |= component;
  };
  take("slid", 0xBFFF, PathRecord::kHasSlid,
       [&](std::uint64_t lid) { asked.slid = Lid{static_cast<std::uint16_t>(lid)}; });
  take("service_id", ~std::uint64_t{0}, PathRecord::kHasServiceId,
       [&](std::uint64_t id) { asked.service_id = id; });
  take("pkey", 0xFFFF, PathRecord::kHasPKey,
       [&](std::uint64_t pkey) { asked.pkey = PKey{static_cast<std::uint16_t>(pkey)}; });
  take("sl", 15, PathRecord::kHasSl,
       [&](std::uint64_t sl) { asked.sl = Sl{static_cast<std::uint8_t>(sl)}; });
  take("qos_class", 4095, PathRecord::kHasQosClass,
       [&](std::uint64_t qos) { asked.qos_class = static_cast<std::uint16_t>(qos); });
  std::vector<std::byte> data(wire::SaHeader::kDataSize);
  asked.write(data);
  sm::SaRequest question{.from = {.lid = requester->lid}, .data = data};
  question.header.method = wire::MadMethod::kGet;
  question.sa.component_mask = mask;
  question.requester = view.end_of(requester->lid);
  const auto steered = management_.administrator().steered(question);
  if (!steered) return fail(std::errc::no_such_device, "this subnet has no such source");
  return explanation_json(steered->query, steered->decision);
}

Json ManagedSubnet::hops_json(const sm::PathDecision& decision) const {
  const std::vector<sm::DataService>& services = management_.steering().services().services();
  Json out = Json::array();
  for (const sm::ServiceHop& hop : decision.hops) {
    out.push_back({{"service", services[hop.service].name},
                   {"at", port_name(hop.port)},
                   {"lid", hop.lids.front().value()}});
  }
  return out;
}

Json ManagedSubnet::policy_log() const {
  const sm::PathSteering& steering = management_.steering();
  const Time now = io::now();
  Json answers = Json::array();
  for (const sm::PathAnswer& answer : steering.answers()) {
    const sm::PathQuery& query = answer.query;
    const auto ago = std::chrono::duration_cast<std::chrono::milliseconds>(now - answer.when);
    Json out{{"manager", node_},
             {"number", answer.number},
             {"ms_ago", ago.count()},
             {"from", query.source.gid.to_string()},
             {"to", query.destination.gid.to_string()},
             {"requester", port_name(query.requester.port)},
             {"pkey", query.pkey.value()},
             {"sl", query.sl.value()},
             {"answer", sm::to_string(answer.decision.action)},
             {"hops", hops_json(answer.decision)},
             {"paths", answer.paths}};
    if (query.slid != Lid{}) out["slid"] = query.slid.value();
    if (query.service_id) out["service_id"] = *query.service_id;
    if (query.qos_class) out["qos_class"] = *query.qos_class;
    if (answer.decision.rule) out["rule"] = *answer.decision.rule + 1;
    if (!answer.rule.empty()) out["name"] = answer.rule;
    if (answer.decision.service) {
      out["as_service"] = steering.services().services()[*answer.decision.service].name;
    }
    if (!answer.decision.reason.empty()) out["reason"] = answer.decision.reason;
    answers.push_back(std::move(out));
  }
  return Json{{"answers", std::move(answers)}};
}

Json ManagedSubnet::explanation_json(const sm::PathQuery& query,
                                     const sm::PathDecision& decision) const {
  const sm::PathSteering& steering = management_.steering();
  Json out{{"from", query.source.gid.to_string()},
           {"to", query.destination.gid.to_string()},
           {"requester", port_name(query.requester.port)},
           {"pkey", query.pkey.value()},
           {"sl", query.sl.value()},
           {"answer", sm::to_string(decision.action)},
           {"hops", hops_json(decision)},
           {"passed", Json::array()}};
  if (decision.rule) out["rule"] = rule_json(*decision.rule);
  if (decision.sl) out["answer_sl"] = decision.sl->value();
  if (!decision.reason.empty()) out["reason"] = decision.reason;
  if (decision.service) {
    out["as_service"] = steering.services().services()[*decision.service].name;
    if (decision.returns_to != Lid{}) out["slid"] = decision.returns_to.value();
  }
  // The rules before it, and of each the first condition that is not met.
  const std::size_t end = decision.rule.value_or(steering.rules().all().size());
  for (std::size_t i = 0; i < end; ++i) {
    const sm::PathRule& rule = steering.rules().all()[i];
    const std::string_view unmet =
        steering.is_elsewhere(rule) ? "subnet" : sm::try_rule(rule, query).unmet;
    // One that fits was for the ends: a later one names the service as requester.
    out["passed"].push_back({{"rule", i + 1}, {"unmet", unmet.empty() ? "requester" : unmet}});
  }
  return out;
}

}  // namespace weft::daemon
