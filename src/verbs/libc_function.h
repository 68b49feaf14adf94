// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <dlfcn.h>

namespace weft::verbs {

// The function of a name that a hook stands in front of, found at the first use; threads that race
// find the same one. A hook is only reached through a symbol that libc has, so there always is one.
template <class Function>
class Libc {
 public:
  constexpr explicit Libc(const char* name, const char* version = nullptr)
      : name_(name), version_(version) {}
  Function* get() {
    Function* found = __atomic_load_n(&function_, __ATOMIC_RELAXED);
    if (found == nullptr) {
      void* const symbol =
          version_ != nullptr ? dlvsym(RTLD_NEXT, name_, version_) : dlsym(RTLD_NEXT, name_);
      found = reinterpret_cast<Function*>(symbol);
      __atomic_store_n(&function_, found, __ATOMIC_RELAXED);
    }
    return found;
  }

 private:
  const char* name_;
  const char* version_;
  Function* function_ = nullptr;
};

}  // namespace weft::verbs
