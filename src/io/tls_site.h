// SPDX-License-Identifier: Apache-2.0
// What a site proves itself with: an Ed25519 key in a file that nobody else reads, and a
// certificate that says little more.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "io/tls_fingerprint.h"

struct ssl_ctx_st;

namespace weft::io {

// Makes a key and writes it to the new file `path`, as PKCS #8 in PEM, for the owner's eyes only.
// file_exists: it is never overwritten.
Expected<TlsFingerprint> make_site_key(const std::string& path);

// Of the private key, public key or certificate that the file holds, in PEM. What is public need
// not be guarded: any file that can be read will do.
Expected<TlsFingerprint> read_fingerprint(const std::string& path);

class TlsSite {
 public:
  struct Config {
    std::string key;          // file, which group and others may not read
    std::string certificate;  // file, with a chain if need be; empty: one that the key signs
    std::string ca;           // file with the roots for peers whose key is not named; or empty
  };

  // Errors name the file, and what is wrong with it.
  static Expected<std::unique_ptr<TlsSite>> load(const Config& config);
  TlsSite(const TlsSite&) = delete;
  TlsSite& operator=(const TlsSite&) = delete;
  ~TlsSite();

  // What others name this site by.
  [[nodiscard]] const TlsFingerprint& fingerprint() const { return fingerprint_; }
  [[nodiscard]] bool has_ca() const { return has_ca_; }
  // Of OpenSSL; channels are made of it.
  [[nodiscard]] ssl_ctx_st* context() const { return context_; }

 private:
  TlsSite(ssl_ctx_st* context, const TlsFingerprint& fingerprint, bool has_ca)
      : context_(context), fingerprint_(fingerprint), has_ca_(has_ca) {}

  ssl_ctx_st* context_;  // owned
  TlsFingerprint fingerprint_;
  bool has_ca_;
};

}  // namespace weft::io
