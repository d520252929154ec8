/// Every command, as parsing and help know it.
enum CommandTable {
    static let all = [
        fetch, prefetch,
        cacheStat, cacheList, cachePath, cacheExplain, cacheVerify, cacheReport, cacheClean, cacheRemove,
        config, completions, manual,
    ]

    /// Every option once; the first command that has it stands for the others.
    static var allOptions: [OptionSpec] {
        var seen: Set<String> = []
        return all.flatMap(\.options).filter { seen.insert($0.long).inserted }
    }

    static let fetch = CommandSpec(
        words: ["fetch"], summary: "Get images: from the cache, else from where they are",
        operands: "SOURCE...",
        options: output + copies + variants + processing + naming + caching + network + run + shared,
        examples: [
            "kf fetch https://example.com/cat.jpg",
            "kf fetch photo.jpg --output-dir site --variant small=resize:320x --variant large=resize:1600x",
            "kf fetch https://example.com/cat.jpg -p resize:320x320,fit -f png -o cat.png",
            "kf fetch photo.jpg -p 'crop:200x200|>blur:5' -o - | display",
        ],
        details: [secrets],
        essential: [
            "output", "output-dir", "process", "variant", "format", "force-refresh", "only-from-cache",
            "cache-dir", "json", "quiet", "verbose", "help",
        ])

    static let prefetch = CommandSpec(
        words: ["prefetch"], summary: "Warm the cache from lists: one URL a line, csv, tsv or jsonl, gzipped or not",
        operands: "[LIST|-]...",
        options: lists + copies + variants + processing + caching + network + run + shared,
        examples: [
            "kf prefetch urls.txt",
            "grep -o 'https://[^\"]*\\.png' page.html | kf prefetch -",
            "kf prefetch products.csv.gz --url-column picture --failures failed.csv --max-failures 5%",
            "kf prefetch urls.txt --shard 0/4 --rate 20/s --deadline 10m",
        ],
        details: [
            "A list is one URL a line, or csv, tsv or jsonl (one JSON object a line), gzipped or not. Blank lines are "
                + "skipped, and so are lines that start with # in lines and jsonl. A record is at most 1 MiB.",
            "Only the column 'url' is read, or that of --url-column. A list gives keys, names, headers or processors "
                + "only where --key-column, --name-column, --headers-column or --process-column names the column, by its "
                + "name in the first line or by its number. For jsonl the name is that of a member. A list may not set "
                + "the headers of the connection (Host, Connection, Content-Length and the like), Range or If-*.",
            "The file of --failures is readable by its owner alone when kf creates it, since URLs may hold secrets. An "
                + "existing file keeps its mode.",
            secrets,
        ],
        essential: [
            "input-format", "failures", "process", "jobs", "cache-dir", "json", "quiet", "help",
        ])

    static let cacheStat = CommandSpec(
        words: ["cache", "stat"], summary: "Say what the cache holds", operands: nil,
        options: [
            OptionSpec("reset", commandLineAlone: true, help: "Count hits and misses from now on"),
            OptionSpec("max-size", value: "BYTES", byDefault: "5G", help: "The limit to compare with; 0 is none"),
        ] + shared,
        examples: ["kf cache stat", "kf cache stat --json -v"],
        details: [
            "Hits and misses are lower bounds: a process that cannot write when it ends is not counted.",
            "-q prints one line. -v shows all hosts, counts what has expired to the second, and what the files take on "
                + "the disk; with a million entries that takes some tenths of a second.",
        ])

    static let cacheList = CommandSpec(
        words: ["cache", "ls"], summary: "List what is in the cache", operands: "[URL|PATTERN]...",
        options: [
            OptionSpec(
                "sort", value: "url|size|age|used|hits", byDefault: "url",
                help: "The largest, the newest, the last used or the most used first"),
            OptionSpec("reverse", help: "The other way round"),
            OptionSpec("limit", value: "N", help: "Only the first N"),
            OptionSpec(
                "host", value: "HOST", commandLineAlone: true,
                help: "Only images of this host: example.com, *.example.com, example.com:8080, [::1]"),
            OptionSpec("long", help: "Show whole queries, sizes in pixels, when it was used, and where the file lies"),
        ].grouped("Listing") + shared,
        examples: ["kf cache ls --sort size --limit 20", "kf cache ls 'https://example.com/*' --json"],
        details: [
            "Each line shows the size, how long ago it was stored, when it expires, how often it was used (at least), "
                + "and the image: its key, and behind an @ what was done to it.",
            "A pattern fits whole keys: * stands for anything, ? for one character, [a-z] for one of them. A URL without "
                + "them lists its original and everything made from it.",
            hosts,
        ])

