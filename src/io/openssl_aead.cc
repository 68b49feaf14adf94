// SPDX-License-Identifier: Apache-2.0
#include "io/openssl_aead.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>

#include <algorithm>
#include <climits>
#include <utility>

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

namespace weft::io {
namespace {

struct FreeContext {
  // It overwrites the key before it gives the memory back.
  void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};
struct FreeCipher {
  void operator()(EVP_CIPHER* cipher) const { EVP_CIPHER_free(cipher); }
};
using Context = std::unique_ptr<EVP_CIPHER_CTX, FreeContext>;
using Cipher = std::unique_ptr<EVP_CIPHER, FreeCipher>;

const char* openssl_name(AeadAlgorithm algorithm) {
  switch (algorithm) {
    case AeadAlgorithm::kAes128Gcm:
      return "AES-128-GCM";
    case AeadAlgorithm::kAes256Gcm:
      return "AES-256-GCM";
    case AeadAlgorithm::kChaCha20Poly1305:
      return "ChaCha20-Poly1305";
  }
  return "";
}

Cipher fetch(AeadAlgorithm algorithm) {
  Cipher cipher(EVP_CIPHER_fetch(nullptr, openssl_name(algorithm), nullptr));
  if (!cipher) ERR_clear_error();
  return cipher;
}

const unsigned char* in(Bytes bytes) {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
unsigned char* out(MutableBytes bytes) {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

class OpensslAead final : public Aead {
 public:
  OpensslAead(Context sealing, Context opening)
      : sealing_(std::move(sealing)), opening_(std::move(opening)) {}

  bool seal(const Nonce& nonce, Bytes associated, std::span<const Bytes> pieces,
            MutableBytes to) override;
  bool open(const Nonce& nonce, Bytes associated, Bytes sealed, MutableBytes to) override;

 private:
  static bool begin(EVP_CIPHER_CTX* context, const Nonce& nonce, Bytes associated);
  static bool crypt(EVP_CIPHER_CTX* context, Bytes from, MutableBytes to);

  // Apart, since ChaCha20 begins anew in another way for each.
  Context sealing_;
  Context opening_;
};

bool OpensslAead::begin(EVP_CIPHER_CTX* context, const Nonce& nonce, Bytes associated) {
  int length = 0;
  // -1: for what the context was made.
  return EVP_CipherInit_ex2(context, nullptr, nullptr, in(nonce), -1, nullptr) == 1 &&
         associated.size() <= INT_MAX &&
         (associated.empty() || EVP_CipherUpdate(context, nullptr, &length, in(associated),
                                                 static_cast<int>(associated.size())) == 1);
}

// `to` is as long as `from`.
bool OpensslAead::crypt(EVP_CIPHER_CTX* context, Bytes from, MutableBytes to) {
  if (from.empty()) return true;
  int length = 0;
  return from.size() <= INT_MAX &&
         EVP_CipherUpdate(context, out(to), &length, in(from), static_cast<int>(from.size())) ==
             1 &&
         static_cast<std::size_t>(length) == from.size();
}

bool OpensslAead::seal(const Nonce& nonce, Bytes associated, std::span<const Bytes> pieces,
                       MutableBytes to) {
  EVP_CIPHER_CTX* const context = sealing_.get();
  if (!begin(context, nonce, associated)) return false;
  for (const Bytes piece : pieces) {
    if (piece.size() > to.size() || !crypt(context, piece, to.first(piece.size()))) return false;
    to = to.subspan(piece.size());
  }
  int length = 0;
  return to.size() == kTagBytes && EVP_CipherFinal_ex(context, out(to), &length) == 1 &&
         EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, kTagBytes, out(to)) == 1;
}

bool OpensslAead::open(const Nonce& nonce, Bytes associated, Bytes sealed, MutableBytes to) {
  if (sealed.size() < kTagBytes || to.size() != sealed.size() - kTagBytes) return false;
  EVP_CIPHER_CTX* const context = opening_.get();
  std::array<unsigned char, kTagBytes> tag{};
  std::copy_n(in(sealed.last(kTagBytes)), kTagBytes, tag.begin());
  std::array<unsigned char, kTagBytes> rest{};
  int length = 0;
  const bool is_genuine =
      begin(context, nonce, associated) && crypt(context, sealed.first(to.size()), to) &&
      EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, kTagBytes, tag.data()) == 1 &&
      EVP_CipherFinal_ex(context, rest.data(), &length) == 1;
  // What was decrypted is nobody's text: whoever forgot to look at the answer finds nothing in it.
  if (!is_genuine && !to.empty()) OPENSSL_cleanse(to.data(), to.size());
  return is_genuine;
}

bool has_aes_instructions() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("aes") != 0 && __builtin_cpu_supports("pclmul") != 0;
#elif defined(__aarch64__)
  return (getauxval(AT_HWCAP) & (HWCAP_AES | HWCAP_PMULL)) == (HWCAP_AES | HWCAP_PMULL);
#else
  return false;
#endif
}

}  // namespace

Expected<std::unique_ptr<Aead>> make_aead(AeadAlgorithm algorithm, Bytes key) {
  if (key.size() != key_bytes_of(algorithm) || key.empty()) {
    return fail(std::errc::invalid_argument,
                fmt::format("a key of {} bytes for {}, which wants {}", key.size(),
                            name_of(algorithm), key_bytes_of(algorithm)));
  }
  const Cipher cipher = fetch(algorithm);
  Context sealing(EVP_CIPHER_CTX_new());
  Context opening(EVP_CIPHER_CTX_new());
  // The length of the nonce is the usual one of all three.
  if (!cipher || !sealing || !opening ||
      EVP_EncryptInit_ex2(sealing.get(), cipher.get(), in(key), nullptr, nullptr) != 1 ||
      EVP_DecryptInit_ex2(opening.get(), cipher.get(), in(key), nullptr, nullptr) != 1) {
    ERR_clear_error();
    return fail(std::errc::not_supported,
                fmt::format("{}: this machine's OpenSSL does not have it", name_of(algorithm)));
  }
  return std::make_unique<OpensslAead>(std::move(sealing), std::move(opening));
}

std::vector<AeadAlgorithm> preferred_aeads() {
  std::vector<AeadAlgorithm> all(kAeadAlgorithms.begin(), kAeadAlgorithms.end());
  if (!has_aes_instructions()) std::rotate(all.begin(), all.end() - 1, all.end());
  std::erase_if(all, [](AeadAlgorithm algorithm) { return !fetch(algorithm); });
  return all;
}

}  // namespace weft::io
