#!/bin/bash
# Serves a directory from a private nginx on a free loopback port, until standard input ends.
# usage: serve.sh ROOT STATE
#
# Prints the server's address when it answers. STATE (made when it is not there) holds all that nginx writes:
# access.log, error.log, its pid and its temporary files. When STATE/server.conf exists, it is included in the
# server block. Waiting for the end of standard input means that nginx goes even when whoever started it was killed.
set -euo pipefail

# Hundreds of tests start a server of their own, so that the shell's own commands do what they can.
root=$(cd "$1" && pwd -P)
[[ -d $2 ]] || mkdir -p "$2"
state=$(cd "$2" && pwd -P)
nginx=$(PATH=$PATH:/usr/sbin:/sbin command -v nginx) || {
    echo "serve: nginx is missing, 'make setup' installs it" >&2
    exit 1
}

# nginx removes its pid file as the last thing it does. (In a container whose first process reaps nothing, the pid
# itself would be there much longer.)
stop() {
    kill -TERM "$pid" 2>/dev/null || return 0
    for _ in {1..200}; do
        [[ -e $state/nginx.pid ]] || return 0
        sleep 0.01
    done
    kill -KILL -- "-$pid" 2>/dev/null || true
}
pid=
trap stop EXIT
trap 'exit 143' TERM INT HUP

# As root nginx would give its workers to another user, who may not be able to read ROOT.
user=
((EUID != 0)) || user="user root;"
>>"$state/server.conf"

configure() {
    echo >"$state/nginx.conf" "$user
worker_processes 1;
pid \"$state/nginx.pid\";
error_log \"$state/error.log\" warn;
events { worker_connections 1000; }
http {
    log_format fields '\$request_method\t\$request_uri\t\$status\t\$bytes_sent\t\$http_if_none_match\t\$http_if_modified_since\t\$http_range\t\$http_user_agent';
    access_log \"$state/access.log\" fields;
    client_body_temp_path \"$state/body\";
    proxy_temp_path \"$state/proxy\";
    fastcgi_temp_path \"$state/fastcgi\";
    uwsgi_temp_path \"$state/uwsgi\";
    scgi_temp_path \"$state/scgi\";
    types {
        image/jpeg jpg jpeg;
        image/png png;
        image/gif gif;
        image/webp webp;
        text/html html;
        text/plain txt;
    }
    keepalive_requests 100000;
    server {
        listen 127.0.0.1:$1 backlog=1024;
        root \"$root\";
        include \"$state/server.conf\";
    }
}"
}

in_use() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# nginx is in the background only once it listens: when this returns, it answers.
for _ in {1..20}; do
    port=$((20000 + RANDOM % 12000))
    ! in_use "$port" || continue
    configure "$port"
    if "$nginx" -p "$state" -c "$state/nginx.conf" -e "$state/error.log" 2>"$state/start.log"; then
        echo "http://127.0.0.1:$port"
        exec 1>&-
        # The master writes its number once it is in the background. STATE may be gone when standard input ends.
        for _ in {1..200}; do
            [[ -s $state/nginx.pid ]] && pid=$(<"$state/nginx.pid") && [[ -n $pid ]] && break
            sleep 0.01
        done
        while read -r _; do :; done
        exit 0
    fi
    grep -q 'Address already in use' "$state/start.log" "$state/error.log" || break
done
echo "serve: nginx did not start:" >&2
cat "$state/start.log" "$state/error.log" >&2
exit 1
