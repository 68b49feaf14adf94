// SPDX-License-Identifier: Apache-2.0
// From port to port through what is between two sites on this machine, without programs and labs:
// packets of 2 KiB that have their CRCs. Each end is a process with a processor of its own.
//
//   wan_tunnel SECONDS FIFO-BYTES [both] [half] [lanes [blocked]] [sealed] [ipv4 | dccp | FIBRE]
//
//   both     both ways at the same time; else one way
//   lanes    on 15 lanes at once; else on one
//   blocked  the fabric at the far side takes nothing of the first of them
//   half     the fabric takes packets only while half of the FIFO is in use, so that they come from
//            memory and not from the cache
//   sealed   encrypted and authenticated, with the cipher that this machine would choose
//   ipv4     through a tunnel in IPv4 directly, between 127.0.0.1 and 127.0.0.2; as root
//   dccp     the same through a connection of DCCP
//   FIBRE    null-encapsulated on a fibre, as docs/range-extension.md has them, as in
//            shm:/run/fibre;
//            else through a tunnel over UDP/IPv6
//
// {"gb_per_s": of packets, that way and back, "lanes_gb_per_s": of each lane, that way,
//  "buffer_most_bytes": of the FIFO}
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/fibre_address.h"
#include "daemon/wan/fibre_stream.h"
#include "daemon/wan/ip_socket.h"
#include "daemon/wan/wan_socket.h"
#include "io/clock.h"
#include "io/openssl_aead.h"
#include "io/reactor.h"
#include "io/system_entropy.h"
#include "link/direct_link.h"
#include "link/half_link.h"
#include "link/packet_pool.h"
#include "link/port.h"
#include "wan/dccp/dccp_path.h"
#include "wan/fibre_channel.h"
#include "wan/fibre_end.h"
#include "wan/sealed_path.h"
#include "wan/tunnel_end.h"
#include "wan_packet.h"
#include "wire/packet.h"

namespace {

using namespace weft;

constexpr std::size_t kPayload = 2048;
constexpr std::size_t kPackets = 1'000'000;
constexpr std::size_t kWaiting = 64;      // packets that the sending port always has
constexpr std::size_t kLeastWaiting = 8;  // of each lane
constexpr unsigned kTurnsPerLook = 4;     // at the network, while there is something to do
constexpr Duration kWarmUp = 500ms;

// What the two processes tell each other.
struct Shared {
  std::atomic<std::uint16_t> port[2];
  std::atomic<bool> active[2];
  std::atomic<std::uint64_t> bytes[2][wan::kLanes];  // that have come, by the side and the lane
  std::atomic<std::uint64_t> most_buffered;
};

struct Options {
  std::uint64_t fifo = 0;
  bool both = false;
  bool half = false;
  bool sealed = false;
  bool ipv4 = false;  // directly, without UDP
  bool dccp = false;  // in that
  std::uint8_t lanes = 1;
  bool blocked = false;  // the first of them
  std::string fibre;     // empty: a tunnel
};

std::uint64_t bytes_at(const Shared& shared, int side) {
  std::uint64_t sum = 0;
  for (const auto& lane : shared.bytes[side])
    sum += lane;
  return sum;
}

// Keys for one direction: nobody else is here to be kept out.
class OneKey final : public AeadKeySource {
 public:
  explicit OneKey(int sender) : bytes_(kMost, static_cast<std::byte>(sender + 1)) {}
  std::optional<AeadKey> key(std::uint32_t) override {
    const AeadAlgorithm algorithm = io::preferred_aeads().front();
    return AeadKey{
        std::move(*io::make_aead(algorithm, Bytes(bytes_).first(key_bytes_of(algorithm))))};
  }

 private:
  static constexpr std::size_t kMost = 32;
  const std::vector<std::byte> bytes_;
};

// What is between a port of the fabric and the other process.
class Way {
 public:
  virtual ~Way() = default;
  // To be joined to the fabric's.
  [[nodiscard]] virtual link::Port& port() = 0;
  virtual void start(Time now) = 0;
  // What it was woken for, and what is due. True: there is more already.
  virtual bool run(Time now) = 0;
  // Once in a turn: takes in what has come where the reactor does not, and sends what waits.
  virtual void turn(Time now) = 0;
  // Bytes of the FIFO for what comes: in use, and that at most.
  [[nodiscard]] virtual std::uint64_t used() const = 0;
  [[nodiscard]] virtual std::uint64_t most_used() const = 0;
};

class Tunnel final : public Way, private wan::TunnelUser {
 public:
  Tunnel(Shared& shared, int side, const Options& options, link::PacketPool& pool,
         io::Reactor& reactor)
      : buffer_({.lane_bytes = options.fifo}) {
    daemon::RemotePath& path =
        options.ipv4 ? open_ip(side, options, reactor) : open_udp(shared, side, reactor);
    wan::Path& way = connection_ ? static_cast<wan::Path&>(*connection_) : path;
    if (options.sealed) seal(way, side);
    wan::TunnelOptions tunnel;
    tunnel.port.vl_buffer = 2048;
    wan::Path& used = sealed_ ? static_cast<wan::Path&>(*sealed_) : way;
    tunnel_ = std::make_unique<wan::TunnelEnd>(tunnel, buffer_.share(0), pool, entropy_, used,
                                               static_cast<wan::TunnelUser&>(*this));
    path.set_user({.received =
                       [this](Bytes packet, const daemon::RemotePath::Beside& beside, Time at) {
                         receive(packet, beside.marked, at);
                         return false;
                       },
                   .changed = [this](Time) { tunnel_->path_changed(); },
                   .lost = {},
                   .claims = {}});
  }

