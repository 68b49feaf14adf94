// SPDX-License-Identifier: Apache-2.0
// The openssl command as the other end: a client and a server that are not ours.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "tls_fixture.h"

namespace weft::io::test {
namespace {

// A program that is never waited for longer than half a minute.
class Program {
 public:
  explicit Program(const std::string& command)
      : pipe_(popen(("exec timeout 30 sh -c '" + command + "'").c_str(), "r"), pclose) {}
  std::string line() {
    std::string text;
    for (int c = fgetc(pipe_.get()); c != EOF && c != '\n'; c = fgetc(pipe_.get()))
      text.push_back(static_cast<char>(c));
    return text;
  }
  std::string rest() {
    std::string text;
    for (int c = fgetc(pipe_.get()); c != EOF; c = fgetc(pipe_.get()))
      text.push_back(static_cast<char>(c));
    return text;
  }

 private:
  std::unique_ptr<FILE, int (*)(FILE*)> pipe_;
};

class TlsOpenssl : public TlsTest {
 protected:
  TlsOpenssl() {
    for (const char* const name : {"east", "stranger"})
      certify(name);
  }
  // A certificate that the openssl command makes for the key of a site.
  void certify(const std::string& name) {
    Program(fmt::format("openssl req -x509 -key {} -subj /CN={} -out {}", path(name), name,
                        path(name + ".pem")))
        .rest();
  }
  [[nodiscard]] std::string identity(const std::string& name) const {
    return fmt::format("-cert {} -key {}", path(name + ".pem"), path(name));
  }

  // Our server's end, after a client with `options` and what it has to say has come.
  std::unique_ptr<TlsChannel> meet_client(const std::string& options, const std::string& says) {
    const auto listener = listen_tcp(*SocketAddress::parse("127.0.0.1:0"));
    client_ = std::make_unique<Program>(
        fmt::format("printf \"{}\" | openssl s_client -connect {} -ign_eof {} 2>&1", says,
                    local_address(listener->get())->to_string(), options));
    EXPECT_TRUE(await(listener->get(), POLLIN, 20s).has_value());
    return begin(*west, std::move((*accept_tcp(listener->get()))->socket), TlsRole::kServer,
                 trust_in(*east));
  }
  std::string error_with_client(const std::string& options) {
    const auto server = meet_client(options, "\\0\\0\\0\\0");
    run_until({server.get()}, [&] { return server->state() != State::kOpening; });
    EXPECT_EQ(server->state(), State::kEnded);
    return error_of(*server);
  }
  // Our client's end, at a server that sends `says`.
  std::unique_ptr<TlsChannel> meet_server(const std::string& options, const std::string& says) {
    server_ = std::make_unique<Program>(
        // Its input has no end, at which it would leave.
        fmt::format("mkfifo {0}; exec 0<>{0}; printf \"{1}\" >&0; exec openssl s_server "
                    "-accept 127.0.0.1:0 -naccept 1 -Verify 1 {2} 2>/dev/null",
                    path("fifo"), says, options));
    const std::string prefix = "ACCEPT ";
    std::string line = server_->line();
    while (!line.empty() && !line.starts_with(prefix))
      line = server_->line();
    const auto address = SocketAddress::parse(line.substr(std::min(line.size(), prefix.size())));
    EXPECT_TRUE(address.has_value()) << line;
    return begin(*west, std::move(*connect_tcp(*address)), TlsRole::kClient, trust_in(*east));
  }

