#!/bin/sh
# Gate on TaskCompleted: a task whose description names a tool ("Tool: slug") is
# not completed before that tool does what its cases want. It asks all members
# alike, whatever program thinks for them.
tool=$(sed -n 's|.*Tool: \([a-z]*\).*|\1|p')
[ -n "$tool" ] || exit 0
cd "$CLAUDE_PROJECT_DIR/site" || exit 2
failed=0
check() { # check WANT ARGUMENT...
	want=$1
	shift
	got=$(sh "bin/$tool" "$@" 2>&1)
	[ "$got" = "$want" ] && return
	printf '%s "%s" prints "%s", and should print "%s"\n' "$tool" "$*" "$got" "$want" >&2
	failed=2
}
case $tool in
slug)
	check hello-world "Hello, World!"
	check two-spaces "  Two  spaces "
	;;
minutes)
	check "1 min" posts/short.txt
	check "0 min" /dev/null
	;;
heading) check "# Rain, again {#rain-again}" "Rain, again" ;;
entry) check "rain-again.html: Rain, again (1 min)" "Rain, again" posts/rain.txt ;;
*)
	echo "no cases are known for $tool" >&2
	failed=2
	;;
esac
exit "$failed"
