import Foundation
import Support
import Testing

extension EndToEnd {
    @Suite("Command line mistakes")
    struct CommandLineMistakesTests {
        struct Mistake: CustomTestStringConvertible, Sendable {
            let arguments: [String]
            let status: Int32
            let says: String

            init(_ line: String, _ status: Int32, _ says: String) {
                arguments = line.split(separator: " ").map(String.init)
                self.status = status
                self.says = says
            }

            var testDescription: String { arguments.joined(separator: " ") }
        }

        static let mistakes = [
            Mistake("fetch --ouput x a.png", 2, "'kf fetch' has no option --ouput; did you mean '--output'?"),
            Mistake("fetch a.png -o", 2, "-o needs a value: -o FILE"),
            Mistake("fetch -o --json a.png", 2, "-o needs a value: -o FILE; it is followed by the option --json"),
            Mistake(
                "fetch -output x.png a.png", 2, "'-output' is read as several short options; did you mean '--output'?"),
            Mistake("fetch a.png -5", 2, "'kf fetch' has no option -5; 'kf help fetch' lists them"),
            Mistake("fetch a.png -x", 2, "'kf fetch' has no option -x; use --proxy URL"),
            Mistake(
                "fetch a.png --max-filesize 5M", 2, "'kf fetch' has no option --max-filesize; use --max-bytes BYTES"),
            Mistake("fetch a.png --retries 5", 2, "'kf fetch' has no option --retries; use --retry N"),
            Mistake(
                "fetch a.png --refresh", 2,
                "'kf fetch' has no option --refresh; use --force-refresh, or --revalidate to ask for changes only"),
            Mistake(
                "fetch -k a.png", 2,
                "'kf fetch' has no option -k; use --trusted-host HOST for that host, or --cacert FILE"),
            Mistake("fetch --digest a", 2, "'kf fetch' has no option --digest; use --auth digest"),
            Mistake("fetch --anyauth a", 2, "'kf fetch' has no option --anyauth; use --auth any"),
            Mistake(
                "prefetch --insecure list", 2,
                "'kf prefetch' has no option --insecure; use --trusted-host HOST for that host, or --cacert FILE"),
            Mistake(
                "fetch --connect-timeout 5 a.png", 2,
                "'kf fetch' has no option --connect-timeout; use --timeout TIME, which limits the connection too"),
            Mistake(
                "fetch -i list", 2,
                "'kf fetch' has no option -i; 'kf prefetch LIST' reads a list, and 'kf fetch --json' shows the status"),
            Mistake("cache list", 2, "'kf cache' has no command 'list'; did you mean 'kf cache ls'?"),
            Mistake("cache prune", 2, "'kf cache' has no command 'prune'; did you mean 'kf cache clean'?"),
            Mistake(
                "cache purge", 2,
                "'kf cache' has no command 'purge'; did you mean 'kf cache rm URL' or 'kf cache clean --all'?"),
            Mistake("cache delete x", 2, "'kf cache' has no command 'delete'; did you mean 'kf cache rm'?"),
            Mistake("cache info", 2, "'kf cache' has no command 'info'; did you mean 'kf cache stat'?"),
            Mistake("fetch a.png --cacert none.pem", 2, "--cacert: none.pem: No such file or directory"),
            Mistake("fetch a.png --cookie-jar none/jar", 2, "--cookie-jar: none: No such file or directory"),
            Mistake("fetch --json=yes a.png", 2, "--json takes no value; --no-json turns it off"),
            Mistake(
                "cache stat --older-than 3d", 2,
                "'kf cache stat' has no option --older-than; it is an option of 'kf cache ls', 'kf cache verify', "
                    + "'kf cache report', 'kf cache push', 'kf cache clean' and 'kf cache rm'"),
            Mistake(
                "--json fetch a.png", 2,
                "an option comes after the command: kf fetch --json …; 'kf help' lists the commands"),
            Mistake(
                "fetch --timeout 5parsecs a.png", 2, "--timeout takes a time such as 15s, 10m or 1h30m, not '5parsecs'"),
            Mistake("fetch --max-size 10X a.png", 2, "--max-size takes a size such as 500M or 10GiB, not '10X'"),
            Mistake("fetch --name {stem} a.png", 2, "--name needs --output-dir or -O"),
            Mistake(
                "prefetch https://h/a.png", 2,
                "'kf prefetch' reads lists; for a URL or a folder: kf fetch https://h/a.png"),
            Mistake(
                "cache merge http://me:pa?ss@h/cache", 2,
                "'kf cache merge' takes directories; for a remote: kf cache pull --remote …@h/cache"),
            Mistake(
                "fetch a.png --proxy nonsense://h", 2,
                "--proxy takes a URL that begins with http://, https://, socks4://, socks4a://, socks5:// or socks5h://"
            ),
            Mistake("fetch a.png -o x.jp", 2, "-o x.jp: did you mean 'x.jpg'? -f keep keeps the bytes under any name"),
            Mistake(
                "fetch --quality 200 a.png", 2,
                "--quality takes a number from 1 to 100, or such as webp=80,jpeg=85, not '200'"),
            Mistake(
                "fetch --quality 0 a.png", 2,
                "--quality takes a number from 1 to 100, or such as webp=80,jpeg=85, not '0'"),
            Mistake(
                "fetch --quality high a.png", 2,
                "--quality takes a number from 1 to 100, or such as webp=80,jpeg=85, not 'high'"),
            Mistake("prefetch -j 0 -", 2, "--jobs takes a whole number from 1 to 1024, not '0'"),
            Mistake("fetch --json a.png -o -", 2, "--json and -o - both write to standard output"),
            Mistake("fetch -f bmp a.png", 2, "--format takes keep, png, jpeg, gif, webp or avif, not 'bmp'"),
            Mistake(
                "fetch -f jpgg a.png", 2,
                "--format takes keep, png, jpeg, gif, webp or avif, not 'jpgg'; did you mean 'jpeg'?"),
            Mistake(
                "fetch --background rod a.png", 2,
                "--background takes a colour such as #fff, #336699 or white, not 'rod'"),
            Mistake(
                "fetch www.example.com/cat.png", 1,
                "www.example.com/cat.png: No such file or directory; a URL begins with https:// [5003]"),
            Mistake(
                "fetch example.com", 1, "example.com: No such file or directory; a URL begins with https:// [5003]"),
            Mistake("fetch missing.png", 1, "missing.png: No such file or directory [5003]"),
            Mistake(
                "fetch localhost:1/a.jpg", 1,
                "localhost:1/a.jpg: No such file or directory; a URL begins with https:// [5003]"),
            Mistake(
                "fetch http://127.0.0.1:1/a{1..5}.jpg --retry 0 --deny-private", 1,
                "http://127.0.0.1:1/a{1..5}.jpg: 127.0.0.1:1 is at 127.0.0.1, which is not a public address; "
                    + "kf does not expand {1..5}; a shell expands {1..5}, without quotes [2003]"),
            Mistake(
                "fetch http://127.0.0.1:1/a[0-9].jpg --only-from-cache", 1,
                "http://127.0.0.1:1/a[0-9].jpg: not in the cache; "
                    + "kf does not expand [0-9]; a shell expands {0..9}, without quotes [3006]"),
            Mistake(
                "fetch a.png --variant orig=", 2,
                "--variant needs a chain behind 'orig='; orig=encode:keep is the image as it is"),
            Mistake("fetch --memory-only a.png", 2, "'kf fetch' has no option --memory-only; it is --store none now"),
            Mistake(
                "cache path --no-ignore-query a.png", 2,
                "'kf cache path' has no option --no-ignore-query; it is --key-ignore '*' now"),
            Mistake(
                "prefetch --opt-out-agent bot -", 2,
                "'kf prefetch' has no option --opt-out-agent; it is --respect-opt-out=NAME now"),
            Mistake("fetch http://", 1, "http://: the URL has no host [1002]"),
            Mistake("fetch http:///a.png", 1, "http:///a.png: the URL has no host [1002]"),
            Mistake(
                "fetch http://h:99999/a.png", 1,
                "http://h:99999/a.png: the URL's port is not a number from 1 to 65535 [1002]"),
            Mistake("fetch ftp://h/a", 1, "ftp://h/a: ftp: is not supported, only http: and https: are [1002]"),
            Mistake("fetch gopher://h/", 1, "gopher://h/: gopher: is not supported, only http: and https: are [1002]"),
            Mistake("fetch HTTPX://h/", 1, "HTTPX://h/: httpx: is not supported, only http: and https: are [1002]"),
            Mistake(
                "fetch javascript://x", 1,
                "javascript://x: javascript: is not supported, only http: and https: are [1002]"),
            Mistake(
                "fetch a.png -o nowhere/x.png", 1,
                "a.png: cannot write nowhere/x.png: No such file or directory; --create-dirs creates missing directories [4002]"
            ),
            Mistake(
                "fetch a.png --output-dir no/where", 1,
                "a.png: cannot write into no/where: No such file or directory; --create-dirs creates missing directories [4002]"
            ),
            Mistake(
                "fetch a.png a.png -o x.png", 2,
                "-o takes one image; for several use --output-dir, or -o DIR/ with a slash"),
            Mistake(
                "fetch a.png -p rezise:10x10", 2,
                "processor 'rezise:10x10': no processor 'rezise'; did you mean 'resize'?"),
            Mistake("fetch a.png -p resize=10x10", 2, "processor 'resize=10x10': did you mean 'resize:10x10'?"),
            Mistake("fetch a.png -p resize", 2, "processor 'resize': size is missing, as in '320x240'"),
            Mistake("fetch a.png -p resize:", 2, "processor 'resize:': size is empty"),
            Mistake(
                "fetch a.png -p blur:much", 2,
                "processor 'blur:much': radius is 'much', but must be a number from 0 to 10000"),
            Mistake("fetch a.png -p |>", 2, "processor '|>': an empty step"),
            Mistake("fetch a.png --process=", 2, "--process needs a processor, such as resize:320x240"),
            Mistake("fetch", 2, "'kf fetch' needs a source: a URL, a file, a data: URI, or - for standard input"),
            Mistake("fetch note.png", 1, "note.png: not an image: no known image format begins like this [2007]"),
            Mistake("fetc a.png", 2, "there is no command 'fetc'; did you mean 'fetch'?"),
            Mistake("get a.png", 2, "there is no command 'get'; did you mean 'kf fetch'?"),
            Mistake("stat", 2, "there is no command 'stat'; did you mean 'kf cache stat'?"),
            Mistake(
                "https://example.com/a.png", 2,
                "there is no command 'https://example.com/a.png'; to fetch an image: kf fetch https://example.com/a.png"
            ),
            Mistake("cache stat extra", 2, "'kf cache stat' takes no arguments, but got 'extra'"),
            Mistake("cache stat --remote x", 2, "'kf cache stat' has no option --remote; use du or 'rclone size'"),
            Mistake(
                "cache verify --remote=x --delete", 2,
                "'kf cache verify' has no option --remote; readers verify what they get; 'sha256sum --check' checks all "
                    + "objects"),
            Mistake("cache verify --delete", 2, "'kf cache verify' has no option --delete; use --repair"),
            Mistake(
                "cache clean --remote x --max-size 1G", 2,
                "'kf cache clean' has no option --remote; use find, rclone or a lifecycle rule; all of kf1 may be deleted "
                    + "at any time"),
            Mistake("cache clena", 2, "'kf cache' has no command 'clena'; did you mean 'clean'?"),
            Mistake(
                "cache rm", 2,
                "'kf cache rm' needs a URL, a pattern or a filter; 'kf cache clean --all' removes everything"),
            Mistake("cache clean --older-than", 2, "--older-than needs a value: --older-than TIME"),
        ]

