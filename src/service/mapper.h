// SPDX-License-Identifier: Apache-2.0
// Keeps two ends from each other's queue pair numbers and Q_Keys: what each sees is the service's
// own. Messages of the communication manager are rewritten in step, so that both ends agree on what
// neither of them has. Packets are turned back into what their receiver has before services see
// them (undo), and into what it may see after that (hide). ARP and neighbour discovery of IPoIB
// tell queue pair numbers too, which are those that their receiver can send to.
#pragma once

#include <cstdint>
#include <vector>

#include "service/cm_table.h"
#include "service/fields.h"
#include "service/flow_cache.h"
#include "service/map_record.h"
#include "service/qp_map.h"
#include "service/service.h"
#include "wire/link_patch.h"

namespace weft::service {

// Who sends a packet and who is to have it.
struct Ends {
  Gid from{};
  Gid to{};
};

enum class MapResult : std::uint8_t {
  kDone,
  kNoMapping,          // the destination QP is none that anybody was told
  kForeign,            // it is one that another end was told, or of another end; or an end tells
                       // a link-layer address of IPoIB that is somebody else's
  kBadQKey,            // not the Q_Key that this end was told
  kUnknownConnection,  // a message of the communication manager about nothing that was seen
  kFull,               // no room for another queue pair or connection
  kCount,
};

class Mapper {
 public:
  struct Options {
    QpMap::Options queue_pairs{};
    CmTable::Options connections{};
  };
  Mapper(const Options& options, Entropy& entropy)
      : options_(options), qps_(options.queue_pairs, entropy), connections_(options.connections) {}

  // What undo() has found, for hide().
  struct Undone {
    bool mapped = false;  // the destination QP was one of the map
    Qpn number{};         // and this one
    bool has_qkey = false;
    QKey shown{};  // what the packet had,
    QKey real{};   // and what its receiver takes
  };
  // Puts destination QP, Q_Key and what DREQ and LAP say of the receiver's QP to what its receiver
  // has. `fields` is of the packet of `patch`, whose CRCs are left to the caller; `rewrite` gets
  // what is the same for all packets of its flow.
  [[nodiscard]] MapResult undo(const Fields& fields, const Ends& ends, Time now,
                               wire::LinkPatch& patch, Rewrite& rewrite, Undone& undone);
  // Puts in what the receiver may see of the sender, and takes note of what the communication
  // manager says. `fields` are those after undo().
  [[nodiscard]] MapResult hide(const Fields& fields, const Ends& ends, const Undone& undone,
                               Time now, wire::LinkPatch& patch, Rewrite& rewrite);

  // What other instances must know since the last call; all there is, for one that begins. And what
  // another has said; false: it cannot be, or there is no room.
  [[nodiscard]] std::vector<MapRecord> take_news();
  void snapshot(Service::RecordSink& sink) const;
  [[nodiscard]] bool apply(Bytes record, Time now);

  // A port has gone: all that is of it.
  void forget(const Gid& end) { qps_.forget(end); }
  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;

  [[nodiscard]] QpMap& queue_pairs() { return qps_; }
  [[nodiscard]] const QpMap& queue_pairs() const { return qps_; }
  [[nodiscard]] std::size_t connections() const { return connections_.size(); }
  [[nodiscard]] const CmTable& connection_table() const { return connections_; }
  // Whether a message between them is of a connection that was seen, other than a request.
  [[nodiscard]] bool knows(const Ends& ends, const CmFields& cm) {
    return connections_.find(ends.from, cm.local_comm_id, ends.to, cm.remote_comm_id) != nullptr;
  }

 private:
  [[nodiscard]] MapResult undo_message(const Fields& fields, const Ends& ends,
                                       wire::LinkPatch& patch);
  [[nodiscard]] MapResult undo_address(const Fields& fields, const Ends& ends,
                                       wire::LinkPatch& patch);
  [[nodiscard]] MapResult hide_addresses(const Fields& fields, const Ends& ends, Time now,
                                         wire::LinkPatch& patch);
  [[nodiscard]] MapResult hide_message(const Fields& fields, const Ends& ends, Time now,
                                       wire::LinkPatch& patch);
  [[nodiscard]] MapResult hide_request(const Fields& fields, const Ends& ends, Time now,
                                       wire::LinkPatch& patch);
  [[nodiscard]] MapResult hide_reply(const Fields& fields, const Ends& ends, Time now,
                                     wire::LinkPatch& patch);
  [[nodiscard]] MapResult hide_resolved(const Fields& fields, const Ends& ends, Time now,
                                        wire::LinkPatch& patch);
  [[nodiscard]] MapResult follow(const Fields& fields, const Ends& ends, Time now);
  void close_numbers(const CmConnection& connection, Time now);

  const Options options_;
  QpMap qps_;
  CmTable connections_;
  std::vector<CmConnection> news_;
};

}  // namespace weft::service
