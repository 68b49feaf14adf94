// SPDX-License-Identifier: Apache-2.0
#include "host/agent_slots.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "host/agent_start.h"
#include "host/door.h"
#include "io/pass_descriptor.h"
#include "io/unique_fd.h"

namespace weft::host {

namespace {

// What a slot hangs on: the agent takes it back when the connection ends.
class Connection final : public port::Agreements {
 public:
  explicit Connection(io::UniqueFd socket) : socket_(std::move(socket)) {}

  [[nodiscard]] int descriptor() const override {
    const std::lock_guard guard(mutex_);
    return socket_.get();
  }
  std::optional<hca::Agreement> next() override {
    const std::lock_guard guard(mutex_);
    door::Agreement said{};
    if (!socket_) return std::nullopt;
    const ssize_t got = recv(socket_.get(), &said, sizeof said, MSG_DONTWAIT);
    if (got != static_cast<ssize_t>(sizeof said)) return std::nullopt;
    std::array<std::uint8_t, 16> gid{};
    std::copy(std::begin(said.remote_gid), std::end(said.remote_gid), gid.begin());
    return hca::Agreement{Qpn{said.local_qpn}, Qpn{said.remote_qpn}, Gid{gid}};
  }
  void close() {
    const std::lock_guard guard(mutex_);
    socket_.reset();
  }

 private:
  mutable std::mutex mutex_;
  io::UniqueFd socket_;
};

}  // namespace

Expected<port::Slot> AgentSlots::take() {
  const int connected = connect_to_agent();
  if (connected < 0) return fail_errno(-connected, "reaching the host agent, weftd");
  auto connection = std::make_shared<Connection>(io::UniqueFd(connected));

  door::Hello hello{};
  hello.magic = door::kMagic;
  hello.version = door::kVersion;
  hello.purpose = door::kSlot;
  hello.wire = door::kWireRoce;
  const auto said = io::send_message(connected, std::as_bytes(std::span(&hello, 1)));
  if (!said) return tl::unexpected(said.error());
  door::Welcome welcome{};
  auto answer = io::receive_message(connected, std::as_writable_bytes(std::span(&welcome, 1)));
  if (!answer) return tl::unexpected(answer.error());
  if (!*answer || (*answer)->size != sizeof welcome) {
    return fail(std::errc::protocol_error, "the host agent answers nonsense");
  }
  if (welcome.error != 0) {
    welcome.message[sizeof welcome.message - 1] = '\0';
    return fail(static_cast<std::errc>(welcome.error), welcome.message);
  }
  auto socket = io::UdpSocket::adopt(std::move((*answer)->descriptor));
  if (!socket) return tl::unexpected(socket.error());
  return port::Slot{static_cast<std::uint8_t>(welcome.slot), std::move(*socket),
                    port::Lease([connection] { connection->close(); }), connection};
}

Expected<port::Slot> AgentSlots::take_management() {
  return fail(std::errc::address_in_use, "queue pair 1 is the host agent's");
}

}  // namespace weft::host
