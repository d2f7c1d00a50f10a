#!/bin/sh
# Installed as pre-receive and as reference-transaction: shows the push to the test and does what it answers.
# The box is a directory of files: CALL.refs (what is pushed), CALL.before and CALL.after (the two points,
# each answered by a file CALL.POINT.answer). Pushes that do not come through the test's server pass.
[ -n "$RESCIND_FAULT_CALL" ] || exit 0
call=$RESCIND_FAULT_BOX/$RESCIND_FAULT_CALL

answer_at() {
  : > "$call.$1"
  while [ ! -e "$call.$1.answer" ]; do
    [ -d "$RESCIND_FAULT_BOX" ] || exit 1
    sleep 0.02
  done
  cat "$call.$1.answer"
}

in_place() {
  while read -r _ new name; do
    case $new in *[!0]*) ;; *) new= ;; esac
    [ "$(git rev-parse --quiet --verify "$name")" = "$new" ] || return 1
  done < "$call.refs"
}

case $(basename "$0") in
  pre-receive)
    cat > "$call.refs.part" && mv "$call.refs.part" "$call.refs"
    case $(answer_at before) in
      refuse) echo "you are not allowed to push to this repository" >&2; exit 1 ;;
      die) kill -9 "$PPID"; exit 1 ;;
    esac
    ;;
  reference-transaction)
    if [ "$1" = committed ] && [ -e "$call.before.answer" ] && [ ! -e "$call.after" ] && in_place; then
      answer_at after > /dev/null
    fi
    ;;
esac
exit 0
