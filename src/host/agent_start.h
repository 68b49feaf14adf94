// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::host {

// `weft run` has said where the host agent is (WEFT_AGENT, its program) and where it listens
// (WEFT_RUNTIME_DIR).
bool agent_is_named();

// A connection to the agent of this user and network namespace, which is started if there is none;
// -errno. Async-cancellation must be off.
int connect_to_agent();

// The node of a lab that the program runs on, as `weft run --node` has said; null: on none.
const char* node_of_lab();

// A connection to the rdma_cm of the lab's nodes; -errno.
int connect_to_lab();

}  // namespace weft::host
