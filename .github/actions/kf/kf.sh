#!/bin/bash
# The steps of the action. usage: kf.sh install|prefetch|prune|report
#
# A run that fails saves the images that it has fetched, so that the next one does not fetch them again: `report` fails at
# the end of the action.
set -euo pipefail

fail() {
    echo "::error::kf: $*"
    exit 1
}

# Downloads a file of the release.
get() { curl --fail --silent --show-error --location --retry 3 --max-time 300 -o "$2" "$url/$1"; }

install_kf() {
    local machine folder name archive sum
    local url=${IN_URL:-$GITHUB_SERVER_URL/$IN_REPOSITORY/releases/download/$IN_VERSION}
    local cache=${IN_CACHE_DIR:-$RUNNER_TEMP/kf-cache}
    machine=$(uname -m)
    name=kf-$IN_VERSION-linux-$machine
    folder=$(mktemp -d "$RUNNER_TEMP/kf-XXXXXX")
    archive=$folder/$name.tar.gz
    get "$name.tar.gz" "$archive" || fail "$name.tar.gz cannot be downloaded from $url"
    sum=$IN_SHA256
    if [[ -z $sum ]]; then
        get SHA256SUMS "$folder/SHA256SUMS" || fail "SHA256SUMS cannot be downloaded from $url"
        sum=$(awk -v name="$name.tar.gz" '$2 == name { print $1 }' "$folder/SHA256SUMS")
    fi
    [[ $sum =~ ^[0-9a-fA-F]{64}$ ]] || fail "there is no SHA-256 of $name.tar.gz"
    echo "${sum,,}  $archive" | sha256sum --quiet --check >/dev/null || fail "$name.tar.gz is not the file with SHA-256 $sum"
    tar -xzf "$archive" -C "$folder"
    rm "$archive"
    local kf=$folder/$name/bin/kf
    # Everything else that kf loads is for some formats and options.
    if "$kf" --version --json | grep -q '"libcurl":null'; then
        sudo apt-get -qq update && sudo apt-get -qq install --yes --no-install-recommends libcurl4
    fi
    "$kf" --version -v
    echo "$folder/$name/bin" >>"$GITHUB_PATH"
    # The cache belongs to the runner, whoever wrote the files that are restored.
    printf '%s\n' "KF_CACHE_DIR=$cache" KF_TRUST_CACHE_DIR=1 >>"$GITHUB_ENV"
    echo "cache-dir=$cache" >>"$GITHUB_OUTPUT"
    if [[ -n $IN_LIST ]]; then
        [[ -f $IN_LIST ]] || fail "there is no list $IN_LIST"
        echo "hash=$(cat "$IN_LIST" "$(lock)" | sha256sum | cut -c 1-16)" >>"$GITHUB_OUTPUT"
    fi
}

# The lock, or an empty file in its place.
lock() { if [[ -n $IN_LOCK && -f $IN_LOCK ]]; then echo "$IN_LOCK"; else echo /dev/null; fi; }

prefetch() {
    local words=(prefetch "$IN_LIST" --json) option status=0 run summary
    [[ $(lock) == /dev/null ]] || words+=(--lock "$IN_LOCK" --frozen)
    while read -r option; do [[ -z $option ]] || words+=("$option"); done <<<"$IN_OPTIONS"
    run=$(mktemp "$RUNNER_TEMP/kf-run-XXXXXX")
    kf "${words[@]}" >"$run" || status=$?
    summary=$(grep '"summary":true' "$run" | tail -n 1 || true)
    number() { grep -o "\"$1\":[0-9]*" <<<"$summary" | head -n 1 | cut -d : -f 2; }
    local fetched failed
    fetched=$(number fetched) failed=$(number failed)
    {
        echo "status=$status"
        echo "fetched=${fetched:-0}"
        echo "failed=${failed:-0}"
        echo "changed=$([[ ${fetched:-0} -gt 0 ]] && echo true || echo false)"
    } >>"$GITHUB_OUTPUT"
    echo "kf: ${fetched:-0} images fetched, $(number cached) cached, ${failed:-0} failed" | tee -a "$GITHUB_STEP_SUMMARY"
    # A line of JSON has no line feed, so that a server's text cannot begin a command of the runner.
    grep '"status":"failed"' "$run" | head -n 20 | cut -c 1-500 | sed 's/^/failed: /' || true
}

report() {
    case $IN_STATUS in
    0) ;;
    1) [[ $IN_ALLOW_FAILURES == true ]] || fail "images failed" ;;
    *) fail "kf ended with status $IN_STATUS" ;;
    esac
}

case $1 in
install) install_kf ;;
prefetch) prefetch ;;
prune) kf cache clean --unused-for "$IN_UNUSED_FOR" --yes ;;
report) report ;;
*) fail "unknown step $1" ;;
esac
