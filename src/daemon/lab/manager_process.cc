// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/manager_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "daemon/lab/manager_options.h"
#include "daemon/lab/steering_options.h"
#include "io/clock.h"
#include "io/runtime_dir.h"
#include "io/system_entropy.h"

namespace weft::daemon {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kSwitch = 2;  // NodeType, IBA 14.2.5.3

// Of a port that there is.
Expected<Guid> guid_of(const umad::Place& place, std::uint32_t port) {
  const auto adapter = umad::describe(place);
  if (!adapter) return tl::unexpected(adapter.error());
  const umad::Port* const own = adapter->find(port);
  return Guid{own == nullptr ? 0 : own->facts.guid};
}

Error in_words(Error error, const umad::Place& place, std::uint32_t port) {
  if (error.code == std::errc::address_in_use) {
    error.message =
        fmt::format("another subnet manager is at port {} of {} already", port, place.node);
  }
  return error;
}

}  // namespace

Expected<std::uint32_t> usual_manager_port(const umad::Place& place) {
  const auto adapter = umad::describe(place);
  if (!adapter) return tl::unexpected(adapter.error());
  return adapter->facts.node_type == kSwitch ? 0u : 1u;
}

// Beside the file that says that a manager is there: as long as the lab runs, it is the port's. In
// another user's lab nobody else makes files: there, it is where this user's sockets are.
Expected<std::string> manager_admin_path(const umad::Place& place, std::uint32_t port) {
  const auto path = umad::subnet_manager_path(place, port);
  if (!path) return tl::unexpected(path.error());
  const fs::path file(*path);
  struct stat lab {};
  if (stat(file.parent_path().c_str(), &lab) != 0 || lab.st_uid == geteuid()) {
    return *path + kManagerAdminSuffix;
  }
  const auto own = io::runtime_directory();
  if (!own) return tl::unexpected(own.error());
  return fmt::format("{}/{}-{}-{}{}", *own, lab.st_uid, file.parent_path().filename().string(),
                     file.filename().string(), kManagerAdminSuffix);
}

Expected<std::unique_ptr<ManagerProcess>> ManagerProcess::open(const ManagerProcessConfig& config,
                                                               const sm::EventHandler& tell) {
  auto reactor = io::Reactor::create(0us);
  if (!reactor) return tl::unexpected(reactor.error());
  auto layer = RemoteMadLayer::open(config.place, config.port, **reactor);
  if (!layer) return tl::unexpected(layer.error());
  const auto guid = guid_of(config.place, config.port);
  if (!guid) return tl::unexpected(guid.error());
  auto read = read_manager_options(
      config.management, {.number = static_cast<std::uint8_t>(config.port), .guid = *guid});
  if (!read) return tl::unexpected(read.error());
  if (config.policies) {
    const std::size_t subnet = managed_subnet_of(*config.policies, config.place.node,
                                                 static_cast<std::uint8_t>(config.port));
    read->options.steering = steering_options(*config.policies, subnet);
  }
  auto subnet =
      ManagedSubnet::open(**layer, config.place.node, std::move(*read), config.database, tell);
  if (!subnet) return tl::unexpected(in_words(subnet.error(), config.place, config.port));
  std::unique_ptr<ManagerProcess> process(
      new ManagerProcess(config, std::move(*reactor), std::move(*layer), std::move(*subnet)));
  if (auto announced = process->announce(config.place, config.port); !announced) {
    return tl::unexpected(announced.error());
  }
  return process;
}

ManagerProcess::ManagerProcess(const ManagerProcessConfig& config,
                               std::unique_ptr<io::Reactor> reactor,
                               std::unique_ptr<RemoteMadLayer> layer,
                               std::unique_ptr<ManagedSubnet> subnet)
    : once_(config.once),
      policies_(config.policies),
      reactor_(std::move(reactor)),
      layer_(std::move(layer)),
      subnet_(std::move(subnet)) {
}

Expected<void> ManagerProcess::announce(const umad::Place& place, std::uint32_t port) {
  const auto socket = manager_admin_path(place, port);
  if (!socket) return tl::unexpected(socket.error());
  auto admin = ManagerAdmin::open(*socket, *subnet_, policies_ ? &*policies_ : nullptr, *reactor_);
  if (!admin) return tl::unexpected(admin.error());
  admin_ = std::move(*admin);
  const auto path = umad::subnet_manager_path(place, port);
  if (!path) return tl::unexpected(path.error());
  is_manager_.reset(::open(path->c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!is_manager_) return fail_errno(errno, *path);
  return {};
}

Expected<void> ManagerProcess::run() {
  subnet_->sweep();
  while (!stopping_.load()) {
    const Time now = io::now();
    subnet_->run(now);
    if (layer_->ended()) return tl::unexpected(*layer_->ended());
    if (const auto done = outcome()) return *done;
    const auto deadline = subnet_->deadline();
    const Duration wait = deadline ? std::max(*deadline - now, Duration::zero()) : -1ns;
    if (auto turn = reactor_->run_once(wait); !turn) return tl::unexpected(turn.error());
  }
  return {};
}

std::optional<Expected<void>> ManagerProcess::outcome() const {
  const sm::SubnetManager& manager = subnet_->manager();
  if (!once_ || manager.sweeps() == 0) return std::nullopt;
  switch (manager.state()) {
    case wire::SmState::kDiscovering:
      if (!manager.report().own_is_silent) return std::nullopt;
      return fail(std::errc::timed_out, manager.report().problems.front());
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
