import KFSystem

/// Advice for the words that users of curl, wget, ccache and similar programs type.
///
/// The nearest name is a bad guess for some of them: `--max-filesize` is not `--max-size`, the cache's limit.
enum Hints {
    /// Options that kf does not have, without dashes, and what to write in their place.
    private static let options: [String: String] = [
        "anyauth": "use --auth any", "append": "a run adds to the cache", "basic": "it is the default; see --auth",
        "bearer": "use -H 'Authorization: Bearer TOKEN'",
        "cache": "use --cache-dir DIR", "cache-only": "use --only-from-cache or --offline",
        "cached": "use --only-from-cache or --offline", "compressed": "images are compressed already",
        "concurrency": "use -j N", "connect-timeout": "use --timeout TIME, which limits the connection too",
        "continue": "kf continues interrupted downloads by itself",
        "continue-at": "kf continues interrupted downloads by itself",
        "cookie": "use -H 'Cookie: NAME=VALUE' or --cookie-jar FILE", "convert": "use -f FORMAT",
        "data": "kf only sends GET requests", "directory-prefix": "use -P DIR",
        "digest": "use --auth digest", "fail": "kf always fails on an error status", "force": "use --force-refresh",
        "form": "kf only sends GET requests", "height": "use -p resize:xHEIGHT",
        "head": "'kf cache explain URL' shows what the cache knows", "ignore-errors": "kf goes on after errors",
        "include": "'kf fetch --json' shows the status", "input-file": "use 'kf prefetch LIST'",
        "insecure": "use --trusted-host HOST for that host, or --cacert FILE",
        "location": "redirects are followed; see --max-redirects",
        "max-age": "use --expire TIME", "max-concurrent": "use -j N",
        "max-filesize": "use --max-bytes BYTES", "max-redirs": "use --max-redirects N",
        "no-cache": "use --force-refresh, or --store none to store nothing",
        "no-check-certificate": "use --trusted-host HOST for that host, or --cacert FILE",
        "no-verbose": "use -q", "out": "use -o FILE", "output-document": "use -o FILE",
        "parallel": "downloads are parallel; see -j", "parallel-max": "use -j N", "password": "use -u NAME:PASSWORD",
        "proxy-user": "use --proxy http://NAME:PASSWORD@HOST", "recursive": "kf follows no links; use a list of URLs",
        "referer": "use -H 'Referer: URL'", "refresh": "use --force-refresh, or --revalidate to ask for changes only",
        "remote-name-all": "use -O", "request": "kf only sends GET requests", "resize": "use -p resize:WIDTHxHEIGHT",
        "retries": "use --retry N", "retry-connrefused": "refused connections are retried",
        "retry-max-time": "use --deadline TIME", "silent": "use -q", "size": "use -p resize:WIDTHxHEIGHT",
        "thumbnail": "use -p resize:WIDTHxHEIGHT,fit", "threads": "use -j N", "timestamping": "use --revalidate",
        "tries": "use --retry N", "ttl": "use --expire TIME", "update": "use --revalidate", "wait": "use --rate N/s",
        "width": "use -p resize:WIDTHx", "workers": "use -j N",
    ]

    /// Short options that kf does not have.
    private static let letters: [Character: String] = [
        "A": "use --user-agent TEXT", "b": "use -H 'Cookie: NAME=VALUE' or --cookie-jar FILE",
        "c": "kf continues interrupted downloads by itself; --cookie-jar FILE keeps cookies",
        "C": "kf continues interrupted downloads by itself", "d": "kf only sends GET requests",
        "e": "use -H 'Referer: URL'", "E": "use --cert FILE",
        "i": "'kf prefetch LIST' reads a list, and 'kf fetch --json' shows the status",
        "I": "'kf cache explain URL' shows what the cache knows",
        "k": "use --trusted-host HOST for that host, or --cacert FILE", "L": "redirects are followed",
        "O": "use -P DIR", "o": "use -P DIR", "n": "--no-clobber is a long option",
        "m": "use --max-time TIME", "N": "use --revalidate", "r": "kf follows no links",
        "s": "use -q", "S": "errors are always shown", "t": "use --retry N", "T": "use --timeout TIME",
        "U": "use --user-agent TEXT", "w": "use --rate N/s", "x": "use --proxy URL",
        "X": "kf only sends GET requests", "z": "use --revalidate", "Z": "downloads are parallel; see -j",
    ]

