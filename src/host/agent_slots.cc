// SPDX-License-Identifier: Apache-2.0
#include "host/agent_slots.h"

#include <fmt/format.h>

#include <memory>
#include <span>
#include <utility>

#include "host/agent_start.h"
#include "host/door.h"
#include "io/pass_descriptor.h"
#include "io/unique_fd.h"

namespace weft::host {

Expected<port::Slot> AgentSlots::take() {
  const int connected = connect_to_agent();
  if (connected < 0) return fail_errno(-connected, "reaching the host agent, weftd");
  auto connection = std::make_shared<io::UniqueFd>(connected);

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
  // The agent takes it back when the connection ends.
  return port::Slot{static_cast<std::uint8_t>(welcome.slot), std::move(*socket),
                    port::Lease([connection] { connection->reset(); })};
}

Expected<port::Slot> AgentSlots::take_management() {
  return fail(std::errc::address_in_use, "queue pair 1 is the host agent's");
}

}  // namespace weft::host
