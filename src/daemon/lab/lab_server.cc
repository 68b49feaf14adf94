// SPDX-License-Identifier: Apache-2.0
#include "daemon/lab/lab_server.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "daemon/lab/lab_node.h"
#include "io/clock.h"
#include "io/spin_wait.h"
#include "io/system_entropy.h"

namespace weft::daemon {
namespace {

constexpr std::size_t kLabServerMostSessions = 256;
// A lab that is worked with answers sooner when it does not sleep at once.
constexpr Duration kLabServerPatience = 50us;
// While programs are active, descriptors are looked at in one of so many turns: asking the kernel
// takes longer than a packet. But a turn in which much goes into a WAN takes as long as much that
// comes out of it, and who did sixteen of them for each look would lose what has come meanwhile.
constexpr unsigned kLabServerTurnsPerLook = 16;
// Frames cross the fabric so often in one turn, at most: there, back, and there again.
constexpr int kLegs = 3;
// While LAN ports look for frames of their hosts themselves, all descriptors are looked at so
// often; those of a WAN at least so often, too.
constexpr Duration kLookEvery = 20us;
// Packets that data services look at, or that wait behind a link after it: several times what a
// port gives credit for.
constexpr std::size_t kServiceBlocks = 16'384;

fabric::FabricLimits limits_of_lab(const fabric::Lab& lab) {
  io::SystemEntropy entropy;
  fabric::FabricLimits limits;
  for (const fabric::LabExtender& extender : lab.extenders) {
    const std::size_t packets = WanLinks::most_packets(extender) * extender.remotes.size();
    limits.packets += 2 * packets;  // that were sent, and that came
    limits.payload_blocks += packets;
  }
  const std::size_t external = ExternalServices::most_packets(lab);
  limits.packets += 2 * external;
  limits.payload_blocks += external;
  limits.first_qpn = Qpn{static_cast<std::uint32_t>(entropy.draw())};
  return limits;
}

fabric::Fabric make_fabric(fabric::Lab lab, std::optional<std::uint16_t> part) {
  const fabric::FabricLimits limits = limits_of_lab(lab);
  return fabric::Fabric(std::move(lab), limits, part);
}

// A program on a node takes seven descriptors of ours, so that half of all are left to the lab's
// own user.
std::size_t places_for_others() {
  constexpr rlim_t kDescriptors = 14;
  constexpr rlim_t kMost = 1024;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  return static_cast<std::size_t>(std::min(limit.rlim_cur / kDescriptors, kMost));
}

}  // namespace

LabServer::LabServer(fabric::Lab lab, LabPaths paths, std::optional<std::uint16_t> part)
    : paths_(std::move(paths)),
      others_(geteuid(), places_for_others()),
      service_blocks_(ServicePlace::kBlock, kServiceBlocks),
      fabric_(make_fabric(std::move(lab), part)),
      since_(io::wall_clock()) {
}

LabServer::~LabServer() {
  service_threads_.end();
  if (wan_) wan_->stop(io::now());
}

Expected<std::unique_ptr<LabServer>> LabServer::open(fabric::Lab lab, const LabPaths& paths,
                                                     std::optional<std::uint16_t> part,
                                                     const fabric::LabAccess& access) {
  auto lock = claim_lab(paths);
  if (!lock) return tl::unexpected(lock.error());
  std::unique_ptr<LabServer> server(new LabServer(std::move(lab), paths, part));
  server->lock_ = std::move(*lock);
  if (const auto started = server->start(access); !started) {
    return tl::unexpected(started.error());
  }
  return server;
}

Expected<void> LabServer::start(const fabric::LabAccess& access) {
  auto reactor = io::Reactor::create(0us);  // run() has the patience
  if (!reactor) return tl::unexpected(reactor.error());
  reactor_ = std::move(*reactor);
  if (auto started = start_manager(); !started) return started;
  if (fabric_.part()) {
    auto parts = PartLinks::open(fabric_, paths_, *reactor_, entropy_);
    if (!parts) return tl::unexpected(parts.error());
    parts_ = std::move(*parts);
  }
  if (!fabric_.lab().extenders.empty() || ExternalServices::has_any(fabric_.lab())) {
    auto wan = WanLinks::open(fabric_, *reactor_, entropy_);
    if (!wan) return tl::unexpected(wan.error());
    wan_ = std::move(*wan);
  }
  auto doors = open_doors(paths_, access);
  if (!doors) return tl::unexpected(doors.error());
  doors_ = std::move(*doors);
  if (auto started = start_programs(); !started) return started;
  return start_administration();
}

Expected<void> LabServer::start_administration() {
  auto admin = Listener::open_all(
      paths_.admin, doors_.admin, *reactor_,
      [this](io::UniqueFd socket, const io::PeerCredentials& peer) {
        take(std::move(socket), peer);
      },
      [this](Listener::Refused why) {
        counters_.add(why == Listener::Refused::kForeign ? LabCounter::kForeign
                                                         : LabCounter::kTurnedAway);
      });
  if (!admin) return tl::unexpected(admin.error());
  admin_ = std::move(*admin);
  return {};
}

Expected<void> LabServer::start_manager() {
  auto manager = LabManagers::open(fabric_, paths_.database);
  if (!manager) return tl::unexpected(manager.error());
  manager_ = std::move(*manager);
  return {};
}

Expected<void> LabServer::start_programs() {
  auto mads = MadServer::open(
      {.socket = paths_.mads,
       .shared = doors_.mads,
       .others = &others_,
       .directory = doors_.management_directory(paths_),
       .admission = doors_.manage},
      [this](std::string_view name) { return find_mad_node(name); }, *reactor_);
  if (!mads) return tl::unexpected(mads.error());
  mads_ = std::move(*mads);
  auto programs = AttachServer::open(
      {.socket = paths_.attach, .shared = doors_.attach, .others = &others_}, fabric_, *reactor_);
  if (!programs) return tl::unexpected(programs.error());
  programs_ = std::move(*programs);
  connection_managers_ = std::make_unique<ConnectionManagers>(fabric_, *reactor_, entropy_);
  auto connections =
      CmServer::open({.socket = paths_.rdma_cm, .shared = doors_.rdma_cm, .others = &others_},
                     *connection_managers_, *reactor_, entropy_);
  if (!connections) return tl::unexpected(connections.error());
  connections_ = std::move(*connections);
  if (parts_ || wan_) connections_->open_all_nodes();
  lan_ = std::make_unique<LanServer>(fabric_, *reactor_, entropy_, *connection_managers_);
  services_ =
      std::make_unique<LabServices>(fabric_, service_blocks_, entropy_, io::now, &service_threads_);
  const Steerings steerings = manager_ ? manager_->steerings() : Steerings{};
  services_->steer_by(steerings);
  if (auto opened = services_->open(); !opened) return opened;
  if (parts_) {
    services_->tell_parts(*parts_);
    parts_->set_record_user(*services_);
  }
  if (!ExternalServices::has_any(fabric_.lab())) return {};
  external_ = std::make_unique<ExternalServices>(fabric_, *wan_, entropy_);
  external_->steer_by(steerings);
  return external_->open(*reactor_);
}

Expected<MadNode> LabServer::find_mad_node(std::string_view name) {
  fabric::Node* const node = fabric_.find_node(name);
  if (node == nullptr) return no_such_node(fabric_, name);
  return MadNode{&node->management(), node, [node] { node->management_used(); }};
}

std::vector<std::string> LabServer::notes() const {
  std::vector<std::string> notes = manager_ ? manager_->notes() : std::vector<std::string>{};
  std::ranges::move(lan_->notes(), std::back_inserter(notes));
  const fabric::Lab& lab = fabric_.lab();
  if (lab.management.manager != fabric::LabManagement::Manager::kWeft &&
      !(lab.data.services.empty() && lab.data.policies.empty())) {
    notes.push_back(
        fmt::format("sm = \"{}\": paths do not lead through data services, unless weft sm "
                    "run --policies with this file manages the subnet",
                    fabric::to_string(lab.management.manager)));
  }
  return notes;
}

Expected<void> LabServer::run() {
  const Time begin = io::now();
  fabric_.start(begin);
  if (parts_) parts_->start(begin);
  if (wan_) wan_->start(begin);
  if (external_) external_->start(begin);
  if (manager_) manager_->start(begin);
  lan_->start();
  service_threads_.start(paths_.directory);
  io::SpinWait patience(kLabServerPatience);
  unsigned turns = 0;
  Time looked{};
  while (!stopping_.load()) {
    const Time now = io::now();
    const bool worked = work(now);
    if (worked) patience.reset();
    if (!worked && programs_->awaits_answer(now)) continue;
    if (worked || patience.look_again(now)) {
      const bool may_read = wan_ && now - looked >= kLookEvery;
      if (programs_->any_active() && !may_read && ++turns % kLabServerTurnsPerLook != 0) continue;
      if (lan_is_alone() && lan_->can_look() && now - looked < kLookEvery) continue;
      looked = now;
      const auto ready = reactor_->run_once(0ns);
      if (!ready) return tl::unexpected(ready.error());
      if (*ready > 0) patience.reset();
    } else {
      if (auto slept = sleep(now); !slept) return slept;
      patience.reset();
    }
  }
  return {};
}

bool LabServer::work(Time now) {
  const bool sent = programs_->poll(now);
  const bool came = parts_ && parts_->poll(now);
  const bool alone = lan_is_alone();
  const bool framed = lan_->work(now, alone);
  const bool due = run_fabric(now);
  bool landed = due && lan_->go_on(now);
  // What hosts answer as soon as they have a frame need not wait for the next turn.
  for (int legs = 1; legs < kLegs && landed && alone; ++legs)
    landed = run_fabric(now) && lan_->go_on(now);
  const bool crossed = wan_ && wan_->run(now);
  const bool managed = manager_ && manage(now, due);
  const bool served = run_services(now);
  programs_->flush(now);
  if (parts_) parts_->flush();
  return sent || came || framed || due || landed || crossed || managed || served;
}

// Whoever else is served in each turn is not to wait for frames.
bool LabServer::lan_is_alone() const {
  return !programs_->any_active() && !parts_ && !wan_;
}

// False: there was nothing for it to do.
bool LabServer::run_fabric(Time now) {
  const auto deadline = fabric_.deadline();
  if (!deadline || *deadline > now) return false;
  fabric_.run(now);
  return true;
}

// False: no external one had anything to do.
bool LabServer::run_services(Time now) {
  bool changed = !services_->empty() && services_->run(now);
  ExternalServices::Ran ran;
  if (external_) ran = external_->run(now);
  changed |= ran.changed;
  if (changed && manager_) manager_->run(now);
  return ran.worked;
}

// False: neither was there anything for it in the fabric, nor is it due.
bool LabServer::manage(Time now, bool fabric_ran) {
  // When the fabric ran, it may be for the manager, whenever that is due.
  if (!fabric_ran) {
    const auto deadline = manager_->deadline();
    if (!deadline || *deadline > now) return false;
  }
  manager_->run(now);
  return true;
}

Duration LabServer::time_to_deadline(Time now) const {
  const auto fabric = fabric_.deadline();
  const auto programs = programs_->deadline();
  const auto manager = manager_ ? manager_->deadline() : std::nullopt;
  const auto parts = parts_ ? parts_->deadline() : std::nullopt;
  const auto wan = wan_ ? wan_->deadline() : std::nullopt;
  const auto services = services_->deadline();
  const auto external = external_ ? external_->deadline() : std::nullopt;
  const Time next = std::min({fabric.value_or(Time::max()), programs.value_or(Time::max()),
                              manager.value_or(Time::max()), parts.value_or(Time::max()),
                              wan.value_or(Time::max()), services.value_or(Time::max()),
                              external.value_or(Time::max()), lan_->deadline()});
  if (next == Time::max()) return -1ns;  // for ever
  // "At once" may be so long ago that the difference is none.
  return next <= now ? Duration::zero() : next - now;
}

Expected<void> LabServer::sleep(Time now) {
  if (!programs_->sleep()) return {};
  if (parts_ && !parts_->sleep()) {
    programs_->awake();
    return {};
  }
  const bool may_sleep = !wan_ || wan_->sleep();
  const auto turn = reactor_->run_once(may_sleep ? time_to_deadline(now) : 0ns);
  programs_->awake();
  if (parts_) parts_->awake();
  if (wan_) wan_->awake();
  if (!turn) return tl::unexpected(turn.error());
  return {};
}

void LabServer::stop() {
  stopping_.store(true);
  if (reactor_) reactor_->wake();
}

void LabServer::take(io::UniqueFd socket, const io::PeerCredentials& peer) {
  auto place = others_.enter(peer.uid);
  if (!place || sessions_.size() >= kLabServerMostSessions)
    return counters_.add(LabCounter::kTurnedAway);
  const std::uint64_t id = ++last_session_;
  auto session = std::make_unique<AdminSession>(*this, id, std::move(socket), std::move(*place));
  if (!session->start()) return counters_.add(LabCounter::kTurnedAway);
  sessions_[id] = std::move(session);
  counters_.add(LabCounter::kAdminSessions);
}

void LabServer::end(std::uint64_t session) {
  sessions_.erase(session);
}

}  // namespace weft::daemon
