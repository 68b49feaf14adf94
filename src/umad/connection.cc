// SPDX-License-Identifier: Apache-2.0
#include "umad/connection.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/fixed_text.h"
#include "base/plain_bytes.h"
#include "base/time.h"
#include "io/await.h"
#include "io/lab_refusal.h"
#include "io/pass_descriptor.h"
#include "io/sealed_file.h"
#include "io/unix_socket.h"

namespace weft::umad {
namespace {

using namespace protocol;

// The daemon answers at once; one that does not is stopped or worse.
constexpr Duration kPatience = 10s;

Expected<void> await(int fd, short events) {
  auto ready = io::await(fd, events, kPatience);
  if (!ready && ready.error().code == std::errc::timed_out) {
    return fail(std::errc::timed_out, "the lab's daemon does not answer");
  }
  return ready;
}

// The next message, of at least `least` bytes.
Expected<Bytes> receive(int fd, MutableBytes buffer, std::size_t least) {
  if (auto ready = await(fd, POLLIN); !ready) return tl::unexpected(ready.error());
  const auto message = io::receive_message(fd, buffer);
  if (!message) return tl::unexpected(message.error());
  if (!*message || (*message)->size == 0) {
    return fail(std::errc::connection_reset, "the lab's daemon has ended the connection");
  }
  if ((*message)->size < least) {
    return fail(std::errc::bad_message, "the lab's daemon is of another version of Weft");
  }
  return Bytes(buffer).first((*message)->size);
}

struct Greeted {
  io::UniqueFd connection;
  Welcome welcome;
};

Expected<Greeted> greet(const Place& place, Purpose purpose, std::uint32_t port) {
  Hello hello{.magic = kMagic, .version = kVersion, .purpose = purpose, .port = port, .node = {}};
  if (place.node.size() > kMostName) {
    return fail(std::errc::no_such_device, fmt::format("'{}' is no node's name", place.node));
  }
  std::memcpy(hello.node, place.node.data(), place.node.size());
  const bool describes = purpose == kDescribe;
  const std::string socket = place.lab + (describes ? "/attach" : "/mads");
  auto connection = io::connect_unix(socket, io::UnixKind::kSeqPacket, kPatience);
  if (!connection) {
    return tl::unexpected(io::explain_refusal(std::move(connection.error()), place.lab,
                                              describes ? "attach" : "manage"));
  }
  const int fd = connection->get();
  if (auto sent = send_waiting(fd, plain::bytes_of(hello)); !sent) {
    return tl::unexpected(sent.error());
  }
  std::array<std::byte, sizeof(Welcome)> buffer;
  const auto message = receive(fd, buffer, offsetof(Welcome, adapter));
  if (!message) return tl::unexpected(message.error());
  Greeted out{.connection = std::move(*connection),
              .welcome = *plain::read<Welcome>(*message, offsetof(Welcome, adapter))};
  if (out.welcome.error != 0) {
    return fail(static_cast<std::errc>(out.welcome.error),
                std::string(text_in(out.welcome.message)));
  }
  return out;
}

}  // namespace

const Port* Adapter::find(std::uint32_t number) const {
  const auto found = std::find_if(ports.begin(), ports.end(), [number](const Port& port) {
    return port.facts.number == number;
  });
  return found == ports.end() ? nullptr : &*found;
}

Expected<Place> place_from_environment() {
  const char* lab = std::getenv("WEFT_LAB");
  const char* node = std::getenv("WEFT_NODE");
  if (lab == nullptr || *lab == '\0' || node == nullptr || *node == '\0') {
    return fail(std::errc::no_such_device,
                "this program uses an InfiniBand port's management; say on which node of a lab it "
                "runs: weft run --node NAME -- PROGRAM");
  }
  return Place{.lab = lab, .node = node};
}

Expected<Adapter> describe(const Place& place) {
  auto greeted = greet(place, kDescribe, 0);
  if (!greeted) return tl::unexpected(greeted.error());
  Adapter out{.facts = greeted->welcome, .ports = {}};
  std::vector<std::byte> buffer(sizeof(PortFacts) + kMostPkeys * sizeof(std::uint16_t));
  for (std::uint32_t i = 0; i < out.facts.ports && i < kMostPorts; ++i) {
    const auto message = receive(greeted->connection.get(), buffer, sizeof(PortFacts));
    if (!message) return tl::unexpected(message.error());
    Port port{.facts = *plain::read<PortFacts>(*message), .pkeys = {}};
    const Bytes rest = message->subspan(sizeof(PortFacts));
    port.pkeys.resize(std::min<std::size_t>(port.facts.pkeys, rest.size() / 2));
    if (!port.pkeys.empty()) std::memcpy(port.pkeys.data(), rest.data(), port.pkeys.size() * 2);
    out.ports.push_back(std::move(port));
  }
  return out;
}

Expected<io::UniqueFd> open_port(const Place& place, std::uint32_t port) {
  auto greeted = greet(place, kOpen, port);
  if (!greeted) return tl::unexpected(greeted.error());
  return std::move(greeted->connection);
}

Expected<std::string> subnet_manager_path(const Place& place, std::uint32_t port) {
  const auto greeted = greet(place, kSubnetManager, port);
  if (!greeted) return tl::unexpected(greeted.error());
  return std::string(text_in(greeted->welcome.message));
}

Expected<Registered> ask(int connection, Bytes request) {
  std::array<int, 2> ends{};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return fail_errno(errno, "socketpair");
  }
  const io::UniqueFd ours(ends[0]);
  io::UniqueFd theirs(ends[1]);
  if (auto sent = send_waiting(connection, request, theirs.get()); !sent) {
    return tl::unexpected(sent.error());
  }
  // So that the end of the daemon is the end of the conversation.
  theirs.reset();
  std::array<std::byte, sizeof(Registered)> buffer;
  const auto message = receive(ours.get(), buffer, sizeof(Registered));
  if (!message) return tl::unexpected(message.error());
  const auto answer = *plain::read<Registered>(*message);
  if (answer.error != 0) {
    return fail(static_cast<std::errc>(answer.error), std::string(text_in(answer.message)));
  }
  return answer;
}

Expected<void> send_waiting(int connection, Bytes message, int descriptor) {
  for (;;) {
    auto sent = io::send_message(connection, message, descriptor);
    if (sent || sent.error().code != std::errc::no_buffer_space) return sent;
    if (auto ready = await(connection, POLLOUT); !ready) return ready;
  }
}

Expected<void> send_mad(int connection, const Mad& header, Bytes datagram) {
  assert(header.length == datagram.size());
  io::UniqueFd file;
  if (datagram.size() > kMostInline) {
    auto made = io::make_sealed_file("weft-mad", datagram);
    if (!made) return tl::unexpected(made.error());
    file = std::move(*made);
    datagram = datagram.first(kFront);
  }
  std::vector<std::byte> message(sizeof header + datagram.size());
  std::memcpy(message.data(), &header, sizeof header);
  std::copy(datagram.begin(), datagram.end(), message.begin() + sizeof header);
  return send_waiting(connection, message, file.get());
}

}  // namespace weft::umad
