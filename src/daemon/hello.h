// SPDX-License-Identifier: Apache-2.0
// How programs at the daemon's sockets begin. Each protocol has a Hello of its own, which begins
// with a magic number and a version, and answers with an errno and one line for people.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

#include "base/bytes.h"
#include "base/error.h"
#include "base/plain_bytes.h"

namespace weft::daemon {

struct Greeting {
  std::uint32_t magic;
  std::uint32_t version;
  std::size_t least;  // bytes of a Hello that every version has
  const char* whose;  // "the lab's daemon"
};

// What a program says first, which may go on after its Hello only where `and_more` lets it.
// protocol_not_supported: it speaks another version of the protocol, and is to be told; else it
// makes no sense.
template <class Hello>
[[nodiscard]] Expected<Hello> read_hello(Bytes message, const Greeting& greeting,
                                         bool and_more = false) {
  const auto hello = plain::read<Hello>(message, greeting.least);
  if (!hello || hello->magic != greeting.magic) return fail(std::errc::bad_message, "no hello");
  if (hello->version != greeting.version) {
    return fail(std::errc::protocol_not_supported,
                std::string(greeting.whose) + " is of another version of Weft");
  }
  if (message.size() < sizeof *hello || (message.size() > sizeof *hello && !and_more)) {
    return fail(std::errc::bad_message, "a hello of another size");
  }
  return *hello;
}

// Of read_hello(): there is nothing to say to such a program.
[[nodiscard]] inline bool is_nonsense(const Error& error) {
  return error.code == std::errc::bad_message;
}

// An answer that says why there is none.
template <class Answer>
[[nodiscard]] Answer refusal(const Error& why) {
  Answer out{};
  out.error = static_cast<std::int32_t>(why.code);
  const std::size_t length = std::min(why.message.size(), sizeof out.message - 1);
  std::memcpy(out.message, why.message.data(), length);
  return out;
}

}  // namespace weft::daemon
