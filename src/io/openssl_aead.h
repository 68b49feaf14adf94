// SPDX-License-Identifier: Apache-2.0
// base/aead.h by OpenSSL, which uses what the processor has for it.
#pragma once

#include <memory>
#include <vector>

#include "base/aead.h"
#include "base/bytes.h"
#include "base/error.h"

namespace weft::io {

// `key`: key_bytes_of(algorithm) bytes, of which this keeps no copy but the cipher's own. Errors:
// invalid_argument: it has another length; not_supported: this OpenSSL's providers have no such
// cipher (a FIPS one has no ChaCha20, say).
Expected<std::unique_ptr<Aead>> make_aead(AeadAlgorithm algorithm, Bytes key);

// All that this machine has, the fastest first: AES-GCM where the processor has instructions for
// AES and for carry-less multiplication, else ChaCha20-Poly1305, which is also the one that leaks
// nothing by its timing there.
std::vector<AeadAlgorithm> preferred_aeads();

}  // namespace weft::io
