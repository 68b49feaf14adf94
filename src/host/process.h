// SPDX-License-Identifier: Apache-2.0
// What the drop-in libraries keep once per process.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "host/config.h"

namespace weft::host {

class Context;

// The process's configuration, read from the environment once. On an error the message has been
// printed to stderr and every device list is empty.
const Expected<Config>& process_config();

// Contexts register here while they are open; the report socket and --stats walk them.
void register_context(const std::shared_ptr<Context>& context);
void unregister_context(Context& context);

// What `weft resource` reads: a JSON text of this process's queue pairs, completion queues and
// memory regions with their counters. Its form is documented in docs/cli.md.
std::string process_report_json();

}  // namespace weft::host
