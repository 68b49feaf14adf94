#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Manual pages are well formed, and name every option that the command has.
command -v mandoc > /dev/null || exit 77
status=0
cd "$WEFT_SOURCE/docs/man" || exit 1
for page in weft.1 weft-run.1 weft-devices.1 weft-doctor.1 weft-status.1 weft-resource.1 \
  weft-lab.1 weft-up.1 weft-down.1 weft-link.1 weft-capture.1; do
  mandoc -T lint -W warning "$page" || status=1
done
for command in run devices doctor status resource lab up down link capture; do
  for option in $("$WEFT_BUILD/bin/weft" help $command | grep -Eo -- '--[a-z-]+' | sort -u); do
    sed 's/\\-/-/g' "weft-$command.1" | grep -q -- "${option#--}" ||
      { echo "weft-$command.1 does not name $option"; status=1; }
  done
done
for variable in $("$WEFT_BUILD/bin/weft" help run | grep -Eo 'WEFT_[A-Z_]+' | sort -u); do
  grep -q "$variable" weft-run.1 || { echo "weft-run.1 does not name $variable"; status=1; }
done
exit $status
