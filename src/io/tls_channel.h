// SPDX-License-Identifier: Apache-2.0
// Messages between two sites over TLS 1.3 (RFC 8446), on a TCP connection: both ends prove that
// they have the key that the other one expects. Nothing in it waits: its owner calls run() when the
// descriptor is ready for events(), and at deadline().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/time.h"
#include "io/message_stream.h"
#include "io/tls_fingerprint.h"
#include "io/tls_site.h"
#include "io/unique_fd.h"

struct ssl_st;
struct x509_store_ctx_st;

namespace weft::io {

enum class TlsRole : std::uint8_t { kClient, kServer };  // who began the TCP connection, or took it

// Who may be at the other end.
struct TlsTrust {
  std::vector<TlsFingerprint> keys;  // who has one of them, whatever the certificate says
  std::vector<std::string> names;    // DNS names; whose certificate has one of them and comes from
                                     // the site's CA
};

class TlsChannel {
 public:
  enum class State : std::uint8_t {
    kOpening,  // the other end has not proved itself, or does not know yet that we have
    kOpen,
    kEnded,
  };
  struct Config {
    TlsRole role = TlsRole::kClient;
    TlsTrust trust;
    Time deadline;                            // open by then, or it ends
    std::size_t longest_message = 64 * 1024;  // of those that arrive
    std::size_t most_queued = 1024 * 1024;    // bytes that wait, each way
  };

  // `socket` is a TCP connection that is not blocking, or is being made. `site` outlives the
  // channel. invalid_argument: nobody is trusted, so that nobody could be let in.
  static Expected<std::unique_ptr<TlsChannel>> begin(const TlsSite& site, UniqueFd socket,
                                                     Config config);
  TlsChannel(const TlsChannel&) = delete;
  TlsChannel& operator=(const TlsChannel&) = delete;
  ~TlsChannel();

  [[nodiscard]] int descriptor() const { return socket_.get(); }
  // EPOLLIN, EPOLLOUT: for what run() waits. None when it has ended, or when messages wait to be
  // received.
  [[nodiscard]] std::uint32_t events() const;
  [[nodiscard]] std::optional<Time> deadline() const;
  void run(Time now);

  [[nodiscard]] State state() const { return state_; }
  // When it has ended. Nothing: the other end has closed it, properly, or close() was called.
  [[nodiscard]] const std::optional<Error>& error() const { return error_; }

  // Queues a message of at least one byte. not_connected: the channel is not open. message_size: it
  // has no byte, or more than `longest_message`. no_buffer_space: too much waits already.
  [[nodiscard]] Expected<void> send(Bytes message);
  // The next message, also when the channel has ended behind it.
  [[nodiscard]] std::optional<Message> receive();
  // Tells the other end, if that can be done at once, and ends. What is queued is lost.
  void close();

  [[nodiscard]] TlsRole role() const { return config_.role; }
  // Whose key the other end has proved to have; nothing before the channel is open.
  [[nodiscard]] const std::optional<TlsFingerprint>& peer() const { return peer_; }
  // RFC 8446, 7.5: secret bytes that both ends of this channel get for the same label and context,
  // and nobody else. not_connected: it has not been open.
  [[nodiscard]] Expected<void> export_secret(std::string_view label, Bytes context,
                                             MutableBytes out) const;

 private:
  TlsChannel(const TlsSite& site, UniqueFd socket, Config config);
  Expected<void> set_up();
  static int verify(x509_store_ctx_st* store, void*);
  [[nodiscard]] bool is_trusted(x509_store_ctx_st* store);
  [[nodiscard]] std::string explain_key(const TlsFingerprint& seen) const;

  [[nodiscard]] bool shake_hands();
  void read();
  [[nodiscard]] bool hear(Bytes bytes);
  void write();
  // What an operation that did not succeed means: go on later (true), or the channel has ended.
  bool later(int result, bool reading);
  void end_broken(int system_error);
  [[nodiscard]] Error explain_failure() const;
  void end(std::optional<Error> error);

  const TlsSite& site_;
  UniqueFd socket_;
  Config config_;
  ssl_st* ssl_ = nullptr;  // owned
  State state_ = State::kOpening;
  std::optional<Error> error_;
  bool hands_shaken_ = false;
  bool paused_ = false;                 // not reading: enough waits
  std::uint32_t events_ = 0;            // that TLS waits for
  std::string refusal_;                 // why the other end's certificate was refused
  std::optional<TlsFingerprint> seen_;  // the key in its certificate
  std::optional<TlsFingerprint> peer_;
  MessageReader reader_;
  std::vector<std::byte> out_;  // from out_sent_ on, what is to be written
  std::size_t out_sent_ = 0;
};

}  // namespace weft::io
