// SPDX-License-Identifier: Apache-2.0
#include "io/tls_channel.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>

#include "base/random.h"
#include "io/reactor.h"
#include "io/tls_keys.h"
#include "tls_fixture.h"

namespace weft::io::test {
namespace {

class TlsChannelTest : public TlsTest {
 protected:
  std::unique_ptr<TlsSite> east = make_site("east");
  std::unique_ptr<TlsSite> west = make_site("west");
  std::unique_ptr<TlsSite> stranger = make_site("stranger");
};

TEST_F(TlsChannelTest, OpensBetweenSitesThatKnowEachOthersKeys) {
  Channels channels(*east, *west);
  EXPECT_EQ(channels.client->state(), State::kOpening);
  EXPECT_FALSE(channels.client->peer().has_value());
  EXPECT_EQ(channels.client->send(bytes_of("early")).error().code, std::errc::not_connected);
  channels.open();
  EXPECT_EQ(channels.client->peer(), west->fingerprint());
  EXPECT_EQ(channels.server->peer(), east->fingerprint());
  EXPECT_FALSE(channels.client->deadline().has_value());
}

TEST_F(TlsChannelTest, TellsAServerWhichOfItsPeersHasCome) {
  TlsTrust both{.keys = {stranger->fingerprint(), east->fingerprint()}, .names = {}};
  Channels channels(*east, trust_in(*west), *west, both);
  channels.open();
  EXPECT_EQ(channels.server->peer(), east->fingerprint());
}

TEST_F(TlsChannelTest, CarriesMessagesBothWaysInOrder) {
  Channels channels(*east, *west);
  channels.open();
  Random random(1);
  std::vector<std::string> sent;
  for (int i = 0; i < 40; ++i)
    sent.emplace_back(random.between(1, i == 7 ? 65536 : 9000), static_cast<char>('a' + i % 26));
  std::vector<std::string> at_server;
  std::vector<std::string> at_client;
  for (const std::string& text : sent) {
    ASSERT_TRUE(channels.client->send(bytes_of(text)).has_value());
    ASSERT_TRUE(channels.server->send(bytes_of(text)).has_value());
  }
  run_until({channels.client.get(), channels.server.get()}, [&] {
    while (const auto message = channels.server->receive())
      at_server.push_back(text_of(message));
    while (const auto message = channels.client->receive())
      at_client.push_back(text_of(message));
    return at_server.size() == sent.size() && at_client.size() == sent.size();
  });
  EXPECT_EQ(at_server, sent);
  EXPECT_EQ(at_client, sent);
}

TEST_F(TlsChannelTest, HoldsNoMoreThanItMayOfAnEndThatDoesNotReceive) {
  Channels channels(*east, *west);
  channels.open();
  const std::string text(60'000, 'x');
  std::size_t sent = 0;
  const auto send_all = [&] {
    auto queued = channels.client->send(bytes_of(text));
    for (; queued; queued = channels.client->send(bytes_of(text)))
      ++sent;
    EXPECT_EQ(queued.error().code, std::errc::no_buffer_space);
    channels.client->run(now());
  };
  // Until both ends, and the kernel between them, are full.
  while (channels.server->events() != 0) {
    send_all();
    ASSERT_TRUE(await(channels.server->descriptor(), POLLIN, 10s).has_value());
    channels.server->run(now());
  }
  send_all();
  EXPECT_GT(sent, 2 * 1024 * 1024 / text.size());
  EXPECT_LT(sent, 32 * 1024 * 1024 / text.size());
  std::size_t received = 0;
  run_until({channels.client.get(), channels.server.get()}, [&] {
    while (channels.server->receive())
      ++received;
    return received == sent;
  });
}

TEST_F(TlsChannelTest, RefusesMessagesOfNoByteAndOfTooMany) {
  Channels channels(*east, *west);
  channels.open();
  EXPECT_EQ(channels.client->send({}).error().code, std::errc::message_size);
  const std::vector<std::byte> long_one(64 * 1024 + 1);
  EXPECT_EQ(channels.client->send(long_one).error().message,
            "a message of 65537 bytes: want 1 to 65536");
}

TEST_F(TlsChannelTest, EndsWhenTheOtherEndSendsALongerMessageThanAllowed) {
  SocketPair sockets;
  const auto client = begin(*east, std::move(sockets.client), TlsRole::kClient, trust_in(*west));
  auto server = std::move(*TlsChannel::begin(*west, std::move(sockets.server),
                                             {.role = TlsRole::kServer,
                                              .trust = trust_in(*east),
                                              .deadline = Time::max(),
                                              .longest_message = 100}));
  run_until({client.get(), server.get()}, [&] { return client->state() == State::kOpen; });
  ASSERT_TRUE(client->send(Bytes(std::vector<std::byte>(101))).has_value());
  run_until({client.get(), server.get()}, [&] { return server->state() == State::kEnded; });
  EXPECT_EQ(error_of(*server), "the other end sent a message of 101 bytes, at most 100");
}

TEST_F(TlsChannelTest, NamesBothKeysWhenTheServerHasAnother) {
  Channels channels(*east, trust_in(*stranger), *west, trust_in(*east));
  channels.end();
  EXPECT_EQ(error_of(*channels.client),
            "the other end has the key " + west->fingerprint().to_string() + ", not the expected " +
                stranger->fingerprint().to_string());
  EXPECT_EQ(channels.client->error()->code, std::errc::permission_denied);
  EXPECT_NE(error_of(*channels.server).find("refused this site's key"), std::string::npos);
  EXPECT_NE(error_of(*channels.server).find("must name " + west->fingerprint().to_string()),
            std::string::npos);
  EXPECT_FALSE(channels.client->peer().has_value());
}

TEST_F(TlsChannelTest, NamesBothKeysWhenTheClientHasAnother) {
  Channels channels(*stranger, trust_in(*west), *west, trust_in(*east));
  run_until({channels.client.get(), channels.server.get()}, [&] {
    EXPECT_NE(channels.client->state(), State::kOpen);
    return channels.client->state() == State::kEnded && channels.server->state() == State::kEnded;
  });
  EXPECT_EQ(error_of(*channels.server),
            "the other end has the key " + stranger->fingerprint().to_string() +
                ", not the expected " + east->fingerprint().to_string());
  EXPECT_NE(error_of(*channels.client).find("must name " + stranger->fingerprint().to_string()),
            std::string::npos)
      << error_of(*channels.client);
}

TEST_F(TlsChannelTest, IsNotMadeWhereNobodyIsTrusted) {
  SocketPair sockets;
  const auto channel = TlsChannel::begin(*east, std::move(sockets.client), {});
  ASSERT_FALSE(channel.has_value());
  EXPECT_EQ(channel.error().code, std::errc::invalid_argument);
}

TEST_F(TlsChannelTest, EndsAtItsDeadlineHoweverSlowlyTheOtherEndGoesOn) {
  // A client's first flight, a byte at a time, as someone sends it who wants to hold on to us.
  SocketPair genuine;
  const auto client = begin(*east, std::move(genuine.client), TlsRole::kClient, trust_in(*west));
  client->run(now());
  std::array<char, 4096> flight{};
  ASSERT_TRUE(await(genuine.server.get(), POLLIN, 10s).has_value());
  const ssize_t length = read(genuine.server.get(), flight.data(), flight.size());
  ASSERT_GT(length, 100);

  SocketPair sockets;
  const Time start{};
  const auto server =
      begin(*west, std::move(sockets.server), TlsRole::kServer, trust_in(*east), start + 5s);
  EXPECT_EQ(server->deadline(), start + 5s);
  for (ssize_t i = 0; i < length - 1; ++i) {
    ASSERT_EQ(write(sockets.client.get(), &flight.at(static_cast<std::size_t>(i)), 1), 1);
    ASSERT_TRUE(await(server->descriptor(), POLLIN, 10s).has_value());
    server->run(start + 5s - 1ns);
    ASSERT_EQ(server->state(), State::kOpening);
  }
  server->run(start + 5s);
  EXPECT_EQ(server->state(), State::kEnded);
  EXPECT_EQ(error_of(*server), "the TLS handshake did not end in time");
  EXPECT_EQ(server->error()->code, std::errc::timed_out);
}

TEST_F(TlsChannelTest, EndsAtItsDeadlineWhenTheServerNeverSaysThatItLetsTheClientIn) {
  SocketPair sockets;
  const Time start = now();
  const auto client =
      begin(*east, std::move(sockets.client), TlsRole::kClient, trust_in(*west), start + 3600s);
  const auto server = begin(*west, std::move(sockets.server), TlsRole::kServer, trust_in(*east));
  client->run(start);
  ASSERT_TRUE(await(server->descriptor(), POLLIN, 10s).has_value());
  server->run(start);
  ASSERT_TRUE(await(client->descriptor(), POLLIN, 10s).has_value());
  client->run(start);  // its part is done; the server does not go on
  client->run(start + 3600s);
  EXPECT_EQ(error_of(*client), "the other end did not answer in time that it lets us in");
}

TEST_F(TlsChannelTest, SaysThatNobodyListens) {
  const auto listener = listen_tcp(*SocketAddress::parse("127.0.0.1:0"));
  const SocketAddress address = *local_address(listener->get());
  auto socket = connect_tcp(address);
  ::shutdown(listener->get(), SHUT_RDWR);
  socket = connect_tcp(address);
  ASSERT_TRUE(socket.has_value());
  const auto client = begin(*east, std::move(*socket), TlsRole::kClient, trust_in(*west));
  run_until({client.get()}, [&] { return client->state() == State::kEnded; });
  EXPECT_EQ(error_of(*client), "while connecting: Connection refused");
}

TEST_F(TlsChannelTest, SaysThatWhatCameIsNotTls) {
  SocketPair sockets;
  const auto server = begin(*west, std::move(sockets.server), TlsRole::kServer, trust_in(*east));
  const std::string_view text = "GET / HTTP/1.1\r\nHost: weft\r\n\r\n";
  ASSERT_EQ(write(sockets.client.get(), text.data(), text.size()),
            static_cast<ssize_t>(text.size()));
  run_until({server.get()}, [&] { return server->state() == State::kEnded; });
  EXPECT_NE(error_of(*server).find("is not TLS"), std::string::npos) << error_of(*server);
}

TEST_F(TlsChannelTest, EndsOnGarbageOfAnyKind) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Random random(seed);
    SocketPair sockets;
    const auto server = begin(*west, std::move(sockets.server), TlsRole::kServer, trust_in(*east));
    std::string text(random.between(1, 3000), '\0');
    for (char& byte : text)
      byte = static_cast<char>(random.next());
    const std::string client_hello("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 11);
    if (seed % 2 == 0) text.insert(0, client_hello);
    ASSERT_EQ(write(sockets.client.get(), text.data(), text.size()),
              static_cast<ssize_t>(text.size()));
    ASSERT_EQ(::shutdown(sockets.client.get(), SHUT_WR), 0);
    run_until({server.get()}, [&] { return server->state() == State::kEnded; });
    ASSERT_TRUE(server->error().has_value()) << seed;
  }
}

// Carries what a client and a server say, and cuts the connection after so many of the client's
// bytes.
class Cutter {
 public:
  Cutter(const TlsSite& one, const TlsSite& other, std::size_t bytes) : left_(bytes) {
    SocketPair near;
    SocketPair far;
    client = begin(one, std::move(near.client), TlsRole::kClient, trust_in(other));
    server = begin(other, std::move(far.server), TlsRole::kServer, trust_in(one));
    near_ = std::move(near.server);
    far_ = std::move(far.client);
  }
  void run() {
    const std::string text(500, 'x');  // more than there is between two cuts
    while (server->state() != State::kEnded && client->state() != State::kEnded) {
      client->run(now());
      server->run(now());
      if (client->state() == State::kOpen && !sent_) sent_ = !!client->send(bytes_of(text));
      carry(far_, near_, SIZE_MAX);
      left_ -= carry(near_, far_, left_);
      if (left_ == 0) ::shutdown(far_.get(), SHUT_WR);
    }
  }
  std::unique_ptr<TlsChannel> client, server;

