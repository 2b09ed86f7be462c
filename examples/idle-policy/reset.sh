#!/bin/sh
# Makes workspace/notes an empty git repository, without a remote.
set -eu
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
cd "$(dirname "$0")/workspace"
rm -rf notes
git init -q notes
cd notes
git config user.name mason
git config user.email mason@example.com
git config commit.gpgsign false
git config core.hooksPath /dev/null
git commit -q --allow-empty -m "Nothing yet"
echo "notes/ is an empty repository"
