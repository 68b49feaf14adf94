// SPDX-License-Identifier: Apache-2.0
// Two sites and a WAN between them in virtual time: at each, a port of a fabric, a link, and an end
// of a tunnel. The WAN is drawn from a seed: it delays, loses, doubles and mixes up frames, and may
// be cut. What crosses it may be sealed. There may be several ways across it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "../link/rig.h"
#include "base/random.h"
#include "wan/encapsulation/stack.h"
#include "wan/path_bundle.h"
#include "wan/sealed_path.h"
#include "wan/tunnel_end.h"

namespace weft::wan {

class World;

struct WanOptions {
  Duration delay = 1ms;   // one way
  Duration jitter = 0ns;  // more, up to so much, for each frame by itself: they pass each other
  double loss = 0;
  double duplicate = 0;
  std::uint64_t rate_bytes_per_s = 0;  // 0: any
  std::size_t longest_frame = 1472;
  // Of the socket at the far end: what waits there to be read, bytes, and how fast it is read; more
  // is lost. 0: it is read at once.
  std::uint64_t socket_bytes = 0;
  std::uint64_t read_bytes_per_s = 0;
  bool set_rate = false;  // rate_bytes_per_s is the user's
};

// One direction.
class SimPath : public Path {
 public:
  SimPath(World& world, std::size_t from, const WanOptions& options, Random random)
      : options(options), world_(world), from_(from), random_(random) {}

  [[nodiscard]] bool established() const override { return !unresolved; }
  [[nodiscard]] bool ready() const override;
  [[nodiscard]] std::size_t longest_frame() const override { return options.longest_frame; }
  [[nodiscard]] std::size_t burst() const override { return at_once; }
  // A socket has memory for more than that.
  [[nodiscard]] std::uint32_t receive_room() const override {
    return static_cast<std::uint32_t>(options.socket_bytes / 4);
  }
  [[nodiscard]] Pace pace() const override { return options.set_rate ? Pace::kSet : Pace::kNone; }
  [[nodiscard]] std::size_t options_room() const override;
  void send(std::span<const OutFrame> frames, Time now) override;

  [[nodiscard]] std::optional<Time> deadline() const;
  // Hands on what has arrived; true: something was done.
  bool run(Time now);

  WanOptions options;
  bool cut = false;             // everything is lost, and nobody is told
  bool carries_options = true;  // where WorldOptions::ip_options are
  bool unresolved = false;      // the network has lost the other end, and says so
  // May look at each datagram; false: it is lost.
  std::function<bool(std::vector<std::byte>&)> look;
  // Is told of each frame as it is sent.
  std::function<void(Bytes frame, const OutFrame& as)> see;
  std::uint64_t frames = 0;
  std::uint64_t bytes = 0;
  std::size_t longest = 0;
  std::size_t at_once = SIZE_MAX;  // bytes that it takes
  std::size_t most_at_once = 0;    // and was given
  std::uint64_t overflows = 0;     // frames that found no room in the socket
  // Put into the network by somebody else.
  void inject(std::vector<std::byte> frame, Time when) {
    arrivals_.emplace(when, std::move(frame));
  }

 private:
  void carry(std::vector<std::byte> frame, Time now);
  [[nodiscard]] std::vector<std::byte> packet_of(const OutFrame& frame);
  void await_reader(std::vector<std::byte> frame, Time now);

  World& world_;
  const std::size_t from_;
  Random random_;
  Time free_at_{};
  bool was_busy_ = false;
  std::multimap<Time, std::vector<std::byte>> arrivals_;
  std::multimap<Time, std::vector<std::byte>> unread_;  // in the socket: when it is read
  Time read_at_{};
};

// What the fabric is to a tunnel: a port that sends numbered packets on all lanes, and looks at the
// order of those that come. A flow is an SL.
class Site : public link::PortOwner {
 public:
  Site(World& world, const link::PortOptions& options) : world_(world), port(options, *this) {}

  void received(link::Port& port, link::PacketPtr packet, Time now) override;
  void state_changed(link::Port&, link::PortState, Time) override {}
  void wake(link::Port& port) override;

  bool send(Sl flow, Vl vl, std::size_t payload);
  // Sends on the flow of that lane's number until so many packets wait for credit.
  void keep_full(Vl vl, std::size_t payload, std::size_t backlog = 4);