    /// Commands that kf does not have, after their first word if there are two.
    private static let commands: [String: String] = [
        "cache list": "kf cache ls", "cache dir": "kf cache path", "cache du": "kf cache stat",
        "cache show": "kf cache explain", "cache info": "kf cache stat", "cache stats": "kf cache stat",
        "cache size": "kf cache stat", "cache status": "kf cache stat", "cache where": "kf cache path",
        "cache check": "kf cache verify", "cache fsck": "kf cache verify", "cache repair": "kf cache verify --repair",
        "cache gc": "kf cache clean", "cache prune": "kf cache clean", "cache evict": "kf cache clean",
        "cache purge": "kf cache rm URL' or 'kf cache clean --all", "cache clear": "kf cache clean --all",
        "cache empty": "kf cache clean --all", "cache delete": "kf cache rm", "cache del": "kf cache rm",
        "cache remove": "kf cache rm", "cache invalidate": "kf cache rm", "cache add": "kf cache put",
        "cache store": "kf cache put", "cache import": "kf cache put", "get": "kf fetch", "download": "kf fetch",
        "convert": "kf fetch", "resize": "kf fetch", "warm": "kf prefetch", "warmup": "kf prefetch",
        "cache find": "kf cache ls", "cache inspect": "kf cache explain", "cache reset": "kf cache stat --reset",
        "cache zero": "kf cache stat --reset", "cache -s": "kf cache stat", "delete": "kf cache rm",
        "remove": "kf cache rm", "stats": "kf cache stat",
        "purge": "kf cache rm URL' or 'kf cache clean --all", "version": "kf --version",
    ]

    /// Options of the last release, and what says the same now.
    private static let gone = [
        "ignore-query": "--key-ignore '*'", "memory-only": "--store none", "opt-out-agent": "--respect-opt-out=NAME",
        "scale": "a size of --process, such as resize:640x480", "shard-by": "--shard I/N,host",
        "show": "'-o - | chafa -'",
    ]

    /// Options of single commands of the last release, and what does the same now.
    private static let goneOfCommand = [
        "cache stat --remote": "use du or 'rclone size'",
        "cache verify --remote": "readers verify what they get; 'sha256sum --check' checks all objects",
        "cache verify --delete": "use --repair",
        "cache clean --remote": "use find, rclone or a lifecycle rule; all of kf1 may be deleted at any time",
    ]

    static func replaced(_ name: String, of command: String) -> String? {
        replaced(name) ?? goneOfCommand["\(command) --\(name)"].map { "; \($0)" }
    }

    /// The ending of a message about an option that another one has replaced: `; it is --store none now`.
    static func replaced(_ name: String) -> String? {
        gone[name.hasPrefix("no-") ? String(name.dropFirst(3)) : name].map { "; it is \($0) now" }
    }

    /// The ending of a message about an unknown option: `; use -j N`. Nil for a word that is known nowhere.
    static func option(_ name: String) -> String? { options[name].map { "; \($0)" } }

    /// Advice for a URL that failed, with a range that curl or a shell expands: `{1..5}`, `[0-9]`. Nil for any other.
    static func expansion(in text: String) -> String? {
        for (mark, end) in [("{", "}"), ("[", "]")] as [(Character, Character)] {
            guard let start = text.firstIndex(of: mark), let stop = text[start...].firstIndex(of: end) else { continue }
            let inside = String(text[text.index(after: start)..<stop])
            let ends = mark == "{" ? inside.parts(around: "..") : inside.split(separator: "-")
            let isRange = ends.count == 2 && ends.allSatisfy { Int($0) != nil || $0.count == 1 }
            guard isRange || mark == "{" && inside.firstIndex(of: ",") != nil else { continue }
            let pattern = mark == "{" ? String(inside) : "\(ends[0])..\(ends[1])"
            return "kf does not expand \(text[start...stop]); a shell expands {\(pattern)}, without quotes"
        }
        return nil
    }

    static func option(_ letter: Character) -> String? { letters[letter].map { "; \($0)" } }

    /// The ending of a message about an unknown command.
    static func command(_ words: String) -> String? { commands[words].map { "; did you mean '\($0)'?" } }
}