  std::unique_ptr<TlsSite> east = make_site("east");
  std::unique_ptr<TlsSite> west = make_site("west");
  std::unique_ptr<TlsSite> stranger = make_site("stranger");
  std::unique_ptr<Program> client_, server_;
};

TEST_F(TlsOpenssl, TalksWithAClientThatHasTheRightKey) {
  const auto server = meet_client(identity("east") + " -quiet", "\\0\\0\\0\\0\\0\\0\\0\\5hello");
  std::optional<Message> message;
  run_until({server.get()}, [&] {
    message = server->receive();
    return message.has_value() || server->state() == State::kEnded;
  });
  EXPECT_EQ(text_of(message), "hello") << error_of(*server);
  EXPECT_EQ(server->peer(), east->fingerprint());
  ASSERT_TRUE(server->send(bytes_of("world")).has_value());
  server->close();
  const std::string heard = client_->rest();
  EXPECT_NE(heard.find(std::string("\0\0\0\0\0\0\0\5world", 13)), std::string::npos) << heard;
}

TEST_F(TlsOpenssl, ExportsWhatTheClientExports) {
  const auto server =
      meet_client(identity("east") + " -keymatexport test -keymatexportlen 24", "\\0\\0\\0\\0");
  run_until({server.get()}, [&] { return server->state() != State::kOpening; });
  std::array<std::byte, 24> secret{};
  ASSERT_TRUE(server->export_secret("test", {}, secret).has_value()) << error_of(*server);
  std::string hex;
  for (const std::byte byte : secret)
    hex += fmt::format("{:02X}", static_cast<unsigned>(byte));
  server->close();
  const std::string said = client_->rest();
  EXPECT_NE(said.find("Keying material: " + hex), std::string::npos) << hex << said;
  EXPECT_NE(said.find("TLSv1.3"), std::string::npos);
  EXPECT_EQ(said.find("Post-Handshake New Session Ticket"), std::string::npos);
}

TEST_F(TlsOpenssl, RefusesAClientWithAnotherKey) {
  EXPECT_EQ(error_with_client(identity("stranger") + " -quiet"),
            "the other end has the key " + stranger->fingerprint().to_string() +
                ", not the expected " + east->fingerprint().to_string());
}

TEST_F(TlsOpenssl, RefusesAClientWithoutACertificate) {
  EXPECT_EQ(error_with_client("-quiet"),
            "the other end showed no certificate: it needs a key that this site's file names");
}

TEST_F(TlsOpenssl, RefusesAClientOfTls12) {
  EXPECT_EQ(error_with_client(identity("east") + " -quiet -tls1_2"),
            "the other end does not speak TLS 1.3");
}

TEST_F(TlsOpenssl, RefusesAClientThatDoesNotBeginAsAWeftSite) {
  const auto server = meet_client(identity("east") + " -quiet", "\\0\\0\\0\\2hi");
  run_until({server.get()}, [&] { return server->state() != State::kOpening; });
  EXPECT_EQ(error_of(*server),
            "the other end did not begin with an empty message: it is no Weft site");
}

TEST_F(TlsOpenssl, TalksWithAServerThatHasTheRightKey) {
  const auto client = meet_server(identity("east"), "\\0\\0\\0\\0\\0\\0\\0\\5hello");
  std::optional<Message> message;
  run_until({client.get()}, [&] {
    message = client->receive();
    return message.has_value() || client->state() == State::kEnded;
  });
  EXPECT_EQ(text_of(message), "hello") << error_of(*client);
}

TEST_F(TlsOpenssl, RefusesAServerWithAnotherKey) {
  const auto client = meet_server(identity("stranger"), "");
  run_until({client.get()}, [&] { return client->state() != State::kOpening; });
  EXPECT_NE(error_of(*client).find(stranger->fingerprint().to_string()), std::string::npos)
      << error_of(*client);
}

TEST_F(TlsOpenssl, RefusesAServerOfTls12) {
  const auto client = meet_server(identity("east") + " -tls1_2", "");
  run_until({client.get()}, [&] { return client->state() != State::kOpening; });
  EXPECT_EQ(error_of(*client), "the other end does not speak TLS 1.3");
}

// Sites whose certificates come from a CA: no key is named.
class TlsCa : public TlsOpenssl {
 protected:
  TlsCa() {
    make_ca("ca");
    make_ca("other-ca");
  }
  void make_ca(const std::string& name) {
    Program(fmt::format("openssl req -x509 -newkey ed25519 -nodes -keyout {} -out {} -subj /CN={} "
                        "2>/dev/null",
                        path(name + ".key"), path(name), name))
        .rest();
  }
  std::unique_ptr<TlsSite> vouched(const std::string& name, const std::string& ca) {
    EXPECT_TRUE(make_site_key(path(name)).has_value());
    Program(fmt::format("openssl req -new -key {0} -subj /CN={1} -addext "
                        "subjectAltName=DNS:{1}.example -out {0}.csr && "
                        "openssl x509 -req -in {0}.csr -CA {2} -CAkey {2}.key -CAcreateserial "
                        "-copy_extensions copy -out {0}.pem 2>/dev/null",
                        path(name), name, path(ca)))
        .rest();
    auto site =
        TlsSite::load({.key = path(name), .certificate = path(name + ".pem"), .ca = path("ca")});
    EXPECT_TRUE(site.has_value()) << site.error().message;
    return std::move(*site);
  }
  static TlsTrust named(const std::string& name) { return {.keys = {}, .names = {name}}; }
};

TEST_F(TlsCa, OpensBetweenSitesThatTheCaVouchesFor) {
  const auto north = vouched("north", "ca");
  const auto south = vouched("south", "ca");
  Channels channels(*north, named("south.example"), *south, named("north.example"));
  channels.open();
  EXPECT_EQ(channels.server->peer(), north->fingerprint());
}

TEST_F(TlsCa, RefusesACertificateForAnotherName) {
  const auto north = vouched("north", "ca");
  const auto south = vouched("south", "ca");
  Channels channels(*north, named("south.example"), *south, named("east.example"));
  channels.end();
  EXPECT_NE(error_of(*channels.server).find("for none of the names"), std::string::npos)
      << error_of(*channels.server);
}

TEST_F(TlsCa, RefusesACertificateOfAnotherCa) {
  const auto north = vouched("north", "other-ca");
  const auto south = vouched("south", "ca");
  Channels channels(*north, named("south.example"), *south, named("north.example"));
  channels.end();
  EXPECT_NE(error_of(*channels.server).find("the CA does not vouch for it"), std::string::npos)
      << error_of(*channels.server);
}

}  // namespace
}  // namespace weft::io::test
