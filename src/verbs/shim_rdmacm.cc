// SPDX-License-Identifier: Apache-2.0
// libweft_rdmacm.so, preloaded by `weft run`: the door by which the distribution's own librdmacm
// reaches the host agent, or the daemon of its lab. What it writes to /dev/infiniband/rdma_cm goes
// there, and so come the answers (rdmacm_door.cc). The file that the program holds is a socket,
// so that poll, fcntl and epoll work as they are. No C++ runtime: this is in every process of a
// run.
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "host/agent_start.h"
#include "verbs/libc_function.h"
#include "verbs/rdmacm_door.h"

namespace {

using weft::verbs::Libc;
using weft::verbs::may_be_door;
using weft::verbs::open_door;

constexpr char kPath[] = "/dev/infiniband/rdma_cm";
constexpr int kNetlinkRdma = 20;
// As the kernel's: a misc device.
constexpr unsigned kMajor = 10;
constexpr unsigned kMinor = 124;

using Open = int(const char*, int, ...);
using OpenAt = int(int, const char*, int, ...);
using OpenChecked = int(const char*, int);
using OpenAtChecked = int(int, const char*, int);
template <class Buffer>
using Fstat = int(int, Buffer*);
template <class Buffer>
using OldFstat = int(int, int, Buffer*);

#define WEFT_LIBC(type, name) constinit Libc<type> libc_##name(#name)
WEFT_LIBC(Open, open);
WEFT_LIBC(Open, open64);
WEFT_LIBC(OpenAt, openat);
WEFT_LIBC(OpenAt, openat64);
WEFT_LIBC(OpenChecked, __open_2);
WEFT_LIBC(OpenChecked, __open64_2);
WEFT_LIBC(OpenAtChecked, __openat_2);
WEFT_LIBC(OpenAtChecked, __openat64_2);
WEFT_LIBC(Fstat<struct stat>, fstat);
WEFT_LIBC(Fstat<struct stat64>, fstat64);
WEFT_LIBC(int(int), close);
WEFT_LIBC(int(int, int, int), socket);
WEFT_LIBC(ssize_t(int, const void*, size_t), write);
#undef WEFT_LIBC
// How fstat() was called before glibc 2.33.
constinit Libc<OldFstat<struct stat>> libc_fxstat("__fxstat", "GLIBC_2.2.5");
constinit Libc<OldFstat<struct stat64>> libc_fxstat64("__fxstat64", "GLIBC_2.2.5");

bool rdma_cm_is_ours() {
  return weft::host::agent_is_named() || weft::host::node_of_lab() != nullptr;
}

bool leads_here(const char* path) {
  return path != nullptr && path[0] == '/' && strcmp(path, kPath) == 0 && rdma_cm_is_ours();
}

template <class Status>
void disguise(int fd, Status* out) {
  if (!may_be_door(fd)) return;
  out->st_mode = S_IFCHR | 0600;
  out->st_rdev = makedev(kMajor, kMinor);
}

// The mode of an open is there only when a file may be made.
mode_t mode_of(int flags, va_list arguments) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return creates ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int open(const char* path, int flags, ...) {
  if (leads_here(path)) return open_door(flags);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return libc_open.get()(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  if (leads_here(path)) return open_door(flags);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return libc_open64.get()(path, flags, mode);
}
int openat(int at, const char* path, int flags, ...) {
  if (leads_here(path)) return open_door(flags);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return libc_openat.get()(at, path, flags, mode);
}
int openat64(int at, const char* path, int flags, ...) {
  if (leads_here(path)) return open_door(flags);
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return libc_openat64.get()(at, path, flags, mode);
}
int __open_2(const char* path, int flags) {
  return leads_here(path) ? open_door(flags) : libc___open_2.get()(path, flags);
}
int __open64_2(const char* path, int flags) {
  return leads_here(path) ? open_door(flags) : libc___open64_2.get()(path, flags);
}
int __openat_2(int at, const char* path, int flags) {
  return leads_here(path) ? open_door(flags) : libc___openat_2.get()(at, path, flags);
}
int __openat64_2(int at, const char* path, int flags) {
  return leads_here(path) ? open_door(flags) : libc___openat64_2.get()(at, path, flags);
}

int fstat(int fd, struct stat* out) noexcept {
  const int result = libc_fstat.get()(fd, out);
  if (result == 0) disguise(fd, out);
  return result;
}
int fstat64(int fd, struct stat64* out) noexcept {
  const int result = libc_fstat64.get()(fd, out);
  if (result == 0) disguise(fd, out);
  return result;
}
int __fxstat(int version, int fd, struct stat* out) {
  const int result = libc_fxstat.get()(version, fd, out);
  if (result == 0) disguise(fd, out);
  return result;
}
int __fxstat64(int version, int fd, struct stat64* out) {
  const int result = libc_fxstat64.get()(version, fd, out);
  if (result == 0) disguise(fd, out);
  return result;
}

ssize_t write(int fd, const void* bytes, size_t size) {
  weft::verbs::DoorFile* const file = may_be_door(fd) ? weft::verbs::acquire_door(fd) : nullptr;
  if (file != nullptr) return write_to_door(file, bytes, size);
  return libc_write.get()(fd, bytes, size);
}

int close(int fd) {
  return may_be_door(fd) ? weft::verbs::close_door(fd) : libc_close.get()(fd);
}

// librdmacm asks the kernel's RDMA subsystem first, where there is one: its devices are none of
// this run's.
int socket(int domain, int type, int protocol) noexcept {
  if (domain == AF_NETLINK && protocol == kNetlinkRdma && rdma_cm_is_ours()) {
    errno = EPROTONOSUPPORT;
    return -1;
  }
  return libc_socket.get()(domain, type, protocol);
}

}  // extern "C"
#pragma GCC visibility pop
