#!/bin/sh
# Makes menu/ a git repository with one commit and without a remote: whatever
# the team does there stays there. Run it before the team starts, because
# working copies are made from a commit.
set -eu
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
cd "$(dirname "$0")"
rm -rf menu
git init -q -b main menu
cd menu
git config user.name "menu team"
git config user.email menu@example.com
git config commit.gpgsign false
git config core.hooksPath /dev/null
printf 'dishes: 2\nbread 2.00\nsoup 4.50\n' >menu.txt
git add .
git commit -q -m "The menu as it was found"
echo "menu/ holds a fresh repository"