    static let cachePath = CommandSpec(
        words: ["cache", "path"], summary: "Print where images lie in the cache, if they are there",
        operands: "SOURCE...", options: variants + processing + deciding + shared,
        examples: ["kf cache path https://example.com/cat.jpg -p resize:320x240"],
        details: [
            "The options that make an image another one are those of fetch. Nothing is fetched, touched or counted; "
                + "what has expired is not there. Exit status 1 when one of them is missing."
        ],
        essential: ["process", "variant", "format", "cache-dir", "json", "quiet", "help"])

    static let cacheExplain = CommandSpec(
        words: ["cache", "explain"], summary: "Say what is cached of an image, and what the next fetch will do",
        operands: "SOURCE...", options: variants + processing + deciding + shared,
        examples: ["kf cache explain https://example.com/cat.jpg -p resize:320x240"],
        details: ["The options are those of fetch, and what they would change is said. Nothing is fetched or changed."],
        essential: ["process", "format", "only-from-cache", "cache-dir", "json", "help"])

    static let cacheVerify = CommandSpec(
        words: ["cache", "verify"], summary: "Check every entry and every file, while others go on using the cache",
        operands: nil,
        options: [
            OptionSpec(
                "repair", commandLineAlone: true,
                help: "Remove what is broken and what nobody uses, correct the counts, and rebuild a damaged index")
        ] + shared,
        examples: ["kf cache verify", "kf cache verify --repair --json"])

    static let cacheReport = CommandSpec(
        words: ["cache", "report"], summary: "Write one HTML page of what the cache holds", operands: nil,
        options: [
            OptionSpec(
                "output", short: "o", value: "FILE", commandLineAlone: true,
                help: "Write to FILE, or to standard output for -"),
            OptionSpec(
                "thumbnails", value: "N", byDefault: "60", help: "Show so many of the images that were used last"),
        ].grouped("Output") + shared,
        examples: ["kf cache report -o cache.html && xdg-open cache.html"],
        details: [
            "The page needs nothing but itself: plots of sizes, formats and ages, the largest and the most used "
                + "entries, and small pictures that lead to the images' files."
        ])

    static let cacheClean = CommandSpec(
        words: ["cache", "clean"],
        summary: "Remove what has expired and what is over the limit, or what the options name", operands: nil,
        options: [
            OptionSpec("all", commandLineAlone: true, help: "Remove everything, after a question"),
            OptionSpec(
                "older-than", value: "TIME", commandLineAlone: true, help: "Remove what was stored longer ago"),
            OptionSpec(
                "unused-for", value: "TIME", commandLineAlone: true, help: "Remove what was not read for so long"),
            OptionSpec(
                "host", value: "HOST", commandLineAlone: true,
                help: "Remove images of this host: example.com, *.example.com, example.com:8080, [::1]"),
            OptionSpec(
                "max-size", value: "BYTES", byDefault: "5G",
                help: "Go down to this size, the least recently used first; 0 is no limit"),
            OptionSpec("dry-run", help: "Only say what would go"),
            OptionSpec(
                "yes", short: "y", commandLineAlone: true, help: "Do not ask; --all needs it without a terminal"),
        ].grouped("What goes") + shared,
        examples: ["kf cache clean --unused-for 30d", "kf cache clean --max-size 1G --dry-run -v"],
        details: [
            "Without --all, --host, --older-than, --unused-for and --max-size, expired entries go, and what is over the "
                + "cache's limit.",
            "An entry goes when it matches all of --host, --older-than and --unused-for that are given. --max-size on "
                + "the command line removes from the rest until that size is reached. In the environment and the "
                + "config file it only sets the cache's limit. -v prints each entry that goes.",
            "Partial downloads go when they are a day old. Past a size, they go until they take a quarter of it. --all "
                + "removes all of them.",
            hosts,
        ])

