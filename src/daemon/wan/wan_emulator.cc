// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/wan_emulator.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/quantity.h"
#include "daemon/wan/stream_proxy.h"
#include "daemon/wan/udp_proxy.h"
#include "io/clock.h"

namespace weft::daemon {
namespace {

using Carries = WanEmulatorConfig::Carries;

// What packets take beside their bytes, and blocks that are not full yet.
std::uint64_t memory_for(std::uint64_t bytes) {
  return bytes + bytes / 8 + 4 * wan::DelayLine::kBlock;
}

// The first setting that has no meaning for a stream; empty: none.
std::string_view meaningless_for_streams(const wan::PathEmulation& emulation) {
  if (emulation.line.loss > 0) return "loss";
  if (emulation.line.duplicate > 0) return "duplicate";
  if (emulation.line.reorder > 0) return "reorder";
  if (emulation.mark != 0) return "mark";
  if (emulation.mtu != 0) return "mtu";
  return {};
}

Expected<void> check(std::string_view name, const wan::PathEmulation& emulation,
                     const WanEmulatorConfig& config) {
  const std::uint64_t needs = memory_for(wan::most_under_way(emulation));
  if (emulation.line.rate_bytes_per_s != 0 && needs > config.memory) {
    return fail(
        std::errc::not_enough_memory,
        fmt::format("{}: {}: needs {} of memory for what is under way, more than the {} "
                    "that it may have (--memory)",
                    name, wan::to_string(emulation), size_text(needs), size_text(config.memory)));
  }
  if (config.carries == Carries::kUdp) return {};
  const std::string_view wrong = meaningless_for_streams(emulation);
  if (wrong.empty()) return {};
  return fail(std::errc::invalid_argument,
              fmt::format("{}: {} is of datagrams; a stream has rate, delay, jitter, queue, "
                          "bit_errors, flap and outage",
                          name, wrong));
}

Expected<void> check_both(const wan::PathEmulation& forward, const wan::PathEmulation& backward,
                          const WanEmulatorConfig& config) {
  if (auto ok = check("forward", forward, config); !ok) return ok;
  return check("backward", backward, config);
}

Expected<std::unique_ptr<WanProxy>> open_udp(io::Reactor& reactor,
                                             const WanEmulatorConfig& config) {
  if (!config.equipment.empty()) {
    return fail(std::errc::invalid_argument,
                fmt::format("{}: equipment stands in lines, which are streams: say stream",
                            config.equipment));
  }
  const auto listen = io::SocketAddress::parse(config.listen);
  if (!listen) return tl::unexpected(listen.error());
  const auto target = io::SocketAddress::parse(config.target);
  if (!target) return tl::unexpected(target.error());
  if (target->port == 0) {
    return fail(std::errc::invalid_argument, config.target + ": the port is missing");
  }
  return UdpProxy::open(reactor, *listen, *target, config.memory);
}

Expected<std::unique_ptr<WanProxy>> open_stream(io::Reactor& reactor,
                                                const WanEmulatorConfig& config) {
  auto listen = StreamAddress::parse(config.listen);
  if (!listen) return tl::unexpected(listen.error());
  const auto target = StreamAddress::parse(config.target);
  if (!target) return tl::unexpected(target.error());
  if (target->path.empty() && target->ip.port == 0) {
    return fail(std::errc::invalid_argument, config.target + ": the port is missing");
  }
  return StreamProxy::open(reactor, std::move(*listen), *target, config.memory, config.equipment);
}

}  // namespace

Expected<std::unique_ptr<WanEmulator>> WanEmulator::open(const WanEmulatorConfig& config) {
  if (auto ok = check_both(config.forward, config.backward, config); !ok) {
    return tl::unexpected(ok.error());
  }
  std::unique_ptr<WanEmulator> emulator(new WanEmulator(config));
  auto reactor = io::Reactor::create(20us);
  if (!reactor) return tl::unexpected(reactor.error());
  emulator->reactor_ = std::move(*reactor);
  auto proxy = config.carries == Carries::kUdp ? open_udp(*emulator->reactor_, config)
                                               : open_stream(*emulator->reactor_, config);
  if (!proxy) return tl::unexpected(proxy.error());
  emulator->proxy_ = std::move(*proxy);
  emulator->proxy_->change(config.forward, config.backward, io::now());
  return emulator;
}

WanEmulator::~WanEmulator() = default;

void WanEmulator::stop() {
  stopping_ = true;
  reactor_->wake();
}

void WanEmulator::wake() {
  woken_ = true;
  reactor_->wake();
}

Expected<void> WanEmulator::change(const wan::PathEmulation& forward,
                                   const wan::PathEmulation& backward) {
  if (auto ok = check_both(forward, backward, config_); !ok) return ok;
  proxy_->change(forward, backward, io::now());
  return {};
}

Expected<void> WanEmulator::run(Duration interval, const std::function<void()>& at_interval,
                                const std::function<void()>& when_woken) {
  Time next_report = interval > 0ns ? io::now() + interval : Time::max();
  while (!stopping_) {
    if (woken_.exchange(false)) when_woken();
    const Time now = io::now();
    if (now >= next_report) {
      at_interval();
      next_report = now + interval;
    }
    const Time until = std::min(next_report, proxy_->run(now).value_or(Time::max()));
    const Duration timeout =
        until == Time::max() ? Duration(-1) : std::max<Duration>(until - io::now(), 0ns);
    if (const auto ran = reactor_->run_once(timeout); !ran) return tl::unexpected(ran.error());
  }
  return {};
}

nlohmann::json WanEmulator::report() const {
  nlohmann::json out = proxy_->report(io::now());
  out["carries"] = config_.carries == Carries::kUdp ? "udp" : "stream";
  out["listen"] = listens();
  out["target"] = config_.target;
  return out;
}

}  // namespace weft::daemon