  link::Port& port() override { return tunnel_->port(); }
  void start(Time now) override { tunnel_->start(now); }
  bool run(Time now) override {
    if (connection_) {
      connection_->run(now);
      if (connection_->take_changed()) tunnel_->path_changed();
    }
    const auto due = tunnel_->deadline();
    if (std::exchange(woken_, false) || (due && *due <= now)) tunnel_->run(now);
    return woken_;
  }
  void turn(Time) override { socket_->watch_for_room(); }
  std::uint64_t used() const override { return share_.used_bytes(); }
  std::uint64_t most_used() const override { return share_.most_used_bytes(); }

 private:
  daemon::RemotePath& open_udp(Shared& shared, int side, io::Reactor& reactor) {
    auto socket = daemon::WanSocket::open({*io::SocketAddress::parse("[::1]:0")}, reactor);
    if (!socket) std::exit(1);
    auto there = (*socket)->local();
    shared.port[side] = there.port;
    while (shared.port[1 - side] == 0)
      usleep(1000);
    there.port = shared.port[1 - side];
    daemon::RemotePath& path = (*socket)->add(there);
    (*socket)->set_landing(buffer_.landing());
    socket_ = std::move(*socket);
    return path;
  }
  daemon::RemotePath& open_ip(int side, const Options& options, io::Reactor& reactor) {
    constexpr std::uint16_t kPort = 7471;
    constexpr std::uint32_t kFirst = 0x7F00'0001;  // 127.0.0.1
    const Gid here = Gid::from_ipv4(kFirst + static_cast<std::uint32_t>(side));
    const Gid there = Gid::from_ipv4(kFirst + 1 - static_cast<std::uint32_t>(side));
    const wan::Carried carried = options.dccp ? wan::kDccp : wan::kFrame;
    auto socket = daemon::IpSocket::open(here, true, reactor, false, *carried.ip_protocol);
    if (!socket) std::exit(1);
    daemon::RemotePath& path = (*socket)->add(io::SocketAddress{.address = there});
    if (options.dccp) {
      connection_.emplace(path,
                          wan::dccp::DccpEnds{.local = here,
                                              .remote = there,
                                              .local_port = kPort,
                                              .remote_port = kPort,
                                              .partial_coverage = options.sealed},
                          entropy_);
    }
    socket_ = std::move(*socket);
    return path;
  }
  void seal(wan::Path& path, int side) {
    sealed_.emplace(path, wan::SealedPath::Options{});
    sealed_->set_landing(buffer_.landing());
    sealed_->take({.name = 1,
                   .outgoing = std::make_unique<OneKey>(side),
                   .incoming = std::make_unique<OneKey>(1 - side)},
                  io::now());
    sealed_->use(1, io::now());
  }
  void receive(Bytes packet, bool marked, Time now) {
    const Bytes datagram = connection_ ? connection_->receive(packet, marked, now) : packet;
    if (datagram.empty()) return;
    if (!sealed_) return tunnel_->receive(datagram, now);
    if (const auto came = sealed_->receive(datagram, now)) tunnel_->receive(came->frame, now);
  }
  void wake(wan::TunnelEnd&) override { woken_ = true; }

  io::SystemEntropy entropy_;
  wan::BulkBuffer buffer_;
  wan::BulkBuffer::Share& share_ = buffer_.share(0);
  std::unique_ptr<daemon::PathSocket> socket_;
  std::optional<wan::dccp::DccpPath> connection_;
  std::optional<wan::SealedPath> sealed_;
  std::unique_ptr<wan::TunnelEnd> tunnel_;
  bool woken_ = false;
};

class Fibre final : public Way, private wan::FibreUser {
 public:
  Fibre(const Options& options, link::PacketPool& pool, io::Reactor& reactor)
      : far_(wan::fibre_port(options.fifo, kLanes)),
        end_({.near = {.data_vls = kLanes, .vl_buffer = link::kMostCredit}, .far = far_},
             static_cast<wan::FibreUser&>(*this)),
        link_(pool, 0),
        fibre_(FibreAddress::parse(options.fibre).value_or(FibreAddress{})),
        channel_(
            {.code = static_cast<wan::FibreCodeKind>(fibre_.code), .format = far_.credit_format}) {
    auto stream = daemon::FibreStream::open(fibre_.stream, channel_, reactor);
    if (!stream) std::exit(1);
    stream_ = std::move(*stream);
    link_.join(end_.far(), io::now());
    link_.set_channel(&channel_, io::now());
  }

