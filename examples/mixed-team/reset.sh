#!/bin/sh
# Lays a fresh copy of material/ into workspace/site: the team builds its tools there.
set -eu
cd "$(dirname "$0")/workspace"
rm -rf site
cp -R ../material site
mkdir site/bin
echo "site/ holds a fresh copy of the posts"
