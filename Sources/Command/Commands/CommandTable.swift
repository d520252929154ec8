/// Every command, one row each. Dispatch, help, completions and the manual page come from this table.
enum CommandTable {
    static let all: [CommandSpec] = [
        fetch, prefetch,
        cacheStat, cacheList, cacheTags, cacheDuplicates, cachePath, cacheWhich, cacheExplain, cachePut, cacheVerify,
        cacheReport, cachePull, cachePush, cacheMerge, cacheClean, cacheRemove,
        config, completions, manual,
    ]

    /// Every option once. Of several with one name, that of the first command counts.
    static var allOptions: [OptionSpec] {
        var seen: Set<String> = []
        return all.flatMap { $0.options }.filter { seen.insert($0.name).inserted }
    }

    static func join(_ parts: [OptionSpec]...) -> [OptionSpec] { parts.flatMap { $0 } }

    private static let fetch = CommandSpec(
        "fetch", summary: "Fetch images, from the cache when possible", operands: "SOURCE...",
        options: join(
            [
                Options.output.spec, Options.remoteName.spec, Options.placeholder.spec,
                Options.measure.spec,
            ],
            Options.copies, Options.processing,
            [Options.key.spec], Options.caching, Options.locking, [Options.negativeTTL.spec], Options.network,
            Options.retrieving),
        examples: [
            "kf fetch https://example.com/cat.jpg",
            "kf fetch photo.jpg --output-dir site --variant small=resize:320x --variant large=resize:1600x",
            "kf fetch https://example.com/cat.jpg -p resize:320x320,fit -f png -o cat.png",
            "kf fetch photo.jpg -p 'crop:200x200|>blur:5' -o - | display",
        ],
        details: [
            "Prints the path of each image's file in the cache, or writes the images where -o or --output-dir says. A "
                + "source is an http or https URL, a path or file: URL, a folder (the image files in it and below), a "
                + "data: URI, or - for standard input.",
            copies, remotes, failingRemotes, limits, secrets,
        ],
        essential: "output output-dir name process variant format quality force-refresh json verbose help"
    ) { (arguments) throws(UsageError) in try FetchCommand(arguments).run() }

    private static let prefetch = CommandSpec(
        "prefetch", summary: "Fetch all images of a list into the cache", operands: "[LIST|-]...",
        options: join(
            Options.lists, Options.copies, Options.archives, [Options.placeholder.spec, Options.measure.spec],
            Options.processing, Options.caching,
            Options.locking, [Options.negativeTTLOfLists.spec], Options.network, Options.retrieving),
        examples: [
            "kf prefetch urls.txt",
            "grep -o 'https://[^\"]*\\.png' page.html | kf prefetch -",
            "kf prefetch products.csv.gz --url-column picture --failures failed.csv --max-failures 5%",
            "kf prefetch products.csv --results results.csv --ordered",
            "kf prefetch urls.txt --shard 0/4,host --rate 20/s --deadline 10m",
            "kf prefetch urls.txt --dry-run --check",
            "kf prefetch urls.txt --remote https://cache.example.com/team",
            "kf prefetch captions.tsv --shards data --shard-size 10000",
        ],
        details: [
            "A list has one URL per line, or is csv, tsv or jsonl (one JSON object per line), gzipped or not; - reads "
                + "standard input. Without a LIST, a pipe on standard input is read. Blank lines are skipped; in the formats "
                + "lines and jsonl, so are lines that start with #. In lines, a # after white space begins a comment, a URL "
                + "may be in quotes, and spaces in it are percent-encoded. A record is at most 1 MiB.",
            "Only the column 'url' is read, or that of --url-column. Keys, names, headers and processors are read only "
                + "from the columns that --key-column, --name-column, --headers-column and --process-column name, by "
                + "their name in the first line or by number. A list cannot set the headers of the connection (Host, "
                + "Connection, Content-Length and the like), Range or If-*.",
            "For jsonl the name of a column is that of a member, or a path: image.url, images[0].url, or images[].url for "
                + "all elements. A record may so have several URLs. They share its line and its headers. Its key, name and "
                + "processor are one for all, or one for each from a path of as many values; of one key for all, the "
                + "second URL gets KEY[1], the third KEY[2].",
            "--dry-run prints a state and the URL of each line, separated by a tab: hit (cached, or made from the cached "
                + "original), stale (cached, and would be revalidated), missing, invalid (not a source), or left_out (as the "
                + "filters say). It makes no request and changes nothing. With --check it ends with 1 if one is missing or invalid.",
            "--shards writes 00000.tar, 00000.jsonl and 00000_stats.json for the first --shard-size items, and so on. The "
                + "archive has each image under its key with a .json beside it (000000012.jpg, 000000012.json, of variants "
                + "000000012.NAME.jpg; with --caption-column 000000012.txt), the jsonl a row for each item, also of failed "
                + "ones, the stats their counts. They appear when they are whole. "
                + "A repeated run skips the archives that exist, and refuses a changed list and other options. With --shard "
                + "I/N the names begin with the part, 03-of-16-00000.tar, so that all parts can share DIR.",
            "--results writes each row when its item ends; jsonl has the objects of --json. The columns of a csv or tsv list "
                + "keep their names (columns.NAME where a column of kf has it); those of jsonl are one column. Request "
                + "headers and the user info of URLs are left out.",
            "kf creates the --failures file readable by its owner only, since URLs may hold secrets. An existing file "
                + "keeps its mode.",
            copies, remotes, failingRemotes, limits, secrets,
        ],
        essential: "url-column output-dir process dry-run results failures jobs cache-dir json quiet help"
    ) { (arguments) throws(UsageError) in try PrefetchCommand(arguments).run() }

