// SPDX-License-Identifier: Apache-2.0
// Two fabrics and a fibre between them in virtual time: at each site a port of a fabric, a local
// link, and an extender's end of the fibre; or, at the second site, any InfiniBand port on the
// fibre itself.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "../link/rig.h"
#include "link/half_link.h"
#include "wan/fibre_channel.h"
#include "wan/fibre_end.h"

namespace weft::wan {

class FibreWorld;

// A port of a fabric: sends numbered packets, and looks at the order of those that come.
class FibreSite : public link::PortOwner {
 public:
  FibreSite(FibreWorld& world, const link::PortOptions& options)
      : world_(world), port(options, *this) {}

  void received(link::Port& port, link::PacketPtr packet, Time now) override;
  void state_changed(link::Port&, link::PortState, Time) override {}
  void wake(link::Port& port) override;

  void send(Vl vl, std::size_t payload);
  // Until so many packets of the lane wait.
  void keep_full(Vl vl, std::size_t payload, std::size_t backlog = 4);

  std::array<std::uint32_t, kLanes> sent{};  // by the SL, which is the lane they were sent on
  std::array<std::uint32_t, kLanes> came{};
  std::array<Vl, kLanes> came_on{};  // the lane of the last one
  std::uint64_t came_bytes = 0;
  std::uint64_t management = 0;
  std::uint64_t disorder = 0;  // packets that are not the next one
  std::uint64_t damaged = 0;
  std::uint16_t blocked = 0;  // bit n: packets that come on lane n are kept, and their credit
  std::vector<link::PacketPtr> kept;

 private:
  FibreWorld& world_;

 public:
  link::Port port;
};

struct FibreWorldOptions {
  std::array<FibreOptions, 2> ends{};
  bool plain_peer = false;  // the second site's port is on the fibre
  link::PortOptions fabric{.data_vls = 15};
  std::array<link::Emulation, 2> local{};  // the link at each site
  link::Emulation fibre{};
  // The fibre is a stream of bytes in this code; nothing: it brings packets by itself.
  std::optional<FibreCodeKind> code{};
};

// A fibre that is a stream of bytes: what either end says is at the other one at once; what takes
// time is the line before.
class CodedFibre {
 public:
  CodedFibre(FibreCodeKind code, link::PacketPool& pool, std::array<link::Port*, 2> ports,
             const link::Emulation& line, Time now);
  ~CodedFibre();
  // False: there was nothing to do.
  bool carry(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  // Changes what is on its way to the second end.
  std::function<void(std::vector<std::byte>&)> harm;
  std::array<std::unique_ptr<FibreChannel>, 2> channels;

 private:
  std::array<std::unique_ptr<link::HalfLink>, 2> halves_;
};

class FibreWorld : private FibreUser {
 public:
  explicit FibreWorld(const FibreWorldOptions& options);
  ~FibreWorld() override;

  void wake(link::Port& port) { worker_.wake(port); }

  [[nodiscard]] Time now() const { return now_; }
  // With what keeps the senders busy, which is called at every moment at which something happens.
  void run_for(Duration time, const std::function<void()>& busy = {});
  bool run_until(const std::function<bool()>& holds, Duration most);
  // A subnet manager's part, at both sites; true: both ports are Active.
  bool activate();
  [[nodiscard]] bool active() const;
  // Bytes per second that come to the second site once the fibre is full, of packets of 2 KiB on
  // VL 0.
  [[nodiscard]] double rate();

  // At all ports: what was counted; packets that were dropped, whatever the reason; and with
  // flow-control packets.
  [[nodiscard]] std::uint64_t count(link::PortCounter counter) const;
  [[nodiscard]] std::uint64_t dropped_packets() const;
  [[nodiscard]] std::uint64_t dropped() const;
  [[nodiscard]] std::string describe() const;

  BufferPool payloads{link::PacketPool::kPayloadBlock, 400'000};
  link::PacketPool pool{400'000, payloads};
  std::array<std::unique_ptr<FibreSite>, 2> sites;
  std::array<std::unique_ptr<FibreEnd>, 2> ends;  // the second is null where the peer is plain
  link::DirectLink fibre;
  std::unique_ptr<CodedFibre> coded;
  std::array<std::unique_ptr<link::DirectLink>, 2> locals;

 private:
  void wake(FibreEnd& end) override { woken_.push_back(&end); }
  void settle(const std::function<void()>& busy);
  [[nodiscard]] std::optional<Time> next() const;
  [[nodiscard]] std::vector<const link::Port*> ports() const;
  [[nodiscard]] link::Port& fibre_port_of(std::size_t site);

  const FibreWorldOptions options_;
  Time now_{1s};
  link::Worker worker_;
  std::vector<FibreEnd*> woken_;
};

// A line of so many bytes per second, and a way of so long.
[[nodiscard]] inline link::Emulation line(std::uint64_t rate_bytes_per_s, Duration delay = 0ns) {
  return {.rate_bytes_per_s = rate_bytes_per_s, .delay = delay};
}

}  // namespace weft::wan
