// SPDX-License-Identifier: Apache-2.0
// toml++ as this tree needs it: errors are returned, and no assertion stands on what a file says.
// Version 3.3 asserts (or, without assertions, has clang assume) that a key begins where one
// should, and refuses it properly in the next line: "[=" would end the program.
#pragma once

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
#define TOML_ASSERT(condition) static_assert(true)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")
