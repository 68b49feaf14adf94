// SPDX-License-Identifier: Apache-2.0
// No C++ exception may reach a C caller. Verbs that allocate run inside one of these.
#pragma once

#include <cerrno>
#include <exception>
#include <new>
#include <system_error>

#include "verbs/log.h"

namespace weft::verbs {

// For verbs that return a pointer: nullptr and errno.
template <class Function>
auto guard_pointer(Function&& function) noexcept -> decltype(function()) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    report(ENOMEM);
  } catch (const std::system_error& error) {
    report(Error{static_cast<std::errc>(error.code().value()), error.what()});
  } catch (const std::exception& error) {
    report(Error{std::errc::io_error, error.what()});
  }
  return nullptr;
}

// For verbs that return zero or a positive errno.
template <class Function>
int guard_errno(Function&& function) noexcept {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    return report(ENOMEM);
  } catch (const std::system_error& error) {
    return report(Error{static_cast<std::errc>(error.code().value()), error.what()});
  } catch (const std::exception& error) {
    return report(Error{std::errc::io_error, error.what()});
  }
}

// nullptr and errno.
inline std::nullptr_t refuse(int error_number) {
  report(error_number);
  return nullptr;
}
inline std::nullptr_t refuse(const Error& error) {
  report(error);
  return nullptr;
}

}  // namespace weft::verbs
