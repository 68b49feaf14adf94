// SPDX-License-Identifier: Apache-2.0
#include "cli/report_client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <span>
#include <string_view>

#include "host/door.h"
#include "io/clock.h"
#include "io/pass_descriptor.h"
#include "io/sealed_file.h"
#include "io/unix_socket.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr Duration kReportClientPatience = 1s;
constexpr const char* kSilence = "it does not answer";
// What the largest report takes is a few tens of megabytes.
constexpr std::size_t kReportClientMostBytes = std::size_t{256} << 20;

Expected<std::string> read_all(int fd) {
  const Time deadline = io::now() + kReportClientPatience;
  std::string text;
  std::array<char, 65536> block{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - io::now());
    pollfd watched{fd, POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&watched, 1, static_cast<int>(left.count())) : 0;
    if (ready == 0) return fail(std::errc::timed_out, kSilence);
    const ssize_t got = recv(fd, block.data(), block.size(), MSG_DONTWAIT);
    if (got == 0) return text;
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return fail_errno(errno, "reading its report");
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > kReportClientMostBytes)
      return fail(std::errc::message_size, "its report has no end");
  }
}

Expected<io::UniqueFd> connect_to(const std::string& path, io::UnixKind kind) {
  auto socket = io::connect_unix(path, kind, kReportClientPatience);
  if (!socket) return socket;
  const auto peer = io::peer_credentials(socket->get());
  if (!peer) return tl::unexpected(peer.error());
  if (peer->uid != geteuid() && peer->uid != 0 && geteuid() != 0) {
    return fail(std::errc::permission_denied, "it is another user's");
  }
  return socket;
}

Expected<Json> parse(const std::string& text) {
  Json report = Json::parse(text, nullptr, false);
  if (!report.is_object()) return fail(std::errc::bad_message, "its report is not JSON");
  return report;
}

Expected<Json> ask_program(const std::string& path) {
  const auto socket = connect_to(path, io::UnixKind::kStream);
  if (!socket) return tl::unexpected(socket.error());
  const auto text = read_all(socket->get());
  if (!text) return tl::unexpected(text.error());
  return parse(*text);
}

// See host/door.h.
Expected<io::UniqueFd> report_file(int agent) {
  host::door::Hello hello{};
  hello.magic = host::door::kMagic;
  hello.version = host::door::kVersion;
  hello.purpose = host::door::kReport;
  const auto said = io::send_message(agent, std::as_bytes(std::span(&hello, 1)));
  if (!said) return tl::unexpected(said.error());
  pollfd watched{agent, POLLIN, 0};
  if (poll(&watched, 1, kReportClientPatience / 1ms) <= 0)
    return fail(std::errc::timed_out, kSilence);
  host::door::Welcome welcome{};
  auto answer = io::receive_message(agent, std::as_writable_bytes(std::span(&welcome, 1)));
  if (!answer) return tl::unexpected(answer.error());
  if (!*answer || (*answer)->size != sizeof welcome) {
    return fail(std::errc::protocol_error, "it answers nonsense");
  }
  if (welcome.error != 0) {
    welcome.message[sizeof welcome.message - 1] = '\0';
    return fail(static_cast<std::errc>(welcome.error), welcome.message);
  }
  return std::move((*answer)->descriptor);
}

Expected<Json> ask_agent(const std::string& path) {
  const auto socket = connect_to(path, io::UnixKind::kSeqPacket);
  if (!socket) return tl::unexpected(socket.error());
  const auto file = report_file(socket->get());
  if (!file) return tl::unexpected(file.error());
  const auto size = io::sealed_file_size(file->get());
  if (!size) return tl::unexpected(size.error());
  if (*size > kReportClientMostBytes) return fail(std::errc::message_size, "its report has no end");
  std::string text(*size, '\0');
  const auto all = io::read_sealed_file(file->get(), std::as_writable_bytes(std::span(text)));
  if (!all) return tl::unexpected(all.error());
  return parse(text);
}

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// The sockets in `directories` whose names are `prefix`, a number and ".sock", by that number. What
// cannot be read is complained about.
std::vector<fs::path> find_sockets(const std::vector<std::string>& directories,
                                   std::string_view prefix, std::vector<std::string>& complaints) {
  std::vector<fs::path> out;
  for (const std::string& directory : directories) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(directory, error)) {
      const std::string stem = entry.path().stem().string();
      if (entry.path().extension() == ".sock" && stem.starts_with(prefix) &&
          is_number(std::string_view(stem).substr(prefix.size()))) {
        out.push_back(entry.path());
      }
    }
    if (error) complaints.push_back(fmt::format("{}: {}", directory, error.message()));
  }
  // Shorter numbers are smaller.
  std::sort(out.begin(), out.end(), [](const fs::path& a, const fs::path& b) {
    const std::string left = a.filename().string();
    const std::string right = b.filename().string();
    return left.size() != right.size() ? left.size() < right.size() : left < right;
  });
  return out;
}

}  // namespace

Reports collect_reports(const std::vector<std::string>& directories) {
  Reports out;
  for (const fs::path& path : find_sockets(directories, "", out.complaints)) {
    auto report = ask_program(path);
    if (report) {
      out.processes.push_back(std::move(*report));
    } else if (report.error().code == std::errc::connection_refused) {
      unlink(path.c_str());  // its process died: a running one listens before it has this name
    } else if (report.error().code != std::errc::no_such_file_or_directory) {
      out.complaints.push_back(
          fmt::format("process {}: {}", path.stem().string(), report.error().message));
    }
  }
  return out;
}

Reports collect_agents(const std::vector<std::string>& directories) {
  Reports out;
  for (const fs::path& path : find_sockets(directories, "agent-", out.complaints)) {
    auto report = ask_agent(path);
    if (report) {
      out.agents.push_back(std::move(*report));
    } else if (report.error().code != std::errc::connection_refused &&
               report.error().code != std::errc::no_such_file_or_directory) {
      // One that was killed leaves its socket to the next agent.
      out.complaints.push_back(
          fmt::format("host agent at {}: {}", path.string(), report.error().message));
    }
  }
  return out;
}

}  // namespace weft::cli
