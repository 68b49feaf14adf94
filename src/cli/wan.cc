// SPDX-License-Identifier: Apache-2.0
// `weft wan`: captures of InfiniBand packets as the bytes of any WAN, and back.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/report_view.h"
#include "cli/style.h"
#include "cli/wan_codec.h"
#include "cli/wan_fibre.h"
#include "daemon/counters_json.h"
#include "io/capture_reader.h"
#include "io/pcapng_writer.h"
#include "io/socket_address.h"
#include "io/text_file.h"
#include "io/unique_fd.h"
#include "wan/line/stack/line_explain.h"

namespace weft::cli {
namespace {

using Json = nlohmann::json;

constexpr const char* kWanCommand = "wan";
constexpr std::size_t kMostWanCapture = std::size_t{1} << 30;
constexpr std::size_t kWanPiece = std::size_t{64} << 10;

bool is_standard(const std::string& file) {
  return file.empty() || file == "-";
}

Expected<wan::Ends> ends_of(const WanOptions& options) {
  wan::Ends ends;
  const bool ipv4 = options.stack.find("ipv4") != std::string::npos;
  const auto read = [&](const char* option, const std::string& text, const char* usual,
                        Gid& address, std::uint16_t& port) -> Expected<void> {
    const auto parsed = io::SocketAddress::parse(text.empty() ? usual : text);
    if (!parsed) {
      return fail(parsed.error().code, fmt::format("{} {}", option, parsed.error().message));
    }
    constexpr std::uint16_t kUsualPort = 7471;
    address = parsed->address;
    port = parsed->port == 0 ? kUsualPort : parsed->port;
    return {};
  };
  // For documentation (RFC 3849, 5737), where nobody says something else.
  if (auto done = read("--from", options.from, ipv4 ? "192.0.2.1" : "2001:db8::1", ends.local,
                       ends.local_port);
      !done) {
    return tl::unexpected(done.error());
  }
  if (auto done = read("--to", options.to, ipv4 ? "192.0.2.2" : "2001:db8::2", ends.remote,
                       ends.remote_port);
      !done) {
    return tl::unexpected(done.error());
  }
  ends.labels = ends.own_labels = {16};  // of MPLS, the first that is free
  ends.local_mac = {0x02, 0, 0, 0, 0, 1};
  ends.remote_mac = {0x02, 0, 0, 0, 0, 2};
  return ends;
}

// Octets that go to a file or a pipe.
class OctetFile {
 public:
  static Expected<OctetFile> create(const std::string& file) {
    if (is_standard(file)) return OctetFile({}, STDOUT_FILENO, "standard output");
    io::UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (!fd) return fail_errno(errno, file);
    const int raw = fd.get();
    return OctetFile(std::move(fd), raw, file);
  }
  Expected<void> write(Bytes octets) {
    while (!octets.empty()) {
      const ssize_t done = ::write(raw_, octets.data(), octets.size());
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return fail_errno(errno, name_);
      octets = octets.subspan(static_cast<std::size_t>(done));
    }
    return {};
  }

