// SPDX-License-Identifier: Apache-2.0
// Keys and certificates as OpenSSL holds them: for the other tls_ files only.
#pragma once

#include <string>

#include "base/error.h"
#include "io/tls_openssl.h"

namespace weft::io {

// The private key in the file, which group and others may not read.
Expected<KeyPtr> read_private_key(const std::string& path);

// A certificate without end for `key`, which is an Ed25519 one, signed with it. Peers look at the
// key in it, at nothing else.
Expected<CertificatePtr> self_signed(EVP_PKEY* key);

}  // namespace weft::io
