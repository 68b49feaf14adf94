// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <utility>

namespace weft {

tl::unexpected<Error> fail(std::errc code, std::string message) {
  return tl::unexpected(Error{code, std::move(message)});
}

tl::unexpected<Error> fail_errno(int error_number, const std::string& what) {
  return fail(static_cast<std::errc>(error_number),
              what + ": " + std::generic_category().message(error_number));
}

}  // namespace weft
