#!/bin/sh
# Makes the repository of the ten tasks in the current folder, which should be empty:
#   sh PATH/TO/start.sh && covey up --trust; covey web
set -e
from=$(cd "$(dirname "$0")" && pwd)
cp -R "$from/team.yaml" "$from/scripts" .
mkdir lib tests
printf '%s\n' '#!/bin/sh' 'echo $(($1 + $2))' >lib/sum.sh
printf '%s\n' '#!/bin/sh' 'test "$(sh lib/sum.sh 2 3)" = 5' >tests/test_sum.sh
printf '%s\n' '# What one hour costs.' 'night 0.5' 'day 1.0' >rates.txt
printf '%s\n' '#!/bin/sh' '# The gate: all tests must pass.' 'for t in tests/test_*.sh; do' \
  '  if sh "$t"; then echo "ok $t"; else echo "FAILED $t" >&2; exit 2; fi' 'done' >check.sh
chmod +x check.sh
printf '%s\n' '.state/' >.gitignore
git init -q -b main
git config user.name dev
git config user.email dev@example.invalid
git add .
git commit -q -m first
