// SPDX-License-Identifier: Apache-2.0
// One service GID in place of several servers: each new connection, by REQ or SIDR_REQ, is given to
// one of them, and all that belongs to it follows. Clients talk to the service GID and to queue
// pair numbers of the balancer's, and servers answer to where packets came from, which is the
// balancer too: neither knows of it.
//
//   client -- DGID of the service, QP of the map --> balancer -- DGID, QP of the server --> server
//   client <-- SGID of the service, QP of the map -- balancer <-- SGID, QP of the server -- server
//
// QP numbers and Q_Keys are kept apart as Mapper has it, since two servers may have the same ones.
// What stands in REQ and SIDR_REQ of the service (its GID, the IP address that rdma_cm writes) is
// the server's own when that gets them. Alternate paths would lead around: LAP is dropped.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/entropy.h"
#include "service/mapper.h"
#include "service/service.h"

namespace weft::service {

enum class BalancerDrop : std::uint8_t {
  kNoGrh,
  kNotBalanced,
  kNoServer,
  kAlternatePath,
  kNoMapping,
  kForeignQp,
  kBadQKey,
  kUnknownConnection,
  kMapFull,
  kCount
};

class Balancer final : public Service {
 public:
  struct Server {
    std::string name;  // for counters
    Gid gid{};
    std::optional<Gid> address{};  // its IP address; nothing: requests keep what they name
  };
  enum class Spread : std::uint8_t {
    kHash,   // by a keyed hash: of connections by client and CM ID, of datagrams by client and
             // service ID. When the set changes, only those move that must
    kLeast,  // to the one that has the fewest connections
  };
  struct Options {
    Spread spread = Spread::kHash;
    std::optional<Gid> address{};  // the IP address of the service
    // A server that has answered no request for so long when one is repeated, or to which there is
    // no path, gets no new ones for a while, if others are there.
    Duration silence = 1s;
    Duration rest = 5s;
    Mapper::Options mapping{};
  };
  static constexpr std::size_t kMostServers = 256;

  Balancer(const Options& options, Entropy& entropy);

  // The GID that clients connect to.
  void set_service(const Gid& gid) { service_ = gid; }
  // At most kMostServers that new connections are spread over. What is connected to another one
  // stays there until it ends.
  void set_servers(std::span<const Server> servers);

  [[nodiscard]] std::string_view name() const override { return "balancer"; }
  [[nodiscard]] std::span<const CounterInfo> drop_reasons() const override { return kReasons; }
  [[nodiscard]] Verdict handle(Packet& packet, Time now) override;
  void run(Time now) override;
  [[nodiscard]] std::optional<Time> deadline() const override { return mapper_.deadline(); }
  void path_settled(const Gid& to, bool is_there) override;
  void apply(Bytes record, Time now) override;
  void snapshot(RecordSink& sink) const override { mapper_.snapshot(sink); }
  // With a row for each server, by its name: connections that it has, or had a moment ago.
  [[nodiscard]] std::vector<CounterValue> counters() const override;
  [[nodiscard]] const Mapper& mapper() const { return mapper_; }

 private:
  static constexpr std::array<CounterInfo, static_cast<std::size_t>(BalancerDrop::kCount)> kReasons{
      {
          {"no_grh", "packets without a global route header, or raw"},
          {"not_balanced", "packets that are neither to the service nor from one of its servers"},
          {"no_server", "requests while there is no server"},
          {"alternate_path", "LAP: there is no path around the service"},
          {"no_mapping", "packets to a QP number that nobody was told"},
          {"foreign_qp", "packets to a QP number that another end was told"},
          {"bad_qkey", "packets without the Q_Key that their sender was told"},
          {"unknown_connection", "CM messages about nothing that was seen"},
          {"map_full", "requests for which there is no room"},
      }};
  struct Place {
    Server server;
    bool in_use = true;  // gets new connections
    std::optional<Time> failed{};
    std::optional<Time> silent_since{};  // asked then, and not heard of since
    std::uint64_t chosen = 0;            // for new connections
  };

  [[nodiscard]] Verdict to_server(Packet& packet, Time now);
  [[nodiscard]] Verdict to_client(Packet& packet, Place& from, Time now);
  [[nodiscard]] Verdict drop(MapResult why) const;
  // Null: none; `why` says it.
  [[nodiscard]] Place* server_of(const Fields& fields, Time now, BalancerDrop& why);
  [[nodiscard]] Place* choose(const Fields& fields, Time now);
  [[nodiscard]] Place* find(const Gid& server);
  [[nodiscard]] bool is_well(const Place& place, Time now) const;
  [[nodiscard]] std::uint64_t weight(const Gid& client, std::uint64_t what,
                                     const Gid& server) const;
  [[nodiscard]] MapResult map(Packet& packet, const Ends& ends, Time now);
  void name_server(Packet& packet, const Server& server) const;
  void publish_news();
  // Of those that get no new connections and have none any more.
  void forget_idle();

  const Options options_;
  std::array<std::uint64_t, 2> secret_;
  Mapper mapper_;
  Gid service_{};
  std::vector<Place> places_;
  Time now_{};  // of the last call that said it
  std::uint64_t requests_ = 0;
  std::uint64_t bad_records_ = 0;
};

}  // namespace weft::service
