# To be sourced: serves $root/Fixtures/ from a private nginx until the script ends, and removes $scratch then.
# usage: start_server WHAT   (WHAT stopped, for the message of a failure)
#
# Sets $address, and $scratch/nginx for the server's files; $scratch/nginx/server.conf may exist before.

start_server() {
    what=$1
    trap finish EXIT
    trap 'exit 130' INT TERM
    coproc SERVER { "$root/Tests/Support/serve.sh" "$root/Fixtures" "$scratch/nginx"; }
    server=$SERVER_PID
    exec {server_in}>&"${SERVER[1]}" {server_out}<&"${SERVER[0]}"
    eval "exec ${SERVER[1]}>&-"
    read -r address <&"$server_out" || exit 1
}

finish() {
    local status=$?
    if [[ -n ${server_in-} ]]; then
        exec {server_in}>&-
        wait "$server" 2>/dev/null || true
    fi
    rm -rf "$scratch"
    ((status == 0)) || echo "$what stopped with status $status" >&2
    exit "$status"
}
