// SPDX-License-Identifier: Apache-2.0
#include "io/tls_openssl.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <sys/socket.h>

#include <cerrno>

namespace weft::io {
namespace {

// Takes the DER form, which it frees.
Expected<TlsFingerprint> digest_of(unsigned char* der, int length) {
  TlsFingerprint::Digest digest{};
  unsigned size = 0;
  const bool is_done = length > 0 && EVP_Digest(der, static_cast<std::size_t>(length),
                                                digest.data(), &size, EVP_sha256(), nullptr) == 1;
  OPENSSL_free(der);
  if (!is_done) return fail(std::errc::io_error, "hash a public key: " + openssl_reason());
  return TlsFingerprint(digest);
}

int descriptor_of(BIO* bio) {
  return static_cast<const UniqueFd*>(BIO_get_data(bio))->get();
}

bool would_block(int error) {
  return error == EAGAIN || error == EINTR;
}

int bio_write(BIO* bio, const char* data, int length) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = ::send(descriptor_of(bio), data, static_cast<std::size_t>(length),
                              MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent < 0 && would_block(errno)) BIO_set_retry_write(bio);
  return static_cast<int>(sent);
}

int bio_read(BIO* bio, char* data, int length) {
  BIO_clear_retry_flags(bio);
  const ssize_t got =
      ::recv(descriptor_of(bio), data, static_cast<std::size_t>(length), MSG_DONTWAIT);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  if (got < 0 && would_block(errno)) BIO_set_retry_read(bio);
  return static_cast<int>(got);
}

long bio_control(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0 ? 1 : 0;
  return command == BIO_CTRL_FLUSH ? 1 : 0;
}

int bio_create(BIO* bio) {
  BIO_set_init(bio, 1);
  return 1;
}

BIO_METHOD* make_method() {
  BIO_METHOD* const method =
      BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "weft socket");
  if (method == nullptr || BIO_meth_set_write(method, bio_write) != 1 ||
      BIO_meth_set_read(method, bio_read) != 1 || BIO_meth_set_ctrl(method, bio_control) != 1 ||
      BIO_meth_set_create(method, bio_create) != 1) {
    BIO_meth_free(method);
    return nullptr;
  }
  return method;
}

}  // namespace

std::string openssl_reason() {
  const unsigned long first = ERR_get_error();
  ERR_clear_error();
  if (first == 0) return "no reason given";
  const char* const reason = ERR_reason_error_string(first);
  return reason != nullptr ? reason : "error " + std::to_string(ERR_GET_REASON(first));
}

Expected<TlsFingerprint> fingerprint_of(X509* certificate) {
  unsigned char* der = nullptr;
  const int length = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &der);
  return digest_of(der, length);
}

Expected<TlsFingerprint> fingerprint_of(EVP_PKEY* key) {
  unsigned char* der = nullptr;
  const int length = i2d_PUBKEY(key, &der);
  return digest_of(der, length);
}

BioPtr make_socket_bio(const UniqueFd& socket) {
  static BIO_METHOD* const method = make_method();
  BioPtr bio(method != nullptr ? BIO_new(method) : nullptr);
  if (bio) BIO_set_data(bio.get(), const_cast<UniqueFd*>(&socket));
  return bio;
}

}  // namespace weft::io
