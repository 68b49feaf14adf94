// SPDX-License-Identifier: Apache-2.0
// Keys in files, and what names them.
#include "io/tls_site.h"

#include <sys/stat.h>

#include <cstdio>

#include "tls_fixture.h"

namespace weft::io::test {
namespace {

using TlsSiteTest = TlsTest;

std::string output_of(const std::string& command) {
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  std::string output;
  for (int c = fgetc(pipe.get()); c != EOF; c = fgetc(pipe.get()))
    output.push_back(static_cast<char>(c));
  return output;
}

std::string content(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file(const std::string& file, std::string_view text) {
  std::ofstream(file) << text;
}

TEST(TlsFingerprint, IsReadAsItIsPrinted) {
  TlsFingerprint::Digest digest{};
  for (std::size_t i = 0; i < digest.size(); ++i)
    digest.at(i) = static_cast<unsigned char>(7 * i + 250);
  const TlsFingerprint fingerprint(digest);
  const std::string text = fingerprint.to_string();
  EXPECT_EQ(text.size(), 50u);
  EXPECT_EQ(TlsFingerprint::parse(text), fingerprint);
  digest.back() ^= 1;
  EXPECT_FALSE(TlsFingerprint(digest) == fingerprint);
}

TEST(TlsFingerprint, IsReadFromNoOtherText) {
  const std::string right = TlsFingerprint({}).to_string();
  EXPECT_EQ(right, "SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
  ASSERT_TRUE(TlsFingerprint::parse(right).has_value());
  std::string bits_beyond = right;
  bits_beyond.back() = 'B';
  std::string blank = right;
  blank[20] = ' ';
  for (const std::string& text :
       {std::string(), right.substr(7), right + "=", right + "A", right.substr(0, 49), bits_beyond,
        blank, "MD5:" + right.substr(4), std::string(50, '\0')}) {
    const auto parsed = TlsFingerprint::parse(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_NE(parsed.error().message.find("weft extend fingerprint"), std::string::npos);
  }
}

TEST_F(TlsSiteTest, MakesAKeyForItsOwnerAloneAndNeverOverwritesOne) {
  const auto fingerprint = make_site_key(path("key"));
  ASSERT_TRUE(fingerprint.has_value()) << fingerprint.error().message;
  struct stat status {};
  ASSERT_EQ(stat(path("key").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  const std::string before = content(path("key"));
  const auto again = make_site_key(path("key"));
  ASSERT_FALSE(again.has_value());
  EXPECT_EQ(again.error().code, std::errc::file_exists);
  EXPECT_EQ(content(path("key")), before);
  EXPECT_NE(make_site_key(path("other")), *fingerprint);
  EXPECT_EQ(make_site_key(path("no/such/folder")).error().code,
            std::errc::no_such_file_or_directory);
}

TEST_F(TlsSiteTest, HasTheFingerprintThatOpensslComputes) {
  const auto fingerprint = make_site_key(path("key"));
  const std::string theirs =
      output_of("openssl pkey -in " + path("key") +
                " -pubout -outform DER | openssl dgst -sha256 -binary | openssl base64");
  EXPECT_EQ(fingerprint->to_string() + "=\n", "SHA256:" + theirs);
  EXPECT_EQ(output_of("openssl pkey -in " + path("key") + " -noout -text").substr(0, 20),
            "ED25519 Private-Key:");
}

TEST_F(TlsSiteTest, FindsTheSameFingerprintInEveryFormOfAKey) {
  const auto fingerprint = make_site_key(path("key"));
  output_of("openssl pkey -in " + path("key") + " -pubout -out " + path("public"));
  output_of("openssl req -x509 -key " + path("key") + " -subj /CN=x -out " + path("certificate"));
  for (const char* const form : {"key", "public", "certificate"})
    EXPECT_EQ(read_fingerprint(path(form)), *fingerprint) << form;
  EXPECT_EQ((*TlsSite::load({.key = path("key"), .certificate = "", .ca = ""}))->fingerprint(),
            *fingerprint);
  write_file(path("text"), "hello\n");
  const auto none = read_fingerprint(path("text"));
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().message,
            path("text") + ": holds no key or certificate in PEM; weft extend keygen makes a key");
}

std::string refusal(const TlsSite::Config& config) {
  const auto site = TlsSite::load(config);
  return site ? "none" : site.error().message;
}

TEST_F(TlsSiteTest, RefusesAKeyThatOthersMayRead) {
  ASSERT_TRUE(make_site_key(path("key")).has_value());
  for (const mode_t mode : {0640u, 0604u, 0660u, 0610u}) {
    ASSERT_EQ(chmod(path("key").c_str(), mode), 0);
    EXPECT_NE(refusal({.key = path("key"), .certificate = "", .ca = ""}).find("chmod 600"),
              std::string::npos);
  }
  ASSERT_EQ(chmod(path("key").c_str(), 0400), 0);
  EXPECT_EQ(refusal({.key = path("key"), .certificate = "", .ca = ""}), "none");
}

TEST_F(TlsSiteTest, SaysWhichFileIsWrongAndHow) {
  ASSERT_TRUE(make_site_key(path("key")).has_value());
  ASSERT_TRUE(make_site_key(path("other")).has_value());
  write_file(path("text"), "hello\n");
  ASSERT_EQ(chmod(path("text").c_str(), 0600), 0);
  output_of("openssl req -x509 -key " + path("other") + " -subj /CN=x -out " + path("of-other"));
  output_of("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out " + path("ec") +
            "; chmod 600 " + path("ec"));
  output_of("openssl pkey -in " + path("key") + " -aes128 -passout pass:x -out " +
            path("encrypted") + "; chmod 600 " + path("encrypted"));
  const auto says = [&](const TlsSite::Config& config, const std::string& file,
                        std::string_view text) {
    const std::string message = refusal(config);
    EXPECT_TRUE(message.starts_with(file + ": ")) << message;
    EXPECT_NE(message.find(text), std::string::npos) << message;
  };
  const std::string key = path("key");
  says({.key = path("no"), .certificate = "", .ca = ""}, path("no"), "No such file");
  says({.key = path("text"), .certificate = "", .ca = ""}, path("text"), "no private key in PEM");
  says({.key = path("encrypted"), .certificate = "", .ca = ""}, path("encrypted"),
       "without a passphrase");
  says({.key = path("ec"), .certificate = "", .ca = ""}, path("ec"), "not an Ed25519 key");
  says({.key = key, .certificate = path("text"), .ca = ""}, path("text"), "no certificate");
  says({.key = key, .certificate = path("of-other"), .ca = ""}, key, "not the key of");
  says({.key = key, .certificate = "", .ca = path("text")}, path("text"), "no certificates");
}

}  // namespace
}  // namespace weft::io::test
