// SPDX-License-Identifier: Apache-2.0
// Touching memory that the application has registered and may have unmapped since. What would be a
// SIGSEGV or SIGBUS becomes `false`; a fault anywhere else in the process goes where it would have
// gone without Weft.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::host {

// Copies `length` bytes between areas that do not overlap. False when some of either was not there;
// how much was copied is not known then. On x86-64 the last bytes are stored last, so that a
// program that spins on them finds the others.
bool guarded_copy(void* to, const void* from, std::size_t length);

// Runs `body(argument)`; false when it met a fault, at which it was abandoned: no destructor of it
// has run, so it should hold nothing while it touches such memory. Every fault of this thread
// counts meanwhile, those of a signal handler that came between included. Calls do not nest.
bool guarded(void (*body)(void*), void* argument);

// Whether a fault at `address` is one that the body with this argument may meet. Called by a signal
// handler.
using MayFault = bool (*)(const void* argument, std::uintptr_t address);

// The same, where other faults are somebody else's.
bool guarded(void (*body)(void*), void* argument, MayFault may_fault);

// Sees to it that Weft's signal handler is the first to learn of a fault. The functions above do so
// when one of them is called for the first time; call it again when the application may have
// installed handlers of its own since, which are kept and called for what is not Weft's. Cheap: two
// system calls. From the ninth new handler of a signal on it leaves them alone.
void ensure_fault_handler();

}  // namespace weft::host