    private static let config = CommandSpec(
        "config", summary: "Show the value of each option and where it comes from", options: Options.common(),
        examples: ["kf config | grep -v 'default$'", "KF_JOBS=8 kf config --json"],
        details: [
            "The command line beats the environment, and the environment beats the config file, "
                + "$XDG_CONFIG_HOME/kf/config or ~/.config/kf/config.",
            "In the environment --cache-dir is KF_CACHE_DIR, a switch is 1 or 0 (or true, false, yes, no), and an option that may be repeated "
                + "takes one value per line.",
            "The file has one long option per line: 'jobs = 8', 'jobs 8', or 'quiet' for a switch. A value may be in "
                + "double quotes, and # begins a comment. Commands ignore options that they do not have.",
            "Some options work on the command line only: -o, --key, and those that choose what is deleted (--all, "
                + "--yes, --keep-list, --repair, --reset, and the filters of the cache commands). In the file they are an "
                + "error, and so are their variables (KF_HOST) for the commands that have them.",
        ],
        opensCache: false
    ) { (arguments) throws(UsageError) in try ConfigCommand.run(arguments) }

    private static let completions = CommandSpec(
        "completions", summary: "Print a completion script for a shell", operands: "bash|zsh|fish",
        options: [Options.help.spec],
        examples: ["source <(kf completions bash)", "kf completions fish > ~/.config/fish/completions/kf.fish"],
        details: [
            "The script completes commands, options, their values, processors after -p, and files. 'make install' "
                + "installs all three scripts where the shells look for them."
        ],
        opensCache: false
    ) { (arguments) throws(UsageError) in try CompletionsCommand.run(arguments) }

    private static let manual = CommandSpec(
        "man", summary: "Print the manual page", options: [Options.help.spec], examples: ["kf man | man -l -"],
        opensCache: false
    ) { _ in
        Terminal.print(ManPage.text)
        return .success
    }

    static let selection =
        "An entry is selected when it belongs to one of the arguments, --glob and --key, and matches every filter. A URL "
        + "selects the original and everything made from it, also for other users: entries of other headers, credentials "
        + "or cookies too, whose keys end in #user=…. A URL with * that is not itself a cached key is a "
        + "pattern for whole keys, and so is another argument with *, ? or [...]: * matches anything, ? one character, "
        + "[a-z] one of a set. All of these, and the "
        + "filters, are read from the command line only."

    static let nothing =
        "Exit status 1 when nothing matches an argument, or when nothing is selected by the filters."

    static let hosts =
        "A host matches at any port, or at one port with :8080. *.example.com matches every host below example.com but "
        + "not example.com itself, and * matches every host. IPv6 addresses are in brackets: [::1]:8080. 'local' matches "
        + "images that came from no host."

    private static let copies =
        "Copies are named by --name, a template with fields such as {stem}, {width} and {column:NAME}: 'kf help names'."

    static let remotes =
        "--remote is http(s)://HOST/PREFIX (a WebDAV server), s3://BUCKET/PREFIX?region=REGION or file:///DIRECTORY. "
        + "A password stands in the URL, better in KF_REMOTE or the config "
        + "file than on the command line. S3 takes its key from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
        + "AWS_SESSION_TOKEN. Images that are requested with credentials, and private and no-store responses, are not "
        + "shared."

    static let failingRemotes =
        "A remote that fails is passed over; without --remote-required the exit status does not change."

    static let limits =
        "Sizes are bytes, or use K, M, G, T and P, also written KiB or KB (powers of 1024); times are seconds, or such as 500ms, 10m, 1h30m and 7d. "
        + "Without --max-memory, a file below 1.25 MiB may use 384 MiB plus 512 times its size. "
        + "Without --max-process-time, a file of at most 256 KiB may use 5 seconds. "
        + "--retry-delay accumulated:3s waits 3, 6, 9, ... seconds, exponential:1s waits 1, 2, 4, ... seconds with jitter."

    private static let secrets =
        "Credentials and headers go to the origin (scheme, host, port) of each source. A redirect or an --alternative to "
        + "another origin gets only headers that hold no secret. The cache key includes what "
        + Suggestion.list(Options.network.filter(\.decidesEntry).map { "--\($0.name)" }, last: "and")
        + " say, and of a cookie jar the cookies at the start of the run, so that the users of one cache do not share "
        + "images. These neutral headers are left out of the key: "
        + "User-Agent, Referer, From, Accept-Language, Accept-Encoding, Accept-Charset, Cache-Control, Pragma, "
        + "Connection, Keep-Alive, TE, DNT, Sec-GPC, Upgrade-Insecure-Requests, Priority, Traceparent, Tracestate, "
        + "X-Request-ID, X-Correlation-ID."
}
