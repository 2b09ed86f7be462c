#!/bin/sh
# greet.sh does what its task says.
set -eu
cd "$CLAUDE_PROJECT_DIR"
[ -f greet.sh ] || { echo "there is no greet.sh" >&2; exit 2; }
[ "$(sh greet.sh Ada)" = "Hello, Ada!" ] || { echo "sh greet.sh Ada prints: $(sh greet.sh Ada)" >&2; exit 2; }
[ "$(sh greet.sh)" = "Hello, you!" ] || { echo "sh greet.sh prints: $(sh greet.sh)" >&2; exit 2; }
