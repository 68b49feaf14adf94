// SPDX-License-Identifier: Apache-2.0
#include "fabric/node_port.h"

#include <algorithm>
#include <bit>

#include "base/ids.h"
#include "link/credit.h"
#include "wire/endian.h"
#include "wire/sm/multicast_top.h"

namespace weft::fabric {
namespace {

constexpr std::uint64_t kDefaultPrefix = 0xFE80'0000'0000'0000;  // IBA 4.1.1: link-local
constexpr std::uint8_t kOverrunThreshold = 8;
constexpr std::uint8_t kResponseTime = 16;  // 4.096 us * 2^16 = 268 ms, as adapters say
constexpr std::uint8_t kSubnetTimeout = 18;

// Codes of PortInfo: 256 bytes are 1, 512 are 2, …; one data lane is 1, two are 2, …
std::uint8_t mtu_code(std::uint16_t bytes) {
  return static_cast<std::uint8_t>(std::bit_width(bytes) - 8);
}

std::uint8_t vl_code(std::uint8_t lanes) {
  return static_cast<std::uint8_t>(lanes == 15 ? 5 : std::bit_width(lanes));
}

std::uint8_t lanes_of(std::uint8_t code) {
  return static_cast<std::uint8_t>(code >= 5 ? 15 : 1u << (std::max<unsigned>(code, 1) - 1));
}

std::uint32_t capabilities(NodePort::Kind kind, const PortLimits& limits) {
  // External ports of a switch speak through port 0 (IBA 14.2.5.6).
  if (kind == NodePort::Kind::kSwitchExternal) return 0;
  std::uint32_t mask = wire::kCapTrap | wire::kCapSystemImageGuid | wire::kCapLedInfo |
                       wire::kCapDrNotice | wire::kCapCapabilityMaskNotice |
                       wire::kCapOtherLocalChangesNotice | wire::kCapClientReregistration;
  if (limits.data_vls > 1) mask |= wire::kCapSlMapping;
  if (limits.speed > LinkSpeed::kQdr) mask |= wire::kCapExtendedSpeeds;
  if (kind == NodePort::Kind::kSwitchManagement) {
    mask |= wire::kCapPKeySwitchTrap | wire::kCapMulticastFdbTop;
  }
  return mask;
}

// As it is before a subnet manager comes.
wire::PortInfo first_info(NodePort::Kind kind, const PortLimits& limits) {
  wire::PortInfo info;
  info.gid_prefix = kDefaultPrefix;
  info.capability_mask = capabilities(kind, limits);
  info.link_width_supported = width_bits_up_to(limits.width);
  info.link_width_enabled = info.link_width_supported;
  info.link_width_active = width_bit(LinkWidth::k1x);
  const SpeedBits speeds = speed_bits_up_to(limits.speed);
  info.link_speed_supported = speeds.speed;
  info.link_speed_enabled = speeds.speed;
  info.link_speed_active = speed_bit(LinkSpeed::kSdr).speed;
  info.link_speed_ext_supported = speeds.extended;
  info.link_speed_ext_enabled = speeds.extended;
  info.link_down_default = wire::PortPhysicalState::kPolling;
  info.mtu_cap = mtu_code(limits.mtu);
  info.neighbor_mtu = info.mtu_cap;
  info.vl_cap = vl_code(limits.data_vls);
  info.operational_vls = info.vl_cap;
  const bool arbitrates = kind != NodePort::Kind::kSwitchManagement && limits.data_vls > 1;
  info.vl_arbitration_high_cap = arbitrates ? link::VlArbitration::kMaxEntries : 0;
  info.vl_arbitration_low_cap = info.vl_arbitration_high_cap;
  info.hoq_life = 31;
  info.guid_cap = kind == NodePort::Kind::kSwitchExternal ? 0 : kGuidEntries;
  info.subnet_timeout = kSubnetTimeout;
  info.response_time = kResponseTime;
  info.local_phy_errors = link::kUsualLocalPhyErrors;
  info.overrun_errors = kOverrunThreshold;
  return info;
}

}  // namespace

NodePort::NodePort(Kind kind, std::uint8_t number, const PortLimits& limits, Guid guid,
                   link::CreditUpdates credit_updates, link::PortOwner& owner)
    : kind_(kind), number_(number), guid_(guid), info_(first_info(kind, limits)) {
  pkeys_.push_back(kDefaultPKey);
  if (kind == Kind::kSwitchManagement) return;
  link::PortOptions options;
  options.number = number;
  options.data_vls = limits.data_vls;
  options.mtu_code = info_.mtu_cap;
  options.vl_buffer = link::kMostCredit;
  options.credit_updates = credit_updates;
  if (credit_updates == link::CreditUpdates::kPeriodic) {
    options.credit_period = link::kStandardCreditPeriod;
  }
  link_ = std::make_unique<link::Port>(options, owner);
}

void NodePort::set_partner(const NodePort* partner, std::optional<LinkWidth> width,
                           std::optional<LinkSpeed> speed) {
  partner_ = partner;
  plugged_ = partner != nullptr;
  cable_width_ = width;
  cable_speed_ = speed;
  negotiated_speed_.reset();
  negotiated_width_.reset();
}

void NodePort::set_far_partner(const PortLimits& partner, std::optional<LinkWidth> width,
                               std::optional<LinkSpeed> speed) {
  partner_ = nullptr;
  plugged_ = true;
  cable_width_ = std::min(partner.width, width.value_or(partner.width));
  cable_speed_ = std::min(partner.speed, speed.value_or(partner.speed));
}

void NodePort::limit_speed(LinkSpeed most) {
  const SpeedBits allowed = speed_bits_up_to(most);
  info_.link_speed_supported = info_.link_speed_supported & allowed.speed;
  info_.link_speed_enabled = info_.link_speed_enabled & allowed.speed;
  info_.link_speed_ext_supported = info_.link_speed_ext_supported & allowed.extended;
  info_.link_speed_ext_enabled = info_.link_speed_ext_enabled & allowed.extended;
  if (info_.link_speed_ext_supported == 0) info_.capability_mask &= ~wire::kCapExtendedSpeeds;
}

void NodePort::trained() {
  if (!plugged_) return;
  const link::Training own = training();
  const link::Training other = partner_ != nullptr ? partner_->training() : far_.value_or(own);
  std::uint8_t widths = own.widths & other.widths;
  SpeedBits speeds{
      .speed = static_cast<std::uint8_t>(own.speeds & other.speeds),
      .extended = static_cast<std::uint8_t>(own.extended_speeds & other.extended_speeds)};
  if (cable_width_) widths = widths & width_bits_up_to(*cable_width_);
  if (cable_speed_) {
    const SpeedBits cable = speed_bits_up_to(*cable_speed_);
    speeds.speed = speeds.speed & cable.speed;
    speeds.extended = speeds.extended & cable.extended;
  }
  info_.link_width_active = width_bit(negotiated_width_.value_or(widest(widths)));
  const LinkSpeed speed = negotiated_speed_.value_or(fastest(speeds));
  info_.link_speed_ext_active = speed_bit(speed).extended;
  // Of an extended speed, LinkSpeedActive says the fastest that it can name.
  info_.link_speed_active = speed_bit(std::min(speed, LinkSpeed::kQdr)).speed;
}

link::Training NodePort::training() const {
  return {.widths = info_.link_width_enabled,
          .speeds = info_.link_speed_enabled,
          .extended_speeds = info_.link_speed_ext_enabled};
}

void NodePort::heard_training(const link::Training& far) {
  far_.reset();
  if (far != link::Training{}) far_ = far;
}

wire::PortInfo NodePort::port_info() const {
  wire::PortInfo info = info_;
  // The management port of a switch is always there (IBA 14.2.5.6).
  info.state = link_ == nullptr ? wire::PortState::kActive : link_->state();
  info.physical_state =
      link_ == nullptr ? wire::PortPhysicalState::kLinkUp : link_->physical_state();
  if (trains_ && info.physical_state == wire::PortPhysicalState::kPolling) {
    info.physical_state = wire::PortPhysicalState::kTraining;
  }
  return info;
}

void NodePort::set_port_info(const wire::PortInfo& info, Time now) {
  info_ = info;
  info_.client_reregister = false;  // a command, not a setting
  if (link_ == nullptr) return;
  link_->set_operational_vls(lanes_of(info.operational_vls), now);
  link_->set_neighbor_mtu(info.neighbor_mtu);
  link_->set_link_down_default(info.link_down_default);
  link_->set_local_phy_errors(info.local_phy_errors);
  link_->arbitration().set_high_limit(info.vl_high_limit);
  if (kind_ != Kind::kSwitchExternal) return;
  link_->set_hoq_life(info.hoq_life);
  link_->set_vl_stall_count(info.vl_stall_count);
}

// Counters of violations stay at their largest value (IBA 14.2.5.6).
void NodePort::count_pkey_violation() {
  if (info_.pkey_violations != 0xFFFF) ++info_.pkey_violations;
}

void NodePort::count_qkey_violation() {
  if (info_.qkey_violations != 0xFFFF) ++info_.qkey_violations;
}

bool NodePort::owns(Lid lid) const {
  const unsigned path_bits = (1u << info_.lmc) - 1;
  return info_.lid != Lid{} && (lid.value() & ~path_bits) == (info_.lid.value() & ~path_bits);
}

std::uint8_t NodePort::operational_vls() const {
  return link_ == nullptr ? lanes_of(info_.operational_vls) : link_->operational_vls();
}

// Most packets have a level below the number of lanes, and are spared the division.
Vl NodePort::default_lane(Sl sl) const {
  const std::uint8_t vls = operational_vls();
  return Vl{sl.value() < vls ? sl.value() : static_cast<std::uint8_t>(sl.value() % vls)};
}

wire::PKeyBlock NodePort::pkeys(std::uint16_t block) const {
  wire::PKeyBlock value;
  const std::size_t first = block * wire::PKeyBlock::kEntries;
  for (std::size_t i = 0; i < value.pkeys.size() && first + i < pkeys_.size(); ++i)
    value.pkeys[i] = pkeys_[first + i];
  return value;
}

void NodePort::set_pkeys(std::uint16_t block, const wire::PKeyBlock& value) {
  const std::size_t first = block * wire::PKeyBlock::kEntries;
  pkeys_.resize(std::max(pkeys_.size(), first + value.pkeys.size()));
  std::copy(value.pkeys.begin(), value.pkeys.end(),
            pkeys_.begin() + static_cast<std::ptrdiff_t>(first));
  while (!pkeys_.empty() && pkeys_.back() == PKey{})
    pkeys_.pop_back();
}

bool NodePort::accepts(PKey pkey) const {
  if ((pkey.value() & kPartitionBits) == 0) return false;
  return std::any_of(pkeys_.begin(), pkeys_.end(), [&](PKey own) {
    return ((own.value() ^ pkey.value()) & kPartitionBits) == 0 &&
           ((own.value() | pkey.value()) & kFullMemberBit) != 0;
  });
}

bool NodePort::carries(PKey pkey) const {
  if ((pkey.value() & kPartitionBits) == 0) return false;
  return std::any_of(pkeys_.begin(), pkeys_.end(), [&](PKey own) {
    return ((own.value() ^ pkey.value()) & kPartitionBits) == 0;
  });
}

bool NodePort::has_pkey(PKey pkey) const {
  return (pkey.value() & kPartitionBits) != 0 &&
         std::find(pkeys_.begin(), pkeys_.end(), pkey) != pkeys_.end();
}

wire::GuidBlock NodePort::guids(std::uint8_t block) const {
  wire::GuidBlock value;
  const std::size_t first = block * wire::GuidBlock::kEntries;
  for (std::size_t i = 0; i < value.guids.size() && first + i < guids_.size(); ++i)
    value.guids[i] = guids_[first + i];
  if (block == 0) value.guids[0] = guid_;
  return value;
}

void NodePort::set_guids(std::uint8_t block, const wire::GuidBlock& value) {
  const std::size_t first = block * wire::GuidBlock::kEntries;
  guids_.resize(std::max(guids_.size(), first + value.guids.size()));
  std::copy(value.guids.begin(), value.guids.end(),
            guids_.begin() + static_cast<std::ptrdiff_t>(first));
}

bool NodePort::has_gid(const Gid& gid) const {
  const auto* const bytes = reinterpret_cast<const std::byte*>(gid.bytes().data());
  const std::uint64_t prefix = wire::load_be64(bytes);
  const Guid guid{wire::load_be64(bytes + 8)};
  if (prefix != info_.gid_prefix && prefix != kDefaultPrefix) return false;
  if (guid == guid_) return true;
  return guid != Guid{} && guids_.size() > 1 &&
         std::find(guids_.begin() + 1, guids_.end(), guid) != guids_.end();
}

std::vector<Gid> NodePort::gids() const {
  std::vector<Gid> out;
  const auto add = [&out](std::uint64_t prefix, Guid guid) {
    std::array<std::byte, 16> bytes;
    wire::store_be64(bytes.data(), prefix);
    wire::store_be64(bytes.data() + 8, guid.value());
    out.push_back(wire::load_gid(bytes.data()));
  };
  for (std::size_t i = 0; i < std::max<std::size_t>(guids_.size(), 1); ++i) {
    const Guid guid = i == 0 ? guid_ : guids_[i];
    if (guid == Guid{}) continue;
    add(info_.gid_prefix, guid);
    if (info_.gid_prefix != kDefaultPrefix) add(kDefaultPrefix, guid);
  }
  return out;
}

// Halves 1 and 2 are the low table's, 3 and 4 the high one's.
wire::VlArbitrationBlock NodePort::vl_arbitration(std::uint8_t half) const {
  using Arbitration = link::VlArbitration;
  wire::VlArbitrationBlock block;
  if (link_ == nullptr) return block;
  const auto table = half >= 3 ? Arbitration::Table::kHigh : Arbitration::Table::kLow;
  const std::size_t first = half % 2 == 0 ? block.entries.size() : 0;
  for (std::size_t i = 0; i < block.entries.size(); ++i) {
    const Arbitration::Entry entry = link_->arbitration().get(table, first + i);
    block.entries[i] = {.vl = entry.vl, .weight = entry.weight};
  }
  return block;
}

void NodePort::set_vl_arbitration(std::uint8_t half, const wire::VlArbitrationBlock& value) {
  using Arbitration = link::VlArbitration;
  if (link_ == nullptr) return;
  std::array<Arbitration::Entry, wire::VlArbitrationBlock::kEntries> entries;
  std::transform(value.entries.begin(), value.entries.end(), entries.begin(),
                 [](const wire::VlArbitrationBlock::Entry& entry) {
                   return Arbitration::Entry{.vl = entry.vl, .weight = entry.weight};
                 });
  link_->arbitration().set(half >= 3 ? Arbitration::Table::kHigh : Arbitration::Table::kLow,
                           half % 2 == 0 ? entries.size() : 0, entries);
}

mgmt::PortCounts NodePort::port_counts(Time now) const {
  mgmt::PortCounts counts;
  using Own = NodeCounter;
  counts.receive_switch_relay_errors =
      counters_.get(Own::kNoRoute) + counters_.get(Own::kLoop) + counters_.get(Own::kNoVl);
  counts.receive_constraint_errors =
      counters_.get(Own::kInboundPKey) + counters_.get(Own::kInboundRaw);
  counts.transmit_constraint_errors =
      counters_.get(Own::kOutboundPKey) + counters_.get(Own::kOutboundRaw);
  if (link_ == nullptr) return counts;
  using Link = link::PortCounter;
  const link::PortCounters& link = link_->counters();
  counts.symbol_errors = link_->symbol_errors(now);
  // The watchdog of credit trains anew by way of Down, and no less.
  counts.link_error_recovery =
      link.get(Link::kLinkErrorRecoveries) + link.get(Link::kCreditWatchdog);
  counts.local_link_integrity_errors = link.get(Link::kLinkIntegrity);
  counts.link_downed = link.get(Link::kLinkDowned);
  counts.receive_errors = link::port_rcv_errors(link);
  counts.transmit_discards = link::port_xmit_discards(link);
  counts.excessive_buffer_overruns = link.get(Link::kRxOverrun);
  counts.vl15_dropped = link.get(Link::kRxVl15Dropped);
  counts.transmit_words = link.get(Link::kTxWords);
  counts.receive_words = link.get(Link::kRxWords);
  counts.transmit_packets = link.get(Link::kTxPackets);
  counts.receive_packets = link.get(Link::kRxPackets);
  counts.unicast_transmit_packets = link.get(Link::kTxUnicast);
  counts.unicast_receive_packets = link.get(Link::kRxUnicast);
  counts.multicast_transmit_packets = link.get(Link::kTxMulticast);
  counts.multicast_receive_packets = link.get(Link::kRxMulticast);
  counts.transmit_wait = static_cast<std::uint64_t>(link_->transmit_wait(now).count());
  return counts;
}

void NodePort::run(Time now) {
  link_->run(now);
}

std::optional<Time> NodePort::deadline() const {
  return link_->deadline();
}

}  // namespace weft::fabric
