// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace weft::io {

// Why a socket of a lab could not be reached, for a person: where the lab is another user's and
// does not let this one in, permission_denied, with what he lacks and how the lab's owner gives it;
// else `error` as it is. `lab`: the directory of the lab's sockets; `right`: "attach", "manage" or
// "administer".
[[nodiscard]] Error explain_refusal(Error error, const std::string& lab, std::string_view right);

}  // namespace weft::io
