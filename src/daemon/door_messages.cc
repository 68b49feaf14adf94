// SPDX-License-Identifier: Apache-2.0
#include "daemon/door_messages.h"

#include <array>

#include "io/pass_descriptor.h"
#include "rdmacm/abi.h"

namespace weft::daemon {
namespace {

namespace door = host::door;
using rdmacm::abi::bytes_of;

}  // namespace

std::optional<DoorCommand> parse_door_command(Bytes message) {
  const auto request = rdmacm::abi::read<door::Request>(message);
  if (!request) return std::nullopt;
  const Bytes rest = message.subspan(sizeof *request);
  if (request->command_size > door::kMostCommand || request->extra_size > door::kMostExtra ||
      rest.size() != std::size_t{request->command_size} + request->extra_size) {
    return std::nullopt;
  }
  return DoorCommand{.command = rest.first(request->command_size),
                     .extra = rest.subspan(request->command_size),
                     .other = request->other};
}

Expected<void> send_door_answer(int socket, const rdmacm::Reply& reply) {
  std::array<std::byte, sizeof(door::Answer) + door::kMostResponse> out;
  const door::Answer header{static_cast<std::int32_t>(reply.error), reply.size};
  ByteSink sink(out);
  if (!sink.put(bytes_of(header)) || !sink.put(reply.response())) {
    return fail(std::errc::message_size, "an answer that is too long");
  }
  return io::send_message(socket, sink.written());
}

}  // namespace weft::daemon
