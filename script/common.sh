# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the scripts of this folder share; sourced, never run.

# The scripts work from anywhere: they stand in the top of the tree.
WEFT_TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$WEFT_TOP" || exit

# A checkout that belongs to somebody else (a container's volume) is read all the same.
git() { command git -c safe.directory='*' "$@"; }

# Messages have colour on a terminal, and only there.
if [[ -t 2 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
  style_bold=$'\e[1m' style_red=$'\e[31m' style_off=$'\e[0m'
else
  style_bold='' style_red='' style_off=''
fi

say() { printf '%s==> %s%s\n' "$style_bold" "$*" "$style_off" >&2; }

# die MESSAGE [NEXT STEP]: one line of what went wrong and one of what to do about it.
die() {
  printf '%s%s: %s%s\n' "$style_red" "script/${0##*/}" "$1" "$style_off" >&2
  [[ $# -lt 2 ]] || printf '  next: %s\n' "$2" >&2
  exit 1
}

# usage_error MESSAGE: a wrong option or argument, exit code 2.
usage_error() {
  printf 'script/%s: %s (script/%s --help shows the choices)\n' "${0##*/}" "$1" "${0##*/}" >&2
  exit 2
}

# The help of a script is the comment at its top, from the third line to the first line that is not
# a comment.
show_help() { sed -n '3,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$WEFT_TOP/script/${0##*/}"; }

# The names in packages.txt, one on a line.
wanted_packages() { sed 's/#.*//; s/[[:space:]]//g; /^$/d' "$WEFT_TOP/script/packages.txt"; }

jobs() { nproc 2>/dev/null || echo 2; }
