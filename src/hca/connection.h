// SPDX-License-Identifier: Apache-2.0
// What the two halves of a connected queue pair share, and how they speak to their owner.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "hca/connected_counters.h"
#include "hca/datagram.h"
#include "hca/memory_table.h"
#include "hca/pieces.h"
#include "hca/pkey_table.h"
#include "hca/qp_state.h"
#include "hca/receive_source.h"
#include "hca/types.h"

namespace weft::hca {

struct ConnectedConfig {
  Qpn qpn{};
  QpType type = QpType::kRc;
  PdHandle pd = 0;
  std::uint32_t max_sends = 0;  // depth of the send queue, work requests
  std::uint32_t max_receives = 0;
  std::uint32_t max_send_pieces = 1;
  std::uint32_t max_receive_pieces = 1;
  std::uint32_t max_inline = 0;  // bytes
  bool signal_all = false;
  std::uint32_t max_mtu = 4096;                        // of the port, bytes
  std::uint32_t max_message = std::uint32_t{1} << 31;  // bytes
  std::uint32_t receive_budget = 132'000;  // bytes in flight towards us that the port can hold
  // The other end is Weft too: selective acknowledgements and receive windows may be used
  // (docs/wire-udp.md). In a Connection it becomes true when the ends agree so.
  bool extensions = false;
  // The wire holds senders back rather than drop what it has no room for: much may be in flight.
  bool lossless = false;
  // RC and XRC packets to a peer that has extensions are sent as capable of ECN, unless the path's
  // traffic class says something of ECN itself.
  bool ecn = false;
  // How long a peer that has extensions may be silent on an idle connection before it is taken for
  // dead; zero: for ever. See PeerWatch.
  Duration keep_alive{};
  std::uint8_t port = 1;       // of the adapter
  PKeyTable* pkeys = nullptr;  // of the port; null: one with `pkey` at index 0 alone
  PKey pkey = kDefaultPKey;
  CopyFunction copy = plain_copy;
  GuardFunction guard = no_guard;
};

// A connection as modify has set it up so far.
struct Connection {
  ConnectedConfig config;
  Path path{};
  std::uint16_t pkey_index = 0;
  Qpn peer{};
  std::uint32_t mtu = 1024;        // path MTU, payload bytes of a full packet
  std::uint32_t peer_access = 0;   // Access bits: what the peer may do (QP access flags)
  std::uint8_t max_reads_in = 0;   // as responder: reads and atomics at a time
  std::uint8_t max_reads_out = 0;  // as requester
  std::uint8_t rnr_timer = 0;      // code 0..31 that our RNR NAKs carry
  std::uint8_t ack_timeout = 0;    // exponent: 4.096 us * 2^n; 0: for ever
  std::uint8_t retry_count = 0;    // 0..7
  std::uint8_t rnr_retry = 0;      // 0..7; 7: for ever
  // Automatic path migration (IBA 17.2.8). Packets carry MigReq in the migrated state only.
  PathMigration migration = PathMigration::kMigrated;
  bool has_alternate = false;
  bool has_migrated = false;  // news for the owner, who clears it
  bool narrow = false;        // long packets vanish on the path: they go in pieces
  std::uint8_t alternate_ack_timeout = 0;
  std::uint16_t alternate_pkey_index = 0;
  Path alternate_path{};
  ConnectedCounters counters{};

  // What the P_Key table says at `index` now.
  [[nodiscard]] PKey pkey_at(std::uint16_t index) const {
    return config.pkeys != nullptr ? config.pkeys->at(index) : config.pkey;
  }
  // That of our packets, and that packets to us must match.
  [[nodiscard]] PKey pkey() const { return pkey_at(pkey_index); }

  // For Burst::alone_above: a packet that is to be cut goes by itself.
  [[nodiscard]] std::size_t alone_above() const { return narrow ? kNarrowPacket : Burst::kNoLimit; }
  // To the alternate path, if one is armed; it is used up then. The requester tries it before it
  // gives up for want of an answer, and on success begins to count its retries anew.
  bool migrate() {
    if (migration != PathMigration::kArmed || !has_alternate) return false;
    path = alternate_path;
    pkey_index = alternate_pkey_index;
    ack_timeout = alternate_ack_timeout;
    migration = PathMigration::kMigrated;
    has_alternate = false;
    has_migrated = true;
    narrow = false;
    return true;
  }
};

// Finds the shared receive queue that an XRC packet names, if it is of `domain` (annex A14).
class XrcQueues {
 public:
  struct Found {
    ReceiveSource* source = nullptr;  // none: no such queue in the domain
    CompletionSink* completions = nullptr;
    PdHandle pd = 0;
  };
  virtual ~XrcQueues() = default;
  [[nodiscard]] virtual Found find(Qpn srq_number) = 0;
};

}  // namespace weft::hca
