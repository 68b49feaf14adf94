// SPDX-License-Identifier: Apache-2.0
// The rdma_cm of a host as a core: what a kernel does behind /dev/infiniband/rdma_cm, without the
// kernel. Programs' commands come as the bytes that librdmacm writes to that file, and answers go
// back as the bytes that it expects; connections are the connection manager's (mgmt/).
//
// No I/O, no clock, no thread: the owner serializes the calls, carries management datagrams, and
// tells programs when events wait for them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>
#include <vector>

#include "base/bytes.h"
#include "base/counters.h"
#include "base/entropy.h"
#include "base/time.h"
#include "mgmt/connection_manager.h"
#include "rdmacm/abi.h"
#include "rdmacm/counters.h"
#include "rdmacm/event_queue.h"
#include "rdmacm/identity.h"
#include "rdmacm/interfaces.h"
#include "rdmacm/path_record.h"
#include "rdmacm/port_table.h"
#include "rdmacm/report.h"
#include "rdmacm/routes.h"

namespace weft::rdmacm {

// Hears how many events wait at a channel, and what concerns queue pairs. Must not call the core
// back.
class EventSignal {
 public:
  virtual ~EventSignal() = default;
  virtual void raised(ChannelId channel) = 0;  // one more
  // So many fewer, although the program took none: their identifier was destroyed or moved.
  virtual void withdrawn(ChannelId channel, std::size_t count) = 0;
  // Both ends have agreed on mgmt::kWeftTransport. The side that asked for the connection hears of
  // it before its program hears of the answer.
  virtual void agreed(const hca::Agreement& agreement) = 0;
};

struct CoreConfig {
  PortTable::Range ports;
  std::uint32_t max_ids = 16384;         // identifiers of all channels together
  std::uint32_t max_memberships = 4096;  // and multicast joins
  // The exponent of the local ACK timeout that a path suggests, when the program does not set one.
  // 4.096 us * 2^17 is half a second.
  std::uint8_t ack_timeout = 17;
  std::uint16_t extensions = 0;  // mgmt::Extension bits to offer and to agree to
};

// The answer to a command: errno in its portable form, and what goes to the command's response
// pointer.
struct Reply {
  std::errc error{};
  std::uint16_t size = 0;
  std::array<std::byte, abi::kLongestResponse> bytes;

  [[nodiscard]] Bytes response() const { return Bytes(bytes).first(size); }
};

class CommandCore final : private mgmt::EventSink {
 public:
  // Keeps the references. `manager` knows the addresses of `interfaces` and may be shared with
  // others; whoever has it gives it datagrams and the time, and if it goes on without the core, all
  // channels are closed before. `routes`: for devices on a fabric; null where there are none.
  CommandCore(const CoreConfig& config, const Interfaces& interfaces, Entropy& entropy,
              mgmt::ConnectionManager& manager, EventSignal& signal, Routes* routes = nullptr);
  ~CommandCore() override;

  ChannelId open_channel();
  // Destroys its identifiers as if the program had: peers are told that they are gone.
  void close_channel(ChannelId channel, Time now);

  // One command: what a program wrote, header included. `extra` is what SET_OPTION's pointer points
  // to; `other` the channel that MIGRATE_ID's descriptor stands for. The command's pointers and
  // descriptor are not looked at. Unknown commands: function_not_supported.
  Reply execute(ChannelId channel, Bytes command, Bytes extra, ChannelId other, Time now);

  // Whose a datagram of the manager is: one on its way to `path.dgid`, or one that has come from
  // there, before the manager receives it. 0: no channel's.
  [[nodiscard]] ChannelId channel_of_leaving(Bytes mad, const hca::Path& path);
  [[nodiscard]] ChannelId channel_of_arriving(Bytes mad, const hca::Path& path);

  // What became of a question to Routes. host_unreachable: there is no path; timed_out.
  void route_found(std::uint32_t identifier, const PathRecord& path);
  void route_failed(std::uint32_t identifier, std::errc why);
  void host_found(std::uint32_t identifier, const Gid& gid);
  void host_failed(std::uint32_t identifier, std::errc why);
  void group_joined(std::uint32_t membership, const GroupRecord& group);
  void group_failed(std::uint32_t membership, std::errc why);
  // What a port of the fabric was in, it is no more: its link has gone, it has another LID, or the
  // subnet manager wants subscriptions anew. Programs get MULTICAST_ERROR with ENETRESET, as on
  // Linux, and join again when they want to.
  void groups_lost(std::uint8_t port);

  // Addresses have come or gone: identifiers on a device that is no more get DEVICE_REMOVAL.
  void interfaces_changed();

  [[nodiscard]] std::size_t channels() const { return channels_.size(); }
  [[nodiscard]] std::size_t identities() const { return identities_.size(); }
  // The first `most` of them.
  [[nodiscard]] std::vector<IdentityReport> report(std::size_t most) const;
  [[nodiscard]] std::vector<CounterValue> counters() const { return counters_.snapshot(); }
  [[nodiscard]] const mgmt::ConnectionManager& manager() const { return manager_; }

 private:
  struct Channel {
    ChannelId id = 0;
    EventQueue events;
    std::set<std::uint32_t> identities;
  };
  // One command on its way through a handler.
  struct Call {
    Channel& channel;
    Bytes in;
    std::size_t out_size;
    Bytes extra;
    ChannelId other;
    Time now;
    Reply& reply;
  };
  // What listens on a service ID: one listener of the connection manager for all identifiers.
  struct Service {
    mgmt::CmId listener{};
    std::vector<std::uint32_t> identities;
  };
  using Handler = std::errc (CommandCore::*)(Call&);

