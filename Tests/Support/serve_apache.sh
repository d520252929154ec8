#!/bin/bash
# Serves a WebDAV tree from a private Apache on a free loopback port, until standard input ends.
# usage: serve_apache.sh STATE [USER PASSWORD]
#
# Prints the server's address when it answers. STATE (made when it is not there) holds all that Apache reads and writes:
# files/ is the tree, access.log has a line of method, path and status for each request, lines of STATE/server.conf are
# included. With USER every request needs Basic authentication. See serve.sh for the end of standard input.
set -euo pipefail

mkdir -p "$1/files"
state=$(realpath "$1")
apache=$(PATH=$PATH:/usr/sbin:/sbin command -v apache2) || {
    echo "serve_apache: apache2 is missing, 'make setup' installs it" >&2
    exit 1
}
modules=${APACHE_MODULES:-/usr/lib/apache2/modules}
touch "$state/server.conf"

pid=
stop() {
    [[ -n $pid ]] || return 0
    kill -TERM "$pid" 2>/dev/null || return 0
    for _ in {1..200}; do
        kill -0 "$pid" 2>/dev/null || return 0
        sleep 0.01
    done
    kill -KILL -- "-$pid" 2>/dev/null || kill -KILL "$pid" 2>/dev/null || true
}
trap stop EXIT
trap 'exit 143' TERM INT HUP

# Apache gives its workers to another user when it is started as root, and refuses to leave them with root.
user=
if ((EUID == 0)); then
    user="User nobody
Group nogroup"
    chown nobody:nogroup "$state" "$state/files"
fi

access="Require all granted"
if [[ $# -gt 1 ]]; then
    printf '%s:%s\n' "$2" "$(openssl passwd -apr1 "$3")" >"$state/users"
    chmod 644 "$state/users"
    access="AuthType Basic
AuthName kf
AuthUserFile \"$state/users\"
Require valid-user"
fi

configure() {
    local name
    for name in mpm_event dav dav_fs authz_core authn_core authn_file authz_user auth_basic status; do
        echo "LoadModule ${name}_module \"$modules/mod_$name.so\""
    done
    cat <<END
$user
ServerName 127.0.0.1
Listen 127.0.0.1:$1 http
ListenBacklog 1024
ServerRoot "$state"
DefaultRuntimeDir "$state"
PidFile "$state/apache.pid"
ErrorLog "$state/error.log"
LogFormat "%m\t%U%q\t%>s" fields
CustomLog "$state/access.log" fields
DavLockDB "$state/lock"
DocumentRoot "$state/files"
StartServers 1
ThreadsPerChild 64
MaxRequestWorkers 64
MaxKeepAliveRequests 0
KeepAliveTimeout 60
GracefulShutdownTimeout 1
<Directory "$state/files">
    Dav On
    $access
</Directory>
<Location /.status>
    SetHandler server-status
    Require all granted
</Location>
Include "$state/server.conf"
END
}

answers() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

for _ in {1..20}; do
    port=$((20000 + RANDOM % 12000))
    ! answers "$port" || continue
    configure "$port" >"$state/apache.conf"
    "$apache" -d "$state" -f "$state/apache.conf" -D FOREGROUND </dev/null >"$state/start.log" 2>&1 &
    pid=$!
    for _ in {1..500}; do
        kill -0 "$pid" 2>/dev/null || break
        if answers "$port" && [[ -e $state/apache.pid ]]; then
            echo "http://127.0.0.1:$port"
            exec 1>&-
            cat >/dev/null
            exit 0
        fi
        sleep 0.01
    done
    wait "$pid" || true
    pid=
    grep -qs 'Address already in use' "$state/start.log" "$state/error.log" || break
done
echo "serve_apache: Apache did not start:" >&2
cat "$state/start.log" "$state/error.log" >&2 || true
exit 1
