// SPDX-License-Identifier: Apache-2.0
#include "sm/subnet_setup.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sm/forwarding_tables.h"
#include "sm/subnet_changes.h"

namespace weft::sm {
namespace {

using wire::PortInfo;
using wire::PortPhysicalState;
using wire::PortState;
using wire::SmAttribute;

// Codes of PortInfo: 1, 2, 4, 8 and 15 lanes are 1 to 5.
std::uint8_t vl_code(std::uint8_t lanes) {
  std::uint8_t code = 1;
  while (code < 4 && (1u << code) <= lanes)
    ++code;
  return lanes >= 15 ? 5 : code;
}

// What a Set leaves alone.
PortInfo unchanged(const PortInfo& now) {
  PortInfo info = now;
  info.state = PortState::kNoChange;
  info.physical_state = PortPhysicalState::kNoChange;
  info.client_reregister = false;
  return info;
}

bool can_reregister(const PortInfo& info) {
  return (info.capability_mask & wire::kCapClientReregistration) != 0;
}

}  // namespace

SubnetSetup::SubnetSetup(SmpQueue& smps, Subnet& subnet, Plan plan, const SetupOptions& options)
    : smps_(smps),
      changes_(smps),
      subnet_(subnet),
      plan_(std::move(plan)),
      options_(options),
      pkeys_(changes_, subnet, options_.partitions, options_.enforcement, plan_.manager),
      lanes_(changes_, subnet, plan_.lanes, options_.qos) {
}

bool SubnetSetup::next_step() {
  switch (step_) {
    case Step::kMove:
      cut_off_unknown();
      pkeys_.read();
      if (plan_.guids != nullptr) GuidTables::read(changes_, subnet_);
      move_first();
      step_ = Step::kProtect;
      return true;
    case Step::kProtect:
      protect();
      step_ = Step::kKeys;
      return true;
    case Step::kKeys:
      pkeys_.write([this](const PortRef& at) { return may_touch(at); });
      step_ = Step::kPorts;
      return true;
    case Step::kPorts:
      write_ports();
      step_ = Step::kTables;
      return true;
    case Step::kTables:
      write_tables();
      step_ = Step::kArm;
      return true;
    case Step::kArm:
      step_ = Step::kDone;
      if (!cut_off_duplicates()) return true;
      if (plan_.is_patient && changes_.unanswered() > 0) return true;
      command(PortState::kInitialize, PortState::kArmed);
      step_ = Step::kActivate;
      return true;
    case Step::kActivate:
      command(PortState::kArmed, PortState::kActive);
      step_ = Step::kDone;
      return true;
    case Step::kDone:
      return false;
  }
  return false;
}

void SubnetSetup::set_port(const PortRef& at, const PortInfo& info) {
  std::array<std::byte, wire::smp::kDataSize> data{};
  info.write(data);
  const bool asked = info.client_reregister || !can_reregister(info);
  changes_.set(subnet_.route_to(at), SmAttribute::kPortInfo, at.port, data,
               [this, at, asked, mkey = info.mkey](const SmpResult& result) {
                 const auto now = PortInfo::parse(result.data);
                 if (result.answered() && now) {
                   SubnetPort& port = subnet_.port(at);
                   port.info = now;
                   // A command, which some ports repeat in their answer.
                   port.info->client_reregister = false;
                   if (asked) port.is_new = false;
                   if (port.guid == Guid{}) return;
                   // Who has asked with the key of before is not shown the new one.
                   port.info->mkey = mkey;
                   smps_.use_key(subnet_.route_to(at), mkey);
                   return;
                 }
                 changes_.failed("PortInfo of " + name_of(subnet_, at), result);
               });
}

std::uint8_t SubnetSetup::most_lanes(const PortRef& at) const {
  const QosProfile* const asked = lanes_.profile(at);
  return asked == nullptr ? options_.lanes : std::min(options_.lanes, asked->max_vls);
}

void SubnetSetup::fit_link(const PortRef& at, PortInfo& info) const {
  const SubnetPort& port = subnet_.port(at);
  const QosProfile* const asked = lanes_.profile(at);
  if (asked != nullptr && at.port != 0 && info.vl_cap > 1) info.vl_high_limit = asked->high_limit;
  if (!port.peer) return;
  const auto& other = subnet_.port(*port.peer).info;
  if (!other) return;
  info.neighbor_mtu = std::min(info.mtu_cap, other->mtu_cap);
  info.operational_vls = std::min(
      {info.vl_cap, other->vl_cap, vl_code(std::min(most_lanes(at), most_lanes(*port.peer)))});
}

std::vector<LidRange> SubnetSetup::lids_now() const {
  std::vector<LidRange> ranges;
  for (const PortRef& end : plan_.ends) {
    const auto& info = subnet_.port(end).info;
    ranges.push_back({.first = info->lid, .lmc = info->lmc});
  }
  return ranges;
}

std::vector<LidRange> SubnetSetup::lids_then() const {
  std::vector<LidRange> ranges;
  for (std::size_t i = 0; i < plan_.ends.size(); ++i)
    ranges.push_back({.first = plan_.lids[i], .lmc = lmc(i)});
  return ranges;
}

void SubnetSetup::move_first() {
  moved_.assign(plan_.ends.size(), false);
  for (const LidMove& move : first_moves(lids_now(), lids_then())) {
    if (!may_touch(plan_.ends[move.port])) continue;
    moved_[move.port] = true;
    write_end_port(move.port, move.to, false);
  }
}

void SubnetSetup::protect(PortInfo& info) const {
  info.mkey = options_.mkey;
  info.mkey_protect = options_.mkey_protect;
  info.mkey_lease_period = options_.mkey_lease;
}

void SubnetSetup::protect() {
  for (const PortRef& end : plan_.ends) {
    if (smps_.key_of(subnet_.route_to(end)) == options_.mkey || !may_touch(end)) continue;
    PortInfo info = unchanged(*subnet_.port(end).info);
    protect(info);
    set_port(end, info);
  }
}

// A port that did not answer may have done what it was told, or not.
bool SubnetSetup::cut_off_duplicates() {
  const std::vector<LidRange> now = lids_now();
  const std::vector<LidRange> then = lids_then();
  const std::vector<bool> shared = in_common(now);
  for (std::size_t i = 0; i < now.size(); ++i) {
    const PortRef& at = plan_.ends[i];
    if (!shared[i] || now[i] == then[i] || !may_touch(at)) continue;
    const bool is_switch = subnet_.nodes[at.node].is_switch();
    changes_.left_undone(fmt::format(
        "{:#018x} does not give up LID {}, which is another's: {}", subnet_.port(at).guid.value(),
        now[i].first.value(), is_switch ? "no link is brought up" : "its link is taken down"));
    if (is_switch) return false;
    cut_off(at);
  }
  return true;
}

bool SubnetSetup::may_touch(const PortRef& at) const {
  const auto& peer = subnet_.port(at).peer;
  return joining_->may_touch(at.node) && (!peer || joining_->may_touch(peer->node));
}

void SubnetSetup::cut_off_unknown() {
  joining_.emplace(subnet_, !plan_.is_first);
  for (const PortRef& at : joining_->unknown_beyond()) {
    changes_.left_undone(
        fmt::format("{:#018x} port {} carries data for something unknown, in what "
                    "is to be joined: its link is taken down",
                    subnet_.nodes[at.node].info.node_guid.value(), at.port));
    cut_off(at);
  }
}

void SubnetSetup::cut_off(const PortRef& at) {
  const auto& peer = subnet_.port(at).peer;
  // An adapter's link is taken down at the switch: what it is told is not sure to arrive.
  const PortRef side = peer && !subnet_.nodes[at.node].is_switch() ? *peer : at;
  cut_off_.push_back(at);
  cut_off_.push_back(side);
  const auto& present = subnet_.port(side).info;
  if (!present || present->state < PortState::kArmed) return;
  PortInfo info = unchanged(*present);
  info.state = PortState::kDown;
  set_port(side, info);
}

void SubnetSetup::write_ports() {
  const std::vector<bool> must_wait = blocked(lids_now(), lids_then());
  for (std::size_t i = 0; i < plan_.ends.size(); ++i) {
    if (plan_.lids[i] == Lid{} || !may_touch(plan_.ends[i])) continue;
    if (!must_wait[i]) {
      write_end_port(i, plan_.lids[i], true);
      continue;
    }
    changes_.left_undone(fmt::format("{:#018x} does not get LID {}: another port may have it still",
                                     subnet_.port(plan_.ends[i]).guid.value(),
                                     plan_.lids[i].value()));
  }
  for (std::uint32_t node = 0; node < subnet_.nodes.size(); ++node) {
    if (!subnet_.nodes[node].is_switch()) continue;
    for (std::size_t port = 1; port < subnet_.nodes[node].ports.size(); ++port)
      write_switch_port({node, static_cast<std::uint8_t>(port)});
  }
}

void SubnetSetup::write_end_port(std::size_t end, Lid lid, bool is_last) {
  const PortRef at = plan_.ends[end];
  const SubnetPort& port = subnet_.port(at);
  PortInfo info = unchanged(*port.info);
  protect(info);
  info.gid_prefix = options_.gid_prefix;
  info.lid = lid;
  info.lmc = lmc(end);
  info.master_sm_lid = plan_.sm_lid;
  info.master_sm_sl = Sl{};
  info.subnet_timeout = options_.subnet_timeout;
  fit_link(at, info);
  // Whoever registered with another manager, or by another LID, or was away, is to do so again.
  const bool anew = is_last && (port.is_new || plan_.is_first || moved_[end] ||
                                port.info->master_sm_lid != plan_.sm_lid || port.info->lid != lid);
  if (info == unchanged(*port.info) && !anew) return;
  info.client_reregister = anew && can_reregister(info);
  set_port(at, info);
}

void SubnetSetup::write_switch_port(const PortRef& at) {
  const SubnetPort& port = subnet_.port(at);
  if (!port.info || port.info->state < PortState::kInitialize || !port.peer) return;
  if (!may_touch(at)) return;
  PortInfo info = unchanged(*port.info);
  info.hoq_life = options_.hoq_life;
  info.enforce_partition_inbound = pkeys_.enforces_in(at);
  info.enforce_partition_outbound = pkeys_.enforces_out(at);
  fit_link(at, info);
  if (info != unchanged(*port.info)) set_port(at, info);
}

void SubnetSetup::write_tables() {
  for (std::uint32_t node = 0; plan_.multicast != nullptr && node < subnet_.nodes.size(); ++node) {
    if (!joining_->may_touch(node)) plan_.multicast->leave_alone(node);
  }
  if (plan_.multicast != nullptr) plan_.multicast->write(changes_, subnet_);
  for (std::uint32_t node = 0; node < subnet_.nodes.size(); ++node) {
    const SubnetNode& at = subnet_.nodes[node];
    if (!at.is_switch() || !at.switch_info || !joining_->may_touch(node)) continue;
    const std::vector<std::uint8_t>& table = plan_.tables[node];
    write_linear(changes_, subnet_, node, table);
    wire::SwitchInfo info = *at.switch_info;
    info.linear_top = Lid{static_cast<std::uint16_t>(table.empty() ? 0 : table.size() - 1)};
    info.life_time = options_.switch_life;
    if (plan_.multicast != nullptr) info.multicast_top = plan_.multicast->top(subnet_, node);
    write_switch_info(changes_, subnet_, node, info);
  }
  lanes_.write([this](const PortRef& at) { return may_touch(at); });
  if (plan_.guids != nullptr) plan_.guids->write(changes_, subnet_);
}

// Both ends of each link, and only those whose other end is known.
void SubnetSetup::command(PortState from, PortState to) {
  for (std::uint32_t node = 0; node < subnet_.nodes.size(); ++node) {
    const auto& ports = subnet_.nodes[node].ports;
    for (std::size_t number = 1; number < ports.size(); ++number) {
      const SubnetPort& port = ports[number];
      const PortRef at{node, static_cast<std::uint8_t>(number)};
      if (!port.info || !port.peer || port.info->state != from) continue;
      if (!may_touch(at)) continue;
      if (std::find(cut_off_.begin(), cut_off_.end(), at) != cut_off_.end()) continue;
      PortInfo info = unchanged(*port.info);
      info.state = to;
      set_port(at, info);
    }
  }
}

}  // namespace weft::sm
