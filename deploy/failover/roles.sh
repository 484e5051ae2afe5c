#!/bin/sh
# Runs once, when the volume of the primary is new.
set -eu
psql --no-psqlrc --set=ON_ERROR_STOP=1 --username="$POSTGRES_USER" --dbname=postgres \
  --set=password="$POSTGRES_PASSWORD" <<'SQL'
create role replicator login replication password :'password';
create role haproxy login;
SQL
