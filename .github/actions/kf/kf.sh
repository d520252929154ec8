#!/bin/bash
# The steps of the action. usage: kf.sh install|prefetch|prune|report
#
# A run that fails saves the images that it has fetched, so that the next one does not fetch them again: `report` fails at
# the end of the action.
set -euo pipefail

# The text of a workflow command: a percent sign begins an escape there.
command_text() { echo "${1//'%'/%25}"; }

fail() {
    echo "::error::kf: $(command_text "$*")"
    exit 1
}

# Downloads a file of the release.
get() { curl --fail --silent --show-error --location --retry 3 --max-time 300 -o "$2" "$url/$1"; }

as_root() {
    if [[ $(id -u) == 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "libcurl is missing, and neither root nor sudo is here to install it"
    fi
}

install_kf() {
    local machine folder name archive sum
    # A local action (uses: ./…) has no repository of its own.
    local url=${IN_URL:-$GITHUB_SERVER_URL/${IN_REPOSITORY:-$GITHUB_REPOSITORY}/releases/download/$IN_VERSION}
    local cache=${IN_CACHE_DIR:-$RUNNER_TEMP/kf-cache}
    if [[ -n $IN_LIST ]]; then
        [[ -f $IN_LIST ]] || fail "there is no list $IN_LIST"
        [[ -z $IN_LOCK || -f $IN_LOCK ]] || fail "there is no lock $IN_LOCK"
        echo "hash=$(cat "$IN_LIST" "$(lock)" | sha256sum | cut -c 1-16)" >>"$GITHUB_OUTPUT"
    fi
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
        as_root apt-get -qq update
        as_root apt-get -qq install --yes --no-install-recommends libcurl4
    fi
    "$kf" --version -v
    echo "$folder/$name/bin" >>"$GITHUB_PATH"
    # The cache belongs to the runner, whoever wrote the files that are restored.
    printf '%s\n' "KF_CACHE_DIR=$cache" KF_TRUST_CACHE_DIR=1 >>"$GITHUB_ENV"
    echo "cache-dir=$cache" >>"$GITHUB_OUTPUT"
}

# The lock: the given one, or images.lock if it is there; else an empty file in its place.
lock() {
    local name=${IN_LOCK:-images.lock}
    if [[ -f $name ]]; then echo "$name"; else echo /dev/null; fi
}

# Adds the words of the options. A line that begins with an option is split as in a shell, so that its value may stand in
# the same line; with --option=VALUE, and for a value of its own, the line is one word.
add_options() {
    local line split
    while read -r line; do
        if [[ $line == -* && ${line%%[[:space:]]*} != *=* ]]; then
            split=$(xargs -n 1 printf '%s\n' <<<"$line" 2>&1) || fail "options: $line: $split"
            mapfile -t -O ${#words[@]} words <<<"$split"
        elif [[ -n $line ]]; then
            words+=("$line")
        fi
    done <<<"$IN_OPTIONS"
}

prefetch() {
    local words=(prefetch "$IN_LIST" --json --annotations github) status=0 run errors summary
    # A restored cache may have been altered: what is accepted by its hash is hashed again.
    [[ $(lock) == /dev/null ]] || words+=(--lock "$(lock)" --frozen --verify)
    [[ $IN_ALLOW_FAILURES != true ]] || words+=(--allow-failures)
    add_options
    run=$(mktemp "$RUNNER_TEMP/kf-run-XXXXXX") errors=$(mktemp "$RUNNER_TEMP/kf-run-XXXXXX")
    kf "${words[@]}" 2>&1 >"$run" | tee "$errors" || status=${PIPESTATUS[0]}
    summary=$(grep '^{"schema":1,"summary":true,' "$run" | tail -n 1 || true)
    number() { grep -o "\"$1\":[0-9]*" <<<"$summary" | head -n 1 | cut -d : -f 2 || true; }
    local name text=""
    for name in fetched derived revalidated from_remote cached failed filtered opted_out cancelled not_tried; do
        local count
        count=$(number "$name")
        case $name in fetched | cached | failed) ;; *) [[ ${count:-0} -gt 0 ]] || continue ;; esac
        text+="${text:+, }${count:-0} ${name//_/ }"
    done
    {
        echo "status=$status"
        echo "problem=$(grep -v '^::' "$errors" | tail -n 1 || true)"
        echo "fetched=$(number fetched | grep . || echo 0)"
        echo "failed=$(number failed | grep . || echo 0)"
        echo "changed=$(grep -o '"changed":true' <<<"$summary" | cut -d : -f 2 || true)"
    } >>"$GITHUB_OUTPUT"
    echo "kf: $text" | tee -a "$GITHUB_STEP_SUMMARY"
}

report() {
    case $IN_STATUS in
    0) ;;
    1 | 4)
        local what="images failed"
        [[ $IN_STATUS == 1 ]] || what="the run was stopped early: $IN_PROBLEM"
        [[ $IN_ALLOW_FAILURES == true ]] || fail "$what"
        ;;
    *) fail "kf ended with status $IN_STATUS: $IN_PROBLEM" ;;
    esac
}

case $1 in
install) install_kf ;;
prefetch) prefetch ;;
prune) [[ -z $IN_UNUSED_FOR ]] || kf cache clean --unused-for "$IN_UNUSED_FOR" --yes ;;
report) report ;;
*) fail "unknown step $1" ;;
esac
