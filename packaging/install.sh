#!/bin/sh
# Installs toolmux for this user, with its manual pages and shell completions. `install.sh --help` shows the options.
set -eu

usage() {
    cat <<'USAGE'
Installs toolmux for this user, with its manual pages and shell completions.

  install.sh ARCHIVE      installs the archive of a release: a file or an https URL, with its .sha256 file next to it
  packaging/install.sh    in a clone: builds toolmux first (needs Rust and a C compiler)

--prefix DIR   install below DIR: the program in DIR/bin, manual pages and completions in DIR/share (default: ~/.local)
--no-extras    install the program only
USAGE
}

prefix=
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
            usage
            exit 0
            ;;
        -*) fail "unknown option $1 (see --help)" ;;
        *) archive=$1 ;;
    esac
    shift
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# An archive is installed only if it matches the checksum in the file next to it.
unpack() {
    case $1 in
        https://*)
            command -v curl >/dev/null || fail "downloading needs curl, on Debian: apt-get install curl ca-certificates"
            file=$work/$(basename "$1")
            curl --fail --silent --show-error --location --proto '=https' --output "$file" "$1"
            curl --fail --silent --show-error --location --proto '=https' --output "$file.sha256" "$1.sha256"
            ;;
        *://*) fail "only https addresses are fetched: $1" ;;
        *) file=$1 ;;
    esac
    [ -f "$file" ] || fail "there is no file $file"
    [ -f "$file.sha256" ] || fail "$file.sha256 is missing: it comes with the archive and has its checksum"
    expected=$(cut -d' ' -f1 "$file.sha256")
    actual=$(sha256sum "$file" | cut -d' ' -f1)
    [ "$expected" = "$actual" ] || fail "$file does not match $file.sha256: download it again"
    tar --extract --gzip --file "$file" --directory "$work" --strip-components=1
    [ -f "$work/toolmux" ] || fail "$file has no program named toolmux"
}

build() {
    root=$(cd "$(dirname "$0")/.." && pwd)
    [ -f "$root/crates/toolmux/Cargo.toml" ] ||
        fail "this is not a clone of toolmux: name the archive of a release, install.sh toolmux-….tar.gz (see --help)"
    command -v cargo >/dev/null || fail "building needs Rust: see https://rustup.rs"
    command -v cc >/dev/null || fail "building needs a C compiler, on Debian: apt-get install build-essential"
    (cd "$root" && cargo build --profile dist --locked --package toolmux --bin toolmux)
    cp "${CARGO_TARGET_DIR:-$root/target}/dist/toolmux" "$work/toolmux"
}

if [ -n "$archive" ]; then unpack "$archive"; else build; fi

"$work/toolmux" --version >"$work/version" || fail "the program does not run on this machine"
if [ -n "$prefix" ]; then
    mkdir -p "$prefix"
    prefix=$(cd "$prefix" && pwd)
    # Where `install-extras` writes them; without --prefix it uses the folders of the user.
    export XDG_DATA_HOME="$prefix/share" XDG_CONFIG_HOME="$prefix/share"
else
    prefix=${HOME:?}/.local
fi
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
