#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# in_browser.sh [--keep FOLDER] - pages of `rung explain --html` in Chromium at the widths of a desk and of a phone, one light and one dark:
# nothing is wider than the window, the console has no errors, the keyboard moves between lines and along the sliders, and
# what is drawn for each recorded request is what the emulator counted.
set -u
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "no Chromium is here (Debian: chromium)"; exit 77; }
. "$(dirname "$0")/common.sh"
page 0 naive "$here/kernels/naive.cu"
page 0 conflict "$here/kernels/conflict.cu"
page 1 race "$here/kernels/race.cu"
python3 "$here/hostile.py" "$here/kernels/conflict.cu" "$work/hostile.cu"
page 0 hostile "$work/hostile.cu"
page 0 vector 08 --m 256
page 0 half 11 --m 256
timeout 300 python3 "$here/browser.py" "$browser" "$work/profile" "$work"/{naive,conflict,race,hostile,vector,half}.html "$@" ||
    fail "Chromium found faults"
exit $bad
