// SPDX-License-Identifier: Apache-2.0
#include "io/tls_site_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "io/text_file.h"
#include "io/tls_site.h"
#include "io/unique_fd.h"

namespace weft::io {
namespace {

constexpr std::size_t kLongestFile = 65536;

// Text that is overwritten when it is no longer needed.
struct Secret {
  explicit Secret(std::string from) : text(std::move(from)) {}
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  ~Secret() { OPENSSL_cleanse(text.data(), text.size()); }
  std::string text;
};

// A key that wants one is not for a daemon; without this OpenSSL would ask the terminal.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

BioPtr bio_of(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

KeyPtr private_key_in(std::string_view pem) {
  const BioPtr bio = bio_of(pem);
  return KeyPtr(bio ? PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr)
                    : nullptr);
}

Expected<void> write_all(int file, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail_errno(errno, "write " + path);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  if (fsync(file) != 0) return fail_errno(errno, "write " + path);
  return {};
}

Expected<void> write_new_file(const std::string& path, std::string_view text) {
  const UniqueFd file(
      open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file && errno == EEXIST) {
    return fail(std::errc::file_exists, path + ": there is a file already, which is left as it is");
  }
  if (!file) return fail_errno(errno, path);
  auto written = write_all(file.get(), text, path);
  if (!written) (void)unlink(path.c_str());
  return written;
}

}  // namespace

Expected<TlsFingerprint> make_site_key(const std::string& path) {
  const KeyPtr key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  // Memory that is overwritten when it is freed.
  const BioPtr bio(BIO_new(BIO_s_secmem()));
  if (!key || !bio ||
      PEM_write_bio_PKCS8PrivateKey(bio.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1) {
    return fail(std::errc::io_error, "make an Ed25519 key: " + openssl_reason());
  }
  char* text = nullptr;
  const long length = BIO_get_mem_data(bio.get(), &text);
  const auto written = write_new_file(path, {text, static_cast<std::size_t>(length)});
  if (!written) return tl::unexpected(written.error());
  return fingerprint_of(key.get());
}

Expected<TlsFingerprint> read_fingerprint(const std::string& path) {
  auto text = read_text_file(path, kLongestFile);
  if (!text) return tl::unexpected(text.error());
  const Secret pem(std::move(*text));
  if (const KeyPtr key = private_key_in(pem.text)) return fingerprint_of(key.get());
  BioPtr bio = bio_of(pem.text);
  const CertificatePtr certificate(
      bio ? PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr) : nullptr);
  if (certificate) return fingerprint_of(certificate.get());
  bio = bio_of(pem.text);
  const KeyPtr key(bio ? PEM_read_bio_PUBKEY(bio.get(), nullptr, no_passphrase, nullptr) : nullptr);
  if (key) return fingerprint_of(key.get());
  ERR_clear_error();
  return fail(std::errc::invalid_argument,
              path + ": holds no key or certificate in PEM; weft extend keygen makes a key");
}

Expected<KeyPtr> read_private_key(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return fail_errno(errno, path);
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return fail(std::errc::permission_denied,
                fmt::format("{}: a private key that others may read (mode {:04o}): chmod 600 it, "
                            "or make a new one if they have",
                            path, status.st_mode & 07777));
  }
  auto text = read_text_file(path, kLongestFile);
  if (!text) return tl::unexpected(text.error());
  const Secret pem(std::move(*text));
  KeyPtr key = private_key_in(pem.text);
  if (!key) {
    return fail(std::errc::invalid_argument,
                fmt::format("{}: no private key in PEM without a passphrase ({}); weft extend "
                            "keygen makes one",
                            path, openssl_reason()));
  }
  return key;
}

Expected<CertificatePtr> self_signed(EVP_PKEY* key) {
  CertificatePtr certificate(X509_new());
  X509* const x509 = certificate.get();
  const auto* const common_name = reinterpret_cast<const unsigned char*>("weft site");
  const bool is_made =
      x509 != nullptr && X509_set_version(x509, X509_VERSION_3) == 1 &&
      ASN1_INTEGER_set(X509_get_serialNumber(x509), 1) == 1 &&
      ASN1_TIME_set_string_X509(X509_getm_notBefore(x509), "20000101000000Z") == 1 &&
      // "No well-defined expiration date", RFC 5280, 4.1.2.5.
      ASN1_TIME_set_string_X509(X509_getm_notAfter(x509), "99991231235959Z") == 1 &&
      X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC, common_name, -1,
                                 -1, 0) == 1 &&
      X509_set_issuer_name(x509, X509_get_subject_name(x509)) == 1 &&
      X509_set_pubkey(x509, key) == 1 && X509_sign(x509, key, nullptr) > 0;
  if (!is_made) return fail(std::errc::io_error, "make a certificate: " + openssl_reason());
  return certificate;
}

}  // namespace weft::io
