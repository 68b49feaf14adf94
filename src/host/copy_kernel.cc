// SPDX-License-Identifier: Apache-2.0
#include "host/copy_kernel.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define WEFT_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || \
    __has_feature(memory_sanitizer)
#define WEFT_SANITIZED 1
#endif
#endif

#if defined(__x86_64__) && !defined(WEFT_SANITIZED)

#include <cpuid.h>
#include <ucontext.h>

#include <cstdint>
#include <utility>
#include <vector>

// They use neither the stack nor a register that belongs to their caller, so at any instruction of
// them a fault can be answered by going on at weft_copy_fault. Blocks overlap where the length is
// not a multiple of theirs. Lengths from `strings` on, where it begins to pay, are left to the
// processor's own string move, but for the last bytes: its stores are not ordered among each other.
asm(R"(
.macro weft_copy_by name, move, aligned, v, size, strings, finish
  .globl \name
  .hidden \name
  .type \name, @function
  .p2align 6
\name:
  cmpq $\size, %rdx
  jb \name\()_short
  \move (%rsi), \v\()0
  \move -\size(%rsi,%rdx), \v\()1
  cmpq $(2 * \size), %rdx
  ja \name\()_above_2
  \move \v\()0, (%rdi)
  \move \v\()1, -\size(%rdi,%rdx)
  \finish
  movl $1, %eax
  ret

  .p2align 4
\name\()_above_2:
  \move \size(%rsi), \v\()2
  \move -(2 * \size)(%rsi,%rdx), \v\()3
  cmpq $(4 * \size), %rdx
  ja \name\()_above_4
  \move \v\()0, (%rdi)
  \move \v\()2, \size(%rdi)
  \move \v\()3, -(2 * \size)(%rdi,%rdx)
  \move \v\()1, -\size(%rdi,%rdx)
  \finish
  movl $1, %eax
  ret

  .p2align 4
\name\()_above_4:
  leaq (%rdi,%rdx), %r8
  cmpq $\strings, %rdx
  jae \name\()_by_processor
  \move -(3 * \size)(%rsi,%rdx), \v\()4
  \move -(4 * \size)(%rsi,%rdx), \v\()5
  \move \v\()0, (%rdi)
  subq %rdi, %rsi
  andq $-\size, %rdi
  addq $\size, %rdi
  addq %rdi, %rsi
  leaq -(4 * \size)(%r8), %r9
  cmpq %r9, %rdi
  jae \name\()_tail
  .p2align 5
\name\()_loop:
  \move (%rsi), \v\()0
  \move \size(%rsi), \v\()2
  \move (2 * \size)(%rsi), \v\()6
  \move (3 * \size)(%rsi), \v\()7
  addq $(4 * \size), %rsi
  \aligned \v\()0, (%rdi)
  \aligned \v\()2, \size(%rdi)
  \aligned \v\()6, (2 * \size)(%rdi)
  \aligned \v\()7, (3 * \size)(%rdi)
  addq $(4 * \size), %rdi
  cmpq %r9, %rdi
  jb \name\()_loop
\name\()_tail:
  \move \v\()5, -(4 * \size)(%r8)
  \move \v\()4, -(3 * \size)(%r8)
  \move \v\()3, -(2 * \size)(%r8)
  \move \v\()1, -\size(%r8)
  \finish
  movl $1, %eax
  ret

  .p2align 4
\name\()_by_processor:
  \move \v\()0, (%rdi)
  \move \v\()2, \size(%rdi)
  subq %rdi, %rsi
  andq $-64, %rdi
  addq $64, %rdi
  addq %rdi, %rsi
  leaq -\size(%r8), %rcx
  subq %rdi, %rcx
  rep movsb
  \move \v\()1, -\size(%r8)
  \finish
  movl $1, %eax
  ret
  .size \name, .-\name
.endm

.text
.globl weft_copy_begin, weft_copy_fault, weft_copy_end
.hidden weft_copy_begin, weft_copy_fault, weft_copy_end
  .cfi_startproc
  .p2align 6
weft_copy_begin:
  weft_copy_by weft_copy_256, vmovdqu, vmovdqa, %ymm, 32, 0x7fffffff, vzeroupper
  weft_copy_by weft_copy_256_strings, vmovdqu, vmovdqa, %ymm, 32, 4096, vzeroupper
  weft_copy_by weft_copy_512_strings, vmovdqu64, vmovdqa64, %zmm2, 64, 4096,

  .p2align 4
weft_copy_512_strings_short:
  cmpl $32, %edx
  jb weft_copy_256_short
  vmovdqu64 (%rsi), %ymm20
  vmovdqu64 -32(%rsi,%rdx), %ymm21
  vmovdqu64 %ymm20, (%rdi)
  vmovdqu64 %ymm21, -32(%rdi,%rdx)
  movl $1, %eax
  ret

  .p2align 4
weft_copy_256_short:
weft_copy_256_strings_short:
  movl $1, %eax
  cmpl $16, %edx
  jb weft_copy_below_16
  vmovdqu (%rsi), %xmm0
  vmovdqu -16(%rsi,%rdx), %xmm1
  vmovdqu %xmm0, (%rdi)
  vmovdqu %xmm1, -16(%rdi,%rdx)
  ret
weft_copy_below_16:
  cmpl $8, %edx
  jb weft_copy_below_8
  movq (%rsi), %r8
  movq -8(%rsi,%rdx), %r9
  movq %r8, (%rdi)
  movq %r9, -8(%rdi,%rdx)
  ret
weft_copy_below_8:
  cmpl $4, %edx
  jb weft_copy_below_4
  movl (%rsi), %r8d
  movl -4(%rsi,%rdx), %r9d
  movl %r8d, (%rdi)
  movl %r9d, -4(%rdi,%rdx)
  ret
weft_copy_below_4:
  cmpl $2, %edx
  jb weft_copy_below_2
  movzwl (%rsi), %r8d
  movzwl -2(%rsi,%rdx), %r9d
  movw %r8w, (%rdi)
  movw %r9w, -2(%rdi,%rdx)
  ret
weft_copy_below_2:
  testl %edx, %edx
  je weft_copy_nothing
  movzbl (%rsi), %r8d
  movb %r8b, (%rdi)
weft_copy_nothing:
  ret

weft_copy_fault:
  vzeroupper
  xorl %eax, %eax
  ret
weft_copy_end:
  .cfi_endproc
)");

