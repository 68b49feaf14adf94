// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "cli/commands.h"
#include "cli/launch.h"
#include "cli/node_place.h"
#include "cli/program.h"
#include "cli/sysroot.h"
#include "host/config.h"
#include "host/device_list.h"
#include "io/pcapng_writer.h"
#include "io/runtime_dir.h"
#include "umad/adapter_tree.h"
#include "verbs/sysfs_tree.h"

namespace weft::cli {
namespace {

// An option and the variable that carries it to the libraries.
struct Carried {
  const char* option;
  const char* variable;
  const std::optional<std::string>& value;
};

std::vector<Carried> carried(const RunOptions& options) {
  return {{"--wire", "WEFT_WIRE", options.wire},
          {"--interface", "WEFT_INTERFACE", options.interface},
          {"--capture", "WEFT_CAPTURE", options.capture},
          {"--ports", "WEFT_PORTS", options.ports},
          {"--socket-buffer", "WEFT_SOCKET_BUFFER", options.socket_buffer},
          {"--fault", "WEFT_FAULT", options.fault},
          {"--keep-alive", "WEFT_KEEP_ALIVE", options.keep_alive},
          {"--cm-port", "WEFT_CM_PORT", options.cm_port}};
}

Environment environment_of(const RunOptions& options) {
  Environment out;
  for (const Carried& item : carried(options)) {
    if (item.value) out[item.variable] = *item.value;
  }
  if (options.stats) out["WEFT_STATS"] = "1";
  return out;
}

// What is wrong with WEFT_WIRE is wrong with --wire when that is where it came from.
std::string in_terms_of_options(std::string message, const RunOptions& options) {
  for (const Carried& item : carried(options)) {
    const std::string prefix = std::string(item.variable) + "=";
    if (item.value && message.starts_with(prefix)) {
      return std::string(item.option) + " " + message.substr(prefix.size());
    }
  }
  return message;
}

Expected<host::Config> read_config(const Environment& overlay) {
  std::vector<std::string> names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  const auto get = [&](const char* name) -> const char* {
    const auto found = overlay.find(name);
    return found != overlay.end() ? found->second.c_str() : std::getenv(name);
  };
  return host::read_config(get, names);
}

Expected<void> create_capture(const host::Config& config,
                              const std::vector<host::DeviceInfo>& devices) {
  std::vector<io::CaptureInterface> interfaces;
  for (const host::DeviceInfo& device : devices) {
    if (config.node.empty()) {
      interfaces.push_back({device.interface, device.name, io::LinkType::kEthernet});
    } else {
      interfaces.push_back({device.name, config.node, io::LinkType::kErf});
    }
  }
  const std::string command = tshark_command(config);
  const auto file =
      io::PcapngFile::create(config.capture, interfaces, "Weft; to read it: " + command);
  if (!file) return tl::unexpected(file.error());
  fmt::print(stderr, "weft run: capturing; to read it: {}\n", command);
  return {};
}

int execute(const Environment& environment, const std::vector<std::string>& words) {
  for (const auto& [name, value] : environment) {
    if (setenv(name.c_str(), value.c_str(), 1) != 0) {
      return refuse("run", fmt::format("{}: the environment is full", name));
    }
  }
  std::vector<char*> arguments;
  for (const std::string& word : words)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  std::fflush(nullptr);
  execvp(arguments[0], arguments.data());
  return refuse("run", fmt::format("{}: {}", words[0], std::generic_category().message(errno)));
}

}  // namespace

int run(const RunOptions& options) {
  if (options.program.empty()) {
    return refuse("run", "name a program to run: weft run -- PROGRAM [ARGUMENT...]");
  }
  Environment environment = environment_of(options);
  auto config = read_config(environment);
  if (!config) return refuse("run", in_terms_of_options(config.error().message, options));

  const auto program = inspect_program(options.program[0], program_search_path());
  if (!program) return refuse("run", program.error().what + "; " + program.error().remedy);

  std::optional<NodePlace> place;
  if (options.node) {
    auto found = find_node_place(options);
    if (!found) return refuse("run", found.error().message);
    place = std::move(*found);
    environment.merge(node_environment(*place));
    config->node = place->place.node;
    config->lab = place->place.lab;
  }
  const auto devices = host::list_devices(*config);
  if (!devices) return refuse("run", in_terms_of_options(devices.error().message, options));

  const auto directory = find_dropin_directory();
  if (!directory) return refuse("run", directory.error().message);
  auto loader = loader_environment(*directory, place.has_value());
  if (!loader) return refuse("run", loader.error().message);
  environment.merge(*loader);

  const auto runtime = io::runtime_directory();
  if (!runtime) return refuse("run", runtime.error().message);
  const auto sysroot = create_sysroot(*runtime, [&](const std::string& tree) {
    if (!place) return write_devices(tree, *config, *devices);
    auto written = verbs::write_verbs_nodes(tree, *devices);
    if (!written) return written;
    return umad::write_adapter_tree(tree, place->adapter, place->place.node);
  });
  if (!sysroot) return refuse("run", sysroot.error().message);
  environment["WEFT_SYSROOT"] = *sysroot;
  // The agent manages connections of the host's network, which a node is not in.
  if (!place) environment.merge(agent_environment(*runtime));

  if (!config->capture.empty()) {
    std::error_code error;
    config->capture = std::filesystem::absolute(config->capture, error).string();
    if (const auto created = create_capture(*config, *devices); !created) {
      return refuse("run", in_terms_of_options(created.error().message, options));
    }
    environment["WEFT_CAPTURE"] = config->capture;  // the program may change its directory
  }
  return execute(environment, options.program);
}

}  // namespace weft::cli
