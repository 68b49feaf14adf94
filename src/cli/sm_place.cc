// SPDX-License-Identifier: Apache-2.0
#include "cli/sm_place.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "cli/lab_client.h"
#include "cli/node_place.h"
#include "cli/report_view.h"
#include "daemon/lab/manager_process.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

// "b:1" of each manager that is a process and answers at a socket in `lab`.
std::vector<std::string> managers_of(const std::filesystem::path& lab) {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator at(lab, error), end; !error && at != end;
       at.increment(error)) {
    if (at->path().extension() != daemon::kManagerAdminSuffix) continue;
    auto client = LabClient::connect(at->path().string(), "a subnet manager");
    if (!client) continue;
    const auto report = client->ask({{"do", "sm"}, {"what", "status"}});
    if (!report) continue;
    out.push_back(
        fmt::format("{}:{}", printable(text_of(*report, "node")), number_of(*report, "port")));
  }
  std::sort(out.begin(), out.end());
  return out;
}

Error nobody_at(const umad::Place& place, std::uint32_t port, const std::string& socket) {
  const auto there = managers_of(std::filesystem::path(socket).parent_path());
  return {std::errc::no_such_device,
          fmt::format("no weft sm run is at port {} of node {}; {}", port, place.node,
                      there.empty() ? "nor at any other of this lab"
                                    : fmt::format("there are: {}", fmt::join(there, ", ")))};
}

}  // namespace

Expected<umad::Place> manager_place(const std::string& lab,
                                    const std::optional<std::string>& node) {
  if (!node && lab.empty()) {
    if (auto place = umad::place_from_environment()) return place;
  }
  if (!node) {
    return fail(std::errc::invalid_argument, "say on which node of a lab it is, with --node NAME");
  }
  auto found = find_node(lab, *node);
  if (!found) return tl::unexpected(found.error());
  return std::move(found->place);
}

Expected<Json> ask_manager(const umad::Place& place, std::optional<std::uint32_t> port,
                           const Json& request) {
  const auto number = port ? Expected<std::uint32_t>(*port) : daemon::usual_manager_port(place);
  if (!number) return tl::unexpected(number.error());
  const auto path = daemon::manager_admin_path(place, *number);
  if (!path) return tl::unexpected(path.error());
  auto client = LabClient::connect(
      *path, fmt::format("the subnet manager at port {} of node {}", *number, place.node));
  if (client) return client->ask(request);
  // A process that was killed leaves its socket behind.
  const bool is_nobody = client.error().code == std::errc::no_such_file_or_directory ||
                         client.error().code == std::errc::connection_refused;
  return tl::unexpected(is_nobody ? nobody_at(place, *number, *path) : client.error());
}

Expected<Json> ask_manager_of(const std::string& lab, const std::optional<std::string>& node,
                              std::optional<std::uint32_t> port, const Json& request) {
  if (!node && !port) return ask_lab(lab, request);
  const auto place = manager_place(lab, node);
  if (!place) return tl::unexpected(place.error());
  return ask_manager(*place, port, request);
}

}  // namespace weft::cli
