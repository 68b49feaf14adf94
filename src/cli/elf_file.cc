// SPDX-License-Identifier: Apache-2.0
#include "cli/elf_file.h"

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <type_traits>

#include "io/unique_fd.h"

namespace weft::cli {
namespace {

// Limits on what a file may make us read; real programs stay far below.
constexpr std::size_t kMostSegments = 512;
constexpr std::uint64_t kMostDynamicBytes = 1u << 20;
constexpr std::size_t kLongestString = 4096;

class Reader {
 public:
  Reader(int fd, const std::string& path) : fd_(fd), path_(path) {}

  template <class T>
  [[nodiscard]] Expected<T> at(std::uint64_t offset) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (!read(&value, sizeof value, offset)) return damaged("ends in the middle of a table");
    return value;
  }

  [[nodiscard]] Expected<std::string> text_at(std::uint64_t offset) const {
    std::string text(kLongestString, '\0');
    const ssize_t got = pread(fd_, text.data(), text.size(), static_cast<off_t>(offset));
    const std::size_t end = got > 0 ? text.find('\0') : std::string::npos;
    if (end == std::string::npos || end >= static_cast<std::size_t>(got)) {
      return damaged("has a name without an end");
    }
    text.resize(end);
    return text;
  }

  [[nodiscard]] tl::unexpected<Error> damaged(const char* how) const {
    return fail(std::errc::invalid_argument,
                fmt::format("{}: a damaged ELF file: it {}", path_, how));
  }

  bool read(void* to, std::size_t size, std::uint64_t offset) const {
    if (offset > static_cast<std::uint64_t>(INT64_MAX) - size) return false;
    return pread(fd_, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  }

 private:
  int fd_;
  const std::string& path_;
};

template <class Phdr>
std::optional<std::uint64_t> file_offset(const std::vector<Phdr>& segments, std::uint64_t address) {
  for (const Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return address - segment.p_vaddr + segment.p_offset;
    }
  }
  return std::nullopt;
}

template <class Phdr, class Dyn>
Expected<void> read_needed(const Reader& reader, const std::vector<Phdr>& segments,
                           const Phdr& dynamic, ElfFile& out) {
  std::vector<std::uint64_t> names;
  std::optional<std::uint64_t> strings;
  const std::uint64_t size = std::min<std::uint64_t>(dynamic.p_filesz, kMostDynamicBytes);
  for (std::uint64_t at = 0; at + sizeof(Dyn) <= size; at += sizeof(Dyn)) {
    const auto entry = reader.at<Dyn>(dynamic.p_offset + at);
    if (!entry) return tl::unexpected(entry.error());
    if (entry->d_tag == DT_NULL) break;
    if (entry->d_tag == DT_NEEDED) names.push_back(entry->d_un.d_val);
    if (entry->d_tag == DT_STRTAB) strings = file_offset(segments, entry->d_un.d_ptr);
  }
  if (names.empty()) return {};
  if (!strings) return reader.damaged("has no string table");
  for (const std::uint64_t name : names) {
    auto text = reader.text_at(*strings + name);
    if (!text) return tl::unexpected(text.error());
    out.needed.push_back(std::move(*text));
  }
  return {};
}

template <class Ehdr, class Phdr, class Dyn>
Expected<void> read_tables(const Reader& reader, ElfFile& out) {
  const auto header = reader.at<Ehdr>(0);
  if (!header) return tl::unexpected(header.error());
  if (header->e_phnum > kMostSegments || (header->e_phnum && header->e_phentsize != sizeof(Phdr))) {
    return reader.damaged("has an impossible table of segments");
  }
  std::vector<Phdr> segments;
  for (std::size_t i = 0; i < header->e_phnum; ++i) {
    const auto segment = reader.at<Phdr>(header->e_phoff + i * sizeof(Phdr));
    if (!segment) return tl::unexpected(segment.error());
    segments.push_back(*segment);
  }
  for (const Phdr& segment : segments) {
    if (segment.p_type == PT_INTERP) {
      auto text = reader.text_at(segment.p_offset);
      if (!text) return tl::unexpected(text.error());
      out.interpreter = std::move(*text);
    } else if (segment.p_type == PT_DYNAMIC) {
      if (auto done = read_needed<Phdr, Dyn>(reader, segments, segment, out); !done) return done;
    }
  }
  return {};
}

}  // namespace

bool ElfFile::needs(std::string_view prefix) const {
  return std::any_of(needed.begin(), needed.end(),
                     [&](const std::string& name) { return name.starts_with(prefix); });
}

Expected<std::optional<ElfFile>> read_elf(const std::string& path) {
  const io::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd) return fail_errno(errno, path);
  const Reader reader(fd.get(), path);
  unsigned char ident[EI_NIDENT] = {};
  if (!reader.read(ident, sizeof ident, 0) || std::memcmp(ident, ELFMAG, SELFMAG) != 0) {
    return std::nullopt;
  }
  ElfFile out;
  out.word_bits = ident[EI_CLASS] == ELFCLASS64 ? 64 : 32;
  constexpr bool kLittle = std::endian::native == std::endian::little;
  const bool same_order = ident[EI_DATA] == (kLittle ? ELFDATA2LSB : ELFDATA2MSB);
  const auto machine = reader.at<std::uint16_t>(offsetof(Elf64_Ehdr, e_machine));
  if (!machine) return tl::unexpected(machine.error());
  out.machine = same_order ? *machine : static_cast<std::uint16_t>(*machine >> 8 | *machine << 8);
  if (!same_order) return out;
  const auto read = out.word_bits == 64
                        ? read_tables<Elf64_Ehdr, Elf64_Phdr, Elf64_Dyn>(reader, out)
                        : read_tables<Elf32_Ehdr, Elf32_Phdr, Elf32_Dyn>(reader, out);
  if (!read) return tl::unexpected(read.error());
  return out;
}

std::string machine_name(std::uint16_t machine) {
  switch (machine) {
    case EM_386:
      return "i386";
    case EM_X86_64:
      return "x86-64";
    case EM_ARM:
      return "ARM";
    case EM_AARCH64:
      return "AArch64";
    case EM_PPC64:
      return "PowerPC 64";
    case EM_S390:
      return "S/390";
    case EM_RISCV:
      return "RISC-V";
    default:
      return fmt::format("machine {}", machine);
  }
}

}  // namespace weft::cli