    static let cacheRemove = CommandSpec(
        words: ["cache", "rm"], summary: "Remove URLs with everything made from them", operands: "[URL]...",
        options: [
            OptionSpec(
                "glob", value: "PATTERN", repeatable: true, commandLineAlone: true,
                help: "Remove the keys that fit: * ? [...]"),
            OptionSpec(
                "key", value: "KEY", repeatable: true, commandLineAlone: true,
                help: "Remove the image that was stored under this key, with everything made from it"),
            OptionSpec(
                "processor", value: "SPEC", commandLineAlone: true, help: "Remove what this processor made"),
            OptionSpec("dry-run", help: "Only say what would go"),
        ].grouped("What goes") + shared,
        examples: [
            "kf cache rm https://example.com/cat.jpg", "kf cache rm --glob 'https://example.com/*' --dry-run -v",
        ],
        details: [
            "A pattern fits whole keys. With --processor only what it made goes, of the URLs, keys and patterns if there "
                + "are any, else everywhere. -v prints each entry that goes. Exit status 1 when nothing fits."
        ])

    static let config = CommandSpec(
        words: ["config"], summary: "Show every option's value, and where it comes from", operands: nil,
        options: shared,
        examples: ["kf config | grep -v 'default$'", "KF_JOBS=8 kf config --json"],
        details: [
            "A value on the command line beats the environment, and the environment beats the config file, "
                + "$XDG_CONFIG_HOME/kf/config or ~/.config/kf/config.",
            "In the environment --cache-dir is KF_CACHE_DIR, a switch is 1 or 0, and an option that may be repeated "
                + "takes one value a line.",
            "The file has one long option a line: 'jobs = 8', 'jobs 8', or 'quiet' for a switch; a value may stand "
                + "in double quotes, and # begins a comment. An option is read by the commands that have it.",
            "Some options are for the command line alone: -o, --key, and those that choose what is deleted (--all, "
                + "--yes, --host, --glob, --processor, --older-than, --unused-for, --repair, --reset). In the file they "
                + "are an error, and so are their variables (KF_HOST) for the commands that have them.",
        ])

    static let completions = CommandSpec(
        words: ["completions"], summary: "Print a shell's completion script", operands: "bash|zsh|fish",
        options: help,
        examples: ["source <(kf completions bash)", "kf completions fish > ~/.config/fish/completions/kf.fish"],
        details: [
            "It completes commands, options, the words that an option takes, processors behind -p, and files. "
                + "'make install' puts all three scripts where their shells look for them."
        ])

    static let manual = CommandSpec(
        words: ["man"], summary: "Print the manual page", operands: nil, options: help,
        examples: ["kf man | man -l -"])

    private static let hosts =
        "A host matches at any port; with :8080 at that one. *.example.com matches every host below example.com, not "
        + "example.com itself, and * every host. IPv6 addresses stand in brackets: [::1]:8080. What came from no host "
        + "is 'local'."

    private static let secrets =
        "Credentials and headers go to the origin (scheme, host, port) of each source. A redirect or an --alternative to "
        + "another origin gets only headers that hold no secret. Credentials, headers, --trusted-host, --cacert and "
        + "--deny-private are part of the cache key, so that users of one cache are kept apart. These headers are neutral "
        + "and not part of it: User-Agent, Referer, From, Accept-Language, Accept-Encoding, Accept-Charset, "
        + "Cache-Control, Pragma, Connection, Keep-Alive, TE, DNT, Sec-GPC, Upgrade-Insecure-Requests, Priority, "
        + "Traceparent, Tracestate, X-Request-ID, X-Correlation-ID."

    private static let help = [
        OptionSpec("help", short: "h", commandLineAlone: true, help: "Explain this command; -h on one screen")
    ].grouped("Common")

    private static let shared =
        [
            OptionSpec("cache-dir", value: "DIR", help: "Use this cache instead of $KF_CACHE_DIR or ~/.cache/kf"),
            OptionSpec("json", help: "Print JSON, one object a line"),
            OptionSpec("quiet", short: "q", help: "Print errors only"),
            OptionSpec("verbose", short: "v", help: "Say on stderr how each item came"),
            OptionSpec("color", value: "auto|always|never", byDefault: "auto", help: "Colours in messages"),
        ].grouped("Common") + help

    private static let output = [
        OptionSpec("show", excludes: ["json"], help: "Draw the picture in the terminal instead of printing a path"),
        OptionSpec(
            "output", short: "o", value: "FILE", excludes: ["output-dir"], commandLineAlone: true,
            help: "Write to FILE, or to standard output for -"),
    ].grouped("Output")

    private static let copies = [
        OptionSpec("output-dir", value: "DIR", help: "Write a copy of each image into DIR"),
        OptionSpec(
            "name", value: "TEMPLATE", byDefault: "{stem}-{hash12}.{ext}",
            help: "Name the copies: {stem} {ext} {host} {hash} {hash12} {index} {width} {height} {format} {variant}"),
    ].grouped("Output")

