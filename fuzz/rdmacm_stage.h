// SPDX-License-Identifier: Apache-2.0
// A host's rdma_cm for a fuzz target, held against what its programs can know.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "base/random.h"
#include "input.h"
#include "network.h"
#include "rdmacm/command_core.h"

namespace weft::fuzz::rdmacm_stage {

using namespace weft::rdmacm;

inline constexpr std::uint32_t kMostIds = 24;
inline constexpr std::size_t kFiles = 3;
inline constexpr std::uint16_t kFirstPort = 7000;

inline mgmt::CmConfig small_manager() {
  mgmt::CmConfig out;
  out.limits = {.ids = 16, .passive_ids = 12, .listeners = 6, .early = 2};
  out.early_patience = 100ms;
  return out;
}

inline CoreConfig small() {
  CoreConfig out;
  out.ports = {.first = kFirstPort, .last = kFirstPort + 3};
  out.max_ids = kMostIds;
  out.max_memberships = 4;
  out.extensions = mgmt::kWeftTransport;
  return out;
}

class Host final : private Interfaces, private EventSignal {
 public:
  Host(unsigned number, Network& network)
      : gid(address(number)),
        entropy_(Random(number)),
        manager(small_manager(), *this, entropy_, network),
        core(small(), *this, entropy_, manager, *this) {
    for (ChannelId& file : files)
      file = core.open_channel();
  }

  // One command, held against what the program can know.
  void execute(std::size_t file, Bytes command, Bytes extra, ChannelId other, Time now) {
    const ChannelId channel = files[file];
    const bool promised = waiting_[channel] > 0;
    withdrawn_ = 0;
    const Reply reply = core.execute(channel, command, extra, other, now);
    const auto header = abi::read<rdma_ucm_cmd_hdr>(command);
    require(reply.size <= (header ? header->out : 0) &&
            (reply.error == std::errc{} || !reply.size));
    require(core.identities() <= kMostIds);
    if (!header) return;
    if (header->cmd == RDMA_USER_CM_CMD_GET_EVENT && reply.error == std::errc{}) require(promised);
    if (header->cmd == RDMA_USER_CM_CMD_GET_EVENT &&
        reply.error == std::errc::resource_unavailable_try_again) {
      require(!promised);
    }
    if (reply.error == std::errc{}) learn(*header, command.subspan(sizeof *header), reply, channel);
  }

  // The program closes a file: what it had there is gone.
  void close(std::size_t file, Time now) {
    core.close_channel(files[file], now);
    std::erase_if(known_, [&](const auto& each) { return each.second.channel == files[file]; });
    waiting_.erase(files[file]);
  }

  const Gid gid;
  std::array<ChannelId, kFiles> files{};
  std::vector<std::uint32_t> handles;  // given out, perhaps destroyed since
  std::uint32_t last_event_id = 0;
  bool has_address = true;

 private:
  // What a program knows of an identifier or a join.
  struct Known {
    std::uint64_t uid = 0;
    ChannelId channel = 0;
    std::uint32_t owner = 0;  // of a join
    std::uint32_t events = 0;
  };

