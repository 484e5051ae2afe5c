#!/bin/sh
# Copies the primary into a new volume, and then runs PostgreSQL as its standby.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  # Copied beside it and renamed at the end: a copy that was interrupted is no server.
  copy="$PGDATA.copy"
  mkdir -p "$(dirname "$PGDATA")"
  chown -R postgres:postgres /var/lib/postgresql
  until gosu postgres sh -c 'rm -rf "$1" && pg_basebackup --host=postgres --username=replicator \
    --pgdata="$1" --write-recovery-conf --wal-method=stream --checkpoint=fast' - "$copy"; do
    sleep 2
  done
  [ ! -d "$PGDATA" ] || rmdir "$PGDATA"
  mv "$copy" "$PGDATA"
fi
exec docker-entrypoint.sh "$@"
