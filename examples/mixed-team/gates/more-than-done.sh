#!/bin/sh
# Gate on Stop: an answer has to say more than "done". It refuses once; when the
# member is already going on because of a gate (stop_hook_active), it lets go.
input=$(cat)
case $input in
*'"stop_hook_active":true'* | *'"stop_hook_active": true'*) exit 0 ;;
esac
said=$(printf '%s\n' "$input" | sed -n 's/.*"last_assistant_message" *: *"\([^"\\]*\)".*/\1/p')
case $said in
[Dd]one | [Dd]one[.!])
	echo "\"$said\" tells nobody anything. Say what you changed and how you know that it works." >&2
	exit 2
	;;
esac
