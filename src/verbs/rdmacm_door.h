// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stddef.h>
#include <sys/types.h>

namespace weft::verbs {

// A file that a program has got for /dev/infiniband/rdma_cm: a socket that is readable as long as
// events wait, with a connection to the host agent beside it.
struct DoorFile;

// As open(2) of the path.
int open_door(int flags);

// Whether `fd` may be such a file. Costs a load; what is none for sure is told so.
bool may_be_door(int fd);

// The file, for write_to_door(); null when `fd` is none.
DoorFile* acquire_door(int fd);

// As write(2) of one command. Gives `file` back.
ssize_t write_to_door(DoorFile* file, const void* bytes, size_t size);

// As close(2) of what may be such a file; what the agent knows about it ends with the last thread
// that uses it.
int close_door(int fd);

}  // namespace weft::verbs
