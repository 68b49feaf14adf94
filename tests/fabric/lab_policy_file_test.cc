// SPDX-License-Identifier: Apache-2.0
// Rules in a file of their own, which a lab file names; and services with threads of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fabric/lab_file.h"
#include "fabric/lab_service_settings.h"
#include "fabric/lab_service_text.h"
#include "lab_text.h"

namespace weft::fabric {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kPolicyFileNodes = "[switch.s]\n[node]\na = {}\nfw1 = {}\nfw2 = {}\n";

std::string policy_file_error_of(const std::string& text) {
  const auto lab = parse_lab(text, "lab.toml");
  return lab ? "" : lab.error().message;
}

TEST(LabPolicyFile, HasTheRulesOfTheLab) {
  const Lab lab = parsed(std::string("policies = 'rules.toml'\n") + kPolicyFileNodes +
                         "[service.firewall]\nat = 'fw1'");
  EXPECT_EQ(lab.data.policy_file, "rules.toml");
  EXPECT_THAT(lab.data.policies, IsEmpty());
  const auto rules = parse_policies(
      "[[policy]]\nfrom = 'a'\nthrough = 'firewall'\n[[policy]]\nname = 'x'\nanswer = 'none'", lab,
      "rules.toml");
  ASSERT_TRUE(rules) << rules.error().message;
  ASSERT_THAT(*rules, SizeIs(2));
  EXPECT_EQ((*rules)[0].through, std::vector<std::string>{"firewall"});
  EXPECT_EQ((*rules)[1].name, "x");
  // What is read of it is not written into the lab file.
  Lab with = lab;
  with.data.policies = *rules;
  EXPECT_EQ(parsed(write_lab(with)), lab);
  EXPECT_THAT(*parse_policies("", lab, "rules.toml"), IsEmpty());
}

TEST(LabPolicyFile, SaysWhatIsWrongAndWhere) {
  EXPECT_THAT(policy_file_error_of(std::string("policies = 'x'\n") + kPolicyFileNodes +
                                   "[[policy]]\nanswer = 'none'"),
              HasSubstr("policies names a file, and rules stand there"));
  const Lab lab = parsed(kPolicyFileNodes);
  const auto wrong = [&](const std::string& text) {
    const auto rules = parse_policies(text, lab, "rules.toml");
    return rules ? "" : rules.error().message;
  };
  EXPECT_THAT(wrong("[[policy]]\n\nto = 'c'\nanswer = 'none'"), HasSubstr("rules.toml:1: "));
  EXPECT_THAT(wrong("[[policy]]\nto = 'c'\nanswer = 'none'"), HasSubstr("there is no node c"));
  EXPECT_THAT(wrong("[[policy]]\nto = 'a'\nanswer = 'some'"), HasSubstr("rules.toml:3: "));
  EXPECT_THAT(wrong("\n[[policy]\n"), HasSubstr("rules.toml:2: "));
  EXPECT_THAT(wrong("[node]\nb = {}"), HasSubstr("there is no such key; there are policy"));
  EXPECT_THAT(wrong("[[policy]]\nname = 'x'\nanswer = 'none'\n[[policy]]\nname = 'x'\n"
                    "answer = 'none'"),
              HasSubstr("there are two rules x"));
}

TEST(LabThreads, AreOfFirewallsAndRouters) {
  const Lab lab =
      parsed(std::string(kPolicyFileNodes) + "[service.firewall]\nat = 'fw1'\nthreads = 2");
  EXPECT_EQ(lab.data.services.at(0).threads, 2u);
  EXPECT_TRUE(lab.data.services.at(0).has_threads());
  EXPECT_EQ(parsed(write_lab(lab)), lab);
  const auto wrong = [](const std::string& text) {
    return policy_file_error_of(kPolicyFileNodes + text);
  };
  EXPECT_THAT(wrong("[service.monitor]\nat = 'fw1'\nthreads = 2"),
              HasSubstr("threads: is of type firewall, router, and this is of type monitor"));
  EXPECT_THAT(wrong("[service.firewall]\nat = 'fw1'\nthreads = 0"), HasSubstr("from 1 to 64"));
  EXPECT_THAT(wrong("[service.x]\ntype = 'process'\nat = 'fw1'\nthreads = 2"),
              HasSubstr("threads: is of type firewall, router, and this is of type process"));
  EXPECT_THAT(wrong("[service.firewall]\nat = 'fw1'\nthreads = 2\nselect = 'copies'"),
              HasSubstr("threads: packets that come to service LIDs are spread over them"));
  const std::string mirrored = "[service.capture]\nat = 'fw2'\n";
  EXPECT_THAT(wrong(mirrored + "[service.firewall]\nat = 'fw1'\nthreads = 2\n"
                               "mirror_to = 'capture'"),
              HasSubstr("threads: copies for mirror_to stay in the daemon's own thread"));
  EXPECT_THAT(wrong("[service.firewall]\nat = 'fw1'\nthreads = 2\n[service.limiter]\nat = 'fw2'\n"
                    "rate = '1Gb/s'\nmirror_to = 'firewall'"),
              HasSubstr("firewall has threads of its own; copies go to"));
  // `weft service run` has an option for that.
  const std::vector<std::string> settings{"threads=2"};
  EXPECT_FALSE(service_of_settings("firewall", settings));
}

}  // namespace
}  // namespace weft::fabric
