// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/fibre_memory.h"

#include <array>
#include <utility>
#include <vector>

#include "base/plain_bytes.h"
#include "io/pass_descriptor.h"

namespace weft::daemon {
namespace {

// Goes with the files. Whatever comes later wakes.
struct FibreGreeting {
  std::uint32_t magic = 0x66696272;  // "fibr"
  std::uint32_t version = 1;         // of this, and of the memory
};

// Wakes in a turn. Each was sent for something of its own, so that more are a flood.
constexpr int kFibreMemoryTurn = 64;

}  // namespace

Expected<std::unique_ptr<FibreMemory>> FibreMemory::hand_over(int socket) {
  std::vector<io::UniqueFd> files;
  auto rings = RingMappings::make(files);
  if (!rings) return tl::unexpected(rings.error());
  const std::array<int, RingMappings::kFiles> handed{files[0].get(), files[1].get()};
  const FibreGreeting greeting;
  if (auto sent = io::send_message(socket, plain::bytes_of(greeting), handed); !sent) {
    return tl::unexpected(sent.error());
  }
  return std::unique_ptr<FibreMemory>(new FibreMemory(socket, std::move(*rings)));
}

Expected<std::unique_ptr<FibreMemory>> FibreMemory::take_over(int socket) {
  std::array<std::byte, sizeof(FibreGreeting)> bytes;
  std::array<io::UniqueFd, RingMappings::kFiles> files;
  const auto message = io::receive_message(socket, bytes, files);
  if (!message) return tl::unexpected(message.error());
  if (!*message) return nullptr;
  if ((*message)->size == 0) return fail(std::errc::connection_reset, "turned away");
  const auto greeting = plain::read<FibreGreeting>(Bytes(bytes).first((*message)->size));
  const FibreGreeting wanted;
  if (!greeting || greeting->magic != wanted.magic || greeting->version != wanted.version) {
    return fail(std::errc::bad_message, "who listens there is no fibre, or one of another version");
  }
  auto rings = RingMappings::take(files);
  if (!rings) return tl::unexpected(rings.error());
  return std::unique_ptr<FibreMemory>(new FibreMemory(socket, std::move(*rings)));
}

// A wake that finds no room is behind others that will be read.
void FibreMemory::show() {
  constexpr std::byte kWake{1};
  if (ring_.publish()) static_cast<void>(io::send_message(socket_, Bytes(&kWake, 1)));
}

bool FibreMemory::hear_wakes() const {
  for (int i = 0; i < kFibreMemoryTurn; ++i) {
    std::array<std::byte, 1> byte;
    const auto message = io::receive_message(socket_, byte);
    if (!message) return false;
    if (!*message) return true;
    if ((*message)->size == 0) return false;
  }
  return true;
}

}  // namespace weft::daemon
