// SPDX-License-Identifier: Apache-2.0
// Sites with keys of their own, and channels between them over real TCP connections.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/await.h"
#include "io/clock.h"
#include "io/tcp_socket.h"
#include "io/tls_channel.h"

namespace weft::io::test {

using State = TlsChannel::State;

class TlsTest : public testing::Test {
 protected:
  TlsTest() {
    std::string pattern = "/tmp/weft-tls-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) std::abort();
    folder_ = pattern;
  }
  ~TlsTest() override { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::unique_ptr<TlsSite> make_site(const std::string& name, const std::string& ca = "") {
    EXPECT_TRUE(make_site_key(path(name)).has_value());
    auto site = TlsSite::load({.key = path(name), .certificate = "", .ca = ca});
    EXPECT_TRUE(site.has_value()) << site.error().message;
    return std::move(*site);
  }

 private:
  std::string folder_;
};

struct SocketPair {
  SocketPair() {
    const auto listener = listen_tcp(*SocketAddress::parse("127.0.0.1:0"));
    client = std::move(*connect_tcp(*local_address(listener->get())));
    EXPECT_TRUE(await(listener->get(), POLLIN, 10s).has_value());
    server = std::move((*accept_tcp(listener->get()))->socket);
  }
  UniqueFd client, server;
};

inline TlsTrust trust_in(const TlsSite& site) {
  return {.keys = {site.fingerprint()}, .names = {}};
}

inline std::unique_ptr<TlsChannel> begin(const TlsSite& site, UniqueFd socket, TlsRole role,
                                         TlsTrust trust, Time deadline = Time::max()) {
  auto channel = TlsChannel::begin(site, std::move(socket),
                                   {.role = role, .trust = std::move(trust), .deadline = deadline});
  EXPECT_TRUE(channel.has_value()) << channel.error().message;
  return std::move(*channel);
}

// Runs the channels as their descriptors become ready, until `done`. Nothing becoming ready for ten
// seconds fails the test.
inline void run_until(std::vector<TlsChannel*> channels, const std::function<bool()>& done) {
  for (TlsChannel* const channel : channels)
    channel->run(now());
  while (!done()) {
    std::vector<pollfd> polled;
    for (TlsChannel* const channel : channels) {
      const int fd = channel->state() == State::kEnded ? -1 : channel->descriptor();
      polled.push_back({fd, static_cast<short>(channel->events()), 0});
    }
    ASSERT_GT(poll(polled.data(), polled.size(), 10'000), 0) << "nothing happens any more";
    for (std::size_t i = 0; i < channels.size(); ++i) {
      if (polled[i].revents != 0) channels[i]->run(now());
    }
  }
}

struct Channels {
  Channels(const TlsSite& one, const TlsSite& other)
      : Channels(one, trust_in(other), other, trust_in(one)) {}
  Channels(const TlsSite& one, TlsTrust of_one, const TlsSite& other, TlsTrust of_other) {
    SocketPair sockets;
    client = begin(one, std::move(sockets.client), TlsRole::kClient, std::move(of_one));
    server = begin(other, std::move(sockets.server), TlsRole::kServer, std::move(of_other));
  }
  void open() {
    run_until({client.get(), server.get()}, [this] {
      return client->state() == State::kOpen && server->state() == State::kOpen;
    });
  }
  void end() {
    run_until({client.get(), server.get()}, [this] {
      return client->state() == State::kEnded && server->state() == State::kEnded;
    });
  }

  std::unique_ptr<TlsChannel> client, server;
};

inline Bytes bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}
inline std::string text_of(const std::optional<Message>& message) {
  if (!message) return "nothing";
  return {reinterpret_cast<const char*>(message->data()), message->size()};
}
inline std::string error_of(const TlsChannel& channel) {
  return channel.error() ? channel.error()->message : "no error";
}

}  // namespace weft::io::test
