// SPDX-License-Identifier: Apache-2.0
// Open ports, and the datagrams that go through them. What a program gets as a port's number is the
// connection itself, so that it may poll it, pass it to a child and close it.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <mutex>

#include "base/plain_bytes.h"
#include "base/time.h"
#include "io/clock.h"
#include "io/pass_descriptor.h"
#include "io/sealed_file.h"
#include "umad/abi.h"
#include "umad/adapters.h"
#include "umad/guard.h"

using namespace weft;
using namespace weft::umad;

namespace {

// How long a program that asks for ever waits for its answer when the daemon is gone.
constexpr int kGonePause_ms = 100;

// What became of an attempt to receive, beside an agent's number and a negative errno.
constexpr int kNothingThere = -EWOULDBLOCK;
constexpr int kGone = -EIO;

int failed(int error_number) {
  errno = error_number;
  return -error_number;
}

protocol::Address address_from(const ib_mad_addr_t& from) {
  protocol::Address to{};
  to.qpn = ntohl(from.qpn);
  to.qkey = ntohl(from.qkey);
  to.lid = ntohs(from.lid);
  to.pkey_index = from.pkey_index;
  to.sl = from.sl;
  to.path_bits = from.path_bits;
  to.global = from.grh_present != 0;
  to.gid_index = from.gid_index;
  to.hop_limit = from.hop_limit;
  to.traffic_class = from.traffic_class;
  to.flow_label = ntohl(from.flow_label);
  std::memcpy(to.gid, from.gid, sizeof to.gid);
  return to;
}

void write_header(ib_user_mad& to, const protocol::Mad& from) {
  std::memset(&to, 0, sizeof to);
  to.agent_id = from.agent;
  to.status = from.status;
  to.timeout_ms = from.timeout_ms;
  to.retries = from.retries;
  to.length = static_cast<std::uint32_t>(sizeof to) + from.length;
  const protocol::Address& address = from.address;
  to.addr.qpn = htonl(address.qpn);
  to.addr.qkey = htonl(address.qkey);
  to.addr.lid = htons(address.lid);
  to.addr.sl = address.sl;
  to.addr.path_bits = address.path_bits;
  to.addr.grh_present = address.global;
  to.addr.gid_index = address.gid_index;
  to.addr.hop_limit = address.hop_limit;
  to.addr.traffic_class = address.traffic_class;
  to.addr.flow_label = htonl(address.flow_label);
  std::memcpy(to.addr.gid, address.gid, sizeof to.addr.gid);
  to.addr.pkey_index = address.pkey_index;
}

// A cancelled thread leaves from here. Neither this frame nor umad_recv's, which is its caller, has
// anything to clean up: the unwinder that passes is the C library's, not the one linked in here.
int wait_readable(int port, int timeout_ms) {
  pollfd ready{port, POLLIN, 0};
  const int result = ::poll(&ready, 1, timeout_ms);
  if (result > 0) return 0;
  return result == 0 ? failed(ETIMEDOUT) : -EIO;
}

// Takes the datagram that was looked at, of `mad.length` bytes, off the connection into `out`.
bool take_long(int port, const protocol::Mad& mad, MutableBytes out) {
  std::array<std::byte, sizeof mad + protocol::kFront> message;
  const auto received = io::receive_message(port, message);
  if (!received || !*received || !(*received)->descriptor) return false;
  const bool whole = io::read_sealed_file((*received)->descriptor.get(), out).has_value();
  const protocol::Taken taken{.kind = protocol::kTaken, .length = mad.length};
  static_cast<void>(send_waiting(port, plain::bytes_of(taken)));
  return whole;
}

bool take_short(int port, MutableBytes out) {
  protocol::Mad mad{};
  std::array<iovec, 2> pieces{iovec{&mad, sizeof mad}, iovec{out.data(), out.size()}};
  msghdr header{};
  header.msg_iov = pieces.data();
  header.msg_iovlen = pieces.size();
  return recvmsg(port, &header, MSG_DONTWAIT) == static_cast<ssize_t>(sizeof mad + out.size());
}

// One that does not fit stays where it is; its header and its beginning are shown.
int receive(int port, ib_user_mad& out, int& length) {
  // Between the look and the taking no other thread may take it.
  static std::mutex taking;
  const std::lock_guard hold(taking);
  std::array<std::byte, sizeof(protocol::Mad) + protocol::kFront> front;
  const ssize_t got = recv(port, front.data(), front.size(), MSG_PEEK | MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN ? kNothingThere : failed(errno);
  if (got == 0) return kGone;
  const Bytes seen = Bytes(front).first(static_cast<std::size_t>(got));
  const auto mad = plain::read<protocol::Mad>(seen);
  if (!mad || mad->length > protocol::kMostMad) return kGone;

  const std::size_t room = length < 0 ? 0 : static_cast<std::size_t>(length);
  write_header(out, *mad);
  length = static_cast<int>(mad->length);
  if (mad->length > room) {
    const Bytes beginning = seen.subspan(sizeof *mad);
    if (!beginning.empty()) {
      std::memcpy(out.data, beginning.data(), std::min(room, beginning.size()));
    }
    return failed(ENOSPC);
  }
  const MutableBytes data(reinterpret_cast<std::byte*>(out.data), mad->length);
  const bool taken =
      mad->length > protocol::kMostInline ? take_long(port, *mad, data) : take_short(port, data);
  return taken ? static_cast<int>(mad->agent) : kGone;
}

[[gnu::noinline]] int receive_whole(int port, ib_user_mad& out, int& length) {
  return guarded_errno([&] { return receive(port, out, length); });
}

}  // namespace

int umad_open_port(const char* name, int number) {
  return guarded_errno([&] {
    const auto chosen = choose_port(name, number);
    if (!chosen) return -io::report(chosen.error());
    auto connection = open_port(chosen->place, chosen->port);
    if (!connection) return -io::report(connection.error());
    return connection->release();
  });
}

int umad_close_port(int port) {
  ::close(port);
  return 0;
}

int umad_get_fd(int port) {
  return port;
}

int umad_poll(int port, int timeout_ms) {
  errno = 0;
  return wait_readable(port, timeout_ms);
}

int umad_send(int port, int agent, void* umad, int length, int timeout_ms, int retries) {
  return guarded_errno([&] {
    auto& buffer = *static_cast<ib_user_mad*>(umad);
    buffer.agent_id = static_cast<std::uint32_t>(agent);
    buffer.timeout_ms = static_cast<std::uint32_t>(timeout_ms);
    buffer.retries = static_cast<std::uint32_t>(retries);
    if (length < 0 || static_cast<std::size_t>(length) > protocol::kMostMad || agent < 0 ||
        static_cast<std::size_t>(agent) >= protocol::kMostAgents) {
      errno = EINVAL;
      return -EIO;
    }
    const protocol::Mad mad{.kind = protocol::kMad,
                            .agent = buffer.agent_id,
                            .status = 0,
                            .timeout_ms = buffer.timeout_ms,
                            .retries = buffer.retries,
                            .length = static_cast<std::uint32_t>(length),
                            .address = address_from(buffer.addr)};
    const Bytes data(reinterpret_cast<const std::byte*>(buffer.data), mad.length);
    const auto sent = send_mad(port, mad, data);
    if (sent) return 0;
    io::report(sent.error());
    return -EIO;
  });
}

int umad_recv(int port, void* umad, int* length, int timeout_ms) {
  errno = 0;
  if (umad == nullptr || length == nullptr) return failed(EINVAL);
  const Time since = io::now();
  for (int left_ms = timeout_ms;;) {
    if (timeout_ms != 0) {
      if (const int waited = wait_readable(port, left_ms); waited < 0) return waited;
    }
    const int result = receive_whole(port, *static_cast<ib_user_mad*>(umad), *length);
    if (result == kGone) {
      // A program that asks again and again is not to keep a processor busy with that.
      if (timeout_ms != 0) static_cast<void>(::poll(nullptr, 0, kGonePause_ms));
      return failed(EIO);
    }
    if (result != kNothingThere || timeout_ms == 0) return result < 0 ? failed(-result) : result;
    // Another thread was faster.
    if (timeout_ms < 0) continue;
    const auto gone = std::chrono::duration_cast<std::chrono::milliseconds>(io::now() - since);
    left_ms = std::max(0, timeout_ms - static_cast<int>(gone.count()));
  }
}
