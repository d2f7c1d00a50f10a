#!/bin/sh
# Creates the ledger's two logins, or gives them their passwords anew; harmless when run again.
# The worker may execute the ledger's functions, the reader may read its views, and neither may do anything else.
# Connects as PGHOST, PGUSER, PGPASSWORD and PGDATABASE say; runs after `python -m rescind.ledger install`.
set -eu
: "${WORKER_PASSWORD:?}" "${READER_PASSWORD:?}"

psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 \
    --set=worker_password="$WORKER_PASSWORD" --set=reader_password="$READER_PASSWORD" <<'SQL'
BEGIN;
SELECT pg_advisory_xact_lock(hashtext('rescind logins'));

SELECT format('CREATE ROLE %I LOGIN', name)
  FROM unnest(ARRAY['rescind_ledger_worker', 'rescind_ledger_reader']) AS name
 WHERE name NOT IN (SELECT rolname FROM pg_roles) \gexec

ALTER ROLE rescind_ledger_worker LOGIN INHERIT PASSWORD :'worker_password';
ALTER ROLE rescind_ledger_reader LOGIN INHERIT PASSWORD :'reader_password';
GRANT rescind_worker TO rescind_ledger_worker;
GRANT rescind_reader TO rescind_ledger_reader;

SELECT format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database()) \gexec
SELECT format('GRANT CONNECT ON DATABASE %I TO rescind_worker, rescind_reader', current_database()) \gexec
COMMIT;
SQL
echo "The ledger's logins are ready."
