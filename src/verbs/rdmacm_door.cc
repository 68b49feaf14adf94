// SPDX-License-Identifier: Apache-2.0
// Open rdma_cm files of this process and what is said to the agent about them. No C++ runtime, and
// system calls made directly: other preloaded libraries (librspreload) have their own ideas of
// socket() and close().
#include "verbs/rdmacm_door.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/rdma_user_cm.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "host/agent_start.h"
#include "host/door.h"
#include "verbs/libc_function.h"

namespace weft::verbs {

namespace door = host::door;
using host::connect_to_agent;

// `mutex` lets one thread at a time talk to the agent.
struct DoorFile {
  pthread_mutex_t mutex;
  unsigned references;  // by the table and by threads at work, under table_mutex
  int socket;
  int events;   // the program's file under a number of ours, which outlives the program's
  pid_t owner;  // who made the connection: a forked child makes its own
  uint64_t id;
  uint64_t secret;
  ino_t inode;  // of the descriptor that the program has
};

namespace {

constexpr int kMostDescriptors = 1 << 16;
// Where the connection to the agent is kept: out of the way of programs that count on small numbers
// for what they open.
constexpr int kHiddenFrom = 200;
// What the program gets. Not the lowest number that is free: the select() of librspreload, before
// rdma-core 63, takes a descriptor of librdmacm for the program's own socket if its number is lower
// than the socket's. Small enough for an fd_set.
constexpr int kEventsFrom = 512;
// An agent that is about to end may take a connection and not answer any more: the next one will.
constexpr int kGreetings = 3;
constexpr const char* kFault = "WEFT_FAULT";
constexpr const char* kCapture = "WEFT_CAPTURE";

// Where a program waits for events: it may be interrupted or cancelled there, as in any read().
constinit Libc<ssize_t(int, void*, size_t, int)> libc_recv("recv");

DoorFile* table[kMostDescriptors];
pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;

long status_of(int fd, struct stat* out) {
  return syscall(SYS_fstat, fd, out);
}

void release(DoorFile* file) {
  pthread_mutex_lock(&table_mutex);
  const bool last = --file->references == 0;
  pthread_mutex_unlock(&table_mutex);
  if (!last) return;
  syscall(SYS_close, file->socket);
  syscall(SYS_close, file->events);
  pthread_mutex_destroy(&file->mutex);
  free(file);
}

void before_fork() {
  pthread_mutex_lock(&table_mutex);
}
void after_fork() {
  pthread_mutex_unlock(&table_mutex);
}
// Other threads are not here: what they had locked and referred to is free.
void in_child() {
  for (int fd = 0; fd < kMostDescriptors; ++fd) {
    if (table[fd] == nullptr) continue;
    table[fd]->mutex = PTHREAD_MUTEX_INITIALIZER;
    table[fd]->references = 1;
  }
  pthread_mutex_unlock(&table_mutex);
}

// A signal or a cancelled thread must not leave half an exchange behind.
class Uninterrupted {
 public:
  Uninterrupted() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~Uninterrupted() { pthread_setcancelstate(before_, nullptr); }

