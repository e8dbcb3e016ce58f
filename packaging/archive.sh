#!/bin/sh
# Packs a built program as a release archive with its checksum: packaging/archive.sh PROGRAM TARGET FOLDER
# writes FOLDER/toolmux-VERSION-TARGET.tar.gz and the same with .sha256.
set -eu
program=$1 target=$2 folder=$3
root=$(cd "$(dirname "$0")/.." && pwd)
version=$("$program" --version | cut -d' ' -f2)
name=toolmux-$version-$target
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/$name" "$folder"
cp "$program" "$work/$name/toolmux"
cp "$root/LICENSE" "$root/README.md" "$root/packaging/toolmux.service" "$work/$name/"
tar --create --gzip --owner=0 --group=0 --directory "$work" --file "$folder/$name.tar.gz" "$name"
(cd "$folder" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
printf '%s\n' "$folder/$name.tar.gz"
