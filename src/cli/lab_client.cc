// SPDX-License-Identifier: Apache-2.0
#include "cli/lab_client.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "daemon/lab/shared_labs.h"
#include "io/lab_refusal.h"
#include "io/pass_descriptor.h"
#include "io/runtime_dir.h"
#include "io/sealed_file.h"
#include "io/unix_socket.h"
#include "io/user_names.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

// A lab of thousands of nodes takes a moment to tell of them all.
constexpr Duration kLabClientPatience = 10s;
constexpr Duration kMoment = 200ms;  // between looks whether the user wants to end
constexpr std::size_t kLongestAnswer = 4096;
constexpr std::size_t kLabClientMostBytes = std::size_t{256} << 20;

Expected<Json> read_report(int file) {
  const auto size = io::sealed_file_size(file);
  if (!size) return tl::unexpected(size.error());
  if (*size > kLabClientMostBytes) return fail(std::errc::message_size, "the report has no end");
  std::string text(*size, '\0');
  const auto all = io::read_sealed_file(file, std::as_writable_bytes(std::span(text)));
  if (!all) return tl::unexpected(all.error());
  Json report = Json::parse(text, nullptr, false);
  if (!report.is_object()) return fail(std::errc::bad_message, "the report is not JSON");
  return report;
}

}  // namespace

Expected<LabClient> LabClient::connect(const daemon::LabPaths& lab) {
  auto client = connect(lab.admin, fmt::format("lab {}", lab.title()));
  if (client) return client;
  return tl::unexpected(
      io::explain_refusal(std::move(client.error()), lab.directory, "administer"));
}

Expected<LabClient> LabClient::connect(const std::string& socket, std::string who) {
  auto connected = io::connect_unix(socket, io::UnixKind::kSeqPacket, kLabClientPatience);
  if (!connected) {
    return fail(connected.error().code,
                fmt::format("{} does not answer: {}", who, connected.error().message));
  }
  return LabClient(std::move(*connected), std::move(who));
}

Expected<Json> LabClient::ask(const Json& request) {
  const std::string text = request.dump();
  const auto said = io::send_message(socket_.get(), std::as_bytes(std::span(text)));
  if (!said) return tl::unexpected(said.error());
  pollfd watched{socket_.get(), POLLIN, 0};
  if (poll(&watched, 1, kLabClientPatience / 1ms) <= 0) {
    return fail(std::errc::timed_out, who_ + " does not answer");
  }
  std::array<std::byte, kLongestAnswer> buffer;
  auto message = io::receive_message(socket_.get(), buffer);
  if (!message) return tl::unexpected(message.error());
  if (!*message || (*message)->size == 0) {
    return fail(std::errc::connection_reset, who_ + " has closed the connection");
  }
  const auto* const begin = reinterpret_cast<const char*>(buffer.data());
  const Json answer = Json::parse(begin, begin + (*message)->size, nullptr, false);
  if (!answer.is_object()) return fail(std::errc::bad_message, who_ + " answers nonsense");
  const auto part = answer.find("part");
  other_part_ = part != answer.end() && part->is_string() ? part->get<std::string>() : "";
  if (const auto error = answer.find("error"); error != answer.end() && error->is_string()) {
    return fail(std::errc::invalid_argument, error->get<std::string>());
  }
  if (!(*message)->descriptor) return Json();
  return read_report((*message)->descriptor.get());
}

Expected<std::optional<std::size_t>> LabClient::next(MutableBytes buffer) {
  pollfd watched{socket_.get(), POLLIN, 0};
  if (poll(&watched, 1, kMoment / 1ms) <= 0) return fail(std::errc::interrupted, "nothing came");
  auto message = io::receive_message(socket_.get(), buffer);
  if (!message) return tl::unexpected(message.error());
  if (!*message || (*message)->size == 0) return std::optional<std::size_t>();
  return std::optional((*message)->size);
}

Expected<std::vector<daemon::LabPaths>> choose_running_lab(const std::string& name) {
  if (const std::size_t slash = name.find('/'); slash != std::string::npos) {
    // What is this user's own is where he alone finds it.
    if (io::find_user(name.substr(0, slash)) != geteuid()) return daemon::find_shared_lab(name);
    return choose_running_lab(name.substr(slash + 1));
  }
  auto lab = daemon::choose_lab(daemon::running_labs(io::runtime_directories()), name);
  if (lab || lab.error().code != std::errc::no_such_file_or_directory) return lab;
  const std::vector<std::string> shared = daemon::shared_lab_names();
  if (shared.empty()) return lab;
  return fail(lab.error().code, fmt::format("{}; of other users there are: {}", lab.error().message,
                                            fmt::join(shared, ", ")));
}

const daemon::LabPaths* find_part(const std::vector<daemon::LabPaths>& lab, std::string_view part) {
  const auto found = std::find_if(
      lab.begin(), lab.end(), [part](const daemon::LabPaths& each) { return each.part == part; });
  return found == lab.end() ? nullptr : &*found;
}

Expected<LabAnswer> ask_parts(const std::vector<daemon::LabPaths>& lab, const Json& request) {
  const daemon::LabPaths* asked = &lab.front();
  while (true) {
    auto client = LabClient::connect(*asked);
    if (!client) return tl::unexpected(client.error());
    auto report = client->ask(request);
    if (report) return LabAnswer{*asked, std::move(*client), std::move(*report)};
    const daemon::LabPaths* const other =
        client->other_part().empty() ? nullptr : find_part(lab, client->other_part());
    // No part sends back to one that was asked before, and so none in a circle.
    if (other == nullptr || asked != &lab.front()) return tl::unexpected(report.error());
    asked = other;
  }
}

Expected<Json> ask_lab(const std::string& name, const Json& request) {
  const auto lab = choose_running_lab(name);
  if (!lab) return tl::unexpected(lab.error());
  auto answer = ask_parts(*lab, request);
  if (!answer) return tl::unexpected(answer.error());
  return std::move(answer->report);
}

}  // namespace weft::cli