    private static let lists = [
        OptionSpec(
            "input-format", value: "auto|lines|csv|tsv|jsonl", byDefault: "auto",
            help: "How the lists are written; auto goes by their names, and takes standard input for lines"),
        OptionSpec(
            "url-column", value: "NAME|N", byDefault: "url",
            help: "The column of a csv or tsv, or the member of a jsonl's objects, with the URLs"),
        OptionSpec(
            "key-column", value: "NAME|N", help: "The column with keys to keep the images under, as fetch --key"),
        OptionSpec("name-column", value: "NAME|N", help: "The column with names for the copies, the {stem} of --name"),
        OptionSpec(
            "headers-column", value: "NAME|N",
            help: "The column with request headers: 'Name: value' lines, or an object in jsonl"),
        OptionSpec("process-column", value: "NAME|N", help: "The column with processors to apply after those of -p"),
        OptionSpec("allow-local", help: "Take paths and file: URLs from lists, too"),
        OptionSpec("shard", value: "I/N", help: "Do only part I, from 0 to N-1, of the lists, for one of N machines"),
        OptionSpec("failures", value: "FILE", help: "Write the lines that failed to FILE, which is a list again"),
        OptionSpec("max-failures", value: "N|P%", help: "Stop when more than N, or P% of 100 and more, have failed"),
    ].grouped("Lists")

    private static let run = [
        OptionSpec("max-per-host", value: "N", byDefault: "8", help: "Downloads at once from one host"),
        OptionSpec("rate", value: "N/s", help: "Requests a second to one host, or N/m a minute"),
        OptionSpec("deadline", value: "TIME", help: "Start nothing new after this time; 0 is none"),
        OptionSpec("progress", value: "auto|always|never", byDefault: "auto", help: "Show how far it is"),
    ].grouped("Network")

    private static let variants = [
        OptionSpec(
            "variant", value: "NAME=CHAIN", repeatable: true,
            help: "Make an image of this name, by -p and then CHAIN; all of them at once")
    ].grouped("Processing")

    private static let processing = [
        OptionSpec(
            "process", short: "p", value: "SPEC", repeatable: true,
            help: "What to do, such as resize:320x240,fit; several are done in order, 'kf help processors' lists them"),
        OptionSpec(
            "format", short: "f", value: "keep|png|jpeg|gif|webp", byDefault: "keep",
            help: "Write this format"),
        OptionSpec("quality", value: "N", byDefault: "85", help: "Of a JPEG or WebP that is written, 1 to 100"),
        OptionSpec("background", value: "COLOUR", help: "Put behind transparency in a JPEG: #rgb, #rrggbb"),
        OptionSpec("first-frame", help: "Take the first frame of an animation"),
        OptionSpec("srgb", help: "Convert to sRGB by the image's profile, which is otherwise carried along"),
        OptionSpec("keep-metadata", help: "Keep EXIF and XMP in what is written"),
        OptionSpec("max-pixels", value: "N", byDefault: "100000000", help: "Refuse images with more"),
        OptionSpec(
            "max-memory", value: "BYTES", byDefault: "1G",
            help: "Refuse images that need more memory (by default less for files below 1.25M); 0 is no limit"),
        OptionSpec("scale", value: "N", byDefault: "1", help: "Pixels for each point of a processor's sizes"),
        OptionSpec("scale-down", value: "BYTES", help: "Decode images that would take more memory smaller"),
    ].grouped("Processing")

