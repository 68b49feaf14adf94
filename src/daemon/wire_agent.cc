// SPDX-License-Identifier: Apache-2.0
#include "daemon/wire_agent.h"

#include <fmt/format.h>

#include <utility>

#include "io/clock.h"
#include "port/roce/roce_port.h"
#include "port/udp/udp_port.h"

namespace weft::daemon {
namespace {

Expected<std::unique_ptr<port::Port>> open_port(const WireChoice& choice, std::uint16_t roce_port,
                                                const std::shared_ptr<port::SlotGroup>& slots,
                                                port::PacketTaps& taps, Entropy& entropy) {
  if (choice.roce) {
    port::RocePortConfig config;
    config.taps = &taps;
    config.udp_port = roce_port;
    auto port = port::RocePort::open(config, slots, entropy);
    if (!port) return tl::unexpected(port.error());
    return std::unique_ptr<port::Port>(std::move(*port));
  }
  port::UdpPortConfig config;
  config.taps = &taps;
  config.management_port = choice.cm_port;
  auto port = port::UdpPort::open(config, entropy);
  if (!port) return tl::unexpected(port.error());
  return std::unique_ptr<port::Port>(std::move(*port));
}

}  // namespace

WireAgent::WireAgent(const HostInterfaces& interfaces, io::Reactor& reactor)
    : interfaces_(interfaces), reactor_(reactor), timer_(reactor.timers(), [this](Time now) {
        manager_->expire(now);
        set_timer();
      }) {
}

WireAgent::~WireAgent() = default;

Expected<std::unique_ptr<WireAgent>> WireAgent::open(const WireChoice& choice,
                                                     std::uint16_t roce_port,
                                                     const HostInterfaces& interfaces,
                                                     io::Reactor& reactor, Entropy& entropy) {
  std::unique_ptr<WireAgent> out(new WireAgent(interfaces, reactor));
  WireAgent* const self = out.get();
  if (choice.roce) {
    port::SlotGroupConfig config;
    config.udp_port = roce_port;
    auto slots = port::SlotGroup::open(config);
    if (!slots) return tl::unexpected(slots.error());
    self->slots_ = std::move(*slots);
  }
  auto port = open_port(choice, roce_port, self->slots_, *self, entropy);
  if (!port) return tl::unexpected(port.error());
  self->port_ = std::move(*port);
  auto management = Management::open(*self->port_, reactor, *self);
  if (!management && management.error().code == std::errc::address_in_use && !choice.roce) {
    return fail(std::errc::address_in_use,
                fmt::format("UDP port {} is taken, where connections are managed: perhaps another "
                            "user runs Weft on this host; set WEFT_CM_PORT on all hosts alike",
                            choice.cm_port));
  }
  if (!management) return tl::unexpected(management.error());
  self->management_ = std::move(*management);

  // perftest's server listens only after it has told its client to come, and the client crashes
  // when it is refused; a loaded machine can be a while between the two.
  mgmt::CmConfig patient;
  patient.early_patience = 1s;
  self->manager_ =
      std::make_unique<mgmt::ConnectionManager>(patient, interfaces, entropy, *self->management_);
  rdmacm::CoreConfig config;
  // On `udp` everybody is Weft, and nothing needs to be said.
  if (choice.roce) config.extensions = mgmt::kWeftTransport;
  self->core_.reset(new rdmacm::CommandCore(config, interfaces, entropy, *self->manager_, *self));
  return out;
}

Expected<WireAgent::File> WireAgent::open_file(const TapChoice& tap) {
  auto events = events_.make();
  if (!events) return tl::unexpected(events.error());
  std::unique_ptr<ProgramTap> opened;
  if (tap.any()) {
    auto made = ProgramTap::open(tap, interfaces_, reactor_, [this] { management_->receive(); });
    if (!made) return tl::unexpected(made.error());
    opened = std::move(*made);
  }
  const rdmacm::ChannelId id = core_->open_channel();
  const int descriptor = events_.add(id, std::move(*events));
  if (opened) taps_[id] = std::move(opened);
  return File{id, descriptor};
}

void WireAgent::close_file(std::uint64_t file) {
  core_->close_channel(file, io::now());
  events_.remove(file);
  taps_.erase(file);
  set_timer();
}

rdmacm::Reply WireAgent::execute(std::uint64_t file, Bytes command, Bytes extra,
                                 std::uint64_t other) {
  auto reply = core_->execute(file, command, extra, other, io::now());
  events_.answered(file, command, reply);
  set_timer();
  return reply;
}

Expected<port::Slot> WireAgent::take_slot() {
  if (!slots_) {
    return fail(std::errc::operation_not_supported, "wire udp has no slots to hand out");
  }
  return slots_->take();
}

std::vector<CounterValue> WireAgent::counters() const {
  std::vector<CounterValue> out = core_->counters();
  for (const auto& more :
       {manager_->counters().snapshot(), management_->counters(), port_->counters()}) {
    out.insert(out.end(), more.begin(), more.end());
  }
  return out;
}

void WireAgent::received(Bytes mad, const hca::Path& from) {
  manager_->receive(mad, from, kDefaultPKey, io::now());
  set_timer();
}

void WireAgent::undelivered(Bytes mad, const Gid& destination) {
  manager_->undelivered(mad, destination, io::now());
  set_timer();
}

port::PacketTap* WireAgent::tap_of(rdmacm::ChannelId channel) {
  const auto found = taps_.find(channel);
  return found == taps_.end() ? nullptr : found->second.get();
}

port::PacketTap* WireAgent::of_arriving(Bytes frame, const Gid& source, const Gid& destination) {
  if (taps_.empty()) return nullptr;
  hca::Path from;
  from.sgid = destination;
  from.dgid = source;
  return tap_of(core_->channel_of_arriving(Management::mad_in(frame), from));
}

port::PacketTap* WireAgent::of_leaving(const hca::Burst& burst) {
  if (taps_.empty()) return nullptr;
  return tap_of(core_->channel_of_leaving(Management::mad_in(burst), burst.path));
}

std::vector<port::PacketTap*> WireAgent::all() {
  std::vector<port::PacketTap*> out;
  for (const auto& [channel, tap] : taps_)
    out.push_back(tap.get());
  return out;
}

void WireAgent::agreed(const hca::Agreement& agreement) {
  if (agreement_sink_) agreement_sink_(port::slot_of(agreement.local), agreement);
}

void WireAgent::set_timer() {
  const auto deadline = manager_->deadline();
  if (deadline) {
    timer_.set(*deadline);
  } else {
    timer_.cancel();
  }
}

}  // namespace weft::daemon
