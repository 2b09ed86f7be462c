#!/bin/sh
# Gate on TaskCompleted: a task whose description names a package ("Package:
# ./money") is not completed before that package's tests pass. What go test
# says is what the member reads.
input=$(cat)
package=$(printf '%s\n' "$input" | sed -n 's|.*Package: \(\./[a-z0-9_/]*\).*|\1|p')
[ -n "$package" ] || exit 0
cd "$CLAUDE_PROJECT_DIR/till" || exit 2
if ! said=$(go test "$package" 2>&1); then
	printf 'go test %s fails:\n%s\n' "$package" "$said" >&2
	exit 2
fi