  std::array<std::uint32_t, 16> next{};  // number to send, by flow
  std::array<std::uint32_t, 16> seen{};  // the last number that came, plus one
  std::array<std::uint64_t, 16> came{};  // packets
  std::array<Vl, 16> came_on{};          // the lane of the last one
  std::uint64_t came_bytes = 0;
  std::uint64_t management = 0;
  std::uint64_t disorder = 0;
  std::uint64_t damaged = 0;
  std::uint16_t blocked = 0;  // bit n: packets of lane n are kept, and their credit with them
  std::vector<link::PacketPtr> kept;

 private:
  World& world_;

 public:
  link::Port port;
};

struct WorldOptions {
  TunnelOptions tunnel{};
  std::optional<TunnelOptions> other{};  // of the second end, where that differs
  BulkBuffer::Options buffer{.lane_bytes = 1U << 20};
  WanOptions wan{};
  std::vector<WanOptions> more_wans{};  // other ways: all of them are legs of one path then
  std::optional<PacingSettings> leg_pacing{};
  std::optional<SealedPath::Options> sealed{};
  bool ip_options = false;  // datagrams are IPv6 packets, and credit is in their options
  link::PortOptions fabric{.data_vls = 15};
  link::Emulation link{};  // of the local links
  std::uint64_t seed = 1;
};

class World : public TunnelUser {
 public:
  explicit World(const WorldOptions& options);
  ~World() override;

  void wake(TunnelEnd& end) override { woken_tunnels_.push_back(&end); }
  void wake(link::Port& port) { worker.wake(port); }

  [[nodiscard]] Time now() const { return now_; }
  void settle();
  void run_for(Duration time);
  // Until it holds, at most so long; whether it does.
  bool run_until(const std::function<bool()>& holds, Duration most);
  // A subnet manager's part, at both sites; true: both ports are Active.
  bool activate();
  [[nodiscard]] bool active() const;
  // The end is killed without a word, and another one begins in its place.
  void restart(std::size_t site);
  // The end is not run for so long, as a process that is stopped or a machine that sleeps; what
  // comes for it waits, as much as a socket's buffer holds.
  void stop_for(std::size_t site, Duration time);
  // The clock goes on by so much at once, of both sites.
  void step_clock(Duration time);
  // Where datagrams are sealed: both ends have new keys, and `first` knows that the other one has.
  void agree_on_keys(std::size_t first);
  // A datagram has come at the site.
  void arrive(std::size_t site, Bytes datagram);

  [[nodiscard]] std::uint64_t count(std::size_t site, TunnelCounter counter) const;
  // Of both ends, and of those that were killed.
  [[nodiscard]] std::uint64_t count(TunnelCounter counter) const;
  // Of what seals at a site.
  [[nodiscard]] std::uint64_t count_sealed(std::size_t site, std::string_view counter) const;
  [[nodiscard]] std::string describe() const;

  WorldOptions options;
  Random random;
  SeededEntropy entropy{random.fork()};
  BufferPool payloads{link::PacketPool::kPayloadBlock, 400'000};
  link::PacketPool pool{800'000, payloads};
  link::Worker worker;
  std::array<std::unique_ptr<BulkBuffer>, 2> buffers;
  std::array<std::unique_ptr<SimPath>, 2> paths;                    // from that site
  std::array<std::vector<std::unique_ptr<SimPath>>, 2> more_paths;  // by WorldOptions::more_wans
  std::array<std::unique_ptr<PathBundle>, 2> bundles;  // of all those, if there are such
  std::array<std::unique_ptr<SealedPath>, 2> seals;    // over paths, where there are any
  std::array<Stack, 2> stacks;                         // of WorldOptions::ip_options
  std::array<std::uint64_t, 2> arrived{};              // datagrams, at that site
  std::array<std::unique_ptr<Site>, 2> sites;
  std::array<std::unique_ptr<TunnelEnd>, 2> ends;
  std::array<std::unique_ptr<link::DirectLink>, 2> links;
  // Called at every moment at which something happens.
  std::function<void()> at_each_moment;

 private:
  [[nodiscard]] std::optional<Time> next() const;
  void make_end(std::size_t site);
  bool run_paths();
  [[nodiscard]] bool stopped(std::size_t site) const { return now_ < stopped_until_[site]; }
  bool read_unread(std::size_t site);

  Time now_{1s};
  std::array<Time, 2> stopped_until_{};
  std::array<bool, 2> owed_{};                                 // runs, that were due meanwhile
  std::array<std::vector<std::vector<std::byte>>, 2> unread_;  // what came meanwhile
  std::uint64_t keys_ = 0;  // times that both ends agreed on some
  std::vector<TunnelEnd*> woken_tunnels_;
  std::array<std::vector<CounterValue>, 2> buried_;
};

}  // namespace weft::wan
