// SPDX-License-Identifier: Apache-2.0
// What a program does that goes on serving others when the terminal that started it is gone.
#pragma once

namespace weft::daemon {

// Leaves the program that started us, once there is somebody to talk to: the parent ends with
// success, and the child goes on without terminal and working directory. Before any thread is
// started; descriptors, locks and sockets go on as they are.
void leave_parent();

// As many open descriptors as the system allows: each program that is served takes some, and the
// usual 1,024 are fewer than the programs that may come.
void allow_many_descriptors();

}  // namespace weft::daemon
