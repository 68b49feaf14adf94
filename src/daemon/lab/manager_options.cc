// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/manager_options.h"

#include <cstddef>
#include <optional>
#include <utility>

#include "io/text_file.h"
#include "sm/partitions.h"
#include "sm/qos.h"

namespace weft::daemon {
namespace {

// As OpenSM has it, which knows no manager with another one.
constexpr std::uint64_t kSmKey = 1;
// A file that names every port of the largest subnet a few times over is shorter.
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

// What `Options` makes of a file, and of what else it has to know; and what it notes of it.
template <class Options, class... Else>
Expected<Options> read_options(const std::string& file, std::vector<std::string>& notes,
                               const Else&... with) {
  const auto text = io::read_text_file(file, kMostBytes);
  if (!text) return tl::unexpected(text.error());
  auto options = Options::parse(*text, file, with...);
  if (options) notes.insert(notes.end(), options->notes.begin(), options->notes.end());
  return options;
}

}  // namespace

Expected<ReadManagerOptions> read_manager_options(const fabric::LabManagement& management,
                                                  std::uint8_t port) {
  ReadManagerOptions out{
      .options = {.own_port = port,
                  .engine = *sm::parse_engine(management.engine),
                  .setup = {.lmc = management.lmc},
                  .mastership = {.priority = management.priority, .sm_key = kSmKey}},
      .notes = {}};
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
  return out;
}

}  // namespace weft::daemon
