#!/bin/sh
# Downloads a release of Tenet, checks it, and puts the program into a folder.
#
#   TENET_RELEASES=https://github.com/OWNER/tenet/releases install.sh VERSION FOLDER
#
# OWNER is the account on GitHub whose releases you use.
#
# TENET_SHA256 pins the archive for this machine: its SHA-256, in hex. Without it, the archive must be the one that checksums.txt of the release names.
# It needs curl, tar (unzip on Windows) and sha256sum or shasum, and exits with 2 if it cannot do it.
set -eu

fail() {
	echo "tenet: $1" >&2
	exit 2
}

[ $# = 2 ] || fail "usage: install.sh VERSION FOLDER"
version=${1#v}
folder=$2
case $version in
	'' | *[!0-9A-Za-z.-]*) fail "$1 is not a version such as 1.2.0" ;;
esac
[ -n "${TENET_RELEASES:-}" ] || fail "TENET_RELEASES is not set: the address of the releases, such as https://github.com/OWNER/tenet/releases"

suffix=.tar.gz program=tenet
case $(uname -s) in
	Linux) system=linux ;;
	Darwin) system=darwin ;;
	MINGW* | MSYS* | CYGWIN*) system=windows suffix=.zip program=tenet.exe ;;
	*) fail "there is no release for $(uname -s)" ;;
esac
case $(uname -m) in
	x86_64 | amd64) machine=amd64 ;;
	arm64 | aarch64) machine=arm64 ;;
	*) fail "there is no release for $(uname -m)" ;;
esac
name=tenet-$version-$system-$machine

temp=$(mktemp -d)
trap 'rm -rf "$temp"' EXIT
fetch() {
	curl --fail --silent --show-error --location --retry 3 --max-time 300 --max-filesize 209715200 --output "$temp/$1" "${TENET_RELEASES%/}/download/v$version/$1" ||
		fail "$1 of version $version cannot be downloaded from ${TENET_RELEASES%/}"
}

fetch "$name$suffix"
want=${TENET_SHA256:-}
if [ -z "$want" ]; then
	fetch checksums.txt
	want=$(awk -v name="$name$suffix" '$2 == name { print $1 }' "$temp/checksums.txt")
fi
want=$(printf %s "$want" | tr '[:upper:]' '[:lower:]')
case $want in
	*[!0-9a-f]* | '') fail "no SHA-256 is known for $name$suffix" ;;
esac
[ ${#want} = 64 ] || fail "the SHA-256 for $name$suffix has ${#want} digits, not 64"
if command -v sha256sum >/dev/null; then
	sum=$(sha256sum "$temp/$name$suffix")
else
	sum=$(shasum -a 256 "$temp/$name$suffix")
fi
sum=${sum%% *}
[ "${sum#\\}" = "$want" ] || fail "$name$suffix is not the expected one: its SHA-256 is $sum, not $want"

if [ $suffix = .zip ]; then
	unzip -q "$temp/$name$suffix" -d "$temp"
else
	tar -xzf "$temp/$name$suffix" -C "$temp"
fi
mkdir -p "$folder"
mv "$temp/$name/$program" "$folder/$program"
chmod 755 "$folder/$program"
