// SPDX-License-Identifier: Apache-2.0
#include "cli/node_place.h"

#include <fmt/format.h>

#include "daemon/lab/lab_paths.h"
#include "io/runtime_dir.h"

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
  const auto lab =
      daemon::choose_lab(daemon::running_labs(io::runtime_directories()), options.lab.value_or(""));
  if (!lab) return tl::unexpected(lab.error());
  NodePlace out{.place = {.lab = lab->directory, .node = *options.node}, .adapter = {}};
  auto adapter = umad::describe(out.place);
  if (!adapter) return tl::unexpected(adapter.error());
  out.adapter = std::move(*adapter);
  return out;
}

Environment node_environment(const NodePlace& place) {
  return {{"WEFT_LAB", place.place.lab}, {"WEFT_NODE", place.place.node}};
}

}  // namespace weft::cli
