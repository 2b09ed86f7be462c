#!/bin/sh
# Installs covey for one user, without root: it fetches the archive of this system from the
# newest release, compares it with the release's SHA256SUMS, and puts the program into
# ~/.local/bin. It changes nothing before the sum was right, and replaces an older covey in
# one step, so that a team that is up keeps the one it runs.
#
#   curl -fsSL https://github.com/coveyteam/covey/releases/latest/download/install.sh | sh
#
# COVEY_VERSION       a release such as v0.1.0, in place of the newest
# COVEY_INSTALL_DIR   where the program goes, in place of ~/.local/bin
# COVEY_INSTALL_BASE  a URL with the files of a release (https or file), in place of GitHub
#
# All of it is in functions, and the last line calls them: of a script that arrives only in
# part, nothing runs.
set -eu

say() { printf '%s\n' "$*"; }
stop() {
	say "covey was not installed: $*" >&2
	exit 1
}

# system prints OS_ARCH as archives are named, or stops where there is no covey.
system() {
	os=$(uname -s) arch=$(uname -m)
	case $os in
	Linux) os=linux ;;
	Darwin)
		os=darwin
		macos=$(sw_vers -productVersion)
		[ "${macos%%.*}" -ge 12 ] || stop "macOS $macos is too old; covey needs macOS 12 or newer"
		# A shell under Rosetta believes that it runs on Intel.
		[ "$(sysctl -n hw.optional.arm64 2>/dev/null || true)" != 1 ] || arch=arm64
		;;
	MINGW* | MSYS* | CYGWIN*) stop "teams do not run on Windows; install it inside WSL (https://aka.ms/wsl)" ;;
	*) stop "there is no release for $os; with Go: go install github.com/coveyteam/covey/cmd/covey@latest" ;;
	esac
	case $arch in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) stop "there is no release for $arch processors; with Go: go install github.com/coveyteam/covey/cmd/covey@latest" ;;
	esac
	say "${os}_$arch"
}

# fetch URL FILE downloads a file, or stops. What a server breaks off is an error of curl
# and wget, and what goes unnoticed here has the wrong sum later.
fetch() {
	if command -v curl >/dev/null; then
		curl -fsSL --proto =https,file --retry 2 -o "$2" "$1" 2>"$tmp/said" ||
			stop "$1 cannot be fetched: $(tail -n 1 "$tmp/said")"
	elif command -v wget >/dev/null; then
		wget -q -O "$2" "$1" || stop "$1 cannot be fetched"
	else
		stop "there is neither curl nor wget to fetch it"
	fi
}

# sum FILE prints the SHA-256 of a file.
sum() {
	if command -v sha256sum >/dev/null; then
		set -- "$(sha256sum "$1")"
	elif command -v shasum >/dev/null; then
		set -- "$(shasum -a 256 "$1")"
	else
		stop "there is neither sha256sum nor shasum to check the download with"
	fi
	say "${1%% *}"
}

# compare says which covey a shell will start, if that is not the new one.
compare() { # compare NEW
	case ":$PATH:" in
	*":$dir:"*) ;;
	*)
		say "$dir is not on your PATH; add this line to the file that your shell reads at its start:"
		say "  export PATH=\"$dir:\$PATH\""
		;;
	esac
	first=$(command -v covey || true)
	if [ -n "$first" ] && ! [ "$first" -ef "$1" ]; then
		say "\"covey\" still starts $first, which comes before $dir on your PATH; delete it, or put $dir first"
	fi
}

main() {
	[ -n "${COVEY_INSTALL_DIR:-${HOME:-}}" ] || stop "HOME is not set; set it, or COVEY_INSTALL_DIR"
	dir=${COVEY_INSTALL_DIR:-$HOME/.local/bin}
	base=https://github.com/coveyteam/covey/releases/latest/download
	[ -z "${COVEY_VERSION:-}" ] || base=https://github.com/coveyteam/covey/releases/download/$COVEY_VERSION
	base=${COVEY_INSTALL_BASE:-$base}
	system=$(system)

	new=
	tmp=$(mktemp -d) || stop "there is no room for temporary files"
	trap 'rm -rf "$tmp" "$new"' EXIT
	trap 'exit 1' HUP INT TERM

	fetch "$base/SHA256SUMS" "$tmp/SHA256SUMS"
	line=$(grep -E "^[0-9a-f]{64}  covey_[^ ]*_$system\.tar\.gz\$" "$tmp/SHA256SUMS" || true)
	[ -n "$line" ] || stop "$base/SHA256SUMS names no archive for $system; it may be incomplete, so try again"
	archive=${line#*  }
	fetch "$base/$archive" "$tmp/$archive"
	got=$(sum "$tmp/$archive")
	[ "$got" = "${line%%  *}" ] ||
		stop "$archive has the sum $got, not ${line%%  *}; it is incomplete or was changed, so try again"

	mkdir -p "$dir" 2>/dev/null || stop "$dir cannot be made; set COVEY_INSTALL_DIR to a folder of yours"
	new=$dir/.covey.$$
	tar -xzOf "$tmp/$archive" "${archive%.tar.gz}/covey" 2>"$tmp/said" >"$new" ||
		stop "it cannot be unpacked into $dir: $(tail -n 1 "$tmp/said")"
	chmod 755 "$new"
	version=$("$new" --version 2>"$tmp/said") || stop "it does not run on this system: $(tail -n 1 "$tmp/said")"
	mv -f "$new" "$dir/covey" || stop "$dir/covey cannot be replaced"
	say "installed $(say "$version" | head -n 1)"
	say "  as $dir/covey"
	compare "$dir/covey"
}

main "$@"
