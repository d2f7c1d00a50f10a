#!/bin/sh
# Creates Temporal's two databases and brings their schemas to this image's version; harmless when run again.
# The address, user and password come from SQL_HOST, SQL_PORT, SQL_USER, SQL_PASSWORD and SQL_PLUGIN.
set -eu

schema=/etc/temporal/schema/postgresql/v12

set_up() {  # database, folder of its versioned schema
    temporal-sql-tool --db "$1" create-database
    temporal-sql-tool --db "$1" setup-schema --version 0.0
    temporal-sql-tool --db "$1" update-schema --schema-dir "$schema/$2/versioned"
}

set_up temporal temporal
set_up temporal_visibility visibility
echo "Temporal's databases are up to date."
