// SPDX-License-Identifier: Apache-2.0
// The UDP socket of the engines: unconnected, non-blocking, one system call per burst. A send can
// carry many equal datagrams (UDP_SEGMENT) and a receive can deliver many (UDP_GRO); that is worth
// a factor of 3 to 30 against one datagram per call.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>

#include "base/bytes.h"
#include "base/error.h"
#include "base/ids.h"
#include "io/socket_address.h"
#include "io/unique_fd.h"

namespace weft::io {

// What one UDP payload can hold over IPv4, and so the largest super-buffer of a GSO send.
inline constexpr std::size_t kMaxUdpPayload = 65507;
// A receive buffer of this size never truncates.
inline constexpr std::size_t kUdpReceiveBuffer = 65536;
// Linux before 6.9 refuses more segments in one send.
inline constexpr std::size_t kMaxGsoSegments = 64;

struct UdpOptions {
  SocketAddress local;           // unspecified address: both families; port 0: the kernel chooses
  bool ipv4_only = false;        // an AF_INET socket, as on a kernel without IPv6
  bool reuse_address = false;    // SO_REUSEADDR: share the port among members of multicast groups
  bool reuse_port = false;       // SO_REUSEPORT: share the port in one steered group
  bool tell_destination = true;  // ReceivedDatagram::destination and ifindex
  bool tell_hops = true;         // ReceivedDatagram::ttl
  bool coalesce = true;          // UDP_GRO: several datagrams by one receive
  bool tell_overflows = true;    // ReceivedDatagram::overflows
  bool only_joined_groups = false;     // receive a group's datagrams only if this socket joined it
  bool tell_errors = false;            // receive_error(): IP_RECVERR
  bool deaf = false;                   // takes no datagram: to send from, and be told of errors
  bool accept_zero_checksum6 = false;  // UDP_NO_CHECK6_RX: take IPv6 datagrams without checksum
  std::size_t receive_buffer =
      0;                        // wanted, in bytes as granted_receive_buffer(); 0: system default
  std::size_t send_buffer = 0;  // the same for sending
  // Of datagrams that name none: IPv4 TOS or IPv6 traffic class, ECN bits included. To name one
  // costs a control message, and a short datagram a tenth of its round trip.
  std::uint8_t tos = 0;
};

struct SendDatagram {
  SocketAddress destination;
  Gid source;                        // of the destination's family; zero: chosen by route
  std::uint32_t source_ifindex = 0;  // leave by this interface; 0: by route
  std::optional<std::uint8_t> tos;   // unless that of the socket
  std::optional<std::uint8_t> ttl;   // TTL or hop limit
  std::span<const iovec> data;
  // 0: one datagram. Else the kernel cuts `data` into datagrams of this many bytes, the last one
  // may be shorter: at most kMaxGsoSegments of them and kMaxUdpPayload bytes in all.
  std::uint16_t segment_size = 0;
};

struct ReceivedDatagram {
  SocketAddress source;
  // The address it was sent to (a multicast group is named here) and the interface it came in by;
  // zero unless the socket was asked to tell.
  Gid destination;
  std::uint32_t ifindex = 0;
  std::uint8_t ttl = 0;    // TTL or hop limit as it arrived; 0 unless the socket was asked to tell
  std::uint8_t tos = 0;    // IPv4 TOS or IPv6 traffic class
  bool truncated = false;  // the buffer was too small; the rest is lost
  // 0: one datagram. Else the buffer holds several of this many bytes each, the last may be
  // shorter.
  std::uint16_t segment_size = 0;
  // Datagrams this socket has lost to a full receive buffer since it was opened (modulo 2^32), as
  // counted when this one was queued.
  std::uint32_t overflows = 0;
};

enum class IoStatus : std::uint8_t {
  kDone,
  kWouldBlock,           // nothing to read, or the send buffer is full
  kSegmentationRefused,  // kernel or device cannot do UDP_SEGMENT here: send datagrams singly
  kFailed,               // `error` says why; message_size: larger than the path MTU
};

struct IoResult {
  IoStatus status = IoStatus::kDone;
  std::size_t bytes = 0;
  // Of kSegmentationRefused and kFailed. With the others: of an earlier datagram, which this call
  // has learnt of in passing; receive_error() says more.
  std::errc error{};
};

// What became of a datagram that was sent, as the network (ICMP, ICMPv6) or this host says. What
// the network says is not authenticated: the kernel has checked nothing but our own port.
struct DeliveryError {
  enum class Reason : std::uint8_t {
    kPortUnreachable,  // nobody listens there
    kUnreachable,      // no way to the host, or forbidden
    kTooLong,          // for a link on the way
    kOther,
  };
  Reason reason = Reason::kOther;
  SocketAddress destination;  // of that datagram
};

class UdpSocket {
 public:
  // Binds an AF_INET6 socket that carries IPv4 too, as mapped addresses; an AF_INET socket where
  // the kernel has no IPv6. Path MTU discovery is on: nothing is fragmented unless
  // allow_fragments() says so.
  static Expected<UdpSocket> open(const UdpOptions& options);