  link::Port& port() override { return end_.near(); }
  void start(Time now) override { end_.start(now); }
  bool run(Time now) override {
    const auto due = end_.deadline();
    if (std::exchange(woken_, false) || (due && *due <= now)) end_.run(now);
    return woken_;
  }
  void turn(Time now) override { stream_->run(now); }
  std::uint64_t used() const override {
    return std::uint64_t{far_.vl_buffer - end_.far().receive_room(Vl{0})} * link::Packet::kBlock;
  }
  std::uint64_t most_used() const override { return 0; }

 private:
  static constexpr std::uint8_t kLanes = 15;
  void wake(wan::FibreEnd&) override { woken_ = true; }

  const link::PortOptions far_;
  wan::FibreEnd end_;
  link::HalfLink link_;
  const FibreAddress fibre_;
  wan::FibreChannel channel_;
  std::unique_ptr<daemon::FibreStream> stream_;
  bool woken_ = false;
};

// One process: a port of a fabric, the link behind it, and what it leads to.
class End final : private link::PortOwner {
 public:
  End(Shared& shared, int side, const Options& options)
      : shared_(shared), options_(options), side_(side) {
    if (options.fibre.empty()) {
      way_ = std::make_unique<Tunnel>(shared, side, options, pool_, *reactor_);
    } else {
      way_ = std::make_unique<Fibre>(options, pool_, *reactor_);
    }
    link_.join(port_, way_->port(), io::now());
    way_->start(io::now());
  }

  void run() {
    const bool active = port_.state() == link::PortState::kActive;
    const Time now = io::now();
    if (!active && now >= raise_at_) {
      port_.set_state(next_, now);
      next_ = next_ == link::PortState::kArmed ? link::PortState::kActive : link::PortState::kArmed;
      raise_at_ = now + 5ms;
    }
    shared_.active[side_] = active;
    if ((side_ == 0 || options_.both) && active && shared_.active[1 - side_]) fill(now);
    take_held();
    const auto due = port_.deadline();
    woken_ |= due && *due <= now;
    do {
      if (std::exchange(woken_, false)) port_.run(now);
    } while (way_->run(now) || woken_);
    way_->turn(now);
    if (bytes_ != 0) shared_.most_buffered.store(way_->most_used(), std::memory_order_relaxed);
    // As a lab's daemon while its programs send: then others can wait a little.
    const std::uint64_t moved = bytes_ + port_.counters().get(link::PortCounter::kTxPackets);
    if (std::exchange(moved_, moved) != moved && ++turns_ % kTurnsPerLook != 0) return;
    if (!reactor_->run_once(0us)) std::exit(1);
  }

 private:
  static std::vector<std::vector<std::byte>> packets_by_lane() {
    std::vector<std::vector<std::byte>> packets;
    for (std::uint8_t lane = 0; lane < wan::kLanes; ++lane)
      packets.push_back(bench::make_wan_packet(kPayload, Vl{lane}));
    return packets;
  }
  void fill(Time now) {
    const std::size_t waiting = std::max(kWaiting / options_.lanes, kLeastWaiting);
    for (std::uint8_t lane = 0; lane < options_.lanes; ++lane)
      fill(Vl{lane}, waiting, now);
  }
  void fill(Vl vl, std::size_t waiting, Time now) {
    const Bytes all(packets_[vl.value()]);
    while (port_.backlog(vl) < waiting) {
      auto packet =
          pool_.refer(all.first(link::Packet::kMaxHeader),
                      all.subspan(link::Packet::kMaxHeader,
                                  all.size() - link::Packet::kMaxHeader - wire::kVcrcSize),
                      {}, all.last(wire::kVcrcSize));
      if (packet == nullptr) return;
      packet->intact = true;
      port_.transmit(std::move(packet), vl, now);
    }
  }
  void received(link::Port&, link::PacketPtr packet, Time) override {
    if (packet->vl() == link::kVl15) return;
    if (options_.blocked && side_ == 1 && packet->vl() == Vl{0}) {
      return blocked_.push(std::move(packet));
    }
    if (!options_.half) return count(std::move(packet));
    held_.push(std::move(packet));
    take_held();
  }
  void take_held() {
    while (!held_.empty() && way_->used() >= options_.fifo / 2)
      count(held_.pop());
  }
  void count(link::PacketPtr packet) {
    bytes_ += packet->size();
    std::atomic<std::uint64_t>& lane = shared_.bytes[side_][packet->vl().value()];
    lane.store(lane.load(std::memory_order_relaxed) + packet->size(), std::memory_order_relaxed);
  }
  void state_changed(link::Port&, link::PortState, Time) override {}
  void wake(link::Port&) override { woken_ = true; }

