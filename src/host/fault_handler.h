// SPDX-License-Identifier: Apache-2.0
// The process's handlers of SIGSEGV and SIGBUS: one of ours before those that were there.
#pragma once

#include <csignal>

namespace weft::host {

// Called in a signal handler, with the context of the fault. True when the fault has been dealt
// with: execution goes on from the context, which it may have changed. It need not return.
using RecoverFromFault = bool (*)(const siginfo_t& info, void* context);

// Installs, or installs again above what the application has installed since. Handlers that it
// finds are called for faults that `recover` does not want, as the kernel would call them. Always
// to be called with the same function.
void install_fault_handler(RecoverFromFault recover);

}  // namespace weft::host
