// SPDX-License-Identifier: Apache-2.0
#include "port/ring/port_facts.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/plain_bytes.h"
#include "wire/grh.h"

namespace weft::port {
namespace {

constexpr std::uint8_t kPhysicalLinkUp = 5;  // PortPhysicalState, IBA 14.2.5.6
constexpr std::uint16_t kMembership = 0x8000;

// Of MTU codes 1 to 5.
std::uint32_t mtu_bytes(std::uint8_t code) {
  return 128u << std::clamp<std::uint8_t>(code, 1, 5);
}

}  // namespace

bool PortFacts::has_pkey(PKey key) const {
  if ((key.value() & ~kMembership) == 0) return false;
  return std::find(attributes.pkeys.begin(), attributes.pkeys.end(), key) != attributes.pkeys.end();
}

std::uint64_t rate_mbps(std::uint8_t width_active, std::uint8_t speed) {
  struct Row {
    std::uint8_t code;
    std::uint64_t value;
  };
  static constexpr std::array<Row, 5> kLanes{{{1, 1}, {2, 4}, {4, 8}, {8, 12}, {16, 2}}};
  static constexpr std::array<Row, 6> kLaneMbps{
      {{1, 2'500}, {2, 5'000}, {4, 10'000}, {16, 14'000}, {32, 25'000}, {64, 50'000}}};
  const auto look_up = [](const auto& table, std::uint8_t code) {
    const auto found =
        std::find_if(table.begin(), table.end(), [&](const Row& row) { return row.code == code; });
    return found == table.end() ? std::uint64_t{0} : found->value;
  };
  return look_up(kLanes, width_active) * look_up(kLaneMbps, speed);
}

Expected<PortFacts> parse_facts(Bytes message) {
  const auto facts = plain::read<attach::Facts>(message);
  if (!facts || facts->kind != attach::kFacts || facts->gids > attach::kMostGids ||
      facts->pkeys > attach::kMostPkeys ||
      message.size() != sizeof(attach::Facts) + facts->gids * sizeof(Gid) +
                            facts->pkeys * sizeof(std::uint16_t)) {
    return fail(std::errc::bad_message, "the lab's daemon says of the port what cannot be read");
  }
  PortFacts out{
      .port = facts->port, .epoch = facts->epoch, .neighbor_mtu = mtu_bytes(facts->neighbor_mtu)};
  PortAttributes& port = out.attributes;
  port.link_layer = LinkLayer::kInfiniband;
  port.state = static_cast<LinkState>(std::clamp<std::uint8_t>(facts->state, 1, 4));
  port.link_up = facts->physical_state == kPhysicalLinkUp;
  port.max_mtu = mtu_bytes(facts->mtu_cap);
  port.active_mtu = std::min(out.neighbor_mtu, port.max_mtu);
  port.max_message = port.max_mtu;
  port.lid = Lid{facts->lid};
  port.sm_lid = Lid{facts->sm_lid};
  port.sm_sl = Sl{static_cast<std::uint8_t>(facts->sm_sl & 0xF)};
  port.lmc = std::min<std::uint8_t>(facts->lmc, 7);
  port.physical_state = facts->physical_state;
  port.width_active = facts->width_active;
  port.speed_active = facts->speed_ext_active == 0
                          ? facts->speed_active
                          : static_cast<std::uint8_t>(facts->speed_ext_active << 4);
  port.rate_mbps = rate_mbps(port.width_active, port.speed_active);
  port.vl_cap = facts->vl_cap;
  port.subnet_timeout = facts->subnet_timeout;
  port.init_type_reply = facts->init_type_reply;
  port.capabilities = facts->capabilities;
  port.pkey_violations = facts->pkey_violations;
  port.qkey_violations = facts->qkey_violations;

  const std::byte* at = message.data() + sizeof(attach::Facts);
  for (std::size_t i = 0; i < facts->gids; ++i, at += sizeof(Gid))
    port.gids.push_back({wire::load_gid(at), 0});
  port.pkeys.resize(attach::kMostPkeys);
  for (std::size_t i = 0; i < facts->pkeys; ++i, at += sizeof(std::uint16_t)) {
    std::uint16_t key = 0;
    std::memcpy(&key, at, sizeof key);
    port.pkeys[i] = PKey{key};
  }
  return out;
}

std::uint32_t port_news(const PortAttributes& before, const PortAttributes& after) {
  std::uint32_t news = 0;
  const bool was_active = before.state == LinkState::kActive;
  const bool is_active = after.state == LinkState::kActive;
  if (is_active != was_active) news |= is_active ? kNewsActive : kNewsError;
  if (after.lid != before.lid || after.lmc != before.lmc) news |= kNewsLid;
  if (after.pkeys != before.pkeys) news |= kNewsPKey;
  if (after.gids != before.gids) news |= kNewsGid;
  if (after.sm_lid != before.sm_lid || after.sm_sl != before.sm_sl) news |= kNewsSm;
  return news;
}

}  // namespace weft::port
