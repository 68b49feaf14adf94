// SPDX-License-Identifier: Apache-2.0
#include "cli/program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "io/unique_fd.h"

namespace weft::cli {
namespace {

// The kernel gives up after as many interpreters of interpreters.
constexpr int kMostInterpreters = 5;
// The kernel reads this much of a file to find its interpreter.
constexpr std::size_t kHeadBytes = 256;

tl::unexpected<ProgramFault> fault(Obstacle obstacle, std::string what, std::string remedy) {
  return tl::unexpected(ProgramFault{obstacle, std::move(what), std::move(remedy)});
}

tl::expected<void, ProgramFault> check_executable(const std::string& path) {
  struct stat file {};
  if (stat(path.c_str(), &file) != 0) {
    const std::string why = std::generic_category().message(errno);
    return fault(Obstacle::kNotFound, fmt::format("{}: {}", path, why), "check the path");
  }
  if (S_ISDIR(file.st_mode)) {
    return fault(Obstacle::kNotExecutable, path + ": is a directory", "name a program in it");
  }
  if (!S_ISREG(file.st_mode)) {
    return fault(Obstacle::kNotExecutable, path + ": is no regular file", "name a program");
  }
  if (faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) != 0) {
    return fault(Obstacle::kNotExecutable, path + ": you may not execute it",
                 fmt::format("chmod +x {}", path));
  }
  return {};
}

// The kernel's AT_SECURE: the loader then forgets LD_PRELOAD and LD_LIBRARY_PATH.
tl::expected<void, ProgramFault> check_unprivileged(const std::string& path) {
  struct stat file {};
  struct statvfs mount {};
  if (stat(path.c_str(), &file) != 0 || statvfs(path.c_str(), &mount) != 0) return {};
  if ((mount.f_flag & ST_NOSUID) != 0 || prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1) return {};
  const char* bits = nullptr;
  constexpr mode_t kSetgid = S_ISGID | S_IXGRP;  // without the x bit it means mandatory locking
  if ((file.st_mode & S_ISUID) != 0 && file.st_uid != getuid()) {
    bits = "setuid";
  } else if ((file.st_mode & kSetgid) == kSetgid && file.st_gid != getgid()) {
    bits = "setgid";
  } else if (getuid() != 0 && getxattr(path.c_str(), "security.capability", nullptr, 0) > 0) {
    bits = "given capabilities";
  }
  if (bits == nullptr) return {};
  return fault(Obstacle::kPrivileged,
               fmt::format("{}: it is {}, so the loader ignores other libraries in it", path, bits),
               "run a copy of it (cp drops the privilege), or run as root");
}

const ElfFile& own_elf() {
  static const ElfFile elf = [] {
    const auto read = read_elf("/proc/self/exe");
    return read && *read ? **read : ElfFile{};
  }();
  return elf;
}

tl::expected<void, ProgramFault> check_elf(const std::string& path, const ElfFile& elf) {
  const ElfFile& own = own_elf();
  if (own.machine != 0 && (elf.machine != own.machine || elf.word_bits != own.word_bits)) {
    return fault(Obstacle::kOtherMachine,
                 fmt::format("{}: it is for {} ({} bits), Weft's libraries for {} ({} bits)", path,
                             machine_name(elf.machine), elf.word_bits, machine_name(own.machine),
                             own.word_bits),
                 "build Weft for that machine too");
  }
  if (!elf.uses_loader()) {
    return fault(Obstacle::kStaticallyLinked,
                 path + ": it is statically linked, so no library can be put under it",
                 "link it dynamically with libibverbs (leave out -static)");
  }
  if (elf.interpreter.find("ld-musl") != std::string::npos) {
    return fault(Obstacle::kOtherLoader,
                 fmt::format("{}: it is linked with musl ({}), Weft's libraries with glibc", path,
                             elf.interpreter),
                 "use a build of it for glibc");
  }
  if (access(elf.interpreter.c_str(), X_OK) != 0) {
    return fault(Obstacle::kOtherLoader,
                 fmt::format("{}: its loader {} is not there", path, elf.interpreter),
                 "install the C library it was linked with");
  }
  return {};
}

struct Interpreter {
  std::string path;
  std::string argument;
};

// Of a `#!` line; an empty path when the file begins with something else. Text without such a line
// is what execvp hands to /bin/sh.
tl::expected<Interpreter, ProgramFault> read_interpreter(const std::string& path) {
  const io::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  std::array<char, kHeadBytes> buffer{};
  const ssize_t got = fd ? read(fd.get(), buffer.data(), buffer.size()) : -1;
  if (got < 0) {
    return fault(Obstacle::kNotExecutable,
                 fmt::format("{}: {}", path, std::generic_category().message(errno)),
                 "make it readable");
  }
  const std::string_view head(buffer.data(), static_cast<std::size_t>(got));
  if (!head.starts_with("#!")) {
    if (head.find('\0') == std::string_view::npos) return Interpreter{"/bin/sh", ""};
    return fault(Obstacle::kDamaged, path + ": is neither an ELF program nor a script",
                 "name a program of this machine");
  }
  const std::string_view line = head.substr(2, head.find('\n') - 2);
  constexpr std::string_view kBlank = " \t\r";
  const std::size_t begin = std::min(line.find_first_not_of(kBlank), line.size());
  const std::size_t end = std::min(line.find_first_of(kBlank, begin), line.size());
  const std::size_t rest = std::min(line.find_first_not_of(kBlank, end), line.size());
  if (begin == end) {
    return fault(Obstacle::kDamaged, path + ": its #! line names no interpreter",
                 "write #!/bin/sh, for example");
  }
  return Interpreter{std::string(line.substr(begin, end - begin)), std::string(line.substr(rest))};
}

// The program that `env` will run: the first word that is no option and no assignment.
std::string program_of_env(std::string_view argument) {
  constexpr std::string_view kBlank = " \t\r";
  while (true) {
    const std::size_t begin = argument.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    argument.remove_prefix(begin);
    const std::string_view word = argument.substr(0, argument.find_first_of(kBlank));
    if (!word.starts_with('-') && word.find('=') == std::string_view::npos) {
      return std::string(word);
    }
    argument.remove_prefix(word.size());
  }
}

bool is_env(std::string_view path) {
  return path == "env" || path.ends_with("/env");
}

}  // namespace

