// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/manager_process.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/lab/manager_options.h"
#include "io/clock.h"
#include "io/system_entropy.h"

namespace weft::daemon {
namespace {

constexpr std::uint32_t kSwitch = 2;  // NodeType, IBA 14.2.5.3

Expected<std::uint32_t> usual_port(const umad::Place& place) {
  const auto adapter = umad::describe(place);
  if (!adapter) return tl::unexpected(adapter.error());
  return adapter->facts.node_type == kSwitch ? 0u : 1u;
}

// What the file of M_Keys has is the options' from now on.
Expected<std::optional<MKeyFile>> read_keys(const ManagerProcessConfig& config, std::uint32_t port,
                                            sm::ManagerOptions& options) {
  if (config.mkeys.empty()) return std::nullopt;
  const auto adapter = umad::describe(config.place);
  if (!adapter) return tl::unexpected(adapter.error());
  auto file = MKeyFile::open(config.mkeys);
  if (!file) return tl::unexpected(file.error());
  const umad::Port* const own = adapter->find(port);
  io::SystemEntropy entropy;
  const auto key = file->own_key(Guid{own == nullptr ? 0 : own->facts.guid}, entropy);
  if (!key) return tl::unexpected(key.error());
  options.setup.mkey = *key;
  options.setup.mkey_protect = config.mkey_protect;
  options.mkeys = file->keys();
  return std::move(*file);
}

Error in_words(Error error, const umad::Place& place, std::uint32_t port) {
  if (error.code == std::errc::address_in_use) {
    error.message =
        fmt::format("another subnet manager is at port {} of {} already", port, place.node);
  }
  return error;
}

}  // namespace

Expected<std::unique_ptr<ManagerProcess>> ManagerProcess::open(const ManagerProcessConfig& config,
                                                               const sm::EventHandler& tell) {
  const auto port = config.port ? Expected<std::uint32_t>(*config.port) : usual_port(config.place);
  if (!port) return tl::unexpected(port.error());
  auto reactor = io::Reactor::create(0us);
  if (!reactor) return tl::unexpected(reactor.error());
  auto layer = RemoteMadLayer::open(config.place, *port, **reactor);
  if (!layer) return tl::unexpected(layer.error());
  auto read = read_manager_options(config.management, static_cast<std::uint8_t>(*port));
  if (!read) return tl::unexpected(read.error());
  auto mkeys = read_keys(config, *port, read->options);
  if (!mkeys) return tl::unexpected(mkeys.error());
  std::unique_ptr<ManagerProcess> process(new ManagerProcess(
      config.once, *port, std::move(*reactor), std::move(*layer), read->options));
  for (const std::string& note : read->notes)
    tell({.kind = sm::ManagerEvent::Kind::kProblem, .text = note});
  process->management_.on_event(tell);
  process->tell_ = tell;
  process->mkeys_ = std::move(*mkeys);
  if (auto started = process->management_.start(); !started) {
    return tl::unexpected(in_words(started.error(), config.place, *port));
  }
  if (auto announced = process->announce(config.place); !announced) {
    return tl::unexpected(announced.error());
  }
  return process;
}

ManagerProcess::ManagerProcess(bool once, std::uint32_t port, std::unique_ptr<io::Reactor> reactor,
                               std::unique_ptr<RemoteMadLayer> layer,
                               const sm::ManagerOptions& options)
    : once_(once),
      port_(port),
      reactor_(std::move(reactor)),
      layer_(std::move(layer)),
      management_(*layer_, options) {
}

Expected<void> ManagerProcess::announce(const umad::Place& place) {
  const auto path = umad::subnet_manager_path(place, port_);
  if (!path) return tl::unexpected(path.error());
  is_manager_.reset(::open(path->c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!is_manager_) return fail_errno(errno, *path);
  return {};
}

Expected<void> ManagerProcess::run() {
  management_.sweep();
  while (!stopping_.load()) {
    const Time now = io::now();
    management_.run(now);
    keep_keys();
    if (layer_->ended()) return tl::unexpected(*layer_->ended());
    if (const auto done = outcome()) return *done;
    const auto deadline = management_.deadline();
    const Duration wait = deadline ? std::max(*deadline - now, Duration::zero()) : -1ns;
    if (auto turn = reactor_->run_once(wait); !turn) return tl::unexpected(turn.error());
  }
  return {};
}

void ManagerProcess::keep_keys() {
  const sm::SubnetManager& manager = management_.manager();
  if (!mkeys_ || !manager.manages() || manager.sweeps() == kept_sweeps_) return;
  kept_sweeps_ = manager.sweeps();
  if (auto kept = mkeys_->keep(manager.subnet()); !kept) {
    tell_({.kind = sm::ManagerEvent::Kind::kProblem, .text = kept.error().message});
  }
}

std::optional<Expected<void>> ManagerProcess::outcome() const {
  const sm::SubnetManager& manager = management_.manager();
  if (!once_ || manager.sweeps() == 0) return std::nullopt;
  switch (manager.state()) {
    case wire::SmState::kDiscovering:
      return std::nullopt;
    case wire::SmState::kStandby:
    case wire::SmState::kNotActive:
      return fail(std::errc::operation_not_permitted, "another subnet manager is the master");
    case wire::SmState::kMaster:
      break;
  }
  if (!manager.manages()) return std::nullopt;
  const auto& problems = manager.report().problems;
  if (problems.empty()) return Expected<void>();
  return fail(std::errc::io_error, problems.front());
}

void ManagerProcess::stop() {
  stopping_.store(true);
  reactor_->wake();
}

}  // namespace weft::daemon
