#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: pyverbs.sh [lab [opensm]]
# The pyverbs tests of rdma-core, as Debian ships them, against weft_lo, or on a node of a lab under
# its own subnet manager, or under OpenSM; the numbers are printed. None may fail; pyverbs_tests.txt
# and pyverbs_lab_tests.txt list the tests that must pass. docs/verbs.md says which may be skipped,
# and why.
set -euo pipefail
source "$(dirname "$0")/../e2e/lib.sh"
need gunzip ip
need_pyverbs
shipped=/usr/share/doc/rdma-core/tests
[[ -f $shipped/run_tests.py ]] || skip "$shipped is missing: this system leaves documentation out"
time_limit=240
private_network "$0" "$@"
begin

must_pass=$source_tree/tests/interop/pyverbs_tests.txt
where=() device=weft_lo
if [[ ${1:-} == lab ]]; then
  # shellcheck source=tests/e2e/lab_lib.sh
  source "$source_tree/tests/e2e/lab_lib.sh"
  manager=${2:-weft}
  [[ $manager == weft ]] || need opensm
  # An adapter of no vendor would fail the suite.
  sed 's/^c = {}/c = { vendor = 0x020000, device = 1 }/' \
    "$source_tree/examples/labs/two-switches.toml" >"$work/lab.toml"
  start_lab "$work/lab.toml" 7
  must_pass=$source_tree/tests/interop/pyverbs_lab_tests.txt
  where=(--node c) device=weft0
else
  # The suite takes the first address of the interface, and wants to know the device of an
  # identifier that is bound to it: rdma_cm tells of none on 127.0.0.1.
  ip address flush dev lo
  for address in 10.88.0.1/32 127.0.0.1/8 ::1/128; do
    ip address add "$address" dev lo scope host
  done
fi

cp -r "$shipped" "$work/tests"
find "$work/tests" -name '*.gz' -exec gunzip {} +
cd "$work/tests"
time_limit=240 spawn suite "$weft" run "${where[@]}" -- \
  /usr/bin/python3 run_tests.py --dev $device --port 1 -v
code=0
wait "${pid_of[suite]}" || code=$?
unset "pid_of[suite]"

# A verdict may stand on a line after what the test printed: take the names from the lines that
# start with one, and the next verdict.
/usr/bin/python3 - "$work/suite.out" <<'PY' >"$work/verdicts"
import re
import sys

name = None
for line in open(sys.argv[1], encoding="utf-8", errors="replace"):
    start = re.match(r"(test_\w+) \((?:tests\.)?([\w.]+)\)", line)
    if start:
        # Python 3.11 names the class, later ones the method again.
        where = start.group(2).removesuffix("." + start.group(1))
        name = f"{where}.{start.group(1)}"
    verdict = re.search(r"(?:\.\.\. |^)(ok|skipped|FAIL|ERROR)\b ?(.*)", line)
    if name and verdict:
        print(verdict.group(1), name, verdict.group(2) if verdict.group(1) == "skipped" else "",
              sep="\t")
        name = None
PY
count() { grep -c "^$1"$'\t' "$work/verdicts" || :; }
echo "pyverbs: $(count ok) ok, $(count skipped) skipped, $(count FAIL) failed," \
  "$(count ERROR) in error"
[[ $(wc -l <"$work/verdicts") -gt 200 ]] || fail "the suite did not run to its end (code $code)"

if grep -E '^(FAIL|ERROR)\s' "$work/verdicts"; then fail "tests that may not fail did"; fi
missing=$(grep -vE '^(#|$)' "$must_pass" |
  grep -vxFf <(awk -F '\t' '$1 == "ok" { print $2 }' "$work/verdicts") || :)
[[ -z $missing ]] || { echo "not passed:"; echo "$missing"; fail "tests that must pass did not"; }

# The rows of docs/verbs.md: patterns of names, and of what those tests say for an excuse.
/usr/bin/python3 - "$source_tree/docs/verbs.md" "$work/verdicts" <<'PY' >"$work/unexcused"
import fnmatch
import re
import sys

rows = []
section = open(sys.argv[1], encoding="utf-8").read().split("## rdma-core's own tests")[1]
for line in section.split("\n## ")[0].splitlines():
    cells = [re.findall(r"`([^`]*)`", cell) for cell in line.split("|")[1:3]]
    if len(cells) == 2 and all(cells):
        rows.append(cells)
if not rows:
    print("docs/verbs.md has no reasons")


def matches(text, patterns):
    return any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns)


for line in open(sys.argv[2], encoding="utf-8"):
    verdict, name, said = line.rstrip("\n").split("\t")
    said = said.strip().strip("'\"")
    if verdict == "skipped" and not any(matches(name, names) and matches(said, reasons)
                                        for names, reasons in rows):
        print(f"{name}: {said}")
PY
[[ ! -s $work/unexcused ]] ||
  { cat "$work/unexcused"; fail "skipped without a reason in docs/verbs.md"; }
