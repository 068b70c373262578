#!/usr/bin/env bash
# Builds the files of a release for this machine, installs each into an empty place without Go, and has it judge examples/change.diff, which
# breaks rules. What a machine has no tool for is skipped with a message; with TENET_DIST_REQUIRED=yes, that is an error.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD

command -v go >/dev/null || export PATH="$PATH:/usr/local/go/bin"
platform=linux/$(go env GOARCH)
arch=${platform#*/}
work=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
version=$(cat VERSION)
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

fail() {
	echo "test-dist: $*" >&2
	exit 1
}

skip() {
	[ -z "${TENET_DIST_REQUIRED:-}" ] || fail "$1"
	echo "test-dist: SKIPPED $1" >&2
}

# clean COMMAND...: runs it as a new user would: no Go, an empty home, the system's own programs.
clean() {
	rm -rf "$work/home" && mkdir "$work/home"
	env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin HOME="$work/home" LANG=C.UTF-8 "$@"
}

# verdict NAME COMMAND...: the program denies the sample change, and says which version it is.
verdict() {
	local name=$1 code=0 started=$SECONDS
	shift
	clean "$@" check --format json <examples/change.diff >"$work/verdict.json" 2>"$work/errors" || code=$?
	[ "$code" = 1 ] || { cat "$work/errors" >&2; fail "$name: tenet check exits with $code, want 1"; }
	grep -q '"verdict": *"DENY"' "$work/verdict.json" || fail "$name: no DENY in the answer"
	clean "$@" version | grep -qF "tenet $version " || fail "$name: another version than $version"
	echo "test-dist: $name: a verdict after $((SECONDS - started + ${installed:-0})) s"
	installed=0
}

openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$work/key.pem" 2>/dev/null
TENET_RELEASE_KEY=$(cat "$work/key.pem")
export TENET_RELEASE_KEY
(cd tools/dist && GOWORK=off CGO_ENABLED=0 go build -trimpath -o "$work/" . ./unpack)
"$work/dist" -root "$root" -platforms "$platform" -out "$work/out" -releases https://example.com/releases >/dev/null

# The same sources elsewhere make the same files.
if [ -z "${TENET_DIST_ONCE:-}" ]; then
	mkdir "$work/copy"
	git ls-files -z | xargs -0 cp --parents -t "$work/copy"
	"$work/dist" -root "$work/copy" -platforms "$platform" -out "$work/again" -releases https://example.com/releases >/dev/null 2>&1
	diff -rq "$work/out" "$work/again" || fail "two builds differ"
	echo "test-dist: two builds in different folders are equal"
	rm -rf "$work/copy" "$work/again"
fi

cd "$work/out"
sha256sum --quiet -c checksums.txt
base64 -d checksums.txt.sig >"$work/signature"
openssl dgst -sha256 -verify release.pub -signature "$work/signature" checksums.txt >/dev/null || fail "the signature is wrong"
grep -q '"bomFormat": "CycloneDX"' "tenet-$version-linux-$arch.cdx.json" || fail "no list of components"
if command -v cosign >/dev/null; then
	cosign verify-blob --key release.pub --signature checksums.txt.sig --insecure-ignore-tlog=true checksums.txt
fi
cd "$root"

started=$SECONDS
mkdir "$work/archive"
tar -xzf "$work/out/tenet-$version-linux-$arch.tar.gz" -C "$work/archive" --strip-components=1
installed=$((SECONDS - started))
verdict archive "$work/archive/tenet"
file=$(file -b "$work/archive/tenet" 2>/dev/null || echo "statically linked")
[[ $file == *"statically linked"* ]] || fail "the program is not static: $file"

if command -v dpkg-deb >/dev/null; then
	started=$SECONDS
	dpkg-deb -x "$work/out/tenet-$version-linux-$arch.deb" "$work/deb"
	installed=$((SECONDS - started))
	verdict deb "$work/deb/usr/bin/tenet"
	for path in usr/lib/systemd/system/tenet.service usr/lib/sysusers.d/tenet.conf etc/tenet/tenet.yaml usr/share/doc/tenet/LICENSE usr/share/tenet/tenet-auditor.html; do
		[ -f "$work/deb/$path" ] || fail "the deb has no $path"
	done
	dpkg-deb -f "$work/out/tenet-$version-linux-$arch.deb" Architecture | grep -qx "$arch" || fail "the deb is for another machine"
	if command -v systemd-analyze >/dev/null; then
		exposure=$(systemd-analyze security --offline=yes --root="$work/deb" tenet.service 2>/dev/null | tail -1 || true)
		echo "test-dist: ${exposure:-systemd-analyze says nothing}"
	fi
else
	skip "deb: dpkg-deb is missing"
fi

if command -v rpm2cpio >/dev/null && command -v cpio >/dev/null; then
	mkdir "$work/rpm"
	# Some rpm2cpio exit with 1 after they have printed everything; cpio says whether something is missing.
	(cd "$work/rpm" && { rpm2cpio "$work/out/tenet-$version-linux-$arch.rpm" || true; } | cpio -idm --quiet --no-absolute-filenames 2>/dev/null)
	verdict rpm "$work/rpm/usr/bin/tenet"
else
	skip "rpm: rpm2cpio or cpio is missing; the tests of tools/dist read it"
fi

if python3 -c 'import ensurepip, venv' 2>/dev/null; then
	started=$SECONDS
	python3 -m venv "$work/venv"
	PIP_CONFIG_FILE=/dev/null "$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$work/out/"*.whl
	installed=$((SECONDS - started))
	verdict wheel "$work/venv/bin/tenet"
	verdict "python -m tenet_rules" "$work/venv/bin/python" -m tenet_rules
	"$work/venv/bin/pip" --disable-pip-version-check check >/dev/null || fail "pip check"
else
	skip "wheel: Python with venv is missing"
fi

if command -v npm >/dev/null; then
	started=$SECONDS
	mkdir "$work/npm"
	machine=$(node -p process.arch)
	# The packages of other platforms are optional, so npm proceeds without them.
	npm install --silent --no-audit --no-fund --offline --prefix "$work/npm" "$work/out/tenet-rules-linux-$machine-$version.tgz" "$work/out/tenet-rules-$version.tgz" >"$work/npm.log" 2>&1 ||
		{ cat "$work/npm.log" >&2; fail "npm install"; }
	installed=$((SECONDS - started))
	verdict npm "$work/npm/node_modules/.bin/tenet"
	# Without the program, the launcher says what is missing.
	rm -rf "$work/npm/node_modules/tenet-rules-linux-$machine"
	"$work/npm/node_modules/.bin/tenet" version >"$work/launcher" 2>&1 || true
	grep -q 'is not installed' "$work/launcher" || fail "npm: no message about the missing program"
else
	skip "npm: npm is missing"
fi

if [ "$(id -u)" = 0 ] && command -v chroot >/dev/null; then
	started=$SECONDS
	mkdir "$work/layout" "$work/image"
	tar -xf "$work/out/tenet-$version-image.tar" -C "$work/layout"
	"$work/unpack" "$work/layout" "$arch" 2>"$work/config.json" | tar -x --numeric-owner -C "$work/image" || fail "image: $(cat "$work/config.json")"
	grep -q '"User": "65532:65532"' "$work/config.json" || fail "the image runs as root"
	installed=$((SECONDS - started))
	verdict image env TENET_DATA=/data chroot --userspec=65532:65532 "$work/image" /usr/bin/tenet
	# The server: a first key, then the address that the image listens on.
	port=${TENET_DIST_PORT:-21499}
	inside=(chroot --userspec=65532:65532 "$work/image" /usr/bin/tenet)
	key=$(clean env TENET_DATA=/data "${inside[@]}" keys create --name ops --role admin --all-projects 2>/dev/null)
	env -i PATH="$PATH" TENET_DATA=/data TENET_LISTEN="127.0.0.1:$port" "${inside[@]}" serve >"$work/serve.log" 2>&1 &
	server=$!
	for _ in $(seq 100); do
		clean env TENET_LISTEN="127.0.0.1:$port" "${inside[@]}" health >/dev/null 2>&1 && break
		sleep 0.2
	done
	clean env TENET_LISTEN="127.0.0.1:$port" "${inside[@]}" health || { cat "$work/serve.log" >&2; fail "the image does not serve"; }
	verdict "image, served" "$work/archive/tenet" --server "http://127.0.0.1:$port" --key "$key"
	kill "$server" && wait "$server" || true
	server=
else
	skip "image: running it needs root and chroot"
fi
echo "test-dist: done in $SECONDS s"