        let kf: KFCommand

        init() throws {
            kf = try KFCommand()
            try kf.home.write("a.png", FixturesDirectory.named("png/grey.png").data)
            try kf.home.write("note.png", "just a note\n")
        }

        @Test("A list on standard input of fetch gets advice")
        func listOnInput() async throws {
            let result = try await kf.run("fetch", "-", input: Data("https://h/a.png\nhttps://h/b.png\n".utf8))
            #expect(result.status == 1 && result.errors.contains("for a list of URLs: kf prefetch -"), "\(result)")
        }

        @Test("A variable that is nearly an option's is refused")
        func variables() async throws {
            for name in ["KF_CACHEDIR", "KF_TIME_OUT", "KF_QUALTY"] {
                let result = try await kf.with([name: "1"]).run("fetch", "a.png")
                #expect(
                    result.status == 2
                        && result.errors.contains("no option for the variable \(name); did you mean 'KF_"))
            }
            #expect(try await kf.with(["KF_CORPORA": "x", "KF_MARKET": "y"]).run("fetch", "a.png").status == 0)
        }

        @Test("Each mistake gets its exact message and status", arguments: mistakes)
        func answered(mistake: Mistake) async throws {
            let result = try await kf.run(mistake.arguments)
            #expect(result.status == mistake.status)
            #expect(result.errors == "kf: \(mistake.says)\n")
            #expect(result.standardOutput.isEmpty)
            #expect(mistake.status == 1 || TemporaryDirectory.files(in: kf.cacheDirectory) == [])
        }

