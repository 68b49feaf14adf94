// SPDX-License-Identifier: Apache-2.0
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "cli/counter_meaning.h"
#include "cli/elf_file.h"
#include "cli/launch.h"
#include "cli/proc_files.h"
#include "cli/program.h"
#include "cli/report_client.h"
#include "cli/suggest.h"
#include "cli/table.h"
#include "io/unix_socket.h"

namespace weft::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kCommands{"run", "devices", "doctor", "resource", "help"};

TEST(CounterMeaning, IsKnownOfAllThatAreCalledOrdinary) {
  for (const std::string_view name : ordinary_counters()) {
    EXPECT_FALSE(meaning_of(name).empty()) << name << " is no counter";
  }
  EXPECT_TRUE(is_ordinary("tx_packets"));
}

TEST(CounterMeaning, TakesEveryDropForTrouble) {
  std::size_t drops = 0;
  for (const auto layer : all_counters()) {
    for (const CounterInfo& info : layer) {
      if (!info.help.starts_with("dropped") && !info.help.starts_with("lost")) continue;
      EXPECT_FALSE(is_ordinary(info.name)) << info.name;
      ++drops;
    }
  }
  EXPECT_GT(drops, 20u);
  EXPECT_FALSE(is_ordinary("tx_retransmitted"));
  EXPECT_FALSE(is_ordinary("of another version"));
}

TEST(Suggest, FindsTheWordThatWasMeant) {
  EXPECT_EQ(closest("devcies", kCommands), "devices");  // neighbours swapped
  EXPECT_EQ(closest("doktor", kCommands), "doctor");
  EXPECT_EQ(closest("resources", kCommands), "resource");
  EXPECT_EQ(closest("res", kCommands), "resource");
  EXPECT_EQ(closest("rnu", kCommands), "run");
}

