// SPDX-License-Identifier: Apache-2.0
#include "io/tls_channel.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <utility>

#include "io/tls_openssl.h"

namespace weft::io {
namespace {

constexpr std::size_t kLongestRecord = 16384;  // RFC 8446, 5.1

std::string or_of(const std::vector<TlsFingerprint>& keys) {
  constexpr std::size_t kMost = 3;
  std::string text;
  for (std::size_t i = 0; i < keys.size() && i < kMost; ++i)
    text += (i > 0 ? " or " : "") + keys[i].to_string();
  return keys.size() > kMost ? text + fmt::format(" or {} others", keys.size() - kMost) : text;
}

// An alert of the other end that is about our certificate (RFC 8446, 6.2).
bool is_about_certificate(int reason) {
  constexpr std::array kAlerts{SSL_AD_BAD_CERTIFICATE,     SSL_AD_UNSUPPORTED_CERTIFICATE,
                               SSL_AD_CERTIFICATE_REVOKED, SSL_AD_CERTIFICATE_EXPIRED,
                               SSL_AD_CERTIFICATE_UNKNOWN, SSL_AD_UNKNOWN_CA,
                               SSL_AD_ACCESS_DENIED};
  return std::find(kAlerts.begin(), kAlerts.end(), reason - SSL_AD_REASON_OFFSET) != kAlerts.end();
}

Error explain_handshake(int code, const std::string& reason) {
  switch (code) {
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
      return {std::errc::protocol_not_supported, "the other end does not speak TLS 1.3"};
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return {std::errc::permission_denied,
              "the other end showed no certificate: it needs a key that this site's file names"};
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
      return {std::errc::protocol_error,
              fmt::format("what the other end sent is not TLS ({})", reason)};
    default:
      return {std::errc::protocol_error, "TLS: " + reason};
  }
}

}  // namespace

TlsChannel::TlsChannel(const TlsSite& site, UniqueFd socket, Config config)
    : site_(site),
      socket_(std::move(socket)),
      config_(std::move(config)),
      reader_(config_.longest_message) {
}

TlsChannel::~TlsChannel() {
  SSL_free(ssl_);
}

Expected<std::unique_ptr<TlsChannel>> TlsChannel::begin(const TlsSite& site, UniqueFd socket,
                                                        Config config) {
  const TlsTrust& trust = config.trust;
  if (trust.keys.empty() && (trust.names.empty() || !site.has_ca())) {
    return fail(std::errc::invalid_argument,
                "nobody could be let in: name the key of the other site, or its name and a CA");
  }
  std::unique_ptr<TlsChannel> channel(new TlsChannel(site, std::move(socket), std::move(config)));
  const auto done = channel->set_up();
  if (!done) return tl::unexpected(done.error());
  return channel;
}

Expected<void> TlsChannel::set_up() {
  ssl_ = SSL_new(site_.context());
  BioPtr bio = make_socket_bio(socket_);
  if (ssl_ == nullptr || !bio) return fail(std::errc::not_enough_memory, "make a TLS channel");
  SSL_set_bio(ssl_, bio.get(), bio.get());  // it takes the one reference for both directions
  (void)bio.release();
  SSL_set_app_data(ssl_, this);
  // Which certificate is asked of a client, and that it must give one, is up to the server. The
  // callback that verifies belongs to the context, where each channel sets the same one.
  SSL_set_verify(ssl_, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  SSL_CTX_set_cert_verify_callback(site_.context(), &TlsChannel::verify, nullptr);
  if (config_.role == TlsRole::kClient) {
    SSL_set_connect_state(ssl_);
    events_ = EPOLLOUT;
  } else {
    SSL_set_accept_state(ssl_);
    events_ = EPOLLIN;
  }
  return {};
}

// In place of OpenSSL's own verification. That the other end has the key of its certificate is
// checked after this (CertificateVerify, RFC 8446, 4.4.3).
int TlsChannel::verify(x509_store_ctx_st* store, void*) {
  const auto* const ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto* const channel = static_cast<TlsChannel*>(SSL_get_app_data(ssl));
  if (channel->is_trusted(store)) return 1;
  X509_STORE_CTX_set_error(store, X509_V_ERR_CERT_REJECTED);
  return 0;
}

bool TlsChannel::is_trusted(x509_store_ctx_st* store) {
  X509* const certificate = X509_STORE_CTX_get0_cert(store);
  const auto seen = fingerprint_of(certificate);
  if (!seen) {
    refusal_ = seen.error().message;
    return false;
  }
  seen_ = *seen;
  const TlsTrust& trust = config_.trust;
  if (std::find(trust.keys.begin(), trust.keys.end(), *seen) != trust.keys.end()) return true;
  refusal_ = explain_key(*seen);
  if (!site_.has_ca() || trust.names.empty()) return false;
  if (X509_verify_cert(store) != 1) {
    refusal_ += fmt::format("; and the CA does not vouch for it: {}",
                            X509_verify_cert_error_string(X509_STORE_CTX_get_error(store)));
    return false;
  }
  const auto has_name = [certificate](const std::string& name) {
    return X509_check_host(certificate, name.data(), name.size(), 0, nullptr) == 1;
  };
  if (std::any_of(trust.names.begin(), trust.names.end(), has_name)) return true;
  refusal_ += "; and its certificate is for none of the names that are";
  return false;
}

std::string TlsChannel::explain_key(const TlsFingerprint& seen) const {
  if (config_.trust.keys.empty()) {
    return fmt::format("the other end has the key {}, which is named nowhere", seen.to_string());
  }
  return fmt::format("the other end has the key {}, not the expected {}", seen.to_string(),
                     or_of(config_.trust.keys));
}

std::uint32_t TlsChannel::events() const {
  if (state_ == State::kEnded) return 0;
  if (!hands_shaken_) return events_;
  std::uint32_t events = events_;
  if (!paused_) events |= EPOLLIN;
  return events;
}

std::optional<Time> TlsChannel::deadline() const {
  if (state_ != State::kOpening) return std::nullopt;
  return config_.deadline;
}

void TlsChannel::run(Time now) {
  if (state_ == State::kOpening && now >= config_.deadline) {
    return end(Error{std::errc::timed_out,
                     hands_shaken_ ? "the other end did not answer in time that it lets us in"
                                   : "the TLS handshake did not end in time"});
  }
  if (state_ == State::kEnded || !shake_hands()) return;
  // First what the other end says: if it has refused us, nothing can be written any more.
  read();
  write();
}

// True when it is done.
bool TlsChannel::shake_hands() {
  if (hands_shaken_) return true;
  ERR_clear_error();
  errno = 0;
  const int result = SSL_do_handshake(ssl_);
  if (result != 1) {
    (void)later(result, true);
    return false;
  }
  hands_shaken_ = true;
  events_ = 0;
  // A client has done its part before the server looks at its key. The empty message, which each
  // end sends first, says that it has accepted the other.
  append_message(out_, {});
  return true;
}

void TlsChannel::read() {
  std::array<std::byte, kLongestRecord> buffer;
  while (state_ != State::kEnded) {
    paused_ = reader_.waiting() >= config_.most_queued;
    if (paused_) return;
    std::size_t got = 0;
    ERR_clear_error();
    errno = 0;
    const int result = SSL_read_ex(ssl_, buffer.data(), buffer.size(), &got);
    if (result != 1) {
      (void)later(result, true);
      return;
    }
    if (!hear(Bytes(buffer).first(got))) return;
  }
}

bool TlsChannel::hear(Bytes bytes) {
  const auto fed = reader_.feed(bytes);
  if (!fed) {
    end(Error{fed.error().code, "the other end sent " + fed.error().message});
    return false;
  }
  if (state_ != State::kOpening) return true;
  const auto first = reader_.take();
  if (!first) return true;
  if (!first->empty()) {
    end(Error{std::errc::protocol_error,
              "the other end did not begin with an empty message: it is no Weft site"});
    return false;
  }
  state_ = State::kOpen;
  peer_ = seen_;
  return true;
}

void TlsChannel::write() {
  while (state_ != State::kEnded && out_sent_ < out_.size()) {
    const Bytes rest = Bytes(out_).subspan(out_sent_);
    std::size_t sent = 0;
    ERR_clear_error();
    errno = 0;
    const int result =
        SSL_write_ex(ssl_, rest.data(), std::min(rest.size(), kLongestRecord), &sent);
    if (result != 1) {
      (void)later(result, false);
      return;
    }
    out_sent_ += sent;
    events_ = 0;
  }
  if (out_sent_ < out_.size()) return;
  out_.clear();
  out_sent_ = 0;
}

bool TlsChannel::later(int result, bool reading) {
  const int system_error = errno;
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ:
      // A reader waits for that anyway.
      if (!hands_shaken_ || !reading) events_ = EPOLLIN;
      return true;
    case SSL_ERROR_WANT_WRITE:
      events_ = EPOLLOUT;
      return true;
    case SSL_ERROR_ZERO_RETURN:
      end(state_ == State::kOpen
              ? std::nullopt
              : std::optional(Error{std::errc::connection_aborted,
                                    "the other end closed the connection before it was open"}));
      return false;
    case SSL_ERROR_SYSCALL:
      end_broken(system_error);
      return false;
    default:
      end(explain_failure());
      return false;
  }
}

// The connection has failed. What the other end may have said before counts for more.
void TlsChannel::end_broken(int system_error) {
  if (hands_shaken_) {
    std::byte last{};
    std::size_t got = 0;
    ERR_clear_error();
    const int result = SSL_read_ex(ssl_, &last, sizeof last, &got);
    if (result != 1 && SSL_get_error(ssl_, result) == SSL_ERROR_SSL) return end(explain_failure());
  }
  const int code = system_error != 0 ? system_error : ECONNRESET;
  end(fail_errno(code, hands_shaken_ ? "the connection broke" : "while connecting").value());
}

Error TlsChannel::explain_failure() const {
  const int code = ERR_GET_REASON(ERR_peek_error());
  const std::string reason = openssl_reason();
  if (!refusal_.empty()) return {std::errc::permission_denied, refusal_};
  if (is_about_certificate(code)) {
    return {std::errc::permission_denied,
            fmt::format("the other end refused this site's key ({}): its site file must name {}",
                        reason, site_.fingerprint().to_string())};
  }
  if (code == SSL_R_UNEXPECTED_EOF_WHILE_READING) {
    return {std::errc::connection_aborted,
            hands_shaken_ ? "the connection was cut: the other end did not close it"
                          : "the connection was cut within the TLS handshake"};
  }
  return explain_handshake(code, reason);
}

void TlsChannel::end(std::optional<Error> error) {
  state_ = State::kEnded;
  error_ = std::move(error);
  out_.clear();
  out_sent_ = 0;
  // The other end is to know also if this channel's owner keeps it for a while.
  (void)::shutdown(socket_.get(), SHUT_WR);
}

Expected<void> TlsChannel::send(Bytes message) {
  if (state_ != State::kOpen) return fail(std::errc::not_connected, "the channel is not open");
  if (message.empty() || message.size() > config_.longest_message) {
    return fail(std::errc::message_size, fmt::format("a message of {} bytes: want 1 to {}",
                                                     message.size(), config_.longest_message));
  }
  const std::size_t waiting = out_.size() - out_sent_;
  if (waiting + kMessageLengthBytes + message.size() > config_.most_queued) {
    return fail(std::errc::no_buffer_space,
                fmt::format("{} bytes wait to be sent already", waiting));
  }
  if (out_sent_ > 0) {
    out_.erase(out_.begin(), out_.begin() + static_cast<std::ptrdiff_t>(out_sent_));
    out_sent_ = 0;
  }
  append_message(out_, message);
  write();
  return {};
}

std::optional<Message> TlsChannel::receive() {
  if (state_ == State::kOpening) return std::nullopt;
  auto message = reader_.take();
  // What TLS has taken from the socket already wakes nobody.
  if (paused_ && state_ == State::kOpen) read();
  return message;
}

void TlsChannel::close() {
  if (state_ == State::kEnded) return;
  ERR_clear_error();
  if (hands_shaken_) (void)SSL_shutdown(ssl_);
  ERR_clear_error();
  end(std::nullopt);
}

Expected<void> TlsChannel::export_secret(std::string_view label, Bytes context,
                                         MutableBytes out) const {
  if (!peer_) return fail(std::errc::not_connected, "export a secret: the channel was never open");
  ERR_clear_error();
  if (SSL_export_keying_material(ssl_, reinterpret_cast<unsigned char*>(out.data()), out.size(),
                                 label.data(), label.size(),
                                 reinterpret_cast<const unsigned char*>(context.data()),
                                 context.size(), 1) != 1) {
    return fail(std::errc::io_error, "export a secret: " + openssl_reason());
  }
  return {};
}

}  // namespace weft::io