  // commands_identity.cc
  std::errc create_id(Call& call);
  std::errc destroy_id(Call& call);
  std::errc set_option(Call& call);
  std::errc migrate_id(Call& call);
  std::errc get_event(Call& call);
  // commands_address.cc
  std::errc bind_ip(Call& call);
  std::errc bind(Call& call);
  std::errc resolve_ip(Call& call);
  std::errc resolve_addr(Call& call);
  std::errc resolve_route(Call& call);
  // commands_query.cc
  std::errc query_route(Call& call);
  std::errc query(Call& call);
  std::errc init_qp_attr(Call& call);
  // commands_connect.cc
  std::errc connect(Call& call);
  std::errc listen(Call& call);
  std::errc accept(Call& call);
  std::errc reject(Call& call);
  std::errc disconnect(Call& call);
  std::errc notify(Call& call);
  // commands_multicast.cc
  std::errc join_ip_mcast(Call& call);
  std::errc join_mcast(Call& call);
  std::errc leave_mcast(Call& call);

  static void respond(Call& call, Bytes response);
  // The identifier, if the call's channel has it: no_such_file_or_directory, invalid_argument.
  tl::expected<Identity*, std::errc> find(Call& call, std::uint32_t handle);
  Identity* lookup(std::uint32_t handle);
  Identity* add_identity(Channel& channel);
  void destroy(Identity& identity, Time now);
  std::size_t drop_events(Identity& identity, Time now);
  std::uint32_t take_handle();

  std::errc query_path(Call& call, const Identity& identity) const;
  std::errc set_ib_path(Call& call, Identity& identity);
  std::errc bind_to(Identity& identity, const Address& address);
  std::errc bind_for(Identity& identity, const Address& source, const Address& destination);
  std::errc resolve(Identity& identity, const Address& source, const Address& destination,
                    std::uint32_t timeout_ms);
  void end_address_query(std::uint32_t identifier, const tl::expected<Gid, std::errc>& gid);
  std::errc choose_source(Identity& identity);
  std::errc make_path(Identity& identity) const;
  void take_path(Identity& identity, const PathRecord& record) const;
  Identity* find_asking(std::uint32_t identifier);
  [[nodiscard]] std::uint8_t ack_timeout_of(const Identity& identity) const;
  std::errc connect_datagram(Identity& identity, Bytes private_data, Time now);
  std::errc connect_connected(Identity& identity, const rdma_ucm_conn_param& parameters,
                              Bytes private_data, Time now);
  std::errc accept_connected(Identity& identity, const rdma_ucm_conn_param& parameters, Time now);
  std::errc add_to_service(Identity& identity);
  void leave_service(Identity& identity, Time now);
  std::errc join(Call& call, std::uint32_t handle, std::uint64_t uid, const Address& group,
                 std::uint16_t flags);
  // A membership that waits for its answer, which has come.
  Membership* find_asking_group(std::uint32_t membership);
  void post_joined(std::uint32_t membership, const hca::Path& path, Lid mlid, QKey qkey);
  void end_membership(std::uint32_t membership, std::errc why);
  void leave_group(std::uint32_t membership);
  void forget(std::uint32_t membership);

  // events.cc: what the connection manager says
  void on_event(const mgmt::CmEvent& event) override;
  void on(const mgmt::CmEvent& event, const mgmt::ConnectRequest& what);
  void on(const mgmt::CmEvent& event, const mgmt::ConnectResponse& what);
  void on(const mgmt::CmEvent& event, const mgmt::Established& what);
  void on(const mgmt::CmEvent& event, const mgmt::Rejected& what);
  void on(const mgmt::CmEvent& event, const mgmt::Unreachable& what);
  void on(const mgmt::CmEvent& event, const mgmt::MoreTime& what);
  void on(const mgmt::CmEvent& event, const mgmt::Disconnected& what);
  void on(const mgmt::CmEvent& event, const mgmt::TimewaitExit& what);
  void on(const mgmt::CmEvent& event, const mgmt::AlternatePathRequest& what);
  void on(const mgmt::CmEvent& event, const mgmt::AlternatePathReply& what);
  void on(const mgmt::CmEvent& event, const mgmt::SidrRequest& what);
  void on(const mgmt::CmEvent& event, const mgmt::SidrReply& what);
  // requests.cc: a peer's request becomes an identifier
  Identity* listener_for(mgmt::CmId listener, const std::optional<wire::CmIpHeader>& header,
                         const hca::Path& path);
  Identity* add_request(Identity& listener, mgmt::CmId cm,
                        const std::optional<wire::CmIpHeader>& header, const hca::Path& path,
                        PKey pkey);

  void post(const Identity& identity, abi::Event kind, std::int32_t status);
  void post(const Identity& identity, abi::Event kind, std::int32_t status,
            const rdma_ucm_conn_param& parameters);
  void post(const Identity& identity, abi::Event kind, std::int32_t status,
            const rdma_ucm_ud_param& parameters);
  void post(const QueuedEvent& event, ChannelId to);

  CoreConfig config_;
  const Interfaces& interfaces_;
  mgmt::ConnectionManager& manager_;
  EventSignal& signal_;
  Routes* routes_;
  Counters counters_;
  PortTable ports_;
  ChannelId last_channel_ = 0;
  std::map<ChannelId, Channel> channels_;
  std::map<std::uint32_t, std::unique_ptr<Identity>> identities_;
  std::map<std::uint32_t, Membership> memberships_;
  std::map<wire::ServiceId, Service> services_;
  std::set<std::uint32_t> free_handles_;
  std::uint32_t last_handle_ = 0;
  Time now_{};  // of the call under way, for what the connection manager's events cause
};

}  // namespace weft::rdmacm
