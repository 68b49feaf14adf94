// SPDX-License-Identifier: Apache-2.0
#include "host/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace weft::host {
namespace {

using ::testing::HasSubstr;

Expected<Config> read_from(const std::map<std::string, std::string>& variables,
                           const std::vector<std::string>& names = {}) {
  return read_config(
      [&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? nullptr : found->second.c_str();
      },
      names);
}

TEST(Config, IsTheDefaultWhenNothingIsSet) {
  const auto config = read_from({});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->wire, Wire::kUdp);
  EXPECT_EQ(config->interface, "");
  EXPECT_EQ(config->capture, "");
  EXPECT_FALSE(config->stats);
  EXPECT_EQ(config->first_port, 49152);
  EXPECT_EQ(config->last_port, 65534);
  EXPECT_EQ(config->socket_buffer, 4u << 20);
  EXPECT_FALSE(config->faults.any());
  EXPECT_EQ(config->keep_alive, 600s);
  EXPECT_EQ(config->cm_port, 14791);
}

TEST(Config, TakesEveryVariable) {
  const auto config = read_from({{"WEFT_WIRE", "bare"},
                                 {"WEFT_INTERFACE", "eth0"},
                                 {"WEFT_CAPTURE", "/tmp/a b.pcapng"},
                                 {"WEFT_STATS", "1"},
                                 {"WEFT_PORTS", "50000-50009"},
                                 {"WEFT_SOCKET_BUFFER", "65536"},
                                 {"WEFT_FAULT", "loss=1%,seed=7"},
                                 {"WEFT_KEEP_ALIVE", "0"},
                                 {"WEFT_CM_PORT", "15000"}});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->wire, Wire::kBare);
  EXPECT_EQ(config->interface, "eth0");
  EXPECT_EQ(config->capture, "/tmp/a b.pcapng");
  EXPECT_TRUE(config->stats);
  EXPECT_EQ(config->first_port, 50000);
  EXPECT_EQ(config->last_port, 50009);
  EXPECT_EQ(config->socket_buffer, 65536u);
  EXPECT_EQ(config->faults.loss, 0.01);
  EXPECT_EQ(config->faults.seed, 7u);
  EXPECT_EQ(config->keep_alive, 0s);
  EXPECT_EQ(config->cm_port, 15000);
}

TEST(Config, TakesAnEmptyValueAsNone) {
  const auto config = read_from({{"WEFT_WIRE", ""}, {"WEFT_PORTS", ""}, {"WEFT_STATS", ""}});
  ASSERT_TRUE(config);
  EXPECT_EQ(config->wire, Wire::kUdp);
  EXPECT_EQ(config->first_port, 49152);
}

TEST(Config, TakesTheLimitsOfEveryRange) {
  for (const char* ports : {"1024-1024", "1024-65534", "65534-65534", "50000"}) {
    EXPECT_TRUE(read_from({{"WEFT_PORTS", ports}})) << ports;
  }
  for (const char* bytes : {"4096", "1073741824"}) {
    EXPECT_TRUE(read_from({{"WEFT_SOCKET_BUFFER", bytes}})) << bytes;
  }
}

struct Refusal {
  const char* name;
  const char* value;
  const char* choices;
};

TEST(Config, NamesTheVariableItsValueAndTheChoicesOnBadInput) {
  const Refusal table[] = {
      {"WEFT_WIRE", "rocev2", "udp, bare or roce"},
      {"WEFT_WIRE", "UDP", "udp, bare or roce"},
      {"WEFT_WIRE", "udp ", "udp, bare or roce"},
      {"WEFT_INTERFACE", "a/b", "eth0"},
      {"WEFT_INTERFACE", "sixteen-chars-xx", "eth0"},
      {"WEFT_INTERFACE", "two words", "eth0"},
      {"WEFT_STATS", "yes", "0 or 1"},
      {"WEFT_STATS", "2", "0 or 1"},
      {"WEFT_PORTS", "1023-2000", "1024 and 65534"},
      {"WEFT_PORTS", "50000-65535", "1024 and 65534"},
      {"WEFT_PORTS", "50000-49999", "1024 and 65534"},
      {"WEFT_PORTS", "50000-", "FIRST-LAST"},
      {"WEFT_PORTS", "-50000", "FIRST-LAST"},
      {"WEFT_PORTS", "50000-50001-50002", "FIRST-LAST"},
      {"WEFT_PORTS", "+50000-50001", "FIRST-LAST"},
      {"WEFT_PORTS", "99999999999-50001", "FIRST-LAST"},
      {"WEFT_SOCKET_BUFFER", "4095", "4096 and 1073741824"},
      {"WEFT_SOCKET_BUFFER", "1073741825", "4096 and 1073741824"},
      {"WEFT_SOCKET_BUFFER", "4M", "a number of bytes"},
      {"WEFT_SOCKET_BUFFER", "-1", "a number of bytes"},
      {"WEFT_SOCKET_BUFFER", "18446744073709551616", "a number of bytes"},
      {"WEFT_FAULT", "loss=2", "a percentage"},
      {"WEFT_FAULT", "lost=2%", "there are loss, duplicate"},
      {"WEFT_KEEP_ALIVE", "-1", "a number of seconds"},
      {"WEFT_KEEP_ALIVE", "1000001", "at most 1000000"},
      {"WEFT_CM_PORT", "80", "1024 and 65534"},
      {"WEFT_CM_PORT", "x", "1024 and 65534"},
  };
  for (const Refusal& row : table) {
    const auto config = read_from({{row.name, row.value}});
    ASSERT_FALSE(config) << row.name << "=" << row.value;
    EXPECT_EQ(config.error().code, std::errc::invalid_argument);
    EXPECT_THAT(config.error().message, HasSubstr(std::string(row.name) + "=" + row.value));
    EXPECT_THAT(config.error().message, HasSubstr(row.choices));
    EXPECT_EQ(config.error().message.find('\n'), std::string::npos);
  }
}

TEST(Config, RefusesAnUnknownVariableAndListsTheKnownOnes) {
  const auto config = read_from({}, {"PATH", "WEFT_WIER"});
  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().message, HasSubstr("WEFT_WIER"));
  for (const ConfigVariable& variable : config_variables()) {
    EXPECT_THAT(config.error().message, HasSubstr(variable.name));
  }
}

TEST(Config, LetsVariablesPassThatOthersRead) {
  EXPECT_TRUE(read_from({}, {"WEFT_LIBDIR", "WEFT_SYSROOT", "WEFT_WIRE", "WEFTY", "PATH"}));
}

TEST(Config, ExplainsEveryVariableThatItReads) {
  ASSERT_EQ(config_variables().size(), 11u);
  for (const ConfigVariable& variable : config_variables()) {
    EXPECT_TRUE(variable.name.starts_with("WEFT_"));
    EXPECT_FALSE(variable.values.empty());
    EXPECT_FALSE(variable.help.empty());
  }
}

}  // namespace
}  // namespace weft::host