 private:
  int before_;
};

// errno of the system call, or 0.
int send_all(int socket, const iovec* pieces, size_t count) {
  msghdr message = {};
  message.msg_iov = const_cast<iovec*>(pieces);
  message.msg_iovlen = count;
  long sent = 0;
  do {
    sent = syscall(SYS_sendmsg, socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent < 0 ? errno : 0;
}

// The next message into `pieces`; its size, or -errno. `descriptor`: one that came with it.
long receive(int socket, iovec* pieces, size_t count, int* descriptor) {
  alignas(cmsghdr) char control[CMSG_LEN(sizeof(int))];
  msghdr message = {};
  message.msg_iov = pieces;
  message.msg_iovlen = count;
  if (descriptor != nullptr) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    *descriptor = -1;
  }
  long got = 0;
  do {
    got = syscall(SYS_recvmsg, socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) return -errno;
  if (got == 0) return -ECONNRESET;  // the agent is gone
  const cmsghdr* header = descriptor != nullptr ? CMSG_FIRSTHDR(&message) : nullptr;
  if (header != nullptr && header->cmsg_type == SCM_RIGHTS) {
    memcpy(descriptor, CMSG_DATA(header), sizeof *descriptor);
  }
  return got;
}

uint32_t number_from(const char* name, uint32_t otherwise) {
  const char* text = getenv(name);
  return text != nullptr && *text != '\0' ? static_cast<uint32_t>(strtoul(text, nullptr, 10))
                                          : otherwise;
}

uint32_t wire_of_environment() {
  const char* wire = getenv("WEFT_WIRE");
  if (wire == nullptr || *wire == '\0' || strcmp(wire, "udp") == 0) return door::kWireUdp;
  return strcmp(wire, "roce") == 0 ? door::kWireRoce : UINT32_MAX;
}

const char* text_from(const char* name) {
  const char* text = getenv(name);
  return text != nullptr ? text : "";
}

int greet_once(const door::Hello& hello, door::Welcome* welcome, int* descriptor) {
  const int socket = hello.node[0] != '\0' ? host::connect_to_lab() : connect_to_agent();
  if (socket < 0) return socket;
  const iovec out[] = {{const_cast<door::Hello*>(&hello), sizeof hello},
                       {const_cast<char*>(text_from(kFault)), hello.fault_size},
                       {const_cast<char*>(text_from(kCapture)), hello.capture_size}};
  iovec in{welcome, sizeof *welcome};
  long got = -send_all(socket, out, 3);
  if (got == 0) got = receive(socket, &in, 1, descriptor);
  if (got >= 0 && got != static_cast<long>(sizeof *welcome)) got = -EPROTO;
  if (got >= 0 && welcome->error != 0) got = -welcome->error;
  if (got >= 0) return socket;
  syscall(SYS_close, socket);
  return static_cast<int>(got);
}

// Says hello over a new connection: its number, or -errno.
int greet(const door::Hello& hello, door::Welcome* welcome, int* descriptor) {
  int result = -ECONNRESET;
  for (int i = 0; i < kGreetings && (result == -ECONNRESET || result == -EPIPE); ++i)
    result = greet_once(hello, welcome, descriptor);
  return result;
}

door::Hello hello_for(door::Purpose purpose) {
  door::Hello hello = {};
  hello.magic = door::kMagic;
  hello.version = door::kVersion;
  hello.purpose = purpose;
  const char* node = host::node_of_lab();
  if (node != nullptr) snprintf(hello.node, sizeof hello.node, "%s", node);
  hello.wire = wire_of_environment();
  hello.cm_port = number_from("WEFT_CM_PORT", door::kDefaultCmPort);
  return hello;
}

void say(const char* message) {
  char line[sizeof(door::Welcome::message) + 32];
  const int length = snprintf(line, sizeof line, "weft: rdma_cm: %s\n", message);
  if (length > 0) syscall(SYS_write, STDERR_FILENO, line, static_cast<size_t>(length));
}

int fail_with(int error) {
  errno = error;
  return -1;
}

// The same under a number of at least `from`, if there is one that is free.
int move_up(int fd, int from) {
  const long moved = fd >= 0 ? syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, from) : -1;
  if (moved < 0) return fd;
  syscall(SYS_close, fd);
  return static_cast<int>(moved);
}

bool enter(int fd, int socket, const door::Welcome& welcome) {
  struct stat status;
  if (fd >= kMostDescriptors || status_of(fd, &status) != 0) return false;
  auto* file = static_cast<DoorFile*>(calloc(1, sizeof(DoorFile)));
  if (file == nullptr) return false;
  file->events = static_cast<int>(syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kHiddenFrom));
  if (file->events < 0) {
    free(file);
    return false;
  }
  pthread_mutex_init(&file->mutex, nullptr);
  file->references = 1;
  file->socket = socket;
  file->owner = getpid();
  file->id = welcome.file;
  file->secret = welcome.secret;
  file->inode = status.st_ino;
  pthread_mutex_lock(&table_mutex);
  DoorFile* stale = table[fd];
  table[fd] = file;
  pthread_mutex_unlock(&table_mutex);
  if (stale != nullptr) release(stale);
  return true;
}

// A forked child does not share its parent's connection: their questions would get each other's
// answers. What it inherited stays open until then, so that the file lives on.
int join(DoorFile* file) {
  if (file->owner == getpid()) return 0;
  door::Hello hello = hello_for(door::kJoin);
  hello.file = file->id;
  hello.secret = file->secret;
  door::Welcome welcome = {};
  int spare = -1;
  const int socket = greet(hello, &welcome, &spare);
  if (spare >= 0) syscall(SYS_close, spare);
  if (socket < 0) return -socket;
  // Under the old number, which stays out of the program's way.
  syscall(SYS_dup3, socket, file->socket, O_CLOEXEC);
  syscall(SYS_close, socket);
  file->owner = getpid();
  return 0;
}

struct Command {
  const void* bytes;
  size_t size;
  const void* extra;
  size_t extra_size;
  uint64_t other;
  void* response;
  size_t response_size;
};

// One question and its answer; errno of the answer, or of what went wrong on the way.
int exchange(DoorFile* file, const Command& command) {
  const Uninterrupted here;
  pthread_mutex_lock(&file->mutex);
  int error = join(file);
  door::Answer answer = {};
  char response[door::kMostResponse];
  if (error == 0) {
    const door::Request request{static_cast<uint32_t>(command.size),
                                static_cast<uint32_t>(command.extra_size), command.other};
    const iovec out[] = {{const_cast<door::Request*>(&request), sizeof request},
                         {const_cast<void*>(command.bytes), command.size},
                         {const_cast<void*>(command.extra), command.extra_size}};
    error = send_all(file->socket, out, 3);
  }
  if (error == 0) {
    iovec in[] = {{&answer, sizeof answer}, {response, sizeof response}};
    const long got = receive(file->socket, in, 2, nullptr);
    if (got < 0) {
      error = static_cast<int>(-got);
    } else if (got != static_cast<long>(sizeof answer + answer.size)) {
      error = EPROTO;
    }
  }
  pthread_mutex_unlock(&file->mutex);
  if (error != 0) return error;
  if (answer.error != 0) return answer.error;
  if (answer.size > command.response_size) return EPROTO;
  if (answer.size > 0) memcpy(command.response, response, answer.size);
  return 0;
}

// Fills in what a command's pointers and descriptors stand for; errno, or 0.
int prepare(Command* command) {
  rdma_ucm_cmd_hdr header;
  if (command->size < sizeof header || command->size > door::kMostCommand) return EINVAL;
  memcpy(&header, command->bytes, sizeof header);
  const char* body = static_cast<const char*>(command->bytes) + sizeof header;
  const size_t size = command->size - sizeof header;
  if (header.in > size) return EINVAL;

  // The response pointer comes first in all commands that have one but this one.
  const size_t at =
      header.cmd == RDMA_USER_CM_CMD_CREATE_ID ? offsetof(rdma_ucm_create_id, response) : 0;
  uint64_t pointer = 0;
  if (header.out > 0 && size >= at + sizeof pointer) {
    memcpy(&pointer, body + at, sizeof pointer);
    // NOLINTNEXTLINE(performance-no-int-to-ptr): the command carries addresses as numbers
    command->response = reinterpret_cast<void*>(pointer);
    command->response_size = header.out;
  }
  if (header.cmd == RDMA_USER_CM_CMD_SET_OPTION && size >= sizeof(rdma_ucm_set_option)) {
    rdma_ucm_set_option option;
    memcpy(&option, body, sizeof option);
    if (option.optlen > door::kMostExtra) return EINVAL;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): as above
    command->extra = reinterpret_cast<const void*>(option.optval);
    command->extra_size = option.optlen;
  }
  if (header.cmd == RDMA_USER_CM_CMD_MIGRATE_ID && size >= sizeof(rdma_ucm_migrate_id)) {
    rdma_ucm_migrate_id migrate;
    memcpy(&migrate, body, sizeof migrate);
    DoorFile* from = acquire_door(static_cast<int>(migrate.fd));
    if (from == nullptr) return ENOENT;
    command->other = from->id;
    release(from);
  }
  return 0;
}

bool asks_for_event(const Command& command) {
  rdma_ucm_cmd_hdr header;
  memcpy(&header, command.bytes, sizeof header);
  return header.cmd == RDMA_USER_CM_CMD_GET_EVENT;
}

ssize_t run_command(DoorFile* file, const void* bytes, size_t size) {
  Command command = {};
  command.bytes = bytes;
  command.size = size;
  int error = prepare(&command);
  if (error == 0) error = exchange(file, command);
  return error == 0 ? static_cast<ssize_t>(size) : fail_with(error);
}

void give_up_waiting(void* file) {
  release(static_cast<DoorFile*>(file));
}

// Here a program waits, if its file blocks, and may be interrupted or cancelled. A program that
// closes its file meanwhile does not end the wait: to the kernel, too, who waits has it open. What
// is readable says that there is an event, and is the agent's to take away.
ssize_t take_event(DoorFile* file, const void* bytes, size_t size) {
  while (true) {
    char waiting = 0;
    ssize_t done = 0;
    pthread_cleanup_push(give_up_waiting, file);
    done = libc_recv.get()(file->events, &waiting, sizeof waiting, MSG_PEEK);
    pthread_cleanup_pop(0);
    if (done < 0) return done;
    done = run_command(file, bytes, size);
    if (done >= 0 || errno != EAGAIN) return done;
  }
}

__attribute__((constructor)) void prepare_for_fork() {
  pthread_atfork(before_fork, after_fork, in_child);
}

}  // namespace

