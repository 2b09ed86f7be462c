#!/bin/sh
# Lays a fresh copy of module/ into workspace/till and makes it a git repository
# of its own, without a remote: whatever the team does there stays there.
set -eu
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/workspace"
rm -rf till
cp -R ../module till
cd till
git init -q
git config user.name "till team"
git config user.email till@example.com
git config commit.gpgsign false
git config core.hooksPath /dev/null
git add .
git commit -q -m "The till as it was found"
echo "till/ holds a fresh copy of the module"
