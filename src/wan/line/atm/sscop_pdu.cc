// SPDX-License-Identifier: Apache-2.0
#include "wan/line/atm/sscop_pdu.h"

#include <algorithm>

#include "wire/endian.h"

namespace weft::wan::atm {
namespace {

constexpr std::size_t kWord = 4;
constexpr std::uint8_t kSourceBit = 0x10;

// Words before the last one, which all have; a list or a message comes before those.
constexpr std::size_t words_before_last(SscopType type) {
  switch (type) {
    case SscopType::kData:
    case SscopType::kUnnumbered:
    case SscopType::kManagement:
      return 0;
    case SscopType::kStatus:
      return 2;
    default:
      return 1;
  }
}

bool has_message(SscopType type) {
  return words_before_last(type) == 0;
}

bool has_list(SscopType type) {
  return type == SscopType::kStatus || type == SscopType::kUnsolicited;
}

bool has_connection(SscopType type) {
  return type == SscopType::kBegin || type == SscopType::kResync || type == SscopType::kRecovery;
}

// N(MR) is in the last word.
bool grants_at_end(SscopType type) {
  return has_connection(type) || type == SscopType::kBeginAck || type == SscopType::kResyncAck ||
         type == SscopType::kRecoveryAck;
}

void put_word(std::vector<std::byte>& out, std::uint32_t word) {
  out.resize(out.size() + kWord);
  wire::store_be32(out.data() + out.size() - kWord, word);
}

// N(MR) or N(PS) of the word before the last one.
std::uint32_t middle_of(const SscopPdu& pdu) {
  if (has_list(pdu.type)) return pdu.most;
  if (pdu.type == SscopType::kPoll) return pdu.poll;
  return pdu.connection;
}

}  // namespace

std::vector<std::byte> write_sscop(const SscopPdu& pdu) {
  std::vector<std::byte> out(pdu.message.begin(), pdu.message.end());
  const std::size_t pad = (kWord - out.size() % kWord) % kWord;
  out.resize(out.size() + pad);
  for (const std::uint32_t number : pdu.list)
    put_word(out, number & kSscopNumbers);
  if (pdu.type == SscopType::kStatus) put_word(out, pdu.poll & kSscopNumbers);
  if (!has_message(pdu.type)) put_word(out, middle_of(pdu) & kSscopNumbers);
  const auto type = static_cast<std::uint32_t>(pdu.type) | static_cast<std::uint32_t>(pad) << 6 |
                    (pdu.by_sscop ? kSourceBit : 0U);
  put_word(out, type << 24 | ((grants_at_end(pdu.type) ? pdu.most : pdu.number) & kSscopNumbers));
  return out;
}

std::optional<SscopPdu> read_sscop(Bytes bytes) {
  if (bytes.size() < kWord || bytes.size() % kWord != 0) return std::nullopt;
  const std::uint32_t last = wire::load_be32(bytes.data() + bytes.size() - kWord);
  SscopPdu pdu{.type = static_cast<SscopType>(last >> 24 & 0xF)};
  const std::size_t pad = last >> 30;
  if (pdu.type < SscopType::kBegin) return std::nullopt;
  const std::size_t fixed = (words_before_last(pdu.type) + 1) * kWord;
  if (bytes.size() < fixed) return std::nullopt;
  pdu.by_sscop = pdu.type == SscopType::kEnd && (last >> 24 & kSourceBit) != 0;
  (grants_at_end(pdu.type) ? pdu.most : pdu.number) = last & kSscopNumbers;

  const Bytes before = bytes.first(bytes.size() - fixed);
  if (has_message(pdu.type)) {
    if (before.size() < pad) return std::nullopt;
    pdu.message = before.first(before.size() - pad);
    return pdu;
  }
  const std::uint32_t middle =
      wire::load_be32(bytes.data() + bytes.size() - 2 * kWord) & kSscopNumbers;
  if (has_list(pdu.type)) pdu.most = middle;
  if (pdu.type == SscopType::kPoll) pdu.poll = middle;
  if (has_connection(pdu.type)) pdu.connection = static_cast<std::uint8_t>(middle);
  if (pdu.type == SscopType::kStatus)
    pdu.poll = wire::load_be32(bytes.data() + bytes.size() - 3 * kWord) & kSscopNumbers;
  if (!has_list(pdu.type)) return pdu;  // what users say to each other in others is left out
  for (std::size_t at = 0; at < before.size(); at += kWord)
    pdu.list.push_back(wire::load_be32(before.data() + at) & kSscopNumbers);
  if (pdu.type == SscopType::kUnsolicited && pdu.list.size() != 2) return std::nullopt;
  return pdu;
}

}  // namespace weft::wan::atm
