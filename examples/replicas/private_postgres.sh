#!/bin/sh
# A PostgreSQL of our own in a new folder, on the port given, until it is told to end.
# usage: private_postgres.sh PORT
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin | sort -V | tail -n 1)
folder=$(mktemp -d)
as=""
# PostgreSQL refuses to run as root.
if [ "$(id -u)" = 0 ]; then
  chown nobody "$folder"
  as="setpriv --reuid nobody --regid nogroup --clear-groups"
fi
cd "$folder"
$as "$bin/initdb" --username toolmux --auth trust --no-sync --encoding UTF8 -D "$folder/data" >/dev/null
$as "$bin/postgres" -D "$folder/data" -p "$1" -k "$folder" -c listen_addresses=127.0.0.1 -c fsync=off 2>&1 &
server=$!
trap 'kill -INT $server' INT TERM
# The first wait may end with a signal, the second with the server.
wait $server || wait $server || true
cd /
rm -rf "$folder"
