#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `weft run --fault` and WEFT_FAULT spoil the same messages in every run with one seed, others with
# another seed, and one fault's are not moved by another fault.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
need_pyverbs
begin

program=("$weft" run --wire bare -- /usr/bin/python3 "$source_tree/tests/e2e/fault_fates.py")
faulty() {  # NAME FAULTS
  run "$1" "$weft" run --wire bare --fault "$2" -- "${program[@]:5}"
}
all='loss=10%,duplicate=10%,corrupt=10%'
run untouched "${program[@]}"
faulty once "$all,seed=7"
WEFT_FAULT="$all,seed=7" run again "${program[@]}"
faulty other "$all,seed=8"
faulty loss "loss=10%,seed=7"

[[ $(wc -l <"$work/untouched.out") -eq 300 ]] || fail "without faults not everything came"
cmp "$work/once.out" "$work/again.out" || fail "one seed, but not the same messages were spoiled"
! cmp -s "$work/once.out" "$work/other.out" || fail "another seed, but the same were spoiled"

# What came at all, as numbers: without those that were corrupted, each once.
whole() { grep -xFf "$work/untouched.out" "$work/$1.out" | sort -u; }
lost() { sort -u "$work/untouched.out" | grep -vxFf <(whole "$1"); }
corrupted=$(grep -cvxFf "$work/untouched.out" "$work/once.out" || :)
twice=$(uniq -d "$work/once.out" | wc -l)
[[ $corrupted -gt 0 && $twice -gt 0 ]] || fail "$corrupted corrupted, $twice duplicated"
# Loss alone loses what it loses in company: the rest of what is missing there was corrupted.
missing=$(lost loss)
[[ -n $missing ]] || fail "nothing was lost"
[[ -z $(comm -23 <(echo "$missing") <(lost once)) ]] || fail "one fault has moved another"
echo "of 300: $(wc -l <<<"$missing") lost, $corrupted corrupted, $twice duplicated"
