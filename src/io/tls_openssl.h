// SPDX-License-Identifier: Apache-2.0
// OpenSSL's objects with owners, and its errors as text: for the other tls_ files only.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "io/tls_fingerprint.h"
#include "io/unique_fd.h"

namespace weft::io {

struct OpensslFree {
  void operator()(BIO* bio) const { BIO_free_all(bio); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};
using BioPtr = std::unique_ptr<BIO, OpensslFree>;
using KeyPtr = std::unique_ptr<EVP_PKEY, OpensslFree>;
using CertificatePtr = std::unique_ptr<X509, OpensslFree>;
using SslContextPtr = std::unique_ptr<SSL_CTX, OpensslFree>;

// The first error of this thread's queue, which is empty afterwards; "no reason given" when it was
// so before.
std::string openssl_reason();

// Of the public key in a certificate, or of a key.
Expected<TlsFingerprint> fingerprint_of(X509* certificate);
Expected<TlsFingerprint> fingerprint_of(EVP_PKEY* key);

// A BIO over a socket that is not blocking; unlike OpenSSL's own it raises no SIGPIPE. `socket`
// outlives it. Null: out of memory.
BioPtr make_socket_bio(const UniqueFd& socket);

}  // namespace weft::io