bool may_be_door(int fd) {
  return fd >= 0 && fd < kMostDescriptors &&
         __atomic_load_n(&table[fd], __ATOMIC_RELAXED) != nullptr;
}

// Programs have ways of closing that are not hooked: a number that has come to mean something else
// is no file of ours any more.
DoorFile* acquire_door(int fd) {
  if (!may_be_door(fd)) return nullptr;
  struct stat status {};
  pthread_mutex_lock(&table_mutex);
  DoorFile* file = table[fd];
  const bool open = status_of(fd, &status) == 0;
  const bool same =
      file != nullptr && open && status.st_ino == file->inode && S_ISSOCK(status.st_mode);
  if (same) {
    ++file->references;
  } else {
    table[fd] = nullptr;
  }
  pthread_mutex_unlock(&table_mutex);
  if (file != nullptr && !same) release(file);
  return same ? file : nullptr;
}

int open_door(int flags) {
  static uint32_t files_opened = 0;
  const Uninterrupted here;
  door::Hello hello = hello_for(door::kOpen);
  hello.ordinal = __atomic_fetch_add(&files_opened, 1, __ATOMIC_RELAXED);
  const size_t fault_size = strlen(text_from(kFault));
  const size_t capture_size = strlen(text_from(kCapture));
  if (fault_size > door::kMostFault || capture_size > door::kMostCapture) return fail_with(E2BIG);
  hello.fault_size = static_cast<uint32_t>(fault_size);
  hello.capture_size = static_cast<uint32_t>(capture_size);
  door::Welcome welcome = {};
  int fd = -1;
  int socket = greet(hello, &welcome, &fd);
  if (socket < 0) {
    // librdmacm says no more than that memory is short.
    say(welcome.message[0] != '\0' ? welcome.message : strerrordesc_np(-socket));
    return fail_with(-socket);
  }
  socket = move_up(socket, kHiddenFrom);
  fd = move_up(fd, kEventsFrom);
  if ((flags & O_CLOEXEC) == 0) syscall(SYS_fcntl, fd, F_SETFD, 0);
  if ((flags & O_NONBLOCK) != 0) syscall(SYS_fcntl, fd, F_SETFL, O_RDWR | O_NONBLOCK);
  if (fd >= 0 && enter(fd, socket, welcome)) return fd;
  syscall(SYS_close, socket);
  if (fd >= 0) syscall(SYS_close, fd);
  return fail_with(EMFILE);
}

ssize_t write_to_door(DoorFile* file, const void* bytes, size_t size) {
  Command command = {};
  command.bytes = bytes;
  const bool event = size >= sizeof(rdma_ucm_cmd_hdr) && asks_for_event(command);
  const ssize_t written = event ? take_event(file, bytes, size) : run_command(file, bytes, size);
  const int error = errno;
  release(file);
  errno = error;
  return written;
}

// In one step for other threads: what they write goes to the agent or nowhere, never to what was a
// file of ours.
int close_door(int fd) {
  const Uninterrupted here;
  pthread_mutex_lock(&table_mutex);
  const long closed = syscall(SYS_close, fd);
  const int error = errno;
  DoorFile* const file = table[fd];
  table[fd] = nullptr;
  pthread_mutex_unlock(&table_mutex);
  if (file != nullptr) release(file);
  errno = error;
  return static_cast<int>(closed);
}

}  // namespace weft::verbs
