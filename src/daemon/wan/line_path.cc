// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/line_path.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

#include "io/clock.h"
#include "wan/frame.h"
#include "wan/line/atm/cell.h"
#include "wire/ip.h"

namespace weft::daemon {
namespace {

// How long a line that ends waits for the consent of whoever it is connected by.
constexpr Duration kLinePathEnds = 500ms;
constexpr Duration kLinePathLooks = 250us;

Expected<std::optional<wan::SwitchedCircuit>> circuit_of(const fabric::LabRemote& remote,
                                                         const wan::LineStack& names,
                                                         std::uint64_t octets_per_s) {
  if (!remote.svc) return std::nullopt;
  if (names.mapping() != "aal5") {
    return fail(std::errc::invalid_argument,
                fmt::format("{}: svc is of ATM: say aal5 in encapsulation, or leave svc out",
                            remote.encapsulation));
  }
  constexpr std::uint64_t kMostCells = 0xFF'FFFF;  // that the traffic descriptor can say
  return wan::SwitchedCircuit{.own = remote.svc->own,
                              .other = remote.svc->other,
                              .cells_per_s = static_cast<std::uint32_t>(
                                  std::min(octets_per_s / wan::atm::kCellSize, kMostCells))};
}

// Nobody is asked on a line which address of Ethernet an end has: one that is administered locally,
// and follows from its IP address, so that what stands between can tell the ends apart.
MacAddress mac_of(const Gid& ip) {
  MacAddress mac{0x02};
  for (std::size_t i = 0; i < ip.bytes().size(); ++i)
    mac[1 + i % 5] = static_cast<std::uint8_t>(mac[1 + i % 5] * 31 + ip.bytes()[i]);
  return mac;
}

wan::Ends with_macs(wan::Ends ends) {
  ends.local_mac = mac_of(ends.local);
  ends.remote_mac = mac_of(ends.remote);
  return ends;
}

}  // namespace

Expected<std::unique_ptr<LinePath>> LinePath::open(const fabric::LabRemote& remote,
                                                   const wan::Ends& ends, Entropy& entropy,
                                                   io::Reactor& reactor) {
  const auto names = wan::LineStack::parse(remote.encapsulation);
  if (!names) return tl::unexpected(names.error());
  auto packets = wan::Stack::parse(names->packets(), with_macs(ends), true);
  if (!packets) return tl::unexpected(packets.error());
  const std::uint64_t rate =
      remote.line_octets_per_s != 0 ? remote.line_octets_per_s : names->octets_per_s();
  auto circuit = circuit_of(remote, *names, rate);
  if (!circuit) return tl::unexpected(circuit.error());
  const wan::Carried carried = packets->outermost();
  std::unique_ptr<LinePath> path(new LinePath(remote, std::move(*packets)));
  path->line_ = names->make(carried, &entropy, *path, *path, *circuit);
  path->longest_frame_ =
      std::min(path->packets_.longest_frame(path->line_->longest_packet()), wan::kLongestFrame);
  path->channel_ = std::make_unique<wan::LineChannel>(
      wan::LineChannel::Options{.octets_per_s = rate}, *path->line_, [path = path.get()](Time now) {
        path->look_at_length();
        path->changed(now);
      });
  auto stream = FibreStream::open(remote.line, *path->channel_, reactor);
  if (!stream) return tl::unexpected(stream.error());
  path->stream_ = std::move(*stream);
  return path;
}

LinePath::LinePath(const fabric::LabRemote& remote, wan::Stack packets)
    : address_(remote.line), packets_(std::move(packets)) {
}

// What the other end takes may be another length each time that it has come up.
void LinePath::look_at_length() {
  longest_frame_ = std::clamp(packets_.longest_frame(line_->longest_packet()), wan::kLeastFrame,
                              wan::kLongestFrame);
}

std::size_t LinePath::transmit(Frames frames, Time) {
  std::size_t done = 0;
  for (const wan::OutFrame& frame : frames) {
    if (waiting_bytes_ >= kMostWaiting) break;
    ++done;
    wan::OutPacket packet(frame.parts);
    packet.traffic_class = marked_capable(frame.traffic_class);
    if (!established() || !packets_.wrap(packet) || packet.size() > line_->longest_packet()) {
      refuse(1);
      continue;
    }
    std::vector<std::byte> bytes;
    if (!spare_.empty()) {
      bytes = std::move(spare_.back());
      spare_.pop_back();
    }
    bytes.clear();
    bytes.reserve(packet.size());
    for (const Bytes piece : packet.pieces())
      bytes.insert(bytes.end(), piece.begin(), piece.end());
    waiting_bytes_ += bytes.size();
    waiting_.push_back(std::move(bytes));
  }
  return done;
}

Bytes LinePath::next() {
  if (waiting_.empty()) return {};
  constexpr std::size_t kMostSpare = 64;
  if (spare_.size() < kMostSpare) spare_.push_back(std::move(going_));
  going_ = std::move(waiting_.front());
  waiting_.pop_front();
  waiting_bytes_ -= going_.size();
  return going_;
}

void LinePath::packet(Bytes bytes) {
  const auto frame = packets_.unwrap(bytes);
  if (!frame) return;
  const bool marked = (frame->traffic_class & wire::kEcnBits) == wire::kCongestionExperienced;
  receive(frame->bytes, io::now(), {.marked = marked, .options = frame->options});
}

bool LinePath::run(Time now) {
  const bool worked = stream_->run(now);
  if (is_blocked() && waiting_bytes_ < kMostWaiting) flush(now);
  return worked;
}

std::optional<Time> LinePath::deadline() const {
  return stream_->deadline();
}

// Nothing else runs here any more.
void LinePath::run_while(Time until, const std::function<bool()>& wanted) {
  for (Time now = io::now(); now < until && channel_->is_open() && wanted(); now = io::now()) {
    stream_->run(now);
    stream_->look(now);
    std::this_thread::sleep_for(kLinePathLooks);
  }
}

// What the tunnel has said at last is the first to go.
void LinePath::close() {
  const Time now = io::now();
  const Time until = now + kLinePathEnds;
  run_while(until, [this] { return channel_->is_up() && !waiting_.empty(); });
  line_->session().end(io::now());
  run_while(until, [this] { return !line_->session().ended(); });
}

std::vector<CounterValue> LinePath::counters() const {
  std::vector<CounterValue> out = channel_->counters();
  accumulate(out, packets_.refused().snapshot());
  return out;
}

std::string LinePath::remote_text() const {
  return stream_->why().empty() ? address_ : fmt::format("{}, {}", address_, stream_->why());
}

}  // namespace weft::daemon
