// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_words.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "daemon/lab/admin_connection.h"
#include "daemon/lab/steering_options.h"
#include "fabric/lab_service_text.h"

namespace weft::daemon {
namespace {

using fabric::LabNode;
using fabric::NodeKind;

// The GUID of an end port that is called by the name of a node; empty: there is none.
std::string guid_called(const fabric::Lab& lab, const std::string& name) {
  const std::size_t colon = name.rfind(':');
  const LabNode* const node = lab.find_node(name.substr(0, colon));
  if (node == nullptr) return {};
  const bool is_switch = node->kind == NodeKind::kSwitch;
  std::size_t port = is_switch ? 0 : 1;
  if (colon != std::string::npos) {
    const char* const end = name.data() + name.size();
    const auto [stop, error] = std::from_chars(name.data() + colon + 1, end, port);
    if (error != std::errc{} || stop != end) return {};
  }
  const std::size_t index = is_switch ? port : port - 1;
  if (index >= node->port_guids.size()) return {};
  return fabric::to_string(node->port_guids[index]);
}

// That of a node that describes itself by another name than the lab's; else what was given.
std::string in_terms_of_subnet(const fabric::Lab& lab, const std::string& name) {
  const LabNode* const node = lab.find_node(name.substr(0, name.rfind(':')));
  if (node == nullptr || node->description == node->name) return name;
  const std::string guid = guid_called(lab, name);
  return guid.empty() ? name : guid;
}

}  // namespace

Expected<nlohmann::json> answer_in_words_of(const fabric::Lab& lab, ManagedSubnet& subnet,
                                            nlohmann::json request) {
  if (text_of(request, "what") == "policy" && text_of(request, "action") == "add") {
    const auto rule = fabric::parse_policy(text_of(request, "text"), lab, "policy");
    if (!rule) return tl::unexpected(rule.error());
    auto added = subnet.add_rule(
        request, path_rule(lab, *rule, managed_subnet_of(lab, subnet.node(), subnet.port())));
    if (!added) return tl::unexpected(added.error());
    request["action"] = "list";
  }
  if (const auto at = request.find("at"); at != request.end() && at->is_string()) {
    const std::string guid = guid_called(lab, at->get<std::string>());
    if (!guid.empty()) request["guid"] = guid;
  }
  for (const char* end : {"from", "to", "requester", "at"}) {
    const auto found = request.find(end);
    if (found == request.end() || !found->is_string()) continue;
    *found = in_terms_of_subnet(lab, found->get<std::string>());
  }
  auto answer = subnet.answer(request);
  // Where `weft policy save` is to write them.
  const bool has_rules =
      answer && text_of(request, "what") == "policy" && answer->contains("rules");
  if (has_rules && !lab.data.policy_file.empty()) (*answer)["file"] = lab.data.policy_file;
  return answer;
}

}  // namespace weft::daemon
