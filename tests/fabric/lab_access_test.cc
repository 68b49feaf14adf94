// SPDX-License-Identifier: Apache-2.0
#include "fabric/lab_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "fabric/lab_file.h"

namespace weft::fabric {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

LabAccess access_of(const std::string& text) {
  const auto file = parse_lab_file(text + "\n[node.a]\n", "lab.toml");
  EXPECT_TRUE(file) << file.error().message;
  return file ? file->access : LabAccess{};
}

std::string access_refusal(const std::string& text) {
  const auto file = parse_lab_file(text, "lab.toml");
  EXPECT_FALSE(file) << text;
  return file ? "" : file.error().message;
}

TEST(LabAccess, IsTheOwnersAloneUnlessTheFileSaysOtherwise) {
  EXPECT_EQ(access_of(""), LabAccess{});
  EXPECT_EQ(access_of("access = {}"), LabAccess{});
  EXPECT_EQ(access_of("access = { attach = 'owner' }"), LabAccess{});
}

TEST(LabAccess, IsGivenToEveryoneOrToAGroup) {
  const LabAccess access =
      access_of("[access]\nattach = 'everyone'\nmanage = 'group:rdma'\nadminister = 'group:1001'");
  EXPECT_EQ(access.attach.who, LabUsers::Who::kEveryone);
  EXPECT_EQ(access.manage, (LabUsers{.who = LabUsers::Who::kGroup, .group = "rdma"}));
  EXPECT_EQ(access.administer, (LabUsers{.who = LabUsers::Who::kGroup, .group = "1001"}));
}

TEST(LabAccess, SaysWhereItIsWrongAndWhatItMustBe) {
  EXPECT_EQ(access_refusal("name = 'lab'\n[access]\nattach = 'rdma'"),
            "lab.toml:3: access.attach: must be owner, everyone, or a group as in group:rdma");
  for (const char* users : {"''", "1", "['everyone']", "'group:'", "'group:a/b'", "'Everyone'"}) {
    EXPECT_THAT(access_refusal("[access]\nmanage = " + std::string(users)),
                StartsWith("lab.toml:2: access.manage: must be"))
        << users;
  }
  EXPECT_THAT(access_refusal("[access]\nadmin = 'everyone'"),
              HasSubstr("attach, manage, administer"));
}

TEST(LabAccess, IsWrittenAsItIsRead) {
  for (const char* text : {"owner", "everyone", "group:rdma", "group:Domain Users"}) {
    const auto users = parse_lab_users(text);
    ASSERT_TRUE(users) << text;
    EXPECT_EQ(to_string(*users), text);
  }
}

}  // namespace
}  // namespace weft::fabric
