#!/bin/sh
# Installs toolmux for this user, with its manual pages and shell completions.
#
#   packaging/install.sh                        builds this clone (needs Rust and a C compiler)
#   packaging/install.sh toolmux-….tar.gz       unpacks an archive of a release: a file or an https URL
#
# --prefix DIR   where it goes: DIR/bin (default: ~/.local)
# --no-extras    without manual pages and completions
set -eu

prefix=${HOME:?}/.local
archive=
extras=yes

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
        --prefix)
            [ $# -ge 2 ] || fail "--prefix needs a folder"
            prefix=$2
            shift
            ;;
        --no-extras) extras=no ;;
        -h | --help)
            sed -n '2,8s/^# \{0,1\}//p' "$0"
            exit 0
            ;;
        -*) fail "unknown option $1 (see --help)" ;;
        *) archive=$1 ;;
    esac
    shift
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# An archive is used only if it matches the checksum that lies beside it.
unpack() {
    case $1 in
        https://*)
            file=$work/$(basename "$1")
            curl --fail --silent --show-error --location --proto '=https' --output "$file" "$1"
            curl --fail --silent --show-error --location --proto '=https' --output "$file.sha256" "$1.sha256"
            ;;
        *://*) fail "only https addresses are fetched: $1" ;;
        *) file=$1 ;;
    esac
    [ -f "$file" ] || fail "there is no file $file"
    [ -f "$file.sha256" ] || fail "$file.sha256 is missing: it comes with the archive and holds its checksum"
    expected=$(cut -d' ' -f1 "$file.sha256")
    actual=$(sha256sum "$file" | cut -d' ' -f1)
    [ "$expected" = "$actual" ] || fail "$file does not match $file.sha256: download it again"
    tar --extract --gzip --file "$file" --directory "$work" --strip-components=1
    [ -f "$work/toolmux" ] || fail "$file holds no program named toolmux"
}

build() {
    command -v cargo >/dev/null || fail "building needs Rust: see https://rustup.rs"
    command -v cc >/dev/null || fail "building needs a C compiler, on Debian: apt-get install build-essential"
    root=$(cd "$(dirname "$0")/.." && pwd)
    (cd "$root" && cargo build --profile dist --locked --package toolmux --bin toolmux)
    cp "${CARGO_TARGET_DIR:-$root/target}/dist/toolmux" "$work/toolmux"
}

if [ -n "$archive" ]; then unpack "$archive"; else build; fi

"$work/toolmux" --version >"$work/version" || fail "the program does not run on this machine"
mkdir -p "$prefix/bin"
# Installed under another name first: a running toolmux keeps its file until it ends.
cp "$work/toolmux" "$prefix/bin/.toolmux.new"
chmod 755 "$prefix/bin/.toolmux.new"
mv "$prefix/bin/.toolmux.new" "$prefix/bin/toolmux"
[ "$extras" = no ] || "$prefix/bin/toolmux" install-extras

printf '%s is installed as %s/bin/toolmux\n' "$(cat "$work/version")" "$prefix"
case :$PATH: in
    *":$prefix/bin:"*) ;;
    *) printf 'add %s/bin to PATH to run it as toolmux\n' "$prefix" ;;
esac
