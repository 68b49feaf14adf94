// SPDX-License-Identifier: Apache-2.0
// `weft up` and `weft down`: a lab begins and ends.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/database_place.h"
#include "cli/extend_site.h"
#include "cli/lab_client.h"
#include "cli/opensm.h"
#include "cli/policy_file.h"
#include "cli/signals.h"
#include "daemon/background.h"
#include "daemon/lab/lab_server.h"
#include "fabric/lab_census.h"
#include "fabric/lab_file.h"
#include "fabric/lab_import.h"
#include "fabric/lab_pairs.h"
#include "io/runtime_dir.h"
#include "io/text_file.h"
#include "io/user_names.h"

namespace weft::cli {
namespace {

constexpr useconds_t kUpPauseUs = 10'000;
constexpr int kUpMostPauses = 1000;

void on_signal(daemon::LabServer& lab, int) {
  lab.stop();
}

// A lab file, or what another fabric says of itself: those have no TOML in them.
bool is_listing(const std::string& text) {
  return text.find("guid=0x") != std::string::npos || text.find("\nSwitch") != std::string::npos ||
         text.find("\nHca") != std::string::npos || text.starts_with("Switch");
}

// As people said it.
std::string command_of(const UpOptions& options) {
  return options.extend ? "extend" : "up";
}

// Each "attach=everyone".
Expected<void> give_access(fabric::LabAccess& access, const std::vector<std::string>& given) {
  for (const std::string& text : given) {
    const std::size_t sign = std::min(text.find('='), text.size());
    const auto right =
        std::find_if(fabric::kLabRights.begin(), fabric::kLabRights.end(),
                     [&](const auto& each) { return each.name == text.substr(0, sign); });
    const auto users = fabric::parse_lab_users(text.substr(std::min(sign + 1, text.size())));
    if (right == fabric::kLabRights.end() || !users) {
      return fail(std::errc::invalid_argument,
                  fmt::format("--access {}: must be attach, manage or administer, =, and owner, "
                              "everyone or group:NAME",
                              text));
    }
    access.*right->users = *users;
  }
  return {};
}

// The names of files in a lab file, which are from its own place on.
std::vector<std::string*> files_of(fabric::Lab& lab) {
  std::vector<std::string*> names;
  const auto add = [&names](fabric::LabManagement& management) {
    names.insert(names.end(), {&management.partitions, &management.qos, &management.prefix_routes,
                               &management.database, &management.mkeys});
  };
  add(lab.management);
  for (fabric::LabManagement& management : lab.more_subnets)
    add(management);
  for (fabric::LabExtender& extender : lab.extenders) {
    names.insert(names.end(), {&extender.key, &extender.certificate});
    for (fabric::LabRemote& remote : extender.remotes) {
      for (std::string& fingerprint : remote.fingerprints)
        names.push_back(&fingerprint);
    }
  }
  for (fabric::LabService& service : lab.data.services) {
    names.insert(names.end(), {&service.rules, &service.capture.file, &service.external.key,
                               &service.external.certificate});
    for (std::string& fingerprint : service.external.fingerprints)
      names.push_back(&fingerprint);
  }
  names.push_back(&lab.data.policy_file);
  std::erase_if(names, [](const std::string* name) {
    return name->empty() || *name == fabric::kNoDatabase ||
           name->starts_with(fabric::kFingerprintPrefix);
  });
  return names;
}

Expected<fabric::LabFile> read_lab(const UpOptions& options) {
  const auto text = io::read_text_file(options.file, fabric::kMostFile);
  if (!text) return tl::unexpected(text.error());
  const std::string file = options.file == "-" ? "standard input" : options.file;
  const std::string stem =
      options.file == "-" ? "lab" : std::filesystem::path(options.file).stem().string();
  fabric::LabFile out;
  if (is_listing(*text)) {
    auto imported = fabric::import_listing(*text, file, stem);
    if (!imported) return tl::unexpected(imported.error());
    for (const std::string& note : imported->notes)
      fmt::print(stderr, "weft {}: {}\n", command_of(options), note);
    out.lab = std::move(imported->lab);
  } else {
    auto parsed = fabric::parse_lab_file(*text, file);
    if (!parsed) return tl::unexpected(parsed.error());
    out = std::move(*parsed);
  }
  fabric::Lab& lab = out.lab;
  const std::filesystem::path directory = std::filesystem::path(options.file).parent_path();
  for (std::string* name : files_of(lab))
    *name = std::filesystem::absolute(directory / *name);
  if (auto read = read_policies(lab, ""); !read) return tl::unexpected(read.error());
  // What is written for a person is where he is.
  for (fabric::LabService& service : lab.data.services) {
    if (service.type != "capture" || !service.capture.file.empty()) continue;
    service.capture.file = std::filesystem::absolute(service.name + ".pcapng");
  }
  if (auto given = give_access(out.access, options.access); !given) {
    return tl::unexpected(given.error());
  }
  if (!options.name.empty()) lab.name = options.name;
  if (!options.sm.empty()) {
    lab.management.manager = *fabric::parse_manager(options.sm);
    // Then whoever comes manages all of its subnets.
    if (lab.management.manager != fabric::LabManagement::Manager::kWeft) lab.more_subnets.clear();
  }
  if (lab.name.empty()) lab.name = stem;
  return out;
}

using Part = std::optional<std::uint16_t>;

Expected<Part> choose_part(const fabric::Lab& lab, const std::string& name) {
  if (lab.parts.empty() && name.empty()) return Part();
  if (lab.parts.empty()) {
    return fail(std::errc::invalid_argument,
                fmt::format("--part {}: lab {} is not in parts", name, lab.name));
  }
  if (const Part part = lab.find_part(name)) return part;
  std::vector<std::string_view> names;
  for (const fabric::LabPart& part : lab.parts)
    names.push_back(part.name);
  return fail(std::errc::invalid_argument,
              name.empty() ? fmt::format("lab {} is in parts: say with --part which to run ({})",
                                         lab.name, fmt::join(names, ", "))
                           : fmt::format("--part {}: lab {} has the parts {}", name, lab.name,
                                         fmt::join(names, ", ")));
}

// Whether the subnet manager that comes with the lab runs in this process.
bool manages(const fabric::Lab& lab, Part part) {
  const fabric::LabNode* const node = lab.managing_node();
  return !part || (node != nullptr && node->part == *part);
}

// The file by which the lab's own manager remembers; empty: none.
std::string database_of(const fabric::Lab& lab, Part part) {
  const fabric::LabManagement& management = lab.management;
  const bool has_none = management.manager != fabric::LabManagement::Manager::kWeft ||
                        management.database == fabric::kNoDatabase || !manages(lab, part);
  if (has_none) return "";
  if (!management.database.empty()) return management.database;
  const auto usual = usual_database(lab.name, "subnet.db");
  if (usual) return *usual;
  fmt::print(stderr, "weft up: nothing is remembered of lab {}: {}\n", lab.name,
             usual.error().message);
  return "";
}

bool is_here(const fabric::LabNode& node, Part part) {
  return !part || node.part == *part;
}

// Of this part; or where it has none, of any.
std::string first_adapter(const fabric::Lab& lab, Part part) {
  std::string other = "NODE";
  for (const fabric::LabNode& node : lab.nodes) {
    if (node.kind != fabric::NodeKind::kChannelAdapter) continue;
    if (is_here(node, part)) return node.name;
    if (other == "NODE") other = node.name;
  }
  return other;
}

// Where it leads to other sites, a line for each.
std::string extender_lines(const fabric::Lab& lab, Part part) {
  std::string lines;
  for (const fabric::LabExtender& extender : lab.extenders) {
    const fabric::LabNode& node = lab.nodes[extender.node];
    if (!is_here(node, part)) continue;
    if (extender.mode == fabric::ExtenderMode::kRoce) {
      lines += fmt::format("  hosts with RoCE    on {}, by {}\n", extender.hosts, node.name);
    }
    for (const fabric::LabRemote& remote : extender.remotes) {
      lines += fmt::format(
          "  extends to         {} by {}, {}\n", remote.name, node.name,
          remote.address ? "at " + to_string(*remote.address) : "which comes from anywhere");
    }
  }
  return lines;
}

std::string manager_line(const fabric::Lab& lab, Part part) {
  const fabric::LabNode* const node = lab.managing_node();
  if (node != nullptr && !manages(lab, part)) return "in part " + lab.parts[node->part].name;
  switch (lab.management.manager) {
    case fabric::LabManagement::Manager::kWeft:
      if (!lab.more_subnets.empty()) {
        return fmt::format("its own, of {} subnets", lab.more_subnets.size() + 1);
      }
      return fmt::format("its own ({})", lab.management.engine);
    case fabric::LabManagement::Manager::kOpenSm:
      return "opensm on " + (node != nullptr ? node->name : "no node");
    case fabric::LabManagement::Manager::kNone:
      return fmt::format("weft sm run --node {}", first_adapter(lab, part));
  }
  return "";
}

// How much of the lab is here.
std::string size_of(const fabric::Lab& lab, Part part) {
  const fabric::LabCensus census = fabric::census_of(lab, part);
  if (census.is_roce_alone()) return census.to_string();
  std::size_t links = 0;
  std::size_t cut = 0;
  for (const fabric::LabLink& link : lab.links) {
    const bool first = is_here(lab.nodes[link.ends[0].node], part);
    const bool second = is_here(lab.nodes[link.ends[1].node], part);
    links += first || second ? 1 : 0;
    cut += first != second ? 1 : 0;
  }
  std::string out = fmt::format("{}, {} links", census.to_string(), links);
  return cut == 0 ? out : fmt::format("{}, {} of them to other parts", out, cut);
}

// What others call it, and what they may do.
std::string access_line(const fabric::LabAccess& access, const daemon::LabPaths& paths) {
  if (access == fabric::LabAccess{}) return "";
  std::vector<std::string> rights;
  for (const fabric::LabRight& right : fabric::kLabRights) {
    const fabric::LabUsers& users = access.*right.users;
    if (users != fabric::LabUsers{}) {
      rights.push_back(fmt::format("{}={}", right.name, to_string(users)));
    }
  }
  return fmt::format("  for other users    --lab {}/{} ({})\n", io::user_name(geteuid()),
                     paths.title(), fmt::join(rights, ", "));
}

void greet(const fabric::LabFile& file, Part part, const daemon::LabPaths& paths) {
  const fabric::Lab& lab = file.lab;
  const bool has_fabric = !fabric::census_of(lab, part).is_roce_alone();
  std::string lines;
  if (has_fabric) lines += fmt::format("  subnet manager     {}\n", manager_line(lab, part));
  if (!paths.database.empty()) lines += fmt::format("  remembers by       {}\n", paths.database);
  lines += access_line(file.access, paths) + extender_lines(lab, part);
  if (has_fabric) {
    lines += fmt::format("  what is there      weft run --node {} -- ibnetdiscover\n",
                         first_adapter(lab, part));
  }
  fmt::print(
      "lab {}: {}\n"
      "{}"
      "  its state          weft status -d\n"
      "  its end            weft down {}\n",
      paths.title(), size_of(lab, part), lines, paths.title());
  std::fflush(stdout);
}

}  // namespace

int up(const UpOptions& options) {
  const std::string command = command_of(options);
  const auto file = read_lab(options);
  if (!file) return refuse(command, file.error().message);
  const fabric::Lab& lab = file->lab;
  const auto name = options.extend ? part_of_extenders(lab, options.file, options.part)
                                   : Expected<std::string>(options.part);
  if (!name) return refuse(command, name.error().message);
  const auto runtime = io::runtime_directory();
  if (!runtime) return refuse(command, runtime.error().message);
  const auto part = choose_part(lab, *name);
  if (!part) return refuse(command, part.error().message);
  auto paths = daemon::lab_paths(*runtime, lab.name, *name);
  if (!paths) return refuse(command, paths.error().message);
  daemon::allow_many_descriptors();
  const bool with_opensm =
      lab.management.manager == fabric::LabManagement::Manager::kOpenSm && manages(lab, *part);
  if (with_opensm) {
    if (auto found = OpenSm::find(); !found) return refuse(command, found.error().message);
  }
  paths->database = database_of(lab, *part);
  const auto server = daemon::LabServer::open(lab, *paths, *part, file->access);
  if (!server) return refuse(command, server.error().message);
  const Signals<daemon::LabServer, on_signal> signals(**server, {SIGTERM, SIGINT, SIGHUP});
  ignore_broken_files();
  for (const auto& notes : {(*server)->notes(), fabric::pair_notes(lab)}) {
    for (const std::string& note : notes)
      fmt::print(stderr, "weft {}: {}\n", command, note);
  }
  greet(*file, *part, *paths);
  if (options.detach) daemon::leave_parent();
  OpenSm opensm;
  if (with_opensm) {
    if (auto started = opensm.start(lab, *paths); !started) {
      return refuse(command, started.error().message);
    }
  }
  const auto ended = (*server)->run();
  if (ended) return kOk;
  fmt::print(stderr, "weft {}: {}\n", command, ended.error().message);
  return kProblem;
}

int down(const DownOptions& options) {
  const auto lab = choose_running_lab(options.name);
  if (!lab) return refuse("down", lab.error().message);
  for (const daemon::LabPaths& part : *lab) {
    const auto asked = ask_parts({part}, {{"do", "stop"}});
    if (!asked) return refuse("down", asked.error().message);
  }
  // They have heard; when one is gone, its name is free again.
  const std::string name = options.name.empty() ? lab->front().name : options.name;
  for (int pauses = 0; pauses < kUpMostPauses; ++pauses) {
    if (!choose_running_lab(name)) return kOk;
    usleep(kUpPauseUs);
  }
  fmt::print(stderr, "weft down: lab {} has not ended yet\n", name);
  return kProblem;
}

}  // namespace weft::cli
