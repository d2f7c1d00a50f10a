#!/bin/sh
# Serves every bare repository under a folder over git://, for reading and writing, without asking who it is.
# app.git is created there with one commit on main when it is not there yet. Argument: the folder. PORT: 9418.
set -eu
repositories=${1:?the folder of the repositories}

export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
export GIT_AUTHOR_NAME=Rescind GIT_AUTHOR_EMAIL=rescind@localhost
export GIT_COMMITTER_NAME=Rescind GIT_COMMITTER_EMAIL=rescind@localhost

if [ ! -d "$repositories/app.git" ]; then
    new="$repositories/.app.git.new"
    rm -rf "$new"
    git init --quiet --bare --initial-branch=main "$new"
    empty_tree=$(git -C "$new" hash-object -t tree -w /dev/null)
    commit=$(git -C "$new" commit-tree "$empty_tree" -m 'Begin')
    git -C "$new" update-ref refs/heads/main "$commit"
    mv "$new" "$repositories/app.git"  # whole, or not there: a kill in between leaves only .app.git.new
fi

exec git daemon --reuseaddr --export-all --enable=receive-pack \
    --port="${PORT:-9418}" --base-path="$repositories" "$repositories"