 private:
  static std::size_t carry(const UniqueFd& from, const UniqueFd& to, std::size_t most) {
    std::array<char, 4096> buffer{};
    if (most == 0) return 0;
    const ssize_t got = read(from.get(), buffer.data(), std::min(buffer.size(), most));
    if (got <= 0) return 0;
    EXPECT_EQ(write(to.get(), buffer.data(), static_cast<std::size_t>(got)), got);
    return static_cast<std::size_t>(got);
  }

  UniqueFd near_, far_;
  std::size_t left_;
  bool sent_ = false;
};

TEST_F(TlsChannelTest, SaysThatTheConnectionWasCutWhereverThatIs) {
  bool was_open = false;
  for (std::size_t bytes = 1; !was_open; bytes += 61) {
    ASSERT_LT(bytes, 10'000u);
    Cutter cutter(*east, *west, bytes);
    cutter.run();
    if (cutter.server->state() != State::kEnded) break;  // the client has heard of it first
    ASSERT_TRUE(cutter.server->error().has_value()) << bytes;
    ASSERT_EQ(cutter.server->error()->code, std::errc::connection_aborted)
        << bytes << error_of(*cutter.server);
    was_open = cutter.server->peer().has_value();
  }
  EXPECT_TRUE(was_open);
}

TEST_F(TlsChannelTest, EndsWithoutAnErrorWhenTheOtherEndClosesIt) {
  Channels channels(*east, *west);
  channels.open();
  ASSERT_TRUE(channels.client->send(bytes_of("last words")).has_value());
  channels.client->close();
  EXPECT_EQ(channels.client->state(), State::kEnded);
  EXPECT_EQ(channels.client->events(), 0u);
  run_until({channels.server.get()}, [&] { return channels.server->state() == State::kEnded; });
  EXPECT_FALSE(channels.server->error().has_value()) << error_of(*channels.server);
  EXPECT_EQ(text_of(channels.server->receive()), "last words");
}

std::vector<std::byte> secret(const TlsChannel& channel, std::string_view label,
                              std::string_view context) {
  std::vector<std::byte> out(44);
  EXPECT_TRUE(channel.export_secret(label, bytes_of(context), out).has_value());
  return out;
}

TEST_F(TlsChannelTest, ExportsSecretsThatBothEndsHaveAndNobodyElse) {
  Channels channels(*east, *west);
  std::vector<std::byte> out(16);
  EXPECT_EQ(channels.client->export_secret("label", {}, out).error().code,
            std::errc::not_connected);
  channels.open();
  const auto ours = secret(*channels.client, "label", "context");
  EXPECT_EQ(secret(*channels.server, "label", "context"), ours);
  EXPECT_NE(secret(*channels.server, "label", "other"), ours);
  EXPECT_NE(secret(*channels.server, "other", "context"), ours);
  Channels again(*east, *west);
  again.open();
  EXPECT_NE(secret(*again.client, "label", "context"), ours);
}

TEST_F(TlsChannelTest, GivesBothEndsTheKeysOfEachDirectionAndEpoch) {
  Channels channels(*east, *west);
  const std::array<std::byte, 3> text{};
  const std::array pieces{Bytes(text)};
  for (const AeadAlgorithm algorithm : kAeadAlgorithms) {
    TlsKeySource outgoing(*channels.client, algorithm, TlsDirection::kOutgoing);
    TlsKeySource incoming(*channels.server, algorithm, TlsDirection::kIncoming);
    TlsKeySource other_way(*channels.server, algorithm, TlsDirection::kOutgoing);
    if (channels.client->state() == State::kOpening) {
      EXPECT_FALSE(outgoing.key(0).has_value());
      channels.open();
    }
    std::array<std::byte, 19> sealed{};
    const AeadKey key = *outgoing.key(7);
    ASSERT_TRUE(key.aead->seal(key.salt, {}, pieces, sealed));
    const auto opens = [&](std::optional<AeadKey> with) {
      std::array<std::byte, 3> opened{};
      return with->aead->open(with->salt, {}, sealed, opened);
    };
    EXPECT_TRUE(opens(incoming.key(7)));
    EXPECT_TRUE(opens(incoming.key(7)));  // the same again
    EXPECT_FALSE(opens(incoming.key(6)));
    EXPECT_FALSE(opens(incoming.key(7 << 8)));
    EXPECT_FALSE(opens(other_way.key(7)));
  }
  channels.server->close();
  TlsKeySource after(*channels.server, AeadAlgorithm::kAes128Gcm, TlsDirection::kIncoming);
  EXPECT_TRUE(after.key(8).has_value());
}

TEST_F(TlsChannelTest, IsDrivenByAReactor) {
  const auto reactor = std::move(*Reactor::create(0ns));
  Channels channels(*east, *west);
  std::vector<Reactor::Registration> watches(2);
  const std::array ends{channels.client.get(), channels.server.get()};
  for (std::size_t i = 0; i < ends.size(); ++i) {
    watches[i] = *reactor->watch(ends[i]->descriptor(), ends[i]->events(), [&, i](std::uint32_t) {
      ends[i]->run(now());
      ASSERT_TRUE(reactor->change_events(watches[i], ends[i]->events()).has_value());
    });
  }
  while (ends[0]->state() == State::kOpening || ends[1]->state() == State::kOpening)
    ASSERT_GT(reactor->run_once(10s).value(), 0u);
  EXPECT_EQ(ends[0]->state(), State::kOpen);
  EXPECT_EQ(ends[1]->state(), State::kOpen);
}

}  // namespace
}  // namespace weft::io::test
