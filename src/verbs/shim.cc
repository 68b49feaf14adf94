// SPDX-License-Identifier: Apache-2.0
// libweft_shim.so, preloaded by `weft run`: answers the paths of InfiniBand devices that programs
// open by themselves (/sys/class/infiniband*, /dev/infiniband*) from the tree at $WEFT_SYSROOT.
// Every other path passes through untouched. Stands before _exit() too, which no handler can be
// registered for. No C++ runtime: this is in every process of a run.
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "verbs/libc_function.h"

namespace {

constexpr char kSysfs[] = "/sys/class/infiniband";
constexpr char kShimNodes[] = "/dev/infiniband";

// Not inlined, because callers promise the compiler a path that is not null and programs break it.
__attribute__((noinline)) bool is_ours(const char* path) {
  if (path == nullptr || path[0] != '/') return false;
  if (path[1] == 's') return strncmp(path, kSysfs, sizeof kSysfs - 1) == 0;
  return path[1] == 'd' && strncmp(path, kShimNodes, sizeof kShimNodes - 1) == 0;
}

// The path to use instead of `path`: one below the tree when it is ours, itself otherwise. A name
// too long for the tree is passed on as it is.
class Mapped {
 public:
  explicit Mapped(const char* path) : path_(path) {
    if (!is_ours(path)) return;
    const char* const root = getenv("WEFT_SYSROOT");
    if (root == nullptr || *root == '\0') return;
    const size_t root_length = strlen(root);
    const size_t length = strlen(path);
    if (root_length + length >= sizeof buffer_) return;
    memcpy(buffer_, root, root_length);
    memcpy(buffer_ + root_length, path, length + 1);
    path_ = buffer_;
  }
  operator const char*() const { return path_; }

