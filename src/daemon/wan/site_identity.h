// SPDX-License-Identifier: Apache-2.0
// What a lab file says of keys, read from the files that it names.
#pragma once

#include <memory>
#include <vector>

#include "base/error.h"
#include "fabric/lab_extender.h"
#include "io/tls_fingerprint.h"
#include "io/tls_site.h"

namespace weft::daemon {

// What the extender proves itself with; it is not an insecure one. Errors name the file.
Expected<std::unique_ptr<io::TlsSite>> load_site(const fabric::LabExtender& extender);

// By what each remote of the extender is known, as they stand there. A file may hold a fingerprint,
// as `weft extend keygen` prints it, or a key or certificate in PEM. Errors name the remote;
// invalid_argument: a key is that of two remotes, or of `own`, so that they could not be told
// apart.
Expected<std::vector<std::vector<io::TlsFingerprint>>> read_remote_keys(
    const fabric::LabExtender& extender, const io::TlsFingerprint& own);

}  // namespace weft::daemon
