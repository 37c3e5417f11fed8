#!/usr/bin/env bash
# Builds a release into dist/: one archive for each system, and SHA256SUMS. The same
# commit, version and Go give the same bytes, wherever it is built.
#   VERSION=1.2.3 packaging/release.sh
# TARGETS and DIST say what to build and where, when they are set.
set -euo pipefail
cd "$(dirname "$0")/.."
version="${VERSION:-$(git describe --tags --always --dirty)}"
targets="${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}"
dist="${DIST:-dist}"
# The archives carry the commit's own time, and no owner.
epoch="${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}"
mkdir -p "$dist"
dist=$(cd "$dist" && pwd)
rm -f "$dist"/reeve-*.tar.gz "$dist"/SHA256SUMS
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for target in $targets; do
  system="${target%/*}" machine="${target#*/}"
  name="reeve-$version-$system-$machine"
  mkdir "$work/$name"
  CGO_ENABLED=0 GOOS="$system" GOARCH="$machine" GOFLAGS= go build -trimpath -buildvcs=false \
    -ldflags "-s -w -buildid= -X main.version=$version" -o "$work/$name/reeve" ./cmd/reeve
  cp LICENSE README.md SECURITY.md CHANGELOG.md docs/operation.md "$work/$name"
  if [ "$system" = linux ]; then cp packaging/reeve.service packaging/reeve.sysusers "$work/$name"; fi
  chmod -R u=rwX,go=rX "$work/$name"
  tar -C "$work" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner --format=ustar -cf - "$name" |
    gzip -9n >"$dist/$name.tar.gz"
  echo "$dist/$name.tar.gz"
done
(cd "$dist" && sha256sum reeve-*.tar.gz >SHA256SUMS)
