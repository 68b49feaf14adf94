// SPDX-License-Identifier: Apache-2.0
#include "wan/dccp/dccp_path.h"

#include <algorithm>
#include <array>
#include <utility>

#include "wan/frame.h"

namespace weft::wan::dccp {
namespace {

constexpr Duration kBetweenConnects = 500ms;
// From one port; then from another, lest the server still has a connection of this one.
constexpr Duration kConnectPatience = 10s;

bool is_closed(const Connection& connection) {
  return connection.state() == Connection::State::kClosed;
}

}  // namespace

DccpPath::DccpPath(Path& below, const DccpEnds& ends, Entropy& entropy)
    : below_(below),
      ends_(ends),
      client_(std::pair(ends.local, ends.local_port) < std::pair(ends.remote, ends.remote_port)),
      entropy_(entropy) {
  if (client_) connect_at_ = Time{};
}

std::unique_ptr<Connection> DccpPath::make(std::uint16_t client_port) {
  PacketSink& sink = *this;
  return std::make_unique<Connection>(
      ConnectionSettings{.local = ends_.local,
                         .remote = ends_.remote,
                         .local_port = client_ ? client_port : ends_.local_port,
                         .remote_port = client_ ? ends_.remote_port : client_port,
                         .server = !client_,
                         .service_code = kServiceCode,
                         .partial_coverage = ends_.partial_coverage,
                         .longest_packet = below_.longest_frame()},
      entropy_, sink, counters_);
}

bool DccpPath::established() const {
  return below_.established() && current_ != nullptr && current_->carries();
}

bool DccpPath::ready() const {
  return below_.ready() && kept_.empty() && current_ != nullptr && current_->room() != 0;
}

std::size_t DccpPath::longest_frame() const {
  const std::size_t below = below_.longest_frame();
  return std::max(kLeastFrame, below - std::min(below, Connection::kOverhead));
}

std::size_t DccpPath::burst() const {
  const std::size_t room = current_ != nullptr ? current_->room() : 0;
  return std::min(below_.burst(), room * longest_frame());
}

void DccpPath::send(std::span<const OutFrame> frames, Time now) {
  for (const OutFrame& frame : frames) {
    if (kept_.empty() && send_one(frame, now)) continue;
    auto& [bytes, whole, traffic_class] = kept_.emplace_back();
    traffic_class = frame.traffic_class;
    bytes.reserve(frame.size);
    for (const Bytes part : frame.parts)
      bytes.insert(bytes.end(), part.begin(), part.end());
    whole = bytes;
  }
  flush(now);
}

// False: there is no room for it now.
bool DccpPath::send_one(const OutFrame& frame, Time now) {
  if (current_ == nullptr || current_->room() == 0) return false;
  const std::size_t longest = below_.longest_frame();
  if (frame.size + Connection::kOverhead > longest) {
    counters_.add_in_turn(DccpCounter::kTooLong);
    return true;
  }
  current_->set_longest_packet(longest);
  current_->send(frame, now);
  return true;
}

void DccpPath::send_kept(Time now) {
  auto next = kept_.begin();
  for (; next != kept_.end(); ++next) {
    const OutFrame frame{.parts = {&next->whole, 1},
                         .size = next->whole.size(),
                         .traffic_class = next->traffic_class};
    if (!send_one(frame, now)) break;
  }
  if (next == kept_.begin()) return;
  flush(now);
  kept_.erase(kept_.begin(), next);
}

void DccpPath::transmit(Bytes header, const OutFrame* data, Time now) {
  if (batch_.full()) flush(now);
  batch_.add(header, data);
}

// Those that only acknowledge leave even while the path below would rather wait: without them
// nothing would go on, and they are few.
void DccpPath::flush(Time now) {
  if (batch_.empty()) return;
  if (below_.established()) batch_.send(below_, now);
  batch_.clear();
}

Bytes DccpPath::receive(Bytes bytes, bool marked, Time now) {
  const auto packet = parse(bytes, ends_.remote, ends_.local);
  if (!packet) {
    counters_.add_in_turn(packet.error() == HeaderRefusal::kChecksum ? DccpCounter::kRxChecksum
                                                                     : DccpCounter::kRxHeader);
    return {};
  }
  Connection* const connection = find(packet->header);
  if (connection == nullptr) {
    counters_.add_in_turn(DccpCounter::kRxStranger);
    refuse(packet->header, now);
    return {};
  }
  const Bytes data = connection->receive(*packet, marked, now);
  settle(now);
  send_kept(now);
  return data;
}

Connection* DccpPath::find(const Header& header) {
  const std::uint16_t near = client_ ? current_port_ : ends_.local_port;
  if (header.destination_port != near) return nullptr;
  const std::uint16_t far = header.source_port;
  if (client_) return far == ends_.remote_port ? current_.get() : nullptr;
  if (current_ != nullptr && far == current_port_) return current_.get();
  if (candidate_ != nullptr && far == candidate_port_) return candidate_.get();
  if (stopped_ || header.type != PacketType::kRequest) return nullptr;
  // One that knocks takes the place of who has knocked before: this one may be the true remote.
  candidate_ = make(far);
  candidate_port_ = far;
  return candidate_.get();
}

// After something has happened to the connections.
void DccpPath::settle(Time now) {
  if (candidate_ != nullptr && is_closed(*candidate_)) candidate_.reset();
  if (candidate_ != nullptr && candidate_->carries()) {
    if (current_ != nullptr && !is_closed(*current_)) current_->abort(ResetCode::kAborted, now);
    current_ = std::move(candidate_);
    current_port_ = candidate_port_;
    kept_.clear();
  }
  if (current_ == nullptr || !is_closed(*current_)) return;
  current_.reset();
  kept_.clear();
  if (client_ && !stopped_ && !connect_at_) connect_at_ = now + kBetweenConnects;
}

// Step 2 of RFC 4340, 8.5: numbers are those of the packet, for there are none here (8.3.1).
void DccpPath::refuse(const Header& header, Time now) {
  if (header.type == PacketType::kReset || !header.extended || !refusals_.take(now)) return;
  const Header reset{.source_port = header.destination_port,
                     .destination_port = header.source_port,
                     .type = PacketType::kReset,
                     .sequence = header.acknowledged ? *header.acknowledged + 1 : Sequence(),
                     .acknowledged = header.sequence,
                     .reset_code = ResetCode::kNoConnection};
  std::array<std::byte, Header::kMostSize> bytes;
  const MutableBytes out = MutableBytes(bytes).first(header_bytes(reset, 0));
  write(reset, {}, {}, ends_.local, ends_.remote, out);
  transmit(out, nullptr, now);
}

void DccpPath::connect(Time now) {
  constexpr unsigned kClientPorts = 65536 - kFirstClientPort;
  current_port_ = static_cast<std::uint16_t>(kFirstClientPort + entropy_.draw() % kClientPorts);
  current_ = make(current_port_);
  current_->connect(now);
  connect_at_ = now + kConnectPatience;
}

void DccpPath::run(Time now) {
  for (Connection* const connection : {current_.get(), candidate_.get()}) {
    if (connection != nullptr) connection->expire(now);
  }
  settle(now);
  send_kept(now);
  if (current_ != nullptr && current_->carries()) {
    connect_at_.reset();
  } else if (connect_at_ && *connect_at_ <= now && below_.established()) {
    connect(now);
  }
  flush(now);
}

std::optional<Time> DccpPath::deadline() const {
  if (!batch_.empty()) return Time{};
  std::optional<Time> first = below_.established() ? connect_at_ : std::nullopt;
  for (const Connection* const connection : {current_.get(), candidate_.get()}) {
    if (connection == nullptr) continue;
    const auto when = connection->deadline();
    if (when && (!first || *when < *first)) first = when;
  }
  return first;
}

void DccpPath::stop(Time now) {
  stopped_ = true;
  connect_at_.reset();
  candidate_.reset();
  if (current_ != nullptr) current_->close(now);
  settle(now);
  flush(now);
}

bool DccpPath::take_changed() {
  const Answers now{
      .established = established(), .ready = ready(), .longest_frame = longest_frame()};
  return now != std::exchange(told_, now);
}

std::string_view DccpPath::state_text() const {
  if (current_ == nullptr) return client_ ? "waiting" : "listening";
  switch (current_->state()) {
    case Connection::State::kRequest:
      return "connecting";
    case Connection::State::kCloseReq:
    case Connection::State::kClosing:
      return "closing";
    default:
      return "open";
  }
}

}  // namespace weft::wan::dccp
