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

    private static let fetch = CommandSpec(
        "fetch", summary: "Fetch images, from the cache when possible", operands: "SOURCE...",
        options: join(
            [
                Options.show.spec, Options.output.spec, Options.remoteName.spec, Options.placeholder.spec,
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
            copies, remotes, limits, secrets,
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
            "kf prefetch urls.txt --shard 0/4 --shard-by host --rate 20/s --deadline 10m",
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
            copies, remotes, limits, secrets,
        ],
        essential: "url-column output-dir name variant quality dry-run results failures json help"
    ) { (arguments) throws(UsageError) in try PrefetchCommand(arguments).run() }

    private static let cacheStat = CommandSpec(
        "cache", "stat", summary: "Show cache statistics",
        options: [
            Options.reset.spec, Options.comparedSize.spec, Options.countedRemote.spec,
        ] + Options.reachingRemote
            + Options.common(quiet: "Print one line", verbose: "Show all hosts, exact counts and disk space"),
        examples: ["kf cache stat", "kf cache stat --json -v", "kf cache stat --remote file:///mnt/cache"],
        details: [
            "Hits and misses are lower bounds: a process that cannot write to the index when it ends is not counted.",
            "-q prints one line. -v shows all hosts, counts expired entries exactly, and measures the disk space of the "
                + "files; with a million entries that takes some tenths of a second.",
            "--remote counts the entries and objects of a directory, an S3 bucket or a WebDAV server. Another web server "
                + "cannot list, which is an error (status 3).",
        ]
    ) { (arguments) throws(UsageError) in try CacheStatCommand.run(arguments) }

    private static let cacheList = CommandSpec(
        "cache", "ls", summary: "List cache entries", operands: "[URL|PATTERN]...",
        options: Options.selecting + Options.listing
            + Options.common(quiet: "Print no heading", verbose: "Print whole URLs, with query strings"),
        examples: [
            "kf cache ls --sort size --limit 20", "kf cache ls 'https://example.com/*' --json",
            "kf cache ls --tag site --unused-for 30d",
        ],
        details: [
            "One line per entry. " + EntryTable.columnHelp, selection, nothing, hosts,
        ],
        essential: "host format expired older-than unused-for processor tag sort limit long json help"
    ) { (arguments) throws(UsageError) in try CacheListCommand.run(arguments) }

    private static let cacheTags = CommandSpec(
        "cache", "tags", summary: "List the tags of entries", options: Options.common(),
        examples: ["kf cache tags"],
        details: [
            "One line per tag: its name, the number of its entries, and their size. --tag NAME of the other commands selects them."
        ]
    ) { (arguments) throws(UsageError) in try CacheStatCommand.tags(arguments) }

    private static let cacheDuplicates = CommandSpec(
        "cache", "dupes", summary: "List images that are equal or look alike",
        options: [Options.distance.spec]
            + Options.common(quiet: "Print no counts", verbose: "Print whole URLs, with query strings"),
        examples: ["kf prefetch urls.txt --measure dhash && kf cache dupes", "kf cache dupes --distance 5 --json"],
        details: [
            "Compares the images that were fetched with --measure or --placeholder, by their content and by their dhash. "
                + "First come the groups of equal images, then those of similar ones, with one image of each content. A "
                + "line has the distance from the group's first image in bits, the size, the pixels and the URL."
        ],
        essential: "distance cache-dir json help"
    ) { (arguments) throws(UsageError) in try CacheDuplicatesCommand.run(arguments) }

    private static let cacheWhich = CommandSpec(
        "cache", "which", summary: "Print the keys of a cached file", operands: "FILE|SHA256...",
        options: Options.common(),
        examples: ["kf cache which copy.jpg", "kf cache which c821a3f0"],
        details: [
            "A FILE is a file of the cache or a copy of one, wherever it is; its content is compared. SHA256 is a hash of "
                + "64 digits, or its first 8 or more. Prints KEY or KEY@PROCESSOR, one per line. Exit status 1 when the "
                + "cache has no such file."
        ]
    ) { (arguments) throws(UsageError) in Blocking.wait(try CacheWhichCommand(arguments).run) }

    private static let cachePut = CommandSpec(
        "cache", "put", summary: "Store an image file under a URL or a key", operands: "FILE|-",
        options: Options.putting + Options.common(),
        examples: [
            "kf cache put cat.jpg --key https://example.com/cat.jpg --tag site",
            "curl -s URL | kf cache put - --key URL",
        ],
        details: [
            "The image is checked as any other that arrives, and replaces what the key had. 'kf fetch URL' then finds it "
                + "in the cache; an image under any other KEY is found by 'kf fetch FILE --key KEY'. Prints the path of "
                + "the image's file in the cache."
        ],
        essential: "key expire tag check cache-dir json help"
    ) { (arguments) throws(UsageError) in try CachePutCommand(arguments).run() }

    /// The options that select the entry of a source.
    private static var deciding: [OptionSpec] {
        let candidates = join([Options.key.spec], Options.caching, [Options.negativeTTL.spec], Options.network)
        return join(
            Options.processing, candidates.filter { $0.decidesEntry },
            Options.common(
                quiet: "Print less: no error for a missing image, one word from explain",
                verbose: "Print whole URLs, with query strings"))
    }

    private static func join(_ parts: [OptionSpec]...) -> [OptionSpec] { parts.flatMap { $0 } }

    private static let cachePath = CommandSpec(
        "cache", "path", summary: "Print the cached file of each source", operands: "SOURCE...", options: deciding,
        examples: ["kf cache path https://example.com/cat.jpg -p resize:320x240"],
        details: [
            "Give the same options as to fetch: processors, formats, headers and credentials select the entry. Nothing "
                + "is fetched, and the entry's last use and counts stay as they are. A missing or expired image is an "
                + "error (exit status 1)."
        ],
        essential: "process variant format cache-dir json quiet help"
    ) { (arguments) throws(UsageError) in Blocking.wait(try CachePathCommand(arguments).run) }

    private static let cacheExplain = CommandSpec(
        "cache", "explain", summary: "Explain a cache entry and what the next fetch would do", operands: "SOURCE...",
        options: join(deciding, Options.leavingOut),
        examples: ["kf cache explain https://example.com/cat.jpg -p resize:320x240 --min-size 256x256"],
        details: [
            "Options describe the fetch in question: give those that you give to fetch. This command fetches nothing and "
                + "does not change the cache. It asks each --remote what it has of the image."
        ],
        essential: "process format offline cache-dir json help"
    ) { (arguments) throws(UsageError) in Blocking.wait(try CacheExplainCommand(arguments).run) }

    private static let cacheVerify = CommandSpec(
        "cache", "verify", summary: "Check every cache entry and file for damage", operands: "[URL|PATTERN]...",
        options: Options.selecting + [
            Options.repair.spec, Options.verifiedLock.spec, Options.verifiedRemote.spec, Options.deletesDamage.spec,
        ] + Options.reachingRemote
            + Options.common(
                quiet: "Print nothing: the exit status tells", verbose: "Print whole URLs, with query strings"),
        examples: [
            "kf cache verify", "kf cache verify --repair --json", "kf cache verify --host example.com",
            "kf cache verify --remote file:///mnt/cache --delete",
        ],
        details: [
            "Other processes may use the cache meanwhile. Exit status 1 when damage remains. With URLs, patterns or "
                + "filters, only the selected entries and their files are checked: not the index as a whole, its counts, "
                + "and files without an entry.",
            "--lock FILE checks the images of a lock instead: held (the cache has the bytes, which are hashed), missing or "
                + "differs. Exit status 1 unless all are held. With --json, a line has url, state, expected and found.",
            "--remote URL reads all entries and objects of a remote instead. --delete deletes those that are damaged, and "
                + "objects that have had no entry for an hour.",
            selection, nothing, hosts,
        ],
        essential: "repair host format expired older-than unused-for larger-than processor tag cache-dir json help"
    ) { (arguments) throws(UsageError) in try CacheVerifyCommand(arguments).run() }

    private static let cacheReport = CommandSpec(
        "cache", "report", summary: "Write an HTML page with the cache's statistics", operands: "[URL|PATTERN]...",
        options: [Options.reportFile.spec, Options.thumbnails.spec] + Options.selecting
            + Options.common(verbose: "Print the counts of the page"),
        examples: [
            "kf cache report -o cache.html && xdg-open cache.html", "kf cache report -o site.html --tag site",
        ],
        details: [
            "One self-contained file: charts of sizes, formats and ages, the largest and the most used entries, and "
                + "thumbnails that link to the images' files. The page can be searched and sorted, and needs no network.",
            selection, nothing, hosts,
        ],
        essential: "output host format expired older-than unused-for larger-than processor tag cache-dir json help"
    ) { (arguments) throws(UsageError) in try CacheReportCommand.run(arguments) }

    private static let cachePull = CommandSpec(
        "cache", "pull", summary: "Take the images of a list from a shared cache", operands: "[LIST|-]...",
        options: join(
            Options.lists, Options.processing, [Options.store.spec, Options.maxSize.spec, Options.remote.spec],
            Options.locking,
            [
                Options.jobs.spec, Options.timeout.spec, Options.proxy.spec, Options.cacert.spec,
                Options.trustedHost.spec, Options.deadline.spec, Options.progress.spec,
            ],
            Options.retrieving),
        examples: [
            "kf cache pull urls.txt --remote https://cache.example.com/team",
            "kf cache pull urls.txt -p resize:320x --remote s3://bucket/images?region=eu-west-1",
        ],
        details: [
            "As prefetch, but no origin is asked: an image that neither the cache nor a --remote has is a failure (3006). An "
                + "expired one is taken as well (stale), for --offline. A list is needed since the entries of a remote hold no "
                + "URLs, which may be secrets.",
            remotes, limits,
        ],
        essential: "remote process variant input-format url-column failures json help"
    ) { (arguments) throws(UsageError) in try PrefetchCommand(arguments, pulls: true).run() }

    private static let cachePush = CommandSpec(
        "cache", "push", summary: "Upload what a shared cache lacks", operands: "[URL|PATTERN]...",
        options: join(
            [Options.remote.spec, Options.pushDryRun.spec], Options.selecting, Options.pushedLists,
            Options.reachingRemote, [Options.progress.spec],
            Options.common(quiet: "Print nothing but errors", verbose: "Print each image that is uploaded")),
        examples: [
            "kf cache push --remote https://cache.example.com/team",
            "kf cache push --tag site --dry-run --remote s3://b/p",
            "kf cache push --keep-list urls.txt --remote s3://b/p",
        ],
        details: [
            "Sends the images of which the --remote has no entry, or an older one: originals first, then what was made of them. "
                + "A push that was cut off goes on when it is repeated. Images of no server, of users (credentials, cookies), "
                + "and of responses that forbid it are not shared. Exit status 1 when an image could not be sent.",
            selection, nothing, hosts,
        ],
        essential: "remote dry-run host tag glob json quiet verbose help"
    ) { (arguments) throws(UsageError) in try CachePushCommand(arguments).run() }

    private static let cacheMerge = CommandSpec(
        "cache", "merge", summary: "Take the images of other caches into this one", operands: "DIR...",
        options: [Options.mergeDryRun.spec, Options.maxSize.spec]
            + Options.common(quiet: "Print nothing", verbose: "Print each entry that is taken"),
        examples: ["kf cache merge restored/*", "kf cache merge ~/.cache/kf --cache-dir /mnt/cache --dry-run"],
        details: [
            "Of two entries of one key the newer one counts, with its times, hits and tags; equal bytes are one file. Every "
                + "file is hashed on its way. The other caches are only read, and other processes may use all of them "
                + "meanwhile. Exit status 1 when an entry is damaged, which is left out."
        ]
    ) { (arguments) throws(UsageError) in try CacheMergeCommand(arguments).run() }

    private static let cacheClean = CommandSpec(
        "cache", "clean", summary: "Remove expired and excess entries, or a selection", operands: "[URL|PATTERN]...",
        options: Options.cleaning + [Options.cleanedRemote.spec] + Options.reachingRemote
            + Options.common(quiet: "Print nothing", verbose: "Print each removed entry"),
        examples: [
            "kf cache clean --unused-for 30d", "kf cache clean --max-size 1G --dry-run",
            "kf cache clean --tag site --keep-list urls.txt --dry-run",
            "kf cache clean --remote file:///mnt/cache --unused-for 90d --max-size 200G",
        ],
        details: [
            "Without --all, --max-size, --keep-list, arguments and filters, expired entries are removed, and then "
                + "the least recently used ones: a cache over its limit is reduced to half of the limit.",
            "With arguments or filters, what they select is removed. --max-size on the command line then removes more "
                + "entries until that size is reached. In the environment and the config file it only sets the cache's "
                + "limit. -v prints each removed entry.",
            "--keep-list removes what a list no longer names, of the selected entries or of the whole cache. Everything "
                + "made from a listed image stays, also for other users. Nothing is removed, and the exit status is 2, when "
                + "a list is empty, cannot be read, or has a line that is not an image's.",
            selection, "Nothing to remove is no error: the exit status is 0.",
            "Partial downloads are removed after a day. When the cache is over its limit, they are reduced to a quarter "
                + "of it. --all removes all of them.",
            "--remote URL deletes from a remote instead: what is damaged, objects that have had no entry for an hour, images "
                + "unused for --unused-for, and then the least recently used ones until --max-size is reached.",
            hosts,
        ],
        essential: "all host older-than unused-for tag keep-list max-size dry-run yes json help"
    ) { (arguments) throws(UsageError) in try CacheCleanCommand(arguments).run() }

    private static let cacheRemove = CommandSpec(
        "cache", "rm", summary: "Remove URLs and every image made from them", operands: "[URL|PATTERN]...",
        options: Options.removing + Options.common(quiet: "Print nothing", verbose: "Print each removed entry"),
        examples: [
            "kf cache rm https://example.com/cat.jpg", "kf cache rm 'https://example.com/*' --dry-run",
            "kf cache rm --tag site --format gif",
        ],
        details: [
            "At least one argument or filter is needed. -v prints each removed entry.", selection, nothing, hosts,
        ],
        essential: "host format expired older-than unused-for larger-than processor tag dry-run cache-dir json help"
    ) { (arguments) throws(UsageError) in try CacheRemoveCommand.run(arguments) }

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
    ) { (arguments) throws(UsageError) in try ConfigCommand(arguments, of: all).run() }

    private static let completions = CommandSpec(
        "completions", summary: "Print a completion script for a shell", operands: "bash|zsh|fish",
        options: [Options.help.spec],
        examples: ["source <(kf completions bash)", "kf completions fish > ~/.config/fish/completions/kf.fish"],
        details: [
            "The script completes commands, options, their values, processors after -p, and files. 'make install' "
                + "installs all three scripts where the shells look for them."
        ],
        opensCache: false
    ) { (arguments) throws(UsageError) in try CompletionsCommand.run(arguments, of: all) }

    private static let manual = CommandSpec(
        "man", summary: "Print the manual page", options: [Options.help.spec], examples: ["kf man | man -l -"],
        opensCache: false
    ) { _ in
        Terminal.print(ManPage.text(of: all))
        return .success
    }

    private static let selection =
        "An entry is selected when it belongs to one of the arguments, --glob and --key, and matches every filter. A URL "
        + "selects the original and everything made from it, also for other users: entries of other headers, credentials "
        + "or cookies too, whose keys end in #user=…. A URL with * that is not itself a cached key is a "
        + "pattern for whole keys, and so is another argument with *, ? or [...]: * matches anything, ? one character, "
        + "[a-z] one of a set. All of these, and the "
        + "filters, are read from the command line only."

    private static let nothing =
        "Exit status 1 when nothing matches an argument, or when nothing is selected by the filters."

    private static let hosts =
        "A host matches at any port, or at one port with :8080. *.example.com matches every host below example.com but "
        + "not example.com itself, and * matches every host. IPv6 addresses are in brackets: [::1]:8080. 'local' matches "
        + "images that came from no host."

    private static let copies =
        "Copies are named by --name, a template with fields such as {stem}, {width} and {column:NAME}: 'kf help names'."

    private static let remotes =
        "--remote is http(s)://HOST/PREFIX (a WebDAV server), s3://BUCKET/PREFIX?region=REGION or file:///DIRECTORY. "
        + "A password stands in the URL, better in KF_REMOTE or the config "
        + "file than on the command line. S3 takes its key from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and "
        + "AWS_SESSION_TOKEN. Images that are requested with credentials, and private and no-store responses, are not "
        + "shared. A remote that fails is passed over; without --remote-required the exit status does not change."

    private static let limits =
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
