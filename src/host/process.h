// SPDX-License-Identifier: Apache-2.0
// What the drop-in libraries keep once per process.
#pragma once

#include <sys/types.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/error.h"
#include "host/config.h"
#include "host/context.h"

namespace weft::host {

// The process's configuration, read from the environment once. On an error the message has been
// printed to stderr and every device list is empty.
const Expected<Config>& process_config();

// Contexts register here while they are open; the report socket and --stats walk them. A forked
// child starts with an empty list: what it inherited is its parent's to account for.
void register_context(const std::shared_ptr<Context>& context);
// Takes a last report() of the context for --stats and may wait for the report thread: call it
// before anything is taken down and with no lock held that report() takes.
void unregister_context(Context& context);

// The process is about to end without exit(): open contexts send what is owed (Context::send_owed).
// For any thread at any time, in signal handlers and in forked children too, where it does nothing.
void send_owed_by_process() noexcept;

// What `weft resource` reads: a JSON text of this process's queue pairs, completion queues and
// memory regions with their counters. Its form is documented in docs/cli.md.
std::string process_report_json();

// Where process `pid` answers with it: `<runtime dir>/<pid>.sock`.
Expected<std::string> report_socket_path(pid_t pid);

// At most this many objects of one kind are listed for a device; the counts are always right.
inline constexpr std::size_t kMostListed = 65'536;

// The text of process_report_json() for any contexts: one line, always valid UTF-8.
std::string report_to_json(std::span<const Context::Report> contexts, Wire wire);

// The counters of a context's port and of all queue pairs that it ever had, summed by name.
std::vector<CounterValue> total_counters(const Context::Report& report);

// As ibv_devinfo prints a GUID: "0200:5eff:fe00:0001".
std::string format_guid(Guid guid);

// What --stats prints: one block per device, nothing when there is none.
std::string format_stats(const std::map<std::string, std::vector<CounterValue>>& devices);

}  // namespace weft::host
