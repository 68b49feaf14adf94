// SPDX-License-Identifier: Apache-2.0
#include "cli/node_place.h"

#include <fmt/format.h>

#include "cli/lab_client.h"

namespace weft::cli {
namespace {

// What is between a lab's nodes is said in the lab; these are for programs on the host's network.
const char* misplaced_option(const RunOptions& options) {
  if (options.wire) return "--wire";
  if (options.interface) return "--interface";
  if (options.ports) return "--ports";
  if (options.socket_buffer) return "--socket-buffer";
  if (options.keep_alive) return "--keep-alive";
  return options.cm_port ? "--cm-port" : nullptr;
}

}  // namespace

Expected<NodePlace> find_node_place(const RunOptions& options) {
  if (const char* option = misplaced_option(options)) {
    return fail(std::errc::invalid_argument,
                fmt::format("{} is for programs outside a lab, and --node for those inside; leave "
                            "one of them out",
                            option));
  }
  return find_node(options.lab.value_or(""), *options.node);
}

Expected<NodePlace> find_node(const std::string& name, const std::string& node) {
  const auto lab = choose_running_lab(name);
  if (!lab) return tl::unexpected(lab.error());
  // Of a lab in parts, one has the node; each of the others knows which, and says so.
  Error why;
  for (const daemon::LabPaths& part : *lab) {
    NodePlace out{.place = {.lab = part.directory, .node = node}, .adapter = {}};
    auto adapter = umad::describe(out.place);
    if (adapter) {
      out.adapter = std::move(*adapter);
      return out;
    }
    why = std::move(adapter.error());
    if (why.code != std::errc::no_such_device) break;
  }
  return tl::unexpected(std::move(why));
}

Environment node_environment(const NodePlace& place) {
  return {{"WEFT_LAB", place.place.lab}, {"WEFT_NODE", place.place.node}};
}

}  // namespace weft::cli