    private static let caching = [
        OptionSpec("force-refresh", excludes: ["only-from-cache"], help: "Ask the source even if the image is cached"),
        OptionSpec(
            "revalidate", excludes: ["force-refresh", "only-from-cache"],
            help: "Revalidate with the origin even if the cached image is fresh"),
        OptionSpec("only-from-cache", help: "Never ask the source"),
        OptionSpec("memory-only", excludes: ["store"], help: "Store nothing; what is in the cache already is used"),
        OptionSpec(
            "store", value: "both|original|processed|none", byDefault: "both",
            help: "With -p: keep the image as it came, what is made of it, or both"),
        OptionSpec(
            "expire", value: "TIME|DATE", byDefault: "7d",
            help: "How long it counts as fresh, or until when (UTC); never, or expired"),
        OptionSpec(
            "extend", value: "cache-time|none|TIME", byDefault: "cache-time",
            help: "What using it does: fresh for as long again, for TIME, or nothing"),
        OptionSpec("ignore-query", help: "Take URLs that differ in their query alone for the same image"),
        OptionSpec(
            "key-ignore", value: "PARAM", repeatable: true,
            help: "Treat URLs that differ only in this query parameter as one image; a pattern such as 'X-Amz-*'"),
        OptionSpec(
            "cache-policy", value: "ttl|http", byDefault: "ttl",
            help: "Fresh for as long as --expire says, or as the server does (RFC 9111), failures too"),
        OptionSpec(
            "stale-while-revalidate", value: "TIME",
            help: "Serve an image that expired less than TIME ago at once, and revalidate it afterwards"),
        OptionSpec(
            "stale-if-error", value: "TIME", help: "Use what expired no longer ago when its source cannot be asked"),
        OptionSpec(
            "cache-from", value: "DIR", repeatable: true,
            help: "Look into this cache too, after a miss; it is never written to"),
        OptionSpec("read-only", help: "Use what the cache has, and change nothing in it"),
        OptionSpec(
            "check", value: "structure|full", byDefault: "structure",
            help: "Check the structure of what arrives, or decode all of it; damaged images are refused"),
        OptionSpec("verify", help: "Hash every file that the cache gives; what has changed is fetched again"),
        OptionSpec("fsync", help: "Wait until what is stored is on the disk"),
        OptionSpec("max-size", value: "BYTES", byDefault: "5G", help: "The cache's limit; 0 is none"),
    ].grouped("Cache")

    private static let naming = [
        OptionSpec(
            "key", value: "KEY", excludes: ["ignore-query", "key-ignore"], commandLineAlone: true,
            help: "Keep the image of one source under this key, apart from the keys of URLs")
    ].grouped("Cache")

    /// Of the two above and below, what decides which entry is meant and what happens to it.
    private static let deciding = (naming + caching + network).filter {
        [
            "force-refresh", "revalidate", "only-from-cache", "cache-policy", "stale-while-revalidate",
            "stale-if-error", "cache-from", "verify", "key", "ignore-query", "key-ignore", "header", "user", "netrc",
            "trusted-host", "cacert", "deny-private",
        ].contains($0.long)
    }

    private static let network = [
        OptionSpec("jobs", short: "j", value: "N", byDefault: "64", help: "Downloads at once"),
        OptionSpec("timeout", value: "TIME", byDefault: "15s", help: "To connect, and for any standstill; 0 is none"),
        OptionSpec("max-time", value: "TIME", help: "The longest that one transfer may take"),
        OptionSpec("retry", value: "N", byDefault: "2", help: "Tries after a failure that may pass"),
        OptionSpec(
            "retry-delay", value: "DELAY", byDefault: "exponential:1s",
            help: "Between tries: 3s, accumulated:3s (3, 6, 9, ...) or exponential:1s (1, 2, 4, ..., with chance)"),
        OptionSpec(
            "alternative", value: "URL", repeatable: true, secret: .userInfo,
            help: "Fallback URL, used when the source fails; on another origin it gets no credentials"),
        OptionSpec(
            "header", short: "H", value: "NAME: VALUE", repeatable: true, secret: .header,
            help: "Header to send to the source's own origin; part of the cache key unless it is neutral"),
        OptionSpec(
            "user", short: "u", value: "NAME:PASSWORD", secret: .whole,
            help: "Credentials, sent only to the source's own origin (scheme, host, port)"),
        OptionSpec("netrc", help: "Look up the credentials of each host in ~/.netrc"),
        OptionSpec("user-agent", value: "TEXT", byDefault: "kf", help: "What to be called"),
        OptionSpec(
            "proxy", value: "URL", secret: .userInfo, help: "Go through this proxy, whatever the environment says"),
        OptionSpec("cacert", value: "FILE", help: "Trust these authorities (PEM) in place of the system's"),
        OptionSpec(
            "trusted-host", value: "HOST", repeatable: true, help: "Do not check the certificate of this host"),
        OptionSpec("max-redirects", value: "N", byDefault: "10", help: "Redirects to follow"),
        OptionSpec("max-bytes", value: "BYTES", byDefault: "256M", help: "Refuse larger responses; 0 is no limit"),
        OptionSpec("deny-private", help: "Refuse addresses that are not on the public internet"),
        OptionSpec("http1.1", help: "Do not use HTTP/2"),
    ].grouped("Network")
}
