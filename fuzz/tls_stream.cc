// SPDX-License-Identifier: Apache-2.0
// What a stranger sends to a site's control port, and what a site that was let in sends on its
// stream of messages. The stranger is never let in, and the channel ends with a reason at the
// latest when the connection does; the messages are those of the stream, however it is cut.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "input.h"
#include "io/message_stream.h"
#include "io/tls_channel.h"

namespace {

using namespace weft;
using namespace weft::io;
using fuzz::Input;
using fuzz::require;

constexpr std::size_t kLongest = 200;

const TlsSite& site() {
  static const std::unique_ptr<TlsSite> made = [] {
    std::string folder = "/tmp/weft-fuzz-tls-XXXXXX";
    require(mkdtemp(folder.data()) != nullptr);
    const std::string key = folder + "/key";
    require(make_site_key(key).has_value());
    auto loaded = TlsSite::load({.key = key, .certificate = "", .ca = ""});
    (void)unlink(key.c_str());
    (void)rmdir(folder.c_str());
    return std::move(*loaded);
  }();
  return *made;
}

void strangers_bytes(Input input) {
  std::array<int, 2> ends{};
  require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends.data()) == 0);
  UniqueFd stranger(ends[1]);
  const TlsRole role = input.one_of(2) == 0 ? TlsRole::kServer : TlsRole::kClient;
  const auto channel =
      std::move(*TlsChannel::begin(site(), UniqueFd(ends[0]),
                                   {.role = role,
                                    .trust = {.keys = {site().fingerprint()}, .names = {}},
                                    .deadline = Time{} + 1s}));
  while (!input.empty()) {
    const Bytes bytes = input.some();
    (void)::send(stranger.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    channel->run(Time{});
    require(channel->state() != TlsChannel::State::kOpen);
  }
  const bool waits = (input.byte() & 1) == 0;
  if (!waits) stranger.reset();
  channel->run(waits ? Time{} + 1s : Time{});
  require(channel->state() == TlsChannel::State::kEnded && channel->error().has_value());
  require(!channel->peer() && channel->events() == 0);
}

void streams_bytes(Input input) {
  MessageReader reader(kLongest);
  std::vector<std::byte> fed;
  std::vector<std::byte> taken;
  bool good = true;
  while (good && !input.empty()) {
    const Bytes bytes = input.some();
    fed.insert(fed.end(), bytes.begin(), bytes.end());
    good = reader.feed(bytes).has_value();
    require(reader.waiting() <= fed.size() - taken.size());
    if (input.one_of(2) == 0) continue;
    while (const auto message = reader.take()) {
      require(message->size() <= kLongest);
      append_message(taken, *message);
    }
  }
  while (const auto message = reader.take())
    append_message(taken, *message);
  require(reader.waiting() == 0);
  require(taken.size() <= fed.size() && std::equal(taken.begin(), taken.end(), fed.begin()));
  // All that is whole was found.
  if (good) require(fed.size() - taken.size() < kMessageLengthBytes + kLongest);
  require(!good || reader.within_message() == (fed.size() > taken.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(std::as_bytes(std::span(data, size)));
  if (input.one_of(2) == 0) {
    streams_bytes(input);
  } else {
    strangers_bytes(input);
  }
  return 0;
}