  Shared& shared_;
  const Options options_;
  const int side_;
  std::unique_ptr<io::Reactor> reactor_{std::move(*io::Reactor::create(0us))};
  const std::vector<std::vector<std::byte>> packets_ = packets_by_lane();
  BufferPool payloads_{link::PacketPool::kPayloadBlock, kPackets};
  link::PacketPool pool_{kPackets, payloads_};
  std::unique_ptr<Way> way_;
  link::Port port_{{.data_vls = 15, .vl_buffer = 2048}, *this};
  link::DirectLink link_{pool_};
  link::PortState next_ = link::PortState::kArmed;
  Time raise_at_{};
  bool woken_ = false;
  link::PacketQueue held_;     // which the fabric has not taken
  link::PacketQueue blocked_;  // and never will
  std::uint64_t bytes_ = 0;
  std::uint64_t moved_ = 0;
  unsigned turns_ = 0;
};

// For ever.
[[noreturn]] void run_end(Shared& shared, int side, const Options& options) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(side), &set);
  sched_setaffinity(0, sizeof set, &set);
  End end(shared, side, options);
  for (;;)
    end.run();
}

Options parse(const std::vector<std::string_view>& words) {
  Options options{.fifo = static_cast<std::uint64_t>(std::atof(words[1].data())), .fibre = {}};
  for (std::size_t i = 2; i < words.size(); ++i) {
    if (words[i] == "both") {
      options.both = true;
    } else if (words[i] == "half") {
      options.half = true;
    } else if (words[i] == "lanes") {
      options.lanes = wan::kLanes;
    } else if (words[i] == "blocked") {
      options.blocked = true;
    } else if (words[i] == "sealed") {
      options.sealed = true;
    } else if (words[i] == "ipv4" || words[i] == "dccp") {
      options.ipv4 = true;
      options.dccp = words[i] == "dccp";
    } else {
      options.fibre = words[i];
    }
  }
  return options;
}

// GB/s of each lane of each side, by what comes in so many seconds.
using Rates = std::array<std::array<double, wan::kLanes>, 2>;
Rates measure(const Shared& shared, double seconds) {
  Rates rates{};
  const auto look = [&](double factor) {
    for (std::size_t side = 0; side < rates.size(); ++side) {
      for (std::size_t lane = 0; lane < wan::kLanes; ++lane)
        rates[side][lane] += factor * static_cast<double>(shared.bytes[side][lane]);
    }
  };
  const Time begin = io::now();
  look(-1);
  usleep(static_cast<useconds_t>(seconds * 1e6));
  const double took = std::chrono::duration<double>(io::now() - begin).count();
  look(1);
  for (auto& side : rates) {
    for (double& lane : side)
      lane /= took * 1e9;
  }
  return rates;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.size() < 2) {
    fmt::print(stderr,
               "usage: wan_tunnel SECONDS FIFO-BYTES [both] [half] [lanes [blocked]] "
               "[sealed] [ipv4 | dccp | FIBRE]\n");
    return 2;
  }
  const double seconds = std::atof(argv[1]);
  const Options options = parse(words);
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto& shared = *new (memory) Shared{};
  pid_t ends[2] = {};
  for (const int side : {0, 1}) {
    ends[side] = fork();
    if (ends[side] == 0) run_end(shared, side, options);
  }
  const Time give_up = io::now() + 20s;
  while (bytes_at(shared, 1) == 0 && io::now() < give_up)
    usleep(1000);
  usleep(static_cast<useconds_t>(kWarmUp / 1us));
  const Rates rates = measure(shared, seconds);
  for (const pid_t end : ends) {
    kill(end, SIGTERM);
    waitpid(end, nullptr, 0);
  }
  const auto sum = [&](std::size_t side) {
    return std::accumulate(rates[side].begin(), rates[side].end(), 0.0);
  };
  const std::span lanes = std::span(rates[1]).first(options.lanes);
  fmt::print(
      "{{\"gb_per_s\": [{:.3f}, {:.3f}], \"lanes_gb_per_s\": [{:.4f}], \"buffer_most_bytes\": "
      "{}}}\n",
      sum(1), sum(0), fmt::join(lanes, ", "), shared.most_buffered.load());
  return sum(1) > 0 ? 0 : 1;
}
