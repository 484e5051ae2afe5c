#!/bin/sh
# Copies the primary into a new volume, and then runs PostgreSQL as its standby.
set -eu
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  mkdir -p "$PGDATA"
  chmod 700 "$PGDATA"
  chown -R postgres:postgres /var/lib/postgresql
  until gosu postgres pg_basebackup --host=postgres --username=replicator --pgdata="$PGDATA" \
    --write-recovery-conf --wal-method=stream --checkpoint=fast; do
    sleep 2
  done
fi
exec docker-entrypoint.sh "$@"