std::string program_search_path() {
  const char* path = std::getenv("PATH");
  return path != nullptr ? path : "/bin:/usr/bin";
}

tl::expected<std::string, ProgramFault> find_program(std::string_view name,
                                                     std::string_view search_path) {
  if (name.empty()) return fault(Obstacle::kNotFound, "the program's name is empty", "name one");
  if (name.find('/') != std::string_view::npos) {
    const std::string path(name);
    if (auto fit = check_executable(path); !fit) return tl::unexpected(fit.error());
    return path;
  }
  std::optional<ProgramFault> nearly;
  for (std::string_view rest = search_path;;) {
    const std::size_t colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    const std::string path = fmt::format("{}/{}", folder.empty() ? "." : folder, name);
    const auto fit = check_executable(path);
    if (fit) return path;
    if (fit.error().obstacle != Obstacle::kNotFound && !nearly) nearly = fit.error();
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (nearly) return tl::unexpected(*nearly);
  return fault(Obstacle::kNotFound, fmt::format("{}: no such program in PATH", name),
               "install it, or give its path");
}

tl::expected<Program, ProgramFault> inspect_program(std::string_view name,
                                                    std::string_view search_path) {
  const auto found = find_program(name, search_path);
  if (!found) return tl::unexpected(found.error());
  Program program{*found, *found, {}, false};
  for (int depth = 0; depth <= kMostInterpreters; ++depth) {
    // A file that one may execute but not read counts as a program that is as it should be.
    const bool readable = access(program.image.c_str(), R_OK) == 0;
    const auto elf = readable ? read_elf(program.image) : ElfFile{};
    if (!elf) return fault(Obstacle::kDamaged, elf.error().message, "build it again");
    if (*elf) {
      if (auto fit = check_unprivileged(program.image); !fit) return tl::unexpected(fit.error());
      if (auto fit = check_elf(program.image, **elf); readable && !fit) {
        return tl::unexpected(fit.error());
      }
      program.elf = **elf;
      return program;
    }
    program.script = true;
    auto interpreter = read_interpreter(program.image);
    if (!interpreter) return tl::unexpected(interpreter.error());
    auto next =
        find_program(interpreter->path.find('/') == std::string::npos ? "./" + interpreter->path
                                                                      : interpreter->path,
                     search_path);
    const std::string by_env =
        is_env(interpreter->path) ? program_of_env(interpreter->argument) : std::string();
    if (next && !by_env.empty()) next = find_program(by_env, search_path);
    if (!next) {
      next.error().what = fmt::format("{}: its interpreter {}", program.image, next.error().what);
      return tl::unexpected(next.error());
    }
    program.image = *next;
  }
  return fault(Obstacle::kDamaged, program.path + ": its #! lines lead to no program",
               "name an ELF program as the interpreter");
}

}  // namespace weft::cli
