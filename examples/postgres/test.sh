#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Goal: a foreign library that has descriptors of its own, libpq, is used from many fibers.
# Method: a PostgreSQL of our own is made in a temporary folder, by a user that is not root, started on loopback at a
# port that is free, and the example is run against it, three times with other numbers of workers.
#     test.sh PROGRAM
set -euo pipefail

bin=$(find /usr/lib/postgresql -name initdb -printf '%h\n' 2>/dev/null | sort -V | tail -1) || true
if [ $# -lt 1 ] || [ ! -x "$1" ]; then
    echo "skipped: the example was not built, since there is no libpq: install libpq-dev"; exit 77
fi
[ -n "$bin" ] || { echo "skipped: there is no PostgreSQL server here: install postgresql"; exit 77; }

program=$(realpath "$1")
folder=$(mktemp -d)
as=()
if [ "$(id -u)" -eq 0 ]; then # initdb refuses root
    as=(setpriv "--reuid=$(id -u nobody)" "--regid=$(id -g nobody)" --clear-groups)
    chown nobody "$folder"
fi
# It ends a server that started, and removes what is left of it.
end() {
    [ ! -f "$folder/data/postmaster.pid" ] || "${as[@]}" "$bin/pg_ctl" -D "$folder/data" -m immediate stop >/dev/null
    rm -rf "$folder"
}
trap end EXIT

cd "$folder"
"${as[@]}" "$bin/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C --no-sync >initdb.log 2>&1 ||
    { cat initdb.log; exit 1; }
port=
for _ in 1 2 3 4 5 6 7 8; do
    try=$((20000 + RANDOM % 12000))
    if "${as[@]}" "$bin/pg_ctl" -D "$folder/data" -l "$folder/data/log" -w -t 60 start \
        -o "-c listen_addresses=127.0.0.1 -c port=$try -c fsync=off -c unix_socket_directories=" >start.log 2>&1; then
        port=$try
        break
    fi
done
[ -n "$port" ] || { cat start.log "$folder/data/log"; exit 1; }

for workers in 1 2 7; do
    CC_WORKERS=$workers "$program" "hostaddr=127.0.0.1 port=$port user=postgres dbname=postgres sslmode=disable" >out ||
        { cat out; tail -20 data/log; exit 1; }
    diff - out <<'END' || exit 1
too much: timed out; then: 42
1000 transfers; there are 100000, and not where they were
END
done
