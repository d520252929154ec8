/// The commands that begin with `cache`.
extension CommandTable {
    static let cacheStat = CommandSpec(
        "cache", "stat", summary: "Show cache statistics",
        options: [Options.reset.spec, Options.comparedSize.spec]
            + Options.common(quiet: "Print one line", verbose: "Show all hosts, exact counts and disk space"),
        examples: ["kf cache stat", "kf cache stat --json -v"],
        details: [
            "Hits and misses are lower bounds: a process that cannot write to the index when it ends is not counted.",
            "-q prints one line. -v shows all hosts, counts expired entries exactly, and measures the disk space of the "
                + "files; with a million entries that takes some tenths of a second.",
        ]
    ) { (arguments) throws(UsageError) in try CacheStatCommand.run(arguments) }

    static let cacheList = CommandSpec(
        "cache", "ls", summary: "List cache entries", operands: "[URL|PATTERN]...",
        options: Options.selecting + Options.listing
            + Options.common(
                quiet: "Print no heading",
                verbose: "Print whole URLs, with query strings, and the entries of --measure"),
        examples: [
            "kf cache ls --sort size --limit 20", "kf cache ls 'https://example.com/*' --json",
            "kf cache ls --tag site --unused-for 30d",
        ],
        details: [
            "One line per entry. " + EntryTable.columnHelp, selection, nothing, hosts,
        ],
        essential: "host format expired older-than unused-for processor tag sort limit long json help"
    ) { (arguments) throws(UsageError) in try CacheListCommand.run(arguments) }

    static let cacheTags = CommandSpec(
        "cache", "tags", summary: "List the tags of entries", options: Options.common(),
        examples: ["kf cache tags"],
        details: [
            "One line per tag: its name, the number of its entries, and their size. --tag NAME of the other commands selects them."
        ]
    ) { (arguments) throws(UsageError) in try CacheStatCommand.tags(arguments) }

