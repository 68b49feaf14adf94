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

#include "io/clock.h"
#include "io/unix_socket.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

constexpr Duration kPatience = 1s;
// What the largest report takes is a few tens of megabytes.
constexpr std::size_t kMostBytes = std::size_t{256} << 20;

Expected<std::string> read_all(int fd) {
  const Time deadline = io::now() + kPatience;
  std::string text;
  std::array<char, 65536> block{};
  while (true) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - io::now());
    pollfd watched{fd, POLLIN, 0};
    const int ready = left.count() > 0 ? poll(&watched, 1, static_cast<int>(left.count())) : 0;
    if (ready == 0) return fail(std::errc::timed_out, "it does not answer");
    const ssize_t got = recv(fd, block.data(), block.size(), MSG_DONTWAIT);
    if (got == 0) return text;
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (got < 0) return fail_errno(errno, "reading its report");
    text.append(block.data(), static_cast<std::size_t>(got));
    if (text.size() > kMostBytes) return fail(std::errc::message_size, "its report has no end");
  }
}

Expected<Json> ask(const std::string& path) {
  const auto socket = io::connect_unix(path, io::UnixKind::kStream, kPatience);
  if (!socket) return tl::unexpected(socket.error());
  const auto peer = io::peer_credentials(socket->get());
  if (!peer) return tl::unexpected(peer.error());
  if (peer->uid != geteuid() && peer->uid != 0 && geteuid() != 0) {
    return fail(std::errc::permission_denied, "it is another user's");
  }
  const auto text = read_all(socket->get());
  if (!text) return tl::unexpected(text.error());
  Json report = Json::parse(*text, nullptr, false);
  if (!report.is_object()) return fail(std::errc::bad_message, "its report is not JSON");
  return report;
}

// Appends to `out` the sockets named after a process.
void find_sockets(const std::string& directory, std::vector<fs::path>& out,
                  std::error_code& error) {
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string stem = entry.path().stem().string();
    const bool pid = !stem.empty() && std::all_of(stem.begin(), stem.end(),
                                                  [](char c) { return c >= '0' && c <= '9'; });
    if (entry.path().extension() == ".sock" && pid) out.push_back(entry.path());
  }
}

// By pid: shorter numbers are smaller.
void sort_by_pid(std::vector<fs::path>& sockets) {
  std::sort(sockets.begin(), sockets.end(), [](const fs::path& a, const fs::path& b) {
    const std::string left = a.filename().string();
    const std::string right = b.filename().string();
    return left.size() != right.size() ? left.size() < right.size() : left < right;
  });
}

}  // namespace

Reports collect_reports(const std::vector<std::string>& directories) {
  Reports out;
  std::vector<fs::path> sockets;
  for (const std::string& directory : directories) {
    std::error_code error;
    find_sockets(directory, sockets, error);
    if (error) out.complaints.push_back(fmt::format("{}: {}", directory, error.message()));
  }
  sort_by_pid(sockets);
  for (const fs::path& path : sockets) {
    auto report = ask(path);
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

}  // namespace weft::cli