extern "C" {
bool weft_copy_256(void* to, const void* from, std::size_t length);
bool weft_copy_256_strings(void* to, const void* from, std::size_t length);
bool weft_copy_512_strings(void* to, const void* from, std::size_t length);
extern const char weft_copy_begin[];
extern const char weft_copy_fault[];
extern const char weft_copy_end[];
}

namespace weft::host {
namespace {

// "Enhanced REP MOVSB": CPUID leaf 7, EBX bit 9.
bool moves_strings_fast() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b >> 9 & 1) != 0;
}

}  // namespace

std::span<const CopyKernel> copy_kernels() {
  static const auto found = [] {
    std::vector<CopyKernel> kernels;
    if (!__builtin_cpu_supports("avx2")) return kernels;
    kernels.push_back(weft_copy_256);
    if (!moves_strings_fast()) return kernels;
    kernels.push_back(weft_copy_256_strings);
    // The first processors with AVX-512 lowered their clock for it; those with VBMI2 do not.
    if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi2")) {
      kernels.push_back(weft_copy_512_strings);
    }
    // Those of AMD move a string at a twentieth of that speed to where it would lie 1 to 31 bytes
    // further on in a page, at half of it up to 63, and no faster than by blocks elsewhere.
    if (__builtin_cpu_is("amd")) std::swap(kernels.front(), kernels.back());
    return kernels;
  }();
  return found;
}

bool skip_copy(void* context) {
  greg_t& instruction = static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP];
  const auto at = static_cast<std::uintptr_t>(instruction);
  const auto begin = reinterpret_cast<std::uintptr_t>(weft_copy_begin);
  const auto end = reinterpret_cast<std::uintptr_t>(weft_copy_end);
  if (at < begin || at >= end) return false;
  instruction = static_cast<greg_t>(reinterpret_cast<std::uintptr_t>(weft_copy_fault));
  return true;
}

}  // namespace weft::host

#else

namespace weft::host {

std::span<const CopyKernel> copy_kernels() {
  return {};
}

bool skip_copy(void*) {
  return false;
}

}  // namespace weft::host

#endif
