#!/bin/bash
# Prints the version of kf, which stands in Sources/KFSystem/Version.swift alone. Fails if a tag of this commit says another.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=$(sed -n 's/.*static let number = "\(.*\)"$/\1/p' Sources/KFSystem/Version.swift)
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+$ ]] || {
    echo "version: Sources/KFSystem/Version.swift has no version such as 1.2.3" >&2
    exit 1
}
if [[ -e .git ]]; then
    # The exact name that `from:` of a package resolves.
    tags=$(git -c safe.directory="$PWD" tag --points-at HEAD --list '[0-9]*' 'v[0-9]*')
    while read -r tag; do
        [[ -z $tag || ${tag#v} == "$version" ]] || {
            echo "version: this commit has the tag $tag, and Sources/KFSystem/Version.swift says $version" >&2
            exit 1
        }
    done <<<"$tags"
fi
echo "$version"
