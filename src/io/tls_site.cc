// SPDX-License-Identifier: Apache-2.0
#include "io/tls_site.h"

#include <fmt/format.h>
#include <openssl/ssl.h>

#include <utility>

#include "io/tls_openssl.h"
#include "io/tls_site_key.h"

namespace weft::io {
namespace {

// Of a peer that has not yet shown who it is, no more is taken in than this.
constexpr long kLongestChain = 16384;

// TLS 1.3 alone, each time from its beginning: without tickets and early data there is no session
// to take up again, so that both ends prove themselves in each, and with new secrets (RFC 8446,
// 2.2 and 8).
bool restrict_context(SSL_CTX* context) {
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_max_cert_list(context, kLongestChain);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_max_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_num_tickets(context, 0) == 1 && SSL_CTX_set_max_early_data(context, 0) == 1;
}

Expected<void> use_certificate(SSL_CTX* context, EVP_PKEY* key, const TlsSite::Config& config) {
  if (!config.certificate.empty()) {
    if (SSL_CTX_use_certificate_chain_file(context, config.certificate.c_str()) != 1) {
      return fail(std::errc::invalid_argument,
                  fmt::format("{}: holds no certificate in PEM that could be used ({})",
                              config.certificate, openssl_reason()));
    }
    return {};
  }
  if (EVP_PKEY_is_a(key, "ED25519") != 1) {
    return fail(std::errc::invalid_argument,
                fmt::format("{}: not an Ed25519 key: name its certificate too, or let weft extend "
                            "keygen make a key",
                            config.key));
  }
  const auto certificate = self_signed(key);
  if (!certificate) return tl::unexpected(certificate.error());
  if (SSL_CTX_use_certificate(context, certificate->get()) != 1) {
    return fail(std::errc::io_error, "use a certificate: " + openssl_reason());
  }
  return {};
}

}  // namespace

Expected<std::unique_ptr<TlsSite>> TlsSite::load(const Config& config) {
  const auto key = read_private_key(config.key);
  if (!key) return tl::unexpected(key.error());
  const auto fingerprint = fingerprint_of(key->get());
  if (!fingerprint) return tl::unexpected(fingerprint.error());
  SslContextPtr context(SSL_CTX_new(TLS_method()));
  if (!context || !restrict_context(context.get())) {
    return fail(std::errc::not_supported, "TLS 1.3: " + openssl_reason());
  }
  const auto used = use_certificate(context.get(), key->get(), config);
  if (!used) return tl::unexpected(used.error());
  if (SSL_CTX_use_PrivateKey(context.get(), key->get()) != 1) {
    return fail(std::errc::invalid_argument,
                fmt::format("{}: not the key of the certificate in {} ({})", config.key,
                            config.certificate, openssl_reason()));
  }
  if (!config.ca.empty() && SSL_CTX_load_verify_file(context.get(), config.ca.c_str()) != 1) {
    return fail(std::errc::invalid_argument,
                fmt::format("{}: holds no certificates in PEM ({})", config.ca, openssl_reason()));
  }
  return std::unique_ptr<TlsSite>(new TlsSite(context.release(), *fingerprint, !config.ca.empty()));
}

TlsSite::~TlsSite() {
  SSL_CTX_free(context_);
}

}  // namespace weft::io
