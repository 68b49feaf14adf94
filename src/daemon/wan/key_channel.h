// SPDX-License-Identifier: Apache-2.0
// A control channel between two sites: over TLS on a TCP connection, both prove who they are, agree
// on a cipher, and draw the keys of their datagrams from it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/aead.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/time.h"
#include "io/reactor.h"
#include "io/socket_address.h"
#include "io/tls_channel.h"
#include "io/unique_fd.h"
#include "wan/sealed_path.h"

namespace weft::daemon {

// Everything happens in the reactor's thread, in run().
class KeyChannel {
 public:
  struct Config {
    io::TlsRole role = io::TlsRole::kClient;
    io::TlsTrust trust;
    io::SocketAddress peer;       // for a person
    std::function<void()> ready;  // run() has something to do
  };

  // `socket` as TlsChannel takes it. `site` and the reactor outlive it.
  static Expected<std::unique_ptr<KeyChannel>> begin(const io::TlsSite& site, io::UniqueFd socket,
                                                     Config config, io::Reactor& reactor, Time now);
  KeyChannel(const KeyChannel&) = delete;
  KeyChannel& operator=(const KeyChannel&) = delete;
  ~KeyChannel() { close(); }

  void run(Time now);
  [[nodiscard]] std::optional<Time> deadline() const;
  // Ends it, as the other end will see.
  void close();

  [[nodiscard]] io::TlsRole role() const { return config_.role; }
  [[nodiscard]] const io::SocketAddress& address() const { return config_.peer; }
  [[nodiscard]] bool ended() const { return channel_->state() == io::TlsChannel::State::kEnded; }
  // Whose key the other end has: once it has proved that, and let us in.
  [[nodiscard]] const std::optional<io::TlsFingerprint>& peer() const { return channel_->peer(); }
  // Why it has ended; nothing: one of the ends has closed it.
  [[nodiscard]] const std::optional<Error>& error() const;

  // Both have agreed on it, and there are keys.
  [[nodiscard]] std::optional<AeadAlgorithm> cipher() const { return cipher_; }
  [[nodiscard]] Time agreed_at() const { return agreed_at_; }
  // The keys of it, once: they live as long as they are needed, also when the channel has ended.
  [[nodiscard]] std::optional<wan::SealKeys> take_keys();
  // The same for another way by which datagrams go, from 1 on, after those.
  [[nodiscard]] std::optional<wan::SealKeys> keys_of_way(std::uint8_t way) const;

 private:
  KeyChannel(std::shared_ptr<io::TlsChannel> channel, Config config, io::Reactor& reactor,
             Time deadline);
  Expected<void> watch();
  Expected<void> talk(Time now);
  Expected<void> offer();
  Expected<void> agree(Bytes message, Time now);
  [[nodiscard]] Expected<wan::SealKeys> draw_keys(AeadAlgorithm cipher, std::uint8_t way) const;

  const std::shared_ptr<io::TlsChannel> channel_;
  const Config config_;
  io::Reactor& reactor_;
  const Time deadline_;  // for cipher_
  bool offered_ = false;
  std::optional<AeadAlgorithm> cipher_;
  std::optional<wan::SealKeys> keys_;  // until they are taken
  Time agreed_at_{};
  std::optional<Error> error_;
  std::uint32_t watched_ = 0;  // events
  io::Reactor::Registration watch_;
};

}  // namespace weft::daemon