 private:
  OctetFile(io::UniqueFd fd, int raw, std::string name)
      : fd_(std::move(fd)), raw_(raw), name_(std::move(name)) {}
  io::UniqueFd fd_;
  int raw_;
  std::string name_;
};

// Octets that come from one.
class OctetReader {
 public:
  static Expected<OctetReader> open(const std::string& file) {
    if (is_standard(file)) return OctetReader({}, STDIN_FILENO, "standard input");
    io::UniqueFd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd) return fail_errno(errno, file);
    const int raw = fd.get();
    return OctetReader(std::move(fd), raw, file);
  }
  // Empty: that was all.
  Expected<Bytes> read() {
    for (;;) {
      const ssize_t got = ::read(raw_, buffer_.data(), buffer_.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_errno(errno, name_);
      return Bytes(buffer_).first(static_cast<std::size_t>(got));
    }
  }

 private:
  OctetReader(io::UniqueFd fd, int raw, std::string name)
      : fd_(std::move(fd)), raw_(raw), name_(std::move(name)), buffer_(kWanPiece) {}
  io::UniqueFd fd_;
  int raw_;
  std::string name_;
  std::vector<std::byte> buffer_;
};

io::LinkType link_type_of(WanForm form) {
  return form == WanForm::kIp ? io::LinkType::kIp : io::LinkType::kEthernet;
}

Expected<io::PcapngFile> make_capture(const std::string& file, io::LinkType type,
                                      const std::string& what) {
  const io::CaptureInterface interface { .name = "wan", .description = what, .link_type = type };
  return io::PcapngFile::create(is_standard(file) ? "/dev/stdout" : file, {&interface, 1});
}

// A capture that was read, and the packets in it, which lie in the file.
struct ReadCapture {
  std::string file;
  io::Capture capture;
  std::vector<Bytes> packets;
  std::vector<Duration> times;  // of those
};

Expected<ReadCapture> read_wan_capture(const std::string& name,
                                       std::optional<io::LinkType> link_type) {
  auto file = io::read_text_file(name.empty() ? "-" : name, kMostWanCapture);
  if (!file) return tl::unexpected(file.error());
  ReadCapture out{.file = std::move(*file), .capture = {}, .packets = {}, .times = {}};
  const auto bytes = std::as_bytes(std::span(out.file));
  auto capture = link_type ? io::read_capture_of(static_cast<std::uint16_t>(*link_type), bytes)
                           : io::read_capture(bytes);
  const std::string shown = is_standard(name) ? "standard input" : name;
  if (!capture) {
    return fail(capture.error().code, fmt::format("{}: {}", shown, capture.error().message));
  }
  out.capture = std::move(*capture);
  for (const io::CaptureRecord& record : out.capture.records) {
    if (!record.whole) continue;
    out.packets.push_back(record.packet);
    out.times.push_back(record.timestamp);
  }
  if (out.packets.empty()) {
    return fail(std::errc::no_message,
                fmt::format("{}: none of its {} packets is {}, and whole", shown,
                            out.capture.records.size() + out.capture.others,
                            !link_type ? "one of InfiniBand (link type 247, or ERF type 21)"
                            : *link_type == io::LinkType::kIp ? "one of IP (link type 101)"
                                                              : "a frame of Ethernet"));
  }
  return out;
}

int report(const WanOptions& options, const WanPackets& packets) {
  if (options.json) {
    fmt::print(stderr, "{}\n",
               Json{{"stack", options.stack},
                    {"action", options.action},
                    {"packets", packets.taken},
                    {"missed", packets.missed},
                    {"counters", daemon::counters_json(packets.counters)}}
                   .dump());
  } else {
    fmt::print(stderr, "weft {}: {} packets{}\n", kWanCommand, packets.taken,
               packets.missed == 0 ? ""
                                   : fmt::format(", and {} {}", packets.missed,
                                                 options.action == "encode"
                                                     ? "that the stack cannot carry"
                                                     : "that came and are none, or parts of one"));
    fmt::print(stderr, "{}", format_counters(packets.counters));
  }
  return packets.taken == 0 || packets.missed != 0 ? kProblem : kOk;
}

Expected<WanPackets> encode(const WanOptions& options, const wan::Ends& ends, WanForm form) {
  const auto capture = read_wan_capture(options.input, std::nullopt);
  if (!capture) return tl::unexpected(capture.error());
  if (form == WanForm::kOctets) {
    auto file = OctetFile::create(options.output);
    if (!file) return tl::unexpected(file.error());
    return encode_line(options.stack, ends, capture->packets,
                       [&](Bytes octets) { return file->write(octets); });
  }
  auto file = make_capture(options.output, link_type_of(form), options.stack);
  if (!file) return tl::unexpected(file.error());
  auto done =
      encode_packets(options.stack, ends, capture->packets, [&](std::size_t i, Bytes packet) {
        const Duration time = capture->times[i];
        return file->write({.timestamp = time, .data = {&packet, 1}, .comment = {}});
      });
  if (auto flushed = file->flush(); !flushed) return tl::unexpected(flushed.error());
  return done;
}

Expected<WanPackets> decode(const WanOptions& options, const wan::Ends& ends, WanForm form) {
  auto file = make_capture(options.output, io::LinkType::kErf, options.stack);
  if (!file) return tl::unexpected(file.error());
  Duration time{};  // lines have no times of their own: their packets keep their order
  const auto put = [&](Bytes packet) {
    const auto erf = io::erf_infiniband_header(time, packet.size());
    const std::array<Bytes, 2> pieces{Bytes(erf), packet};
    time += 1us;
    return file->write({.timestamp = time, .data = pieces, .comment = {}});
  };
  Expected<WanPackets> done;
  if (form == WanForm::kOctets) {
    auto octets = OctetReader::open(options.input);
    if (!octets) return tl::unexpected(octets.error());
    done = decode_line(
        options.stack, ends, [&] { return octets->read(); }, put);
  } else {
    const auto capture = read_wan_capture(options.input, link_type_of(form));
    if (!capture) return tl::unexpected(capture.error());
    done = decode_packets(options.stack, ends, capture->packets, put);
  }
  if (auto flushed = file->flush(); !flushed) return tl::unexpected(flushed.error());
  return done;
}

// What of a line is read to be told of: more than that nobody reads.
constexpr std::size_t kMostExplained = std::size_t{16} << 20;

int explain(const WanOptions& options) {
  auto file = OctetReader::open(options.input);
  if (!file) return refuse(kWanCommand, file.error().message);
  std::vector<std::byte> octets;
  while (octets.size() < kMostExplained) {
    const auto more = file->read();
    if (!more) return refuse(kWanCommand, more.error().message);
    if (more->empty()) break;
    octets.insert(octets.end(), more->begin(), more->end());
  }
  const auto code = fibre_code_of(options.stack);
  const auto units = code ? explain_fibre(*code, octets, options.count)
                          : wan::explain_line(options.stack, octets, options.count);
  if (!units) return refuse(kWanCommand, units.error().message);
  Json all = Json::array();
  for (const wan::LineUnit& unit : *units) {
    if (!options.json) fmt::print("{}\n", Style::for_stream(stdout).bold(unit.kind));
    Json fields = Json::array();
    for (const wan::FrameField& field : unit.fields) {
      if (!options.json) {
        fmt::print("  {:>6}  {:<28} {}\n", field.at, printable(field.name), printable(field.value));
      }
      fields.push_back(
          {{"name", field.name}, {"value", field.value}, {"at", field.at}, {"size", field.size}});
    }
    all.push_back({{"kind", unit.kind}, {"fields", std::move(fields)}});
  }
  if (options.json) print_json({{"stack", options.stack}, {"units", std::move(all)}});
  return units->empty() ? kProblem : kOk;
}

}  // namespace

void define_wan_codec(CLI::App& wan, WanOptions& options) {
  wan.add_option("ACTION", options.action,
                 "encode: packets of a capture; decode: to a capture; explain: what is on a line")
      ->required()
      ->check(CLI::IsMember({"encode", "decode", "explain"}));
  wan.add_option("STACK", options.stack, "As in a site file: udp/ipv6/ethernet, ipv6/ppp/stm64")
      ->required();
  wan.add_option("FILE", options.input, "What to read; default, and -: standard input");
  wan.add_option("-o,--output", options.output, "Where to write; default: standard output")
      ->option_text("FILE");
  wan.add_option("--from", options.from, "Address, and UDP port, of who sends")
      ->option_text("ADDRESS");
  wan.add_option("--to", options.to, "Of who receives")->option_text("ADDRESS");
  wan.add_option("-c,--count", options.count, "Of explain: so many of each kind; default 3")
      ->option_text("N")
      ->check(CLI::Range(1, 1'000'000));
  wan.add_flag("--json", options.json, "Print JSON; of encode and decode on standard error");
}

int wan_codec(const WanOptions& options) {
  if (options.action == "explain") return explain(options);
  const auto ends = ends_of(options);
  if (!ends) return refuse(kWanCommand, ends.error().message);
  const auto form = wan_form(options.stack, *ends);
  if (!form) return refuse(kWanCommand, form.error().message);
  if (is_standard(options.output) && isatty(STDOUT_FILENO) != 0) {
    return refuse(kWanCommand, "standard output is a terminal: say -o FILE, or pipe it");
  }
  const auto done =
      options.action == "encode" ? encode(options, *ends, *form) : decode(options, *ends, *form);
  if (!done) return refuse(kWanCommand, done.error().message);
  return report(options, *done);
}

}  // namespace weft::cli