  // Takes over a bound UDP socket that was opened as above elsewhere. EINVAL for anything else.
  static Expected<UdpSocket> adopt(UniqueFd fd);

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const SocketAddress& local() const { return local_; }
  [[nodiscard]] std::uint16_t port() const { return local_.port; }
  [[nodiscard]] bool carries_ipv6() const { return family_ == AF_INET6; }
  [[nodiscard]] bool gro() const { return gro_; }          // the kernel knows UDP_GRO
  [[nodiscard]] std::uint8_t tos() const { return tos_; }  // UdpOptions::tos

  // What the kernel granted, in bytes of buffer memory (SO_RCVBUF as getsockopt tells it): queued
  // datagrams count with their overhead, so payload in flight must stay well below.
  [[nodiscard]] std::size_t granted_receive_buffer() const;
  [[nodiscard]] std::size_t granted_send_buffer() const;

  // One sendmsg. Never blocks, never allocates; may be called from several threads.
  IoResult send(const SendDatagram& datagram) const;

  // One recvmsg into `buffer` (kUdpReceiveBuffer bytes). Sets every field of `out` when kDone.
  IoResult receive(MutableBytes buffer, ReceivedDatagram& out) const;

  // One report from the socket's queue of errors; `buffer` gets what it quotes of the datagram's
  // payload, from the first byte on: IoResult::bytes of it, often 0. kWouldBlock: none is left.
  // A socket of UdpOptions::tell_errors is readable (EPOLLERR) for as long as one is.
  IoResult receive_error(MutableBytes buffer, DeliveryError& out) const;

  // From now on datagrams that are too long for the path leave in fragments: IPv4 ones without the
  // don't-fragment bit, so that any router may cut them, and both kinds cut here where the kernel
  // has learnt that they are. A segmented send is refused where it would have to be cut here.
  void allow_fragments() const;

  // TTL or hop limit of datagrams that name none; 0: the system's default. Returns whether it is
  // that now.
  [[nodiscard]] bool set_hop_limit(std::uint8_t hops) const;

  // Turns UDP_GRO on or off from the next datagram on. Off, a run arrives as datagrams of their
  // own; lone datagrams arrive a tenth of a round trip sooner.
  void set_coalescing(bool on) const;
  // Turns it off unless something waits to be read: a run that was queued before would be read as
  // one datagram. Returns whether it is off.
  [[nodiscard]] bool stop_coalescing() const;

  // Datagrams lost to a full receive buffer so far, modulo 2^32.
  [[nodiscard]] std::uint32_t overflows() const;

  // Membership of an IPv4 (mapped) or IPv6 group on an interface.
  Expected<void> join(const Gid& group, std::uint32_t ifindex) const;
  Expected<void> leave(const Gid& group, std::uint32_t ifindex) const;
  // For multicast sends of both families. Loop: members on this host get them too (default on).
  Expected<void> set_multicast_interface(std::uint32_t ifindex) const;
  Expected<void> set_multicast_loop(bool on) const;
  Expected<void> set_multicast_hops(std::uint8_t hops) const;

 private:
  UdpSocket(UniqueFd fd, int family) : fd_(std::move(fd)), family_(family) {}
  static Expected<UdpSocket> open_family(const UdpOptions& options, int family);
  Expected<void> configure(const UdpOptions& options);
  Expected<void> stop_ears() const;
  Expected<void> set(int level, int name, int value, const char* text) const;
  Expected<void> set_both(int name4, int name6, int value, const char* text) const;
  Expected<void> change_membership(bool join, const Gid& group, std::uint32_t ifindex) const;

  UniqueFd fd_;
  int family_ = AF_INET6;
  bool gro_ = false;
  std::uint8_t tos_ = 0;
  SocketAddress local_;
};

}  // namespace weft::io
