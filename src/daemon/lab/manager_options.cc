// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/manager_options.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "io/system_entropy.h"
#include "io/text_file.h"
#include "sm/partitions.h"
#include "sm/prefix_routes.h"
#include "sm/qos.h"

namespace weft::daemon {
namespace {

// As OpenSM has it, which knows no manager with another one.
constexpr std::uint64_t kSmKey = 1;
// A file that names every port of the largest subnet a few times over is shorter.
constexpr std::size_t kManagerOptionsMostBytes = std::size_t{64} << 20;

// What `Options` makes of a file, and of what else it has to know; and what it notes of it.
template <class Options, class... Else>
Expected<Options> read_options(const std::string& file, std::vector<std::string>& notes,
                               const Else&... with) {
  const auto text = io::read_text_file(file, kManagerOptionsMostBytes);
  if (!text) return tl::unexpected(text.error());
  auto options = Options::parse(*text, file, with...);
  if (options) notes.insert(notes.end(), options->notes.begin(), options->notes.end());
  return options;
}

Expected<std::optional<MKeyFile>> read_keys(const fabric::LabManagement& management, Guid port,
                                            sm::ManagerOptions& options) {
  if (management.mkeys.empty()) return std::nullopt;
  auto file = MKeyFile::open(management.mkeys);
  if (!file) return tl::unexpected(file.error());
  io::SystemEntropy entropy;
  const auto key = file->own_key(port, entropy);
  if (!key) return tl::unexpected(key.error());
  options.setup.mkey = *key;
  options.setup.mkey_protect = management.mkey_protect.value_or(fabric::kUsualMKeyProtect);
  options.mkeys = file->keys();
  return std::move(*file);
}

}  // namespace

Expected<ReadManagerOptions> read_manager_options(const fabric::LabManagement& management,
                                                  const ManagerPort& port) {
  ReadManagerOptions out{
      .options = {.own_port = port.number,
                  .engine = *sm::parse_engine(management.engine),
                  .setup = {.gid_prefix = management.subnet_prefix, .lmc = management.lmc},
                  .mastership = {.priority = management.priority, .sm_key = kSmKey}},
      .notes = {},
      .mkeys = {}};
  sm::SetupOptions& setup = out.options.setup;
  if (!management.qos.empty()) {
    auto qos = read_options<sm::Qos>(management.qos, out.notes);
    if (!qos) return tl::unexpected(qos.error());
    setup.qos = std::move(*qos);
  }
  if (!management.partitions.empty()) {
    const bool has_qos = setup.qos && setup.qos->on;
    auto partitions = read_options<sm::Partitions>(management.partitions, out.notes, has_qos);
    if (!partitions) return tl::unexpected(partitions.error());
    setup.partitions = std::move(*partitions);
  }
  if (!management.prefix_routes.empty()) {
    auto routes = read_options<sm::PrefixRoutes>(management.prefix_routes, out.notes);
    if (!routes) return tl::unexpected(routes.error());
    out.options.prefix_routes = std::move(*routes);
  }
  // Last: nothing is drawn for a manager that does not begin.
  auto mkeys = read_keys(management, port.guid, out.options);
  if (!mkeys) return tl::unexpected(mkeys.error());
  out.mkeys = std::move(*mkeys);
  return out;
}

}  // namespace weft::daemon
