// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/admin_session.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "daemon/lab/lab_report.h"
#include "daemon/lab/lab_server.h"
#include "io/clock.h"
#include "link/emulation_text.h"

namespace weft::daemon {

using Json = nlohmann::json;

AdminSession::AdminSession(LabServer& lab, std::uint64_t id, io::UniqueFd socket,
                           OtherUsers::Place place)
    : lab_(lab), id_(id), place_(std::move(place)), connection_(std::move(socket), *this) {
}

AdminSession::~AdminSession() {
  if (captured_) lab_.captures_.remove(*captured_, connection_.socket());
}

Expected<void> AdminSession::start() {
  return connection_.start(*lab_.reactor_);
}

Json AdminSession::beside_error() const {
  return other_part_.empty() ? Json::object() : Json{{"part", other_part_}};
}

void AdminSession::on_nonsense() {
  lab_.counters_.add(LabCounter::kNonsense);
}

void AdminSession::on_end() {
  lab_.end(id_);
}

tl::unexpected<Error> AdminSession::elsewhere(std::uint16_t part, const std::string& what) {
  const fabric::Lab& lab = lab_.fabric_.lab();
  other_part_ = lab.parts[part].name;
  return fail(std::errc::no_such_device, fmt::format("{} part {} of lab {}, not in part {}", what,
                                                     other_part_, lab.name, lab_.paths_.part));
}

Expected<Json> AdminSession::carry_out(const Json& request) {
  struct Action {
    std::string_view name;
    Expected<Json> (AdminSession::*method)(const Json&);
  };
  constexpr std::array<Action, 8> kActions{{{"status", &AdminSession::status},
                                            {"link", &AdminSession::show_link},
                                            {"set", &AdminSession::set_link},
                                            {"capture", &AdminSession::capture},
                                            {"sm", &AdminSession::manager},
                                            {"lan", &AdminSession::lan},
                                            {"service", &AdminSession::service},
                                            {"stop", &AdminSession::stop}}};
  other_part_.clear();
  const std::string name = text_of(request, "do");
  for (const Action& action : kActions) {
    if (action.name == name) return (this->*action.method)(request);
  }
  lab_.counters_.add(LabCounter::kNonsense);
  return fail(std::errc::invalid_argument,
              fmt::format("this lab's daemon cannot '{}': it is of another version", name));
}

Expected<Json> AdminSession::status(const Json& request) {
  const bool all = request.value("all", Json()) == Json(true);
  Json out = lab_report(lab_.fabric_, all ? LabDetail::kAll : LabDetail::kSummary, io::now());
  out["pid"] = getpid();
  out["since"] = std::chrono::duration_cast<std::chrono::seconds>(lab_.since_).count();
  out["programs"] = lab_.programs_->report();
  if (lab_.manager_) out["sm"] = lab_.manager_->report();
  if (lab_.parts_) out["parts"] = lab_.parts_->report();
  if (lab_.wan_) out["extenders"] = lab_.wan_->report();
  if (!lab_.lan_->empty()) out["lan"] = lab_.lan_->report(all);
  Json services = lab_.services_->report({}, false);
  if (lab_.external_) lab_.external_->report(services);
  if (!services.empty()) out["services"] = std::move(services);
  if (all) add_connections(out["nodes"]);
  out["counters"] = Json::object();
  for (const auto& counters :
       {lab_.counters_.snapshot(), lab_.programs_->counters().snapshot(),
        lab_.connections_->counters().snapshot(),
        lab_.parts_ ? lab_.parts_->counters() : std::vector<CounterValue>{}}) {
    for (const CounterValue& counter : counters)
      out["counters"][std::string(counter.name)] = counter.value;
  }
  return out;
}

void AdminSession::add_connections(Json& nodes) const {
  std::size_t reported = 0;
  for (std::size_t i = 0; i < lab_.fabric_.node_count(); ++i) {
    if (!lab_.fabric_.has_node(i)) continue;
    Json& entry = nodes[reported++];
    const NodeCm* const node = lab_.connections_->node(i);
    if (node == nullptr) continue;
    Json& out =
        entry["rdma_cm"] = {{"ids", node->core().identities()}, {"counters", Json::object()}};
    for (const CounterValue& counter : node->counters()) {
      if (counter.value != 0) out["counters"][std::string(counter.name)] = counter.value;
    }
  }
}

Expected<std::size_t> AdminSession::find_link(const Json& request) {
  const std::string name = text_of(request, "link");
  const auto index = lab_.fabric_.find_link(name);
  if (index && lab_.fabric_.has_link(*index)) return *index;
  if (index) {
    const fabric::Lab& lab = lab_.fabric_.lab();
    return elsewhere(lab.nodes[lab.links[*index].ends[0].node].part, name + " is in");
  }
  return fail(
      std::errc::no_such_device,
      fmt::format("lab {} has no link {}; weft status -d lists them all", lab_.paths_.name, name));
}

Json AdminSession::report_of(std::size_t link) const {
  Json out = link_details(lab_.fabric_, link, io::now());
  Json beyond = lab_.parts_ ? lab_.parts_->report(link) : Json();
  if (!beyond.is_null()) out["beyond"] = std::move(beyond);
  return out;
}

Expected<Json> AdminSession::show_link(const Json& request) {
  const auto link = find_link(request);
  if (!link) return tl::unexpected(link.error());
  return report_of(*link);
}

Expected<Json> AdminSession::set_link(const Json& request) {
  const auto index = find_link(request);
  if (!index) return tl::unexpected(index.error());
  link::Link& link = lab_.fabric_.link(*index);
  if (const auto list = request.find("emulation"); list != request.end()) {
    const std::string text = text_of(request, "emulation");
    const auto emulation = text.empty() ? Expected<link::Emulation>(link::Emulation{})
                                        : link::parse_emulation(text, link.emulation());
    if (!emulation) return tl::unexpected(emulation.error());
    link.set_emulation(*emulation, io::now());
  }
  if (const auto plugged = request.find("plugged");
      plugged != request.end() && plugged->is_boolean()) {
    link.set_plugged(plugged->get<bool>(), io::now());
  }
  return report_of(*index);
}

Expected<Json> AdminSession::capture(const Json& request) {
  if (captured_) return fail(std::errc::device_or_resource_busy, "one capture at a time");
  const auto index = find_link(request);
  if (!index) return tl::unexpected(index.error());
  captured_ = *index;
  lab_.captures_.add(*index, lab_.fabric_.link(*index), connection_.socket());
  return report_of(*index);
}

Expected<Json> AdminSession::manager(const Json& request) {
  if (!lab_.manager_) {
    const fabric::Lab& lab = lab_.fabric_.lab();
    const bool has_one = lab.management.manager == fabric::LabManagement::Manager::kWeft;
    const fabric::LabNode* const node = has_one ? lab.managing_node() : nullptr;
    if (node != nullptr) return elsewhere(node->part, "the subnet manager is in");
    return fail(
        std::errc::operation_not_supported,
        fmt::format("lab {} has no subnet manager of its own: it was begun with sm = \"{}\"; that "
                    "of weft sm run on a node is asked with --node NAME",
                    lab_.paths_.name, fabric::to_string(lab.management.manager)));
  }
  return lab_.manager_->answer(request);
}

Expected<Json> AdminSession::lan(const Json& request) {
  const fabric::LabNode* const node = lab_.fabric_.lab().find_node(text_of(request, "node"));
  if (node != nullptr && lab_.fabric_.part().value_or(node->part) != node->part) {
    return elsewhere(node->part, node->name + " is in");
  }
  return lab_.lan_->answer(request);
}

Expected<Json> AdminSession::service(const Json& request) {
  const std::string action = text_of(request, "action");
  if (action == "reload") return lab_.services_->reload(text_of(request, "name"));
  if (!action.empty()) {
    return fail(
        std::errc::invalid_argument,
        fmt::format("this lab's daemon cannot '{}' a service: it is of another version", action));
  }
  const bool details = request.value("details", Json()) == Json(true);
  return lab_.services_->answer(text_of(request, "name"), details);
}

Expected<Json> AdminSession::stop(const Json&) {
  lab_.stop();
  return Json();
}

}  // namespace weft::daemon
