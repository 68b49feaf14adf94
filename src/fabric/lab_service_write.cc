// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "fabric/lab_service_text.h"
#include "fabric/toml_string.h"

namespace weft::fabric {
namespace {

std::string list_of(const std::vector<std::string>& words) {
  if (words.size() == 1) return words.front();
  return fmt::format("[{}]", fmt::join(words, ", "));
}

std::string gid_text(const GidPrefix& prefix) {
  const std::string text = prefix.to_string();
  // Of all bits it is a GID.
  return quoted(prefix.bits() == GidPrefix::kMostBits ? text.substr(0, text.rfind('/')) : text);
}

std::string at_text(const LabService& service) {
  std::vector<std::string> instances;
  bool has_pairs = false;
  for (const LabServiceInstance& instance : service.instances) {
    std::vector<std::string> members;
    for (const LabServiceMember& member : instance)
      members.push_back(quoted(to_string(member.at)));
    has_pairs = has_pairs || members.size() > 1;
    instances.push_back(list_of(members));
  }
  // One pair alone is a list in a list too.
  return has_pairs ? fmt::format("[{}]", fmt::join(instances, ", ")) : list_of(instances);
}

void add_lids(std::string& text, const LabService& service) {
  std::vector<std::string> lids;
  for (const LabServiceInstance& instance : service.instances) {
    for (const LabServiceMember& member : instance) {
      for (const Lid lid : member.lids)
        lids.push_back(fmt::to_string(lid.value()));
    }
  }
  if (!lids.empty()) text += fmt::format("lids = {}\n", list_of(lids));
}

std::string service_text(const LabService& service) {
  const bool dotted = service.name.find('.') != std::string::npos;
  std::string text = fmt::format("\n[service.{}]\nat = {}\n",
                                 dotted ? quoted(service.name) : service.name, at_text(service));
  if (service.type != service.name) text += fmt::format("type = {}\n", quoted(service.type));
  add_lids(text, service);
  if (service.both_work) text += "pair = \"both\"\n";
  if (service.by_load) text += "balance = \"load\"\n";
  if (service.bypass) text += "if_down = \"bypass\"\n";
  if (service.select == LabService::Select::kGids) text += "select = \"gids\"\n";
  if (service.select == LabService::Select::kOthers) text += "select = \"others\"\n";
  if (service.is_tap()) text += "select = \"copies\"\n";
  std::vector<std::string> gids;
  for (const GidPrefix& prefix : service.gids)
    gids.push_back(gid_text(prefix));
  if (!gids.empty()) text += fmt::format("gids = {}\n", list_of(gids));
  for (const ServiceKey& key : service_keys()) {
    const std::string value = key.write(service);
    if (!value.empty()) text += fmt::format("{} = {}\n", key.name, value);
  }
  return text;
}

void add_ends(std::string& text, std::string_view key, const LabPolicyEnds& ends) {
  std::vector<std::string> words;
  for (const std::string& node : ends.nodes)
    words.push_back(quoted(node));
  // With its number: without, it would be all of the node.
  for (const LabPort& port : ends.ports)
    words.push_back(quoted(fmt::format("{}:{}", port.node, port.port)));
  for (const GidPrefix& prefix : ends.gids)
    words.push_back(gid_text(prefix));
  for (const Lid lid : ends.lids)
    words.push_back(fmt::to_string(lid.value()));
  if (!words.empty()) text += fmt::format("{} = {}\n", key, list_of(words));
}

std::string policy_text(const LabPolicy& policy) {
  std::string text = "\n[[policy]]\n";
  if (!policy.name.empty()) text += fmt::format("name = {}\n", quoted(policy.name));
  add_ends(text, "from", policy.from);
  add_ends(text, "to", policy.to);
  add_ends(text, "requester", policy.requester);
  if (policy.service_ids) {
    text += fmt::format("service_id = \"0x{:x}-0x{:x}\"\n", policy.service_ids->first,
                        policy.service_ids->second);
  }
  if (policy.pkey) text += fmt::format("pkey = 0x{:04x}\n", policy.pkey->value());
  if (policy.sl) text += fmt::format("sl = {}\n", policy.sl->value());
  if (policy.qos_class) text += fmt::format("qos_class = {}\n", *policy.qos_class);
  std::vector<std::string> through;
  for (const std::string& name : policy.through)
    through.push_back(quoted(name));
  if (!through.empty()) {
    text += fmt::format("through = {}\n", list_of(through));
  } else {
    text += fmt::format("answer = \"{}\"\n", policy.refused ? "none" : "direct");
  }
  if (policy.answer_sl) text += fmt::format("answer_sl = {}\n", policy.answer_sl->value());
  if (policy.symmetric) text += "symmetric = true\n";
  return text;
}

}  // namespace

std::string services_text(const Lab& lab) {
  std::string text;
  for (const LabService& service : lab.data.services)
    text += service_text(service);
  if (!lab.data.policy_file.empty()) return text;
  for (const LabPolicy& policy : lab.data.policies)
    text += policy_text(policy);
  return text;
}

}  // namespace weft::fabric
