#!/usr/bin/env bash
# Publish a site by rsync, whole or not at all: publish.sh SITE [USER@HOST:]FOLDER
#
# The site goes into a new folder, FOLDER/releases/TIME; only what changed travels, all else is
# linked to what is there. When all of it is there, FOLDER/current is led to it by one rename: a
# web server whose root is FOLDER/current never shows half of a site. The last releases are kept,
# so that `ln -sfn releases/OLDER current` takes a site back.
set -euo pipefail

keep=${KEEP:-5}
if [ $# -ne 2 ]; then
  echo "usage: $0 SITE [USER@HOST:]FOLDER" >&2
  exit 2
fi
site=${1%/}
if [ ! -f "$site/index.html" ]; then
  echo "$site: no index.html in it; expected a site, as \`kbsite build\` makes it" >&2
  exit 2
fi
case $2 in
  *:*) host=${2%%:*} folder=${2#*:} place=$host:$folder ;;
  *) host="" folder=$2 place=$2 ;;
esac
case $folder in
  -* | "" | *[!A-Za-z0-9._/@+-]*)
    echo "$folder: expected a folder of letters, digits and ._/@+-" >&2
    exit 2
    ;;
esac

# Runs a script over there, with sh: the folder and what else it is given are its arguments.
there() {
  if [ -n "$host" ]; then
    # shellcheck disable=SC2029 # the arguments are checked above, and hold nothing to expand
    ${RSYNC_RSH:-ssh} "$host" sh -s -- "$@"
  else
    sh -s -- "$@"
  fi
}

release=$(date -u +%Y%m%dT%H%M%SZ)-$$
there "$folder" <<'SH'
mkdir -p "$1/releases"
SH

# Neither links nor owners nor modes travel; files of a site need none of them.
rsync --recursive --times --chmod=D755,F644 --exclude=/.kbsite \
  --link-dest="../../current/" "$site/" "$place/releases/$release.partial/"

there "$folder" "$release" "$keep" <<'SH'
set -eu
cd "$1"
mv "releases/$2.partial" "releases/$2"
ln -s "releases/$2" "current.$2"
# -T: onto the link, not into the folder that it leads to; one rename, so that there is always one.
mv -T "current.$2" current
# Releases that were cut short, then all but the last.
find releases -mindepth 1 -maxdepth 1 -name '*.partial' -mmin +1440 -exec rm -rf {} +
ls -1 releases | grep -v '\.partial$' | sort -r | tail -n "+$(($3 + 1))" |
  while read -r old; do rm -rf "releases/$old"; done
SH
echo "$place/current -> releases/$release" >&2
