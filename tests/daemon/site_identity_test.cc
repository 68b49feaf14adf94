// SPDX-License-Identifier: Apache-2.0
#include "daemon/wan/site_identity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../io/tls_fixture.h"

namespace weft::daemon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class SiteIdentityTest : public io::test::TlsTest {
 protected:
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }
  // Remotes by what the file says of their keys.
  static fabric::LabExtender extender(const std::vector<std::vector<std::string>>& remotes) {
    fabric::LabExtender out;
    for (const auto& fingerprints : remotes) {
      fabric::LabRemote& remote = out.remotes.emplace_back();
      remote.name = "r" + std::to_string(out.remotes.size() - 1);
      remote.fingerprints = fingerprints;
    }
    return out;
  }
  std::string refusal(const std::vector<std::vector<std::string>>& remotes) {
    const auto keys = read_remote_keys(extender(remotes), own_->fingerprint());
    EXPECT_FALSE(keys);
    return keys ? "" : keys.error().message;
  }

  std::unique_ptr<io::TlsSite> own_ = make_site("own");
  std::unique_ptr<io::TlsSite> other_ = make_site("other");
  std::unique_ptr<io::TlsSite> third_ = make_site("third");
};

TEST_F(SiteIdentityTest, ReadsFingerprintsAsTheyStandThereAndFromFiles) {
  const std::string other = other_->fingerprint().to_string();
  write("as-printed", other + "\n");
  write("with-words", "\n  " + other + " the key of the other site\n");
  const auto keys = read_remote_keys(
      extender({{path("as-printed"), third_->fingerprint().to_string()}}), own_->fingerprint());
  ASSERT_TRUE(keys) << keys.error().message;
  EXPECT_EQ(*keys, (std::vector<std::vector<io::TlsFingerprint>>{
                       {other_->fingerprint(), third_->fingerprint()}}));
  for (const char* const file : {"with-words", "other"}) {  // the last is the key itself, in PEM
    const auto read = read_remote_keys(extender({{path(file)}}), own_->fingerprint());
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->at(0).at(0), other_->fingerprint());
  }
}

TEST_F(SiteIdentityTest, NamesWhatIsWrongWithAFingerprint) {
  EXPECT_THAT(refusal({{"SHA256:short"}}), HasSubstr("remote r0: "));
  write("bad", "SHA256:short\n");
  EXPECT_THAT(refusal({{path("bad")}}), HasSubstr("remote r0: " + path("bad") + ": "));
  EXPECT_THAT(refusal({{path("absent")}}),
              AllOf(HasSubstr("remote r0: " + path("absent")), HasSubstr("`weft extend keygen`")));
  write("empty", "");
  EXPECT_THAT(refusal({{path("empty")}}), HasSubstr(path("empty") + ": holds no key"));
}

TEST_F(SiteIdentityTest, RefusesAKeyThatIsOfTwo) {
  EXPECT_THAT(refusal({{path("own")}}),
              AllOf(HasSubstr(own_->fingerprint().to_string()), HasSubstr("this site's own key")));
  EXPECT_THAT(refusal({{path("other")}, {path("third"), path("other")}}),
              HasSubstr("remote r1: " + other_->fingerprint().to_string() +
                        " is the key of remote r0 too"));
}

TEST_F(SiteIdentityTest, LoadsWhatTheExtenderProvesItselfWith) {
  fabric::LabExtender extender;
  extender.key = path("own");
  const auto site = load_site(extender);
  ASSERT_TRUE(site) << site.error().message;
  EXPECT_EQ((*site)->fingerprint(), own_->fingerprint());
  extender.key = path("absent");
  const auto none = load_site(extender);
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message,
              AllOf(HasSubstr(path("absent")), HasSubstr("`weft extend keygen` makes a key")));
}

}  // namespace
}  // namespace weft::daemon
