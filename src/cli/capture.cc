// SPDX-License-Identifier: Apache-2.0
// `weft capture`: what a link of a lab carries, as pcapng.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/capture_filter.h"
#include "cli/commands.h"
#include "cli/lab_client.h"
#include "cli/report_view.h"
#include "daemon/lab/link_captures.h"
#include "io/pcapng_writer.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

std::atomic<bool> stopping{false};

void end_on_signal(int) {
  stopping = true;
}

// Without SA_RESTART: the wait for the next packet ends.
void end_with_signals() {
  struct sigaction action {};
  action.sa_handler = end_on_signal;
  for (const int signal : {SIGINT, SIGTERM, SIGPIPE})
    sigaction(signal, &action, nullptr);
}

std::vector<io::CaptureInterface> interfaces_of(const Json& link) {
  std::vector<io::CaptureInterface> out;
  for (const Json& end : list_of(link, "ends")) {
    const std::string at = printable(text_of(end, "at"));
    out.push_back({at, "sent by " + at, io::LinkType::kErf});
  }
  return out;
}

struct Totals {
  std::uint64_t packets = 0;
  std::uint64_t missed = 0;
};

Expected<void> record(LabClient& lab, io::PcapngFile& file, const CaptureFilter& filter,
                      const CaptureOptions& options, Totals& totals) {
  std::array<std::byte, 8192> buffer;
  while (!stopping && (options.count == 0 || totals.packets < options.count)) {
    const auto size = lab.next(buffer);
    if (!size && size.error().code == std::errc::interrupted) continue;
    if (!size) return tl::unexpected(size.error());
    if (!*size) return {};
    daemon::CapturedHead head;
    if (**size < sizeof head) continue;
    std::memcpy(&head, buffer.data(), sizeof head);
    const Bytes packet = Bytes(buffer).first(**size).subspan(sizeof head);
    totals.missed += head.missed;
    if (!filter.takes(packet)) continue;
    const auto erf = io::erf_infiniband_header(Duration(head.timestamp_ns), packet.size());
    const std::array<Bytes, 2> pieces{Bytes(erf), packet};
    auto written = file.write({.interface_id = head.from,
                               .timestamp = Duration(head.timestamp_ns),
                               .data = pieces,
                               .comment = {}});
    if (!written) return written;
    // Who watches sees each packet at once.
    if (auto flushed = file.flush(); !flushed) return flushed;
    ++totals.packets;
  }
  return {};
}

}  // namespace

int capture(const CaptureOptions& options) {
  const auto filter = CaptureFilter::parse(options.filter);
  if (!filter) return refuse("capture", filter.error().message);
  const bool to_stdout = options.file.empty() || options.file == "-";
  if (to_stdout && isatty(STDOUT_FILENO) != 0) {
    return refuse("capture",
                  "standard output is a terminal: weft capture LINK | tshark -i -, or "
                  "-w FILE");
  }
  const auto lab = choose_running_lab(options.lab);
  if (!lab) return refuse("capture", lab.error().message);
  auto begun = ask_parts(*lab, {{"do", "capture"}, {"link", options.link}});
  if (!begun) return refuse("capture", begun.error().message);
  end_with_signals();
  const auto interfaces = interfaces_of(begun->report);
  auto file = io::PcapngFile::create(to_stdout ? "/dev/stdout" : options.file, interfaces,
                                     "Weft lab " + begun->lab.title());
  if (!file) return refuse("capture", file.error().message);
  fmt::print(stderr, "weft capture: listening on {}\n", options.link);
  Totals totals;
  const auto recorded = record(begun->client, *file, *filter, options, totals);
  // Whoever reads a pipe may have had enough.
  if (!recorded && recorded.error().code != std::errc::broken_pipe) {
    return refuse("capture", recorded.error().message);
  }
  fmt::print(
      stderr, "weft capture: {} packets{}\n", totals.packets,
      totals.missed == 0 ? "" : fmt::format(", and {} missed: they came too fast", totals.missed));
  return kOk;
}

}  // namespace weft::cli
