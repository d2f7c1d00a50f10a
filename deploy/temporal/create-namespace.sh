#!/bin/sh
# Makes sure that the namespace exists, with its retention, and that the server serves it; harmless when run again.
# TEMPORAL_ADDRESS: host:port. TEMPORAL_NAMESPACE: its name. RETENTION: how long closed workflows are kept, e.g. 720h.
set -eu
: "${TEMPORAL_ADDRESS:?}" "${TEMPORAL_NAMESPACE:?}" "${RETENTION:?}"

patiently() {  # a command, tried once a second for a minute
    tries=0
    until "$@" >/tmp/answer 2>&1; do
        tries=$((tries + 1))
        if [ "$tries" -ge 60 ]; then
            cat /tmp/answer >&2
            echo "Gave up after 60 tries: $*" >&2
            return 1
        fi
        sleep 1
    done
}

patiently temporal operator cluster health

if temporal operator namespace describe --namespace "$TEMPORAL_NAMESPACE" >/dev/null 2>&1; then
    temporal operator namespace update --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
else
    temporal operator namespace create --namespace "$TEMPORAL_NAMESPACE" --retention "$RETENTION"
fi

# A new namespace is known to every part of the server only some seconds after it was created.
patiently temporal workflow list --namespace "$TEMPORAL_NAMESPACE" --limit 1
echo "Namespace $TEMPORAL_NAMESPACE is ready at $TEMPORAL_ADDRESS."
