// SPDX-License-Identifier: Apache-2.0
// What can fail at run time returns Expected<T>; what cannot is an assertion.
#pragma once

#include <string>
#include <system_error>
#include <tl/expected.hpp>

namespace weft {

// An error of the control path: `code` is what an API translates to errno, `message` is one line
// for a person that names what was wrong, where, and what would be right. The data path returns a
// bare std::errc instead, so that it never allocates.
struct Error {
  std::errc code = std::errc::io_error;
  std::string message;
};

template <class T>
using Expected = tl::expected<T, Error>;

// fail(std::errc::invalid_argument, "port_num 3: this device has port 1 only")
tl::unexpected<Error> fail(std::errc code, std::string message);

// The error of a system call that just failed: "bind [::]:4791: Address already in use".
tl::unexpected<Error> fail_errno(int error_number, const std::string& what);

}  // namespace weft
