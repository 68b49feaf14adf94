// SPDX-License-Identifier: Apache-2.0
// The vocabulary of a channel adapter: what verbs of every binding have in common. Values are
// ours; src/verbs translates them to the C ABI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"

namespace weft::hca {

// Transport services (IBA 9.7 to 9.8, annex A14 for XRC, whose two ends are of different kinds).
// Raw queue pairs have none: they send and receive whole packets.
enum class QpType : std::uint8_t { kUd, kRc, kUc, kXrcInitiator, kXrcTarget, kRaw };

[[nodiscard]] constexpr bool is_connected(QpType type) {
  return type != QpType::kUd && type != QpType::kRaw;
}
[[nodiscard]] constexpr bool is_reliable(QpType type) {
  return type == QpType::kRc || type == QpType::kXrcInitiator || type == QpType::kXrcTarget;
}

// IBA 10.3.1, figure 124.
enum class QpState : std::uint8_t { kReset, kInit, kRtr, kRts, kSqd, kSqe, kErr };

// Rights of a memory region or of a queue pair's peer (IBA 10.6.3). A bit mask.
enum Access : std::uint32_t {
  kLocalWrite = 1u << 0,
  kRemoteWrite = 1u << 1,
  kRemoteRead = 1u << 2,
  kRemoteAtomic = 1u << 3,
  kWindowBind = 1u << 4,
  kZeroBased = 1u << 5,  // the region's or window's addresses begin at 0
};

enum class SendOpcode : std::uint8_t {
  kSend,
  kSendWithImmediate,
  kSendWithInvalidate,
  kRdmaWrite,
  kRdmaWriteWithImmediate,
  kRdmaRead,
  kCompareSwap,
  kFetchAdd,
  kLocalInvalidate,  // these two act on memory of our own and send nothing
  kBindWindow,
};

// An RDMA read or an atomic: it is the answer that brings data.
[[nodiscard]] constexpr bool fetches(SendOpcode opcode) {
  return opcode == SendOpcode::kRdmaRead || opcode == SendOpcode::kCompareSwap ||
         opcode == SendOpcode::kFetchAdd;
}

// One piece of a gather or scatter list.
struct Sge {
  std::uint64_t address = 0;
  std::uint32_t length = 0;  // bytes
  LKey lkey{};
};

// Where a packet goes (IBA 11.2.2.1). `sgid` is the value at `sgid_index` of the port's table. On a
// fabric the LID leads there, and packets have a GRH only if the path is global; on the wires of IP
// the GIDs are the address, and every path is global.
struct Path {
  Gid sgid{};
  Gid dgid{};
  std::uint32_t flow_label = 0;  // 20 bits
  std::uint32_t scope_id = 0;    // interface index, for link-local addresses
  std::uint8_t sgid_index = 0;
  std::uint8_t hop_limit = 0;  // 0: the port's default
  std::uint8_t traffic_class = 0;
  Sl sl{};
  Lid dlid{};                         // fabrics; 0 on the wires of IP
  std::uint8_t source_path_bits = 0;  // fabrics: low bits of the source LID, below the port's LMC
  std::uint8_t static_rate = 0;       // as PathRecord has it (IBA 15.2.5.16); 0: the port's own
  std::uint8_t port = 1;              // of the adapter: the one by which packets leave
  bool global = true;
  // Whether a LID leads there.
  [[nodiscard]] bool by_lid() const { return dlid != Lid{}; }
  friend bool operator==(const Path&, const Path&) = default;
};

// IBA 4.1.3: of one port, which multicast LIDs and the permissive one are not.
[[nodiscard]] constexpr bool is_unicast(Lid lid) {
  return lid != Lid{} && lid.value() < 0xC000;
}

// A connection both of whose ends may use Weft's extensions, since they have agreed so: what tells
// its queue pair at this end from others.
struct Agreement {
  Qpn local{};
  Qpn remote{};
  Gid remote_address{};
};

// Copies `length` bytes. False when memory of the application turned out not to be there (it was
// unmapped without being deregistered): the work fails then, the process lives on.
using CopyFunction = bool (*)(void* to, const void* from, std::size_t length);

inline bool plain_copy(void* to, const void* from, std::size_t length) {
  std::memcpy(to, from, length);
  return true;
}

// Runs `body(argument)`, which touches memory of the application in other ways than copying. False
// when that memory was not there, or not to be written: `body` was abandoned where it met it.
using GuardFunction = bool (*)(void (*body)(void*), void* argument);

inline bool no_guard(void (*body)(void*), void* argument) {
  body(argument);
  return true;
}

// What a bind makes of a memory window (IBA 10.6.7).
struct WindowBinding {
  std::uint32_t region_lkey = 0;  // of the region below it
  std::uint64_t address = 0;
  std::uint64_t length = 0;  // bytes; 0: unbinds a window of type 1
  std::uint32_t access = 0;  // Access bits
  RKey window{};             // the window as it is now
  RKey new_key{};            // what it becomes; type 1: of MemoryTable::draw_window_key()
};

// A work request for a send queue. Which fields count depends on the opcode and on the type of the
// queue pair.
struct SendRequest {
  std::uint64_t wr_id = 0;
  SendOpcode opcode = SendOpcode::kSend;
  bool signaled = false;
  bool solicited = false;
  bool inline_data = false;       // the pieces are copied now and need no key
  bool fence = false;             // waits until the reads and atomics before it are complete
  std::uint32_t immediate = 0;    // as the application gave it: network order, opaque
  std::span<const Sge> pieces{};  // copied by post_send

