// SPDX-License-Identifier: Apache-2.0
// `weft sm run`: Weft's subnet manager as a process, on a node of a lab.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace CLI {
class App;
}

namespace weft::cli {

// What is not given is as in a lab that says nothing of it.
struct SmRunOptions {
  std::string lab;                  // empty: the only one
  std::optional<std::string> node;  // nothing: where `weft run --node` runs this
  std::optional<std::uint32_t> port;
  std::optional<std::string> engine;
  std::optional<unsigned> priority;
  std::optional<unsigned> lmc;
  std::optional<std::string> subnet_prefix;  // as lab files have it
  std::optional<std::string> partitions;     // files
  std::optional<std::string> prefix_routes;
  std::optional<std::string> qos;
  std::optional<std::string> mkeys;
  std::optional<unsigned> mkey_protect;
  std::optional<std::string> policies;  // a lab file
  std::optional<std::string> database;  // a file, or fabric::kNoDatabase; nothing: the usual one
  bool once = false;
  bool json = false;

  // Whether any is given that other actions of `weft sm` do not have.
  [[nodiscard]] bool any() const {
    return engine || priority || lmc || subnet_prefix || partitions || prefix_routes || qos ||
           mkeys || mkey_protect || policies || database || once;
  }
};

// The words that it takes beside those of `weft sm`.
void define_sm_run(CLI::App& sm, SmRunOptions& run);

struct SmOptions;
// `weft sm`, whatever of it: with the action run as below. The exit status.
int sm_command(SmOptions asked, SmRunOptions run);

// Until it is interrupted, or with `once` until the subnet is set up. The exit status.
int sm_run(const SmRunOptions& options);

}  // namespace weft::cli