TEST(Suggest, IsSilentWhenNothingIsNear) {
  EXPECT_EQ(closest("frobnicate", kCommands), std::nullopt);
  EXPECT_EQ(closest("", kCommands), std::nullopt);
  EXPECT_EQ(closest(std::string(10'000, 'r'), kCommands), std::nullopt);
}

TEST(ProcFiles, ReadPortRanges) {
  const auto pair = parse_port_pair("32768\t60999\n");
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->first, 32768);
  EXPECT_EQ(pair->last, 60999);
  EXPECT_FALSE(parse_port_pair("60999 32768"));
  EXPECT_FALSE(parse_port_pair(""));
  const auto list = parse_port_list("80,4791-4800,x,65535\n");
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[1].first, 4791);
  EXPECT_EQ(list[1].last, 4800);
  EXPECT_EQ(list[2].last, 65535);
  EXPECT_THAT(parse_port_list("\n"), IsEmpty());
}

TEST(ProcFiles, ReadTheLocalPortsOfSockets) {
  EXPECT_THAT(parse_used_ports("  sl  local_address rem_address   st\n"
                               "  418: 0100007F:C000 00000000:0000 07 00000000:00000000\n"
                               " 4190: 00000000000000000000000001000000:FFFE 0000:0000 07\n"
                               "garbage: x\n"),
              ElementsAre(0xC000, 0xFFFE));
}

TEST(ProcFiles, CountPortsThatTheKernelGivesToOthers) {
  const PortRange range{49152, 65534};
  EXPECT_EQ(count_shared(range, {32768, 60999}, {}), 60999u - 49152 + 1);
  EXPECT_EQ(count_shared(range, {32768, 60999}, {{49152, 65535}}), 0u);
  EXPECT_EQ(count_shared(range, {32768, 49152}, {}), 1u);
  EXPECT_EQ(count_shared(range, {32768, 49151}, {}), 0u);
  EXPECT_EQ(count_shared({65534, 65535}, {1, 65535}, {}), 2u);
}

TEST(TableLayout, AlignsColumnsAndLeavesNoBlanksAtTheEnd) {
  Table table({"A", "LONG"});
  table.add({"wide", ""});
  EXPECT_EQ(table.to_string(Style::plain()), "A     LONG\nwide\n");
}

host::Config reading(const char* capture, host::Wire wire) {
  host::Config config;
  config.capture = capture;
  config.first_port = 50000;
  config.wire = wire;
  return config;
}

TEST(Tshark, CommandDecodesThePortsOfTheRangeAndMulticast) {
  const std::string command = tshark_command(reading("a.pcapng", host::Wire::kUdp));
  EXPECT_THAT(command, HasSubstr("-r a.pcapng"));
  EXPECT_THAT(command, HasSubstr("-d udp.port==50000-65535,infiniband"));
  EXPECT_THAT(command, HasSubstr("-d udp.port==14791,infiniband"));
  EXPECT_EQ(tshark_command(reading("a.pcapng", host::Wire::kBare)), "tshark -r a.pcapng");
  EXPECT_EQ(tshark_command(reading("a.pcapng", host::Wire::kRoce)).find("-d "), std::string::npos);
  EXPECT_EQ(tshark_command(reading("it's here", host::Wire::kBare)), "tshark -r 'it'\\''s here'");
}

class Files : public ::testing::Test {
 protected:
  Files() {
    std::string name = "/tmp/weft-cli-XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~Files() override { std::filesystem::remove_all(directory_); }

  std::string make(const std::string& name, const std::string& text, mode_t mode = 0755) {
    const std::string path = directory_ + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    chmod(path.c_str(), mode);
    return path;
  }
  Obstacle obstacle(const std::string& name, const std::string& search = "/usr/bin:/bin") {
    const auto program = inspect_program(name, search);
    EXPECT_FALSE(program) << name;
    if (program) return Obstacle{};
    EXPECT_THAT(program.error().what, HasSubstr(name));
    EXPECT_FALSE(program.error().remedy.empty());
    return program.error().obstacle;
  }

  std::string directory_;
};

// An ELF header without segments, for `machine`.
std::string elf_header(std::uint16_t machine, std::uint16_t segments = 0) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = machine;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phoff = sizeof header;
  header.e_phnum = segments;
  std::string text(sizeof header, '\0');
  std::memcpy(text.data(), &header, sizeof header);
  return text;
}

TEST_F(Files, AProgramIsFoundInThePathAndItsLibrariesAreKnown) {
  const auto program = inspect_program("ls", "/nowhere:/usr/bin:/bin");
  ASSERT_TRUE(program);
  EXPECT_THAT(program->path, HasSubstr("/ls"));
  EXPECT_FALSE(program->script);
  EXPECT_TRUE(program->elf.uses_loader());
  EXPECT_TRUE(program->elf.needs("libc.so"));
  EXPECT_FALSE(program->elf.needs("libibverbs.so"));
}

TEST_F(Files, AScriptIsFollowedToItsInterpreter) {
  for (const char* line : {"#!/bin/sh\n", "#! /bin/sh -e\n", "#!/usr/bin/env sh\n",
                           "#!/usr/bin/env -S A=1 sh -e\n", "echo no line at all\n", ""}) {
    const auto program = inspect_program(make("script", line), "/usr/bin:/bin");
    ASSERT_TRUE(program) << line << program.error().what;
    EXPECT_TRUE(program->script);
    EXPECT_THAT(program->image, HasSubstr("/sh"));
  }
}

TEST_F(Files, AProgramThatCannotBeRunIsRefusedWithTheReason) {
  EXPECT_EQ(obstacle("no-such-program"), Obstacle::kNotFound);
  EXPECT_EQ(obstacle(directory_ + "/none"), Obstacle::kNotFound);
  EXPECT_EQ(obstacle(""), Obstacle::kNotFound);
  EXPECT_EQ(obstacle(directory_), Obstacle::kNotExecutable);
  EXPECT_EQ(obstacle("/dev/null"), Obstacle::kNotExecutable);
  EXPECT_EQ(obstacle(make("plain", "#!/bin/sh\n", 0644)), Obstacle::kNotExecutable);
  make("inpath", "#!/bin/sh\n", 0644);
  EXPECT_EQ(obstacle("inpath", directory_ + ":/bin"), Obstacle::kNotExecutable);
  EXPECT_EQ(obstacle(make("lost", "#!/no/such/interpreter\n")), Obstacle::kNotFound);
  EXPECT_EQ(obstacle(make("lost-env", "#!/usr/bin/env no-such-program\n")), Obstacle::kNotFound);
  EXPECT_EQ(obstacle(make("blank", "#!  \n")), Obstacle::kDamaged);
  EXPECT_EQ(obstacle(make("binary", std::string("\x01\x00\x02", 3))), Obstacle::kDamaged);
  const std::string self = directory_ + "/loop";
  EXPECT_EQ(obstacle(make("loop", "#!" + self + "\n")), Obstacle::kDamaged);
}

TEST_F(Files, AnElfFileOfAnotherMachineOrWithoutALoaderIsRefused) {
  const auto own = read_elf("/proc/self/exe");
  ASSERT_TRUE(own && *own);
  EXPECT_EQ(obstacle(make("static", elf_header((*own)->machine))), Obstacle::kStaticallyLinked);
  EXPECT_EQ(obstacle(make("other", elf_header(EM_RISCV))), Obstacle::kOtherMachine);
  EXPECT_EQ(machine_name(EM_RISCV), "RISC-V");
  EXPECT_EQ(machine_name(7), "machine 7");
}

TEST_F(Files, ADamagedElfFileIsAnErrorAtEveryLength) {
  EXPECT_EQ(obstacle(make("many", elf_header(EM_X86_64, 0xFFFF))), Obstacle::kDamaged);
  std::ifstream file("/bin/ls", std::ios::binary);
  std::string whole(4096, '\0');
  file.read(whole.data(), static_cast<std::streamsize>(whole.size()));
  std::size_t refused = 0;
  for (std::size_t length = 17; length < whole.size(); length += 13) {
    refused += read_elf(make("cut", whole.substr(0, length))) ? 0 : 1;  // and never a crash
  }
  EXPECT_GT(refused, 10u);
}

TEST_F(Files, TheLoaderEnvironmentKeepsWhatWasSet) {
  make("libibverbs.so.1", "");
  setenv("LD_PRELOAD", "/lib/other.so", 1);
  setenv("LD_LIBRARY_PATH", "/opt/lib", 1);
  const auto without_shim = loader_environment(directory_);
  make("libweft_shim.so", "");
  const auto environment = loader_environment(directory_);
  unsetenv("LD_PRELOAD");
  unsetenv("LD_LIBRARY_PATH");
  ASSERT_TRUE(without_shim && environment);
  EXPECT_EQ(without_shim->at("LD_PRELOAD"), directory_ + "/libibverbs.so.1:/lib/other.so");
  EXPECT_EQ(environment->at("LD_PRELOAD"),
            directory_ + "/libibverbs.so.1:" + directory_ + "/libweft_shim.so:/lib/other.so");
  EXPECT_EQ(environment->at("LD_LIBRARY_PATH"), directory_ + ":/opt/lib");
}

TEST_F(Files, ADirectoryThatTheLoaderWouldTakeApartIsRefused) {
  for (const char* name : {"/tmp/a b", "/tmp/a:b", "/tmp/a;b"}) {
    const auto environment = loader_environment(name);
    ASSERT_FALSE(environment);
    EXPECT_THAT(environment.error().message, HasSubstr(name));
  }
}

// Accepts one connection on a listener and answers it with `text`.
std::thread answer(const io::UniqueFd& listener, std::string text) {
  return std::thread([fd = listener.get(), text = std::move(text)] {
    const io::UniqueFd peer([&] {
      while (true) {
        auto accepted = io::accept_unix(fd, false);
        if (accepted && *accepted) return std::move(**accepted).release();
      }
    }());
    ASSERT_EQ(send(peer.get(), text.data(), text.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(text.size()));
  });
}

TEST_F(Files, ReportsAreCollectedByPidAndDeadSocketsRemoved) {
  const auto dead = directory_ + "/7.sock";
  { ASSERT_TRUE(io::listen_unix(dead, io::UnixKind::kStream)); }
  const auto other = directory_ + "/other";  // as of a program in another environment
  ASSERT_TRUE(std::filesystem::create_directory(other));
  const auto ten = io::listen_unix(directory_ + "/10.sock", io::UnixKind::kStream);
  const auto nine = io::listen_unix(other + "/9.sock", io::UnixKind::kStream);
  ASSERT_TRUE(ten && nine);
  make("note.sock", "not ours");
  std::thread first = answer(*nine, R"({"pid": 9})");
  std::thread second = answer(*ten, R"({"pid": 10})");
  const auto reports = collect_reports({directory_, other});
  first.join();
  second.join();
  ASSERT_EQ(reports.processes.size(), 2u);
  EXPECT_EQ(reports.processes[0]["pid"], 9);
  EXPECT_EQ(reports.processes[1]["pid"], 10);
  EXPECT_THAT(reports.complaints, IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_TRUE(std::filesystem::exists(directory_ + "/note.sock"));
}

TEST_F(Files, AReportThatIsNoJsonAndADirectoryThatIsMissingAreComplaints) {
  const auto listener = io::listen_unix(directory_ + "/5.sock", io::UnixKind::kStream);
  ASSERT_TRUE(listener);
  std::thread thread = answer(*listener, "[1, 2");
  const auto reports = collect_reports({directory_, directory_ + "/missing"});
  thread.join();
  EXPECT_THAT(reports.processes, IsEmpty());
  ASSERT_EQ(reports.complaints.size(), 2u);
  EXPECT_THAT(reports.complaints[0], HasSubstr("/missing"));
  EXPECT_THAT(reports.complaints[1], HasSubstr("process 5"));
}

}  // namespace
}  // namespace weft::cli
