// SPDX-License-Identifier: Apache-2.0
// Through a tunnel over UDP/IPv6 of this machine, from port to port, without programs and labs:
// packets of 2 KiB that have their CRCs. Each end is a process with a processor of its own.
//
//   wan_tunnel SECONDS FIFO-BYTES [both] [half]
//
//   both   both ways at the same time; else one way
//   half   the fabric takes packets only while half of the FIFO is in use, so that they come from
//          memory and not from the cache
//
// {"gb_per_s": of packets, that way and back, "buffer_most_bytes": of the FIFO}
#include <fmt/format.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include "daemon/wan/wan_socket.h"
#include "io/clock.h"
#include "io/reactor.h"
#include "io/system_entropy.h"
#include "link/direct_link.h"
#include "link/packet_pool.h"
#include "link/port.h"
#include "wan/tunnel_end.h"
#include "wire/bth.h"
#include "wire/link_crc.h"
#include "wire/lrh.h"
#include "wire/packet.h"

namespace {

using namespace weft;

constexpr std::size_t kPayload = 2048;
constexpr std::size_t kPackets = 1'000'000;
constexpr std::size_t kWaiting = 64;  // packets that the sending port always has
constexpr Duration kWarmUp = 500ms;

// What the two processes tell each other.
struct Shared {
  std::atomic<std::uint16_t> port[2];
  std::atomic<bool> active[2];
  std::atomic<std::uint64_t> bytes[2];  // that have come, by the side
  std::atomic<std::uint64_t> most_buffered;
};

struct Options {
  std::uint64_t fifo = 0;
  bool both = false;
  bool half = false;
};

std::vector<std::byte> make_packet() {
  const std::size_t covered = wire::Lrh::kSize + wire::Bth::kSize + kPayload + 4;
  std::vector<std::byte> bytes(covered + wire::kVcrcSize);
  wire::Lrh{.vl = Vl{0},
            .dlid = Lid{2},
            .packet_words = static_cast<std::uint16_t>(covered / 4),
            .slid = Lid{1}}
      .write(bytes);
  wire::Bth{.opcode = wire::Opcode::uc_send_only, .dest_qp = Qpn{7}, .psn = Psn{}}.write(
      MutableBytes(bytes).subspan(wire::Lrh::kSize));
  wire::seal_link_packet(bytes);
  return bytes;
}

// One process: a port of a fabric, the link behind it, and the end of the tunnel that it leads to.
class End final : private link::PortOwner, private wan::TunnelUser {
 public:
  End(Shared& shared, int side, const Options& options)
      : shared_(shared),
        options_(options),
        side_(side),
        reactor_(std::move(*io::Reactor::create(0us))),
        buffer_({.lane_bytes = options.fifo}) {
    auto socket = daemon::WanSocket::open(*io::SocketAddress::parse("[::1]:0"), *reactor_);
    if (!socket) std::exit(1);
    socket_ = std::move(*socket);
    shared_.port[side] = socket_->local().port;
    socket_->set_landing(buffer_.landing());
    while (shared_.port[1 - side] == 0)
      usleep(1000);
    auto there = socket_->local();
    there.port = shared_.port[1 - side];
    daemon::UdpPath& path = socket_->add(there);
    wan::TunnelOptions tunnel;
    tunnel.port.vl_buffer = 2048;
    tunnel_ = std::make_unique<wan::TunnelEnd>(tunnel, buffer_.share(0), pool_, entropy_, path,
                                               static_cast<wan::TunnelUser&>(*this));
    path.set_user({.received =
                       [this](Bytes frame, Time at) {
                         tunnel_->receive(frame, at);
                         return false;
                       },
                   .changed = [this](Time) { tunnel_->path_changed(); },
                   .lost = {},
                   .claims = {}});
    link_.join(port_, tunnel_->port(), io::now());
    tunnel_->start(io::now());
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
    port_woken_ |= due && *due <= now;
    const auto tunnel_due = tunnel_->deadline();
    tunnel_woken_ |= tunnel_due && *tunnel_due <= now;
    while (port_woken_ || tunnel_woken_) {
      if (std::exchange(port_woken_, false)) port_.run(now);
      if (std::exchange(tunnel_woken_, false)) tunnel_->run(now);
    }
    socket_->watch_for_room();
    if (!reactor_->run_once(0us)) std::exit(1);
  }

