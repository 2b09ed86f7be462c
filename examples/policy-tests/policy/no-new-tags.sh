#!/bin/sh
# PreToolUse: tags may be listed, and only people make them.
case "$(cat)" in
*"git tag -l"*) exit 0 ;;
*"git tag"*)
	echo "Only people make tags." >&2
	exit 2
	;;
esac
