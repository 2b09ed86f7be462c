#!/bin/sh
# Removes what the team wrote, for another run.
rm -rf "$(dirname "$0")/workspace/out"