    static let cacheDuplicates = CommandSpec(
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

    static let cacheWhich = CommandSpec(
        "cache", "which", summary: "Print the keys of a cached file", operands: "FILE|SHA256...",
        options: Options.common(),
        examples: ["kf cache which copy.jpg", "kf cache which c821a3f0"],
        details: [
            "A FILE is a file of the cache or a copy of one, wherever it is; its content is compared. SHA256 is a hash of "
                + "64 digits, or its first 8 or more. Prints KEY or KEY@PROCESSOR, one per line. Exit status 1 when the "
                + "cache has no such file."
        ]
    ) { (arguments) throws(UsageError) in try CacheWhichCommand.run(arguments) }

    static let cachePut = CommandSpec(
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
    ) { (arguments) throws(UsageError) in try CachePutCommand.run(arguments) }

    /// The options that select the entry of a source.
    private static var deciding: [OptionSpec] {
        let candidates = join([Options.key.spec], Options.caching, [Options.negativeTTL.spec], Options.network)
        return join(
            Options.processing, candidates.filter { $0.decidesEntry },
            Options.common(
                quiet: "Print less: no error for a missing image, one word from explain",
                verbose: "Print whole URLs, with query strings"))
    }

    static let cachePath = CommandSpec(
        "cache", "path", summary: "Print the cached file of each source", operands: "SOURCE...", options: deciding,
        examples: ["kf cache path https://example.com/cat.jpg -p resize:320x240"],
        details: [
            "Give the same options as to fetch: processors, formats, headers and credentials select the entry. Nothing "
                + "is fetched, and the entry's last use and counts stay as they are. A missing or expired image is an "
                + "error (exit status 1)."
        ],
        essential: "process variant format cache-dir json quiet help"
    ) { (arguments) throws(UsageError) in try CachePathCommand.run(arguments) }

    static let cacheExplain = CommandSpec(
        "cache", "explain", summary: "Explain a cache entry and what the next fetch would do", operands: "SOURCE...",
        options: join(deciding, Options.leavingOut),
        examples: ["kf cache explain https://example.com/cat.jpg -p resize:320x240 --min-size 256x256"],
        details: [
            "Options describe the fetch in question: give those that you give to fetch. This command fetches nothing and "
                + "does not change the cache. It asks each --remote what it has of the image."
        ],
        essential: "process format offline cache-dir json help"
    ) { (arguments) throws(UsageError) in try CacheExplainCommand.run(arguments) }

    static let cacheVerify = CommandSpec(
        "cache", "verify", summary: "Check every cache entry and file for damage", operands: "[URL|PATTERN]...",
        options: Options.selecting + [Options.repair.spec, Options.verifiedLock.spec]
            + Options.common(
                quiet: "Print nothing: the exit status tells", verbose: "Print whole URLs, with query strings"),
        examples: ["kf cache verify", "kf cache verify --repair --json", "kf cache verify --host example.com"],
        details: [
            "Other processes may use the cache meanwhile. Exit status 1 when damage remains. With URLs, patterns or "
                + "filters, only the selected entries and their files are checked: not the index as a whole, its counts, "
                + "and files without an entry.",
            "--lock FILE checks the images of a lock instead: held (the cache has the bytes, which are hashed), missing or "
                + "differs. Exit status 1 unless all are held. With --json, a line has url, state, expected and found.",
            selection, nothing, hosts,
        ],
        essential: "repair host format expired older-than unused-for larger-than processor tag cache-dir json help"
    ) { (arguments) throws(UsageError) in try CacheVerifyCommand.run(arguments) }

    static let cacheReport = CommandSpec(
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

    static let cachePull = CommandSpec(
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
                + "expired one is taken as well, for --offline. A list is needed since the entries of a remote hold no URLs, "
                + "which may be secrets. If the only --remote fails, the exit status is 3. --dry-run asks no remote.",
            remotes, limits,
        ],
        essential: "remote lock process variant input-format url-column failures json help"
    ) { (arguments) throws(UsageError) in try PrefetchCommand(arguments, pulls: true).run() }

    static let cachePush = CommandSpec(
        "cache", "push", summary: "Upload what a shared cache lacks", operands: "[URL|PATTERN]...",
        options: join(
            Options.pushing, Options.reachingRemote, [Options.progress.spec],
            Options.common(quiet: "Print nothing but errors", verbose: "Print each image that is uploaded")),
        examples: [
            "kf cache push --remote https://cache.example.com/team",
            "kf cache push --tag site --dry-run --remote s3://b/p",
            "kf cache push --keep-list urls.txt --remote s3://b/p",
        ],
        details: [
            "Sends the images of which the first --remote has no entry, or an older or expired one: originals first, then "
                + "what was made of them. --keep-list FILE and --lock FILE send those of a list. A push that was cut off goes "
                + "on when it is repeated. Images of no server, of users (credentials, cookies), and of responses that forbid "
                + "it are not shared; -v says why. Exit status 1 when an image could not be sent, 3 when the remote fails.",
            selection, nothing, hosts,
        ],
        essential: "remote keep-list lock dry-run host tag glob json quiet verbose help"
    ) { (arguments) throws(UsageError) in try CachePushCommand(arguments).run() }

    static let cacheMerge = CommandSpec(
        "cache", "merge", summary: "Take the images of other caches into this one", operands: "DIR...",
        options: [Options.mergeDryRun.spec, Options.maxSize.spec]
            + Options.common(
                quiet: "Print nothing",
                verbose: "Print each entry that is taken; with --dry-run each that differs, and where it is newer"),
        examples: ["kf cache merge restored/*", "kf cache merge ~/.cache/kf --cache-dir /mnt/cache --dry-run"],
        details: [
            "Of two entries of one key the newer one counts, with its times, hits and tags; equal bytes are one file. Every "
                + "file is hashed on its way. The other caches are only read, and other processes may use all of them "
                + "meanwhile. Exit status 1 when an entry is damaged, which is left out."
        ]
    ) { (arguments) throws(UsageError) in try CacheMergeCommand.run(arguments) }

    static let cacheClean = CommandSpec(
        "cache", "clean", summary: "Remove expired and excess entries, or a selection", operands: "[URL|PATTERN]...",
        options: Options.cleaning
            + Options.common(quiet: "Print nothing", verbose: "Print each removed entry"),
        examples: [
            "kf cache clean --unused-for 30d", "kf cache clean --max-size 1G --dry-run",
            "kf cache clean --tag site --keep-list urls.txt --dry-run",
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
            hosts,
        ],
        essential: "all host older-than unused-for tag keep-list max-size dry-run yes json help"
    ) { (arguments) throws(UsageError) in try CacheCleanCommand.run(arguments) }

    static let cacheRemove = CommandSpec(
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
}
