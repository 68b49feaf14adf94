// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_manager.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "daemon/lab/admin_connection.h"
#include "daemon/lab/manager_options.h"
#include "daemon/lab/steering_options.h"
#include "fabric/lab_service_text.h"

namespace weft::daemon {
namespace {

using fabric::LabNode;
using fabric::NodeKind;

// The GUID of an end port that is called by the name of a node that describes itself by another
// one; else what was given.
std::string in_terms_of_subnet(const fabric::Lab& lab, const std::string& name) {
  const std::size_t colon = name.rfind(':');
  const LabNode* const node = lab.find_node(name.substr(0, colon));
  if (node == nullptr || node->description == node->name) return name;
  const bool is_switch = node->kind == NodeKind::kSwitch;
  std::size_t port = is_switch ? 0 : 1;
  if (colon != std::string::npos) {
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + colon + 1, end, port);
    if (error != std::errc{} || stop != end) return name;
  }
  const std::size_t index = is_switch ? port : port - 1;
  if (index >= node->port_guids.size()) return name;
  return fabric::to_string(node->port_guids[index]);
}

}  // namespace

Expected<std::unique_ptr<LabManager>> LabManager::open(fabric::Fabric& fabric,
                                                       const std::string& database) {
  const LabNode* const where = fabric.lab().managing_node();
  if (where == nullptr)
    return fail(std::errc::no_such_device, "a lab without nodes has no manager");
  fabric::Node& node = *fabric.find_node(where->name);
  const std::uint8_t port = where->kind == NodeKind::kSwitch ? 0 : 1;
  auto read = read_manager_options(fabric.lab().management,
                                   {.number = port, .guid = node.port(port).guid()});
  if (!read) return tl::unexpected(read.error());
  read->options.steering = steering_options(fabric.lab());
  auto subnet = ManagedSubnet::open(node.management().mad_port(port), where->name, std::move(*read),
                                    database);
  if (!subnet) return tl::unexpected(subnet.error());
  return std::unique_ptr<LabManager>(new LabManager(fabric, node, port, std::move(*subnet)));
}

LabManager::LabManager(fabric::Fabric& fabric, fabric::Node& node, std::uint8_t port,
                       std::unique_ptr<ManagedSubnet> subnet)
    : fabric_(fabric), node_(node), port_(port), subnet_(std::move(subnet)) {
}

void LabManager::start(Time now) {
  node_.management().set_subnet_manager(port_, true, now);
  subnet_->sweep();
}

void LabManager::run(Time now) {
  if (subnet_->run(now)) node_.management_used();
}

nlohmann::json LabManager::report() const {
  return subnet_->report();
}

Expected<nlohmann::json> LabManager::answer(nlohmann::json request) {
  const bool adds = text_of(request, "what") == "policy" && text_of(request, "action") == "add";
  if (adds) {
    const auto rule = fabric::parse_policy(text_of(request, "text"), fabric_.lab(), "policy");
    if (!rule) return tl::unexpected(rule.error());
    auto added = subnet_->add_rule(request, path_rule(fabric_.lab(), *rule));
    if (!added) return tl::unexpected(added.error());
    request["action"] = "list";
  }
  for (const char* end : {"from", "to", "requester"}) {
    const auto found = request.find(end);
    if (found == request.end() || !found->is_string()) continue;
    *found = in_terms_of_subnet(fabric_.lab(), found->get<std::string>());
  }
  return subnet_->answer(request);
}

}  // namespace weft::daemon