        @Test("A missing list is reported before any work begins")
        func missingList() async throws {
            try kf.home.write("list", FixturesDirectory.named("png/grey.png").url.path)
            let result = try await kf.run("prefetch", "--quiet", "--allow-local", "nolist.txt", "list")
            #expect(result.status == 2 && result.errors == "kf: nolist.txt: No such file or directory\n", "\(result)")
            #expect(kf.cachedObjects().isEmpty)
        }

        @Test("An incomplete command names the commands to choose from")
        func incomplete() async throws {
            let family = try await kf.run("cache")
            #expect(family.status == 2 && family.errors.hasPrefix("kf: 'kf cache' needs one of: stat, "), "\(family)")
            #expect(family.errorLines.count == 1)
            let alone = try await kf.run()
            #expect(alone.status == 2 && alone.standardOutput.isEmpty && alone.errors.contains("Usage: kf COMMAND"))
        }

        @Test("A cache directory that cannot be created is exit status 3")
        func unwritableCache() async throws {
            let picture = FixturesDirectory.path("png/grey.png")
            let result = try await kf.run("fetch", picture, "--cache-dir", "/proc/nope")
            #expect(result.status == 3)
            #expect(result.errors.contains("kf: \(picture): cannot create the directory /proc/nope"), "\(result)")
        }
    }
}