  // Datagrams.
  const Path* path = nullptr;  // copied by post_send
  Qpn remote_qpn{};
  QKey remote_qkey{};  // privileged bit set: the queue pair's own key is sent instead

  // Raw packets: the ICRC is made anew, instead of being as it was posted; and the P_Key that is
  // put in, in which case an ICRC that was posted is corrected by it.
  bool make_icrc = false;
  std::optional<PKey> pkey{};

  // Connections.
  std::uint64_t remote_address = 0;  // RDMA and atomics
  RKey rkey{};                       // RDMA and atomics
  RKey invalidate{};                 // send with invalidate, local invalidate
  std::uint64_t compare_add = 0;     // atomics: what to compare with, or to add
  std::uint64_t swap = 0;            // compare and swap
  Qpn remote_srq{};                  // XRC: number of the shared receive queue at the other end
  WindowBinding bind{};              // kBindWindow
};

struct ReceiveRequest {
  std::uint64_t wr_id = 0;
  std::span<const Sge> pieces{};  // copied by post_receive
};

enum class CompletionStatus : std::uint8_t {  // IBA 11.6.2
  kSuccess,
  kLocalLengthError,
  kLocalQpOperationError,
  kLocalProtectionError,
  kFlushed,
  kGeneralError,
  kMemoryWindowBindError,
  kBadResponse,
  kLocalAccessError,
  kRemoteInvalidRequest,
  kRemoteAccessError,
  kRemoteOperationError,
  kTransportRetryExceeded,
  kRnrRetryExceeded,
  kRemoteAborted,
};

enum class CompletionOpcode : std::uint8_t {
  kSend,
  kRdmaWrite,
  kRdmaRead,
  kCompareSwap,
  kFetchAdd,
  kBindWindow,
  kLocalInvalidate,
  kReceive,
  kReceiveRdmaWithImmediate,
};

struct Completion {
  std::uint64_t wr_id = 0;
  CompletionStatus status = CompletionStatus::kSuccess;
  CompletionOpcode opcode = CompletionOpcode::kSend;
  bool with_grh = false;  // the first 40 bytes of the receive buffer are a network header
  bool with_immediate = false;
  bool with_invalidate = false;  // `immediate` is the R_Key that was invalidated, host order
  bool solicited = false;
  // The service level: of a connection's path, of a datagram on a fabric. On the wires of IP, of a
  // datagram with_grh: bit 3 for UDP (always set), in bits 0-2 whether the header is IPv6 (1) or
  // IPv4 (2).
  std::uint8_t sl = 0;
  std::uint8_t path_bits = 0;  // fabrics, datagrams: of the LID that it was sent to
  Lid slid{};                  // fabrics, datagrams: of the sender
  std::uint16_t pkey_index = 0;
  std::uint32_t byte_length = 0;  // receive: including the 40 bytes of a datagram
  std::uint32_t immediate = 0;    // network order, opaque
  Qpn qpn{};
  Qpn source_qpn{};
  Time at{};  // when the core produced it
};

// Where a queue pair puts its completions. `solicited` completions wake a consumer that asked for
// solicited events only (IBA 11.4.2.2); errors always do.
class CompletionSink {
 public:
  virtual ~CompletionSink() = default;
  virtual void complete(const Completion& completion) = 0;
};

// The bytes that a UD receive finds before its payload (IBA 11.4.1.2): a GRH, or the IP header of
// the wire in its place.
inline constexpr std::size_t kGrhArea = 40;

}  // namespace weft::hca