 private:
  const char* path_;
  char buffer_[PATH_MAX];
};

using weft::verbs::Libc;

using Open = int(const char*, int, ...);
using OpenAt = int(int, const char*, int, ...);
using OpenChecked = int(const char*, int);
using OpenAtChecked = int(int, const char*, int);
using Fopen = FILE*(const char*, const char*);
template <class Buffer>
using Stat = int(const char*, Buffer*);
template <class Buffer>
using StatAt = int(int, const char*, Buffer*, int);
template <class Buffer>
using OldStat = int(int, const char*, Buffer*);
template <class Buffer>
using OldStatAt = int(int, int, const char*, Buffer*, int);
template <class Entry>
using Scandir = int(const char*, Entry***, int (*)(const Entry*),
                    int (*)(const Entry**, const Entry**));

#define WEFT_LIBC(type, name) constinit Libc<type> libc_##name(#name)
WEFT_LIBC(Open, open);
WEFT_LIBC(Open, open64);
WEFT_LIBC(OpenAt, openat);
WEFT_LIBC(OpenAt, openat64);
WEFT_LIBC(OpenChecked, __open_2);
WEFT_LIBC(OpenChecked, __open64_2);
WEFT_LIBC(OpenAtChecked, __openat_2);
WEFT_LIBC(OpenAtChecked, __openat64_2);
WEFT_LIBC(Fopen, fopen);
WEFT_LIBC(Fopen, fopen64);
WEFT_LIBC(Stat<struct stat>, stat);
WEFT_LIBC(Stat<struct stat64>, stat64);
WEFT_LIBC(Stat<struct stat>, lstat);
WEFT_LIBC(Stat<struct stat64>, lstat64);
WEFT_LIBC(StatAt<struct stat>, fstatat);
WEFT_LIBC(StatAt<struct stat64>, fstatat64);
WEFT_LIBC(int(int, const char*, int, unsigned, struct statx*), statx);
WEFT_LIBC(int(const char*, int), access);
WEFT_LIBC(int(const char*, int), eaccess);
WEFT_LIBC(int(const char*, int), euidaccess);
WEFT_LIBC(int(int, const char*, int, int), faccessat);
WEFT_LIBC(DIR*(const char*), opendir);
WEFT_LIBC(Scandir<dirent>, scandir);
WEFT_LIBC(Scandir<dirent64>, scandir64);
WEFT_LIBC(ssize_t(const char*, char*, size_t), readlink);
WEFT_LIBC(ssize_t(int, const char*, char*, size_t), readlinkat);
WEFT_LIBC(char*(const char*, char*, size_t), __realpath_chk);
WEFT_LIBC(char*(const char*), canonicalize_file_name);
WEFT_LIBC(int(const char*), chdir);
#undef WEFT_LIBC
// The older of its two versions cannot allocate the result.
constinit Libc<char*(const char*, char*)> libc_realpath("realpath", "GLIBC_2.3");
// How stat() was called before glibc 2.33. Programs linked then still do.
constinit Libc<OldStat<struct stat>> libc_xstat("__xstat", "GLIBC_2.2.5");
constinit Libc<OldStat<struct stat64>> libc_xstat64("__xstat64", "GLIBC_2.2.5");
constinit Libc<OldStat<struct stat>> libc_lxstat("__lxstat", "GLIBC_2.2.5");
constinit Libc<OldStat<struct stat64>> libc_lxstat64("__lxstat64", "GLIBC_2.2.5");
constinit Libc<OldStatAt<struct stat>> libc_fxstatat("__fxstatat", "GLIBC_2.4");
constinit Libc<OldStatAt<struct stat64>> libc_fxstatat64("__fxstatat64", "GLIBC_2.4");

constinit Libc<void(int)> libc__exit("_exit");

// The mode of an open is there only when a file may be made.
mode_t mode_of(int flags, va_list arguments) {
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return creates ? va_arg(arguments, mode_t) : 0;
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return libc_open.get()(Mapped(path), flags, mode);
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return libc_open64.get()(Mapped(path), flags, mode);
}
int openat(int at, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return libc_openat.get()(at, Mapped(path), flags, mode);
}
int openat64(int at, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = mode_of(flags, arguments);
  va_end(arguments);
  return libc_openat64.get()(at, Mapped(path), flags, mode);
}

// What open() becomes under _FORTIFY_SOURCE.
int __open_2(const char* path, int flags) {
  return libc___open_2.get()(Mapped(path), flags);
}
int __open64_2(const char* path, int flags) {
  return libc___open64_2.get()(Mapped(path), flags);
}
int __openat_2(int at, const char* path, int flags) {
  return libc___openat_2.get()(at, Mapped(path), flags);
}
int __openat64_2(int at, const char* path, int flags) {
  return libc___openat64_2.get()(at, Mapped(path), flags);
}

FILE* fopen(const char* path, const char* mode) {
  return libc_fopen.get()(Mapped(path), mode);
}
FILE* fopen64(const char* path, const char* mode) {
  return libc_fopen64.get()(Mapped(path), mode);
}

int stat(const char* path, struct stat* out) noexcept {
  return libc_stat.get()(Mapped(path), out);
}
int stat64(const char* path, struct stat64* out) noexcept {
  return libc_stat64.get()(Mapped(path), out);
}
int lstat(const char* path, struct stat* out) noexcept {
  return libc_lstat.get()(Mapped(path), out);
}
int lstat64(const char* path, struct stat64* out) noexcept {
  return libc_lstat64.get()(Mapped(path), out);
}
int fstatat(int at, const char* path, struct stat* out, int flags) noexcept {
  return libc_fstatat.get()(at, Mapped(path), out, flags);
}
int fstatat64(int at, const char* path, struct stat64* out, int flags) noexcept {
  return libc_fstatat64.get()(at, Mapped(path), out, flags);
}
int statx(int at, const char* path, int flags, unsigned mask, struct statx* out) noexcept {
  return libc_statx.get()(at, Mapped(path), flags, mask, out);
}
int __xstat(int version, const char* path, struct stat* out) {
  return libc_xstat.get()(version, Mapped(path), out);
}
int __xstat64(int version, const char* path, struct stat64* out) {
  return libc_xstat64.get()(version, Mapped(path), out);
}
int __lxstat(int version, const char* path, struct stat* out) {
  return libc_lxstat.get()(version, Mapped(path), out);
}
int __lxstat64(int version, const char* path, struct stat64* out) {
  return libc_lxstat64.get()(version, Mapped(path), out);
}
int __fxstatat(int version, int at, const char* path, struct stat* out, int flags) {
  return libc_fxstatat.get()(version, at, Mapped(path), out, flags);
}
int __fxstatat64(int version, int at, const char* path, struct stat64* out, int flags) {
  return libc_fxstatat64.get()(version, at, Mapped(path), out, flags);
}

int access(const char* path, int mode) noexcept {
  return libc_access.get()(Mapped(path), mode);
}
int eaccess(const char* path, int mode) noexcept {
  return libc_eaccess.get()(Mapped(path), mode);
}
int euidaccess(const char* path, int mode) noexcept {
  return libc_euidaccess.get()(Mapped(path), mode);
}
int faccessat(int at, const char* path, int mode, int flags) noexcept {
  return libc_faccessat.get()(at, Mapped(path), mode, flags);
}

DIR* opendir(const char* path) {
  return libc_opendir.get()(Mapped(path));
}
int scandir(const char* path, dirent*** out, int (*select)(const dirent*),
            int (*order)(const dirent**, const dirent**)) {
  return libc_scandir.get()(Mapped(path), out, select, order);
}
int scandir64(const char* path, dirent64*** out, int (*select)(const dirent64*),
              int (*order)(const dirent64**, const dirent64**)) {
  return libc_scandir64.get()(Mapped(path), out, select, order);
}

ssize_t readlink(const char* path, char* out, size_t size) noexcept {
  return libc_readlink.get()(Mapped(path), out, size);
}
ssize_t readlinkat(int at, const char* path, char* out, size_t size) noexcept {
  return libc_readlinkat.get()(at, Mapped(path), out, size);
}
char* realpath(const char* path, char* out) noexcept {
  return libc_realpath.get()(Mapped(path), out);
}
char* __realpath_chk(const char* path, char* out, size_t size) noexcept {
  return libc___realpath_chk.get()(Mapped(path), out, size);
}
char* canonicalize_file_name(const char* path) noexcept {
  return libc_canonicalize_file_name.get()(Mapped(path));
}

// Set by libibverbs.so.1, which stays where it was loaded: what to do before a process ends.
void (*weft_before_exit)() = nullptr;

// An adapter has acknowledged what a program has seen arrive. Here the process itself does, which
// it could not any more.
void _exit(int status) {
  void (*const before)() = __atomic_load_n(&weft_before_exit, __ATOMIC_ACQUIRE);
  if (before != nullptr) before();
  libc__exit.get()(status);
  __builtin_unreachable();
}
void _Exit(int status) noexcept {
  _exit(status);
}

// Scripts change into the directory and read from there.
int chdir(const char* path) noexcept {
  return libc_chdir.get()(Mapped(path));
}

}  // extern "C"
#pragma GCC visibility pop