 private:
  void fill(Time now) {
    const Bytes all(packet_);
    while (port_.backlog(Vl{0}) < kWaiting) {
      auto packet =
          pool_.refer(all.first(link::Packet::kMaxHeader),
                      all.subspan(link::Packet::kMaxHeader,
                                  all.size() - link::Packet::kMaxHeader - wire::kVcrcSize),
                      {}, all.last(wire::kVcrcSize));
      if (packet == nullptr) return;
      packet->intact = true;
      port_.transmit(std::move(packet), Vl{0}, now);
    }
  }
  void received(link::Port&, link::PacketPtr packet, Time) override {
    if (packet->vl() == link::kVl15) return;
    if (!options_.half) return count(std::move(packet));
    held_.push(std::move(packet));
    take_held();
  }
  void take_held() {
    while (!held_.empty() && buffer_.share(0).used_bytes() >= options_.fifo / 2)
      count(held_.pop());
  }
  void count(link::PacketPtr packet) {
    bytes_ += packet->size();
    shared_.bytes[side_].store(bytes_, std::memory_order_relaxed);
    shared_.most_buffered.store(buffer_.share(0).most_used_bytes(), std::memory_order_relaxed);
  }
  void state_changed(link::Port&, link::PortState, Time) override {}
  void wake(link::Port&) override { port_woken_ = true; }
  void wake(wan::TunnelEnd&) override { tunnel_woken_ = true; }

  Shared& shared_;
  const Options options_;
  const int side_;
  std::unique_ptr<io::Reactor> reactor_;
  io::SystemEntropy entropy_;
  const std::vector<std::byte> packet_ = make_packet();
  BufferPool payloads_{link::PacketPool::kPayloadBlock, 1024};
  link::PacketPool pool_{kPackets, payloads_};
  wan::BulkBuffer buffer_;
  std::unique_ptr<daemon::WanSocket> socket_;
  link::Port port_{{.data_vls = 15, .vl_buffer = 2048}, *this};
  link::DirectLink link_{pool_};
  std::unique_ptr<wan::TunnelEnd> tunnel_;
  link::PortState next_ = link::PortState::kArmed;
  Time raise_at_{};
  bool port_woken_ = false;
  bool tunnel_woken_ = false;
  link::PacketQueue held_;  // which the fabric has not taken
  std::uint64_t bytes_ = 0;
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

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  if (words.size() < 2) {
    fmt::print(stderr, "usage: wan_tunnel SECONDS FIFO-BYTES [both] [half]\n");
    return 2;
  }
  const double seconds = std::atof(argv[1]);
  const Options options{.fifo = static_cast<std::uint64_t>(std::atof(argv[2])),
                        .both = std::ranges::find(words, "both") != words.end(),
                        .half = std::ranges::find(words, "half") != words.end()};
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 1;
  auto& shared = *new (memory) Shared{};
  pid_t ends[2];
  for (const int side : {0, 1}) {
    ends[side] = fork();
    if (ends[side] == 0) run_end(shared, side, options);
  }
  const Time give_up = io::now() + 20s;
  while (shared.bytes[1] == 0 && io::now() < give_up)
    usleep(1000);
  usleep(static_cast<useconds_t>(kWarmUp / 1us));
  const std::uint64_t before[2] = {shared.bytes[0], shared.bytes[1]};
  const Time begin = io::now();
  usleep(static_cast<useconds_t>(seconds * 1e6));
  const double took = std::chrono::duration<double>(io::now() - begin).count();
  const auto rate = [&](int side) {
    return static_cast<double>(shared.bytes[side] - before[side]) / took / 1e9;
  };
  const double there = rate(1);
  const double back = rate(0);
  for (const pid_t end : ends) {
    kill(end, SIGTERM);
    waitpid(end, nullptr, 0);
  }
  fmt::print("{{\"gb_per_s\": [{:.3f}, {:.3f}], \"buffer_most_bytes\": {}}}\n", there, back,
             shared.most_buffered.load());
  return there > 0 ? 0 : 1;
}