  void learn(const rdma_ucm_cmd_hdr& header, Bytes body, const Reply& reply, ChannelId channel) {
    switch (header.cmd) {
      case RDMA_USER_CM_CMD_CREATE_ID:
        return add(reply, {.uid = abi::read<rdma_ucm_create_id>(body)->uid, .channel = channel});
      case RDMA_USER_CM_CMD_JOIN_MCAST: {
        const auto join = abi::read<rdma_ucm_join_mcast>(body);
        return add(reply, {.uid = join->uid, .channel = channel, .owner = join->id});
      }
      case RDMA_USER_CM_CMD_JOIN_IP_MCAST: {
        const auto join = abi::read<rdma_ucm_join_ip_mcast>(body);
        return add(reply, {.uid = join->uid, .channel = channel, .owner = join->id});
      }
      case RDMA_USER_CM_CMD_ACCEPT: {
        const auto accept = abi::read<rdma_ucm_accept>(body, offsetof(rdma_ucm_accept, ece));
        if (accept->conn_param.valid != 0) known_[accept->id].uid = accept->uid;
        return;
      }
      case RDMA_USER_CM_CMD_DESTROY_ID:
      case RDMA_USER_CM_CMD_LEAVE_MCAST: {
        const std::uint32_t handle = abi::read<rdma_ucm_destroy_id>(body)->id;
        if (!known_.contains(handle)) {  // a guess: a request whose event nobody has taken yet
          return require(header.cmd == RDMA_USER_CM_CMD_DESTROY_ID && withdrawn_ > 0);
        }
        require(known_[handle].events ==
                abi::read<rdma_ucm_destroy_id_resp>(reply.response())->events_reported);
        known_.erase(handle);
        std::erase_if(known_, [&](const auto& each) { return each.second.owner == handle; });
        return;
      }
      case RDMA_USER_CM_CMD_MIGRATE_ID: {
        const std::uint32_t handle = abi::read<rdma_ucm_migrate_id>(body)->id;
        for (auto& [number, known] : known_) {
          if (number == handle || known.owner == handle) known.channel = channel;
        }
        return;
      }
      case RDMA_USER_CM_CMD_GET_EVENT:
        --waiting_[channel];
        return hear(*abi::read<rdma_ucm_event_resp>(reply.response(), kShortEvent), channel);
      default:
        return;
    }
  }

  void add(const Reply& reply, const Known& known) {
    const std::uint32_t handle = abi::read<rdma_ucm_create_id_resp>(reply.response())->id;
    require(known_.emplace(handle, known).second);
    handles.push_back(handle);
  }

  void hear(const rdma_ucm_event_resp& event, ChannelId channel) {
    last_event_id = event.id;
    if (event.event == static_cast<std::uint32_t>(abi::Event::kConnectRequest)) {
      require(known_.emplace(event.id, Known{.channel = channel}).second);
      handles.push_back(event.id);
      // For the listener, whom the program knows by its uid only.
      const auto listener = std::find_if(known_.begin(), known_.end(), [&](const auto& each) {
        return each.first != event.id && each.second.uid == event.uid;
      });
      require(listener != known_.end());
      ++listener->second.events;
      return;
    }
    const auto about = known_.find(event.id);
    require(about != known_.end() && about->second.uid == event.uid);
    ++about->second.events;
    if (about->second.owner != 0) ++known_.at(about->second.owner).events;
  }

  std::optional<mgmt::LocalEnd> find(const Gid& asked) const override {
    const auto known = describe(asked, 0);
    return known ? std::optional(known->end) : std::nullopt;
  }
  std::optional<LocalAddress> describe(const Gid& asked, std::uint32_t) const override {
    if (!has_address || asked != gid) return std::nullopt;
    LocalAddress out;
    out.end.ca_guid = Guid{7};
    return out;
  }
  tl::expected<Gid, std::errc> source_for(const Gid& to, std::uint32_t) const override {
    if (!to.is_ipv4_mapped()) return tl::unexpected(std::errc::network_unreachable);
    return gid;
  }
  void raised(ChannelId channel) override { ++waiting_[channel]; }
  void withdrawn(ChannelId channel, std::size_t count) override {
    require(waiting_[channel] >= count);
    waiting_[channel] -= count;
    withdrawn_ += count;
  }

  void agreed(const hca::Agreement&) override {}

  static constexpr std::size_t kShortEvent = offsetof(rdma_ucm_event_resp, reserved);
  SeededEntropy entropy_;
  std::map<std::uint32_t, Known> known_;
  std::map<ChannelId, std::size_t> waiting_;
  std::size_t withdrawn_ = 0;  // by the last command

 public:
  mgmt::ConnectionManager manager;
  CommandCore core;
};

}  // namespace weft::fuzz::rdmacm_stage
