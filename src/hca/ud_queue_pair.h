// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <system_error>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "hca/datagram.h"
#include "hca/memory_table.h"
#include "hca/qp_state.h"
#include "hca/types.h"
#include "hca/ud_counters.h"
#include "hca/ud_credit.h"
#include "hca/work_queue.h"

namespace weft::hca {

// How a datagram queue pair frames its messages.
enum class UdFraming : std::uint8_t {
  kBth,   // BTH, DETH and the rest, as InfiniBand and RoCEv2 have them
  kBare,  // nothing: the datagram is the message (wire `bare`)
};

struct UdConfig {
  Qpn qpn;
  PdHandle pd = 0;
  UdFraming framing = UdFraming::kBth;
  std::uint32_t mtu = 4096;          // largest message, bytes
  std::uint32_t max_sends = 0;       // depth of the send queue, work requests
  std::uint32_t max_receives = 0;
  std::uint32_t max_send_pieces = 1;
  std::uint32_t max_receive_pieces = 1;
  std::uint32_t max_inline = 0;      // bytes
  bool signal_all = false;
  bool credits = true;               // speak the receiver-credit extension (Weft peers only)
  std::uint32_t socket_bytes = 212'992;  // what the port can hold for this queue pair
  PKey pkey = kDefaultPKey;          // the value at the only index of the P_Key table
};

// An unreliable datagram queue pair (IBA 9.8.3, 10.2.3), without I/O, clock or lock. The owner
// serializes calls. Sending is in three steps, so that no lock need be held while the wire takes
// the packets: next_burst() picks what may go now, the owner hands it to a sink, sent() completes.
class UdQueuePair {
 public:
  UdQueuePair(const UdConfig& config, const MemoryTable& memory, CompletionSink& send_completions,
              CompletionSink& receive_completions);

  // IBA 11.2.5.2. EINVAL with a message for a transition or mask that the table does not have.
  Expected<void> modify(const QpAttributes& attributes, std::uint32_t mask);
  [[nodiscard]] QpAttributes query() const;
  [[nodiscard]] QpState state() const { return state_; }

  // Zero, or: EINVAL (state, too many pieces, inline too long, no path, an immediate on a wire that
  // cannot carry one), ENOMEM (queue full).
  std::errc post_send(const SendRequest& request);
  std::errc post_receive(const ReceiveRequest& request);

  // Fills `burst` with what may go now; false when nothing may. Pinned memory is held in `pin`
  // until sent(). Call sent() exactly once for each burst filled.
  bool next_burst(Burst& burst, Time now);
  void sent(const Burst& burst, SendResult result, Time now);
  // next_burst, sink, sent until nothing more may go or the sink would block (then returns false).
  bool transmit(Time now, Burst& scratch, BurstSink& sink);

  // Work requests (and credit datagrams) that wait to be sent.
  [[nodiscard]] bool has_work() const;
  [[nodiscard]] std::size_t queued_bytes() const { return queued_bytes_; }
  [[nodiscard]] std::size_t queued_packets() const { return queued_packets_; }

  void receive(const InDatagram& datagram, Time now);

  // When transmit() should be called again though nothing happened; none: no need.
  [[nodiscard]] std::optional<Time> deadline() const;

  // Multicast groups this queue pair is attached to (IBA 10.5.2). EINVAL for a GID that is not
  // multicast; attaching twice is harmless; detaching what is not attached is EINVAL.
  Expected<void> attach(const Gid& group);
  Expected<void> detach(const Gid& group);
  [[nodiscard]] const std::vector<Gid>& groups() const { return groups_; }

  [[nodiscard]] const UdCounters& counters() const { return counters_; }
  [[nodiscard]] const UdConfig& config() const { return config_; }
};

}  // namespace weft::hca
