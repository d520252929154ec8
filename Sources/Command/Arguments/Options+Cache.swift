import KFCore

/// Freshness, storing, and cache keys.
extension Options {
    static let caching: [OptionSpec] = [
        forceRefresh.spec, revalidate.spec, onlyFromCache.spec, offline.spec, store.spec, expire.spec,
        extend.spec, keyIgnore.spec, cachePolicy.spec, staleWhileRevalidate.spec, staleIfError.spec,
        retryFailed.spec, cacheFrom.spec, remote.spec, remoteWrite.spec, remoteRequired.spec, remoteWait.spec,
        remoteDropped.spec, readOnly.spec, check.spec, verify.spec, fsync.spec, maxSize.spec, tag.spec,
    ]

    static let key = Option<String?>(
        "key", .cache, value: "KEY", .one(ValueReader.text(needs: "a key").map(GivenKey.cacheKey)),
        excludes: [keyIgnore.name], commandLineAlone: true, secret: .userInfo, decidesEntry: true,
        help: "Store the image of one source under this key instead of its URL")
    static let forceRefresh = Option(
        "force-refresh", .cache, .flag, excludes: [onlyFromCache.name], decidesEntry: true,
        help: "Fetch again even if the image is cached")
    static let revalidate = Option(
        "revalidate", .cache, .flag, excludes: [forceRefresh.name, onlyFromCache.name], decidesEntry: true,
        help: "Revalidate with the origin even if the cached image is fresh")
    static let onlyFromCache = Option(
        "only-from-cache", .cache, .flag, decidesEntry: true, help: "Use the cache only; a miss is an error")
    static let offline = Option(
        "offline", .cache, .flag, excludes: [forceRefresh.name, revalidate.name, onlyFromCache.name],
        decidesEntry: true,
        help: "Make no request, and serve expired images from the cache as well; a miss is an error")
    static let store = Option<StoreChoice>(
        "store", .cache, .choice(default: .both),
        help: "What to store: both, with -p one of the two images, or nothing (none)")
    static let expire = Option<StorageExpiration?>(
        "expire", .cache, value: "TIME|DATE",
        .one("a time such as 7d, a date such as 2030-12-31T18:00+02:00, never or expired") { text in
            switch text {
            case "never": return .never
            case "expired": return .expired
            default:
                if let milliseconds = ValueText.milliseconds(text) { return .seconds(Double(milliseconds) / 1000) }
                return DateText.moment(text).map { .date($0) }
            }
        },
        byDefault: "7d", help: "How long an image is fresh, or until when (UTC date); never; expired: not stored")
    static let extend = Option<ExpirationExtending?>(
        "extend", .cache, value: "cache-time|none|TIME",
        .one("cache-time, none or a time such as 3d") { text in
            switch text {
            case "cache-time": return .cacheTime
            case "none": return ExpirationExtending.none
            default:
                guard let milliseconds = ValueText.milliseconds(text), milliseconds > 0 else { return nil }
                return .expirationTime(.seconds(Double(milliseconds) / 1000))
            }
        },
        byDefault: "none", help: "Freshness after each use: unchanged (none), renewed (cache-time), or TIME")
    static let keyIgnore = Option(
        "key-ignore", .cache, value: "PARAM", .each(.text(needs: "the name of a parameter, such as 'X-Amz-*'")),
        decidesEntry: true,
        help: "Treat URLs that differ only in this parameter (or pattern, 'X-Amz-*', '*' for all) as one image")
    static let cachePolicy = Option<CachePolicy?>(
        "cache-policy", .cache,
        .choice({ CachePolicy.allCases.map(\.rawValue) }, default: "ttl", nil) { CachePolicy(rawValue: $0) },
        decidesEntry: true,
        help: "Take the freshness from --expire (ttl) or the server's headers (http, RFC 9111)")
    static let staleWhileRevalidate = Option<Duration?>(
        "stale-while-revalidate", .cache, value: "TIME", .one(.duration), decidesEntry: true,
        help: "Serve an image at once if it expired less than TIME ago, and revalidate it afterwards")
    static let staleIfError = Option<Duration?>(
        "stale-if-error", .cache, value: "TIME", .one(.duration), decidesEntry: true,
        help: "Serve an image that expired less than TIME ago when the origin cannot be reached")
    static let negativeTTL = negativeTTL(default: .zero, "0")
    static let negativeTTLOfLists = negativeTTL(default: .seconds(600), "10m")

    private static func negativeTTL(default span: Duration, _ text: String) -> Option<Duration> {
        Option(
            "negative-ttl", .cache, value: "TIME", .one(default: span, .duration), byDefault: text, decidesEntry: true,
            help: "Remember a 404 or 410 for TIME and fail without asking again; 0 turns this off")
    }
    static let retryFailed = Option(
        "retry-failed", .cache, .flag, excludes: [offline.name, onlyFromCache.name], decidesEntry: true,
        help: "Ask again for images whose failure is remembered")
    static let cacheFrom = Option(
        "cache-from", .cache, value: "DIR", .each(.text), decidesEntry: true,
        help: "Look in this cache too after a miss; it is only read")
    static let remote = Option(
        "remote", .cache, value: "URL", .each(.text), secret: .userInfo, decidesEntry: true,
        help: "Look in this shared cache too after a miss: http(s)://, s3://BUCKET or file://")
    /// The options that decide how a remote is reached.
    static let reachingRemote: [OptionSpec] = [proxy.spec, cacert.spec, trustedHost.spec]

    static let remoteWrite = Option(
        "remote-write", .cache, .flag, excludes: [readOnly.name, offline.name, onlyFromCache.name],
        help: "Upload what was fetched to the first --remote")
    static let remoteRequired = Option(
        "remote-required", .cache, .flag, help: "Fail with status 3 if a --remote refuses or cannot be reached")
    /// Nil is `all`.
    static let remoteWait = Option<Duration?>(
        "remote-wait", .cache, value: "TIME|all",
        .one(
            default: .seconds(30),
            ValueReader("a time such as 30s or 10m, or all") { text in
                text == "all" ? .some(nil) : ValueText.milliseconds(text).map { .milliseconds($0) }
            }),
        byDefault: "30s", help: "Time limit for uploads at the end; all waits while bytes move")
    static let remoteDropped = Option<String?>(
        "remote-dropped", .cache, value: "FILE", .one(.text),
        help: "Write the URLs of images that were not uploaded to FILE")
    static let readOnly = Option("read-only", .cache, .flag, help: "Read from the cache without changing it")
    static let check = Option<ImageCheck?>(
        "check", .cache,
        .choice({ ["structure", "full"] }, default: "structure", nil) { ImageCheck(rawValue: $0) },
        valueOptional: true,
        help: "Check (or fully decode) new images; a dry run fails if one is missing")
    static let verify = Option(
        "verify", .cache, .flag, decidesEntry: true,
        help: "Hash each cached file before it is served; a changed file is fetched again")
    static let fsync = Option("fsync", .cache, .flag, help: "Wait until stored images have reached the disk")
    static let maxSize = size(help: "Size limit of the cache; 0 is no limit")
    static let tag = Option(
        "tag", .cache, value: "NAME", .each(.tag), excludes: [readOnly.name],
        help: "Tag the images, cached ones too, so that cache ls and rm --tag NAME find them")

    /// The cache's limit, explained by what the command does with it.
    static func size(_ group: OptionSpec.Group = .cache, help: String) -> Option<Int64?> {
        Option("max-size", group, value: "BYTES", .one(.size), byDefault: "5G", help: help)
    }
}

/// Which of the images a processed result leaves in the cache.
enum StoreChoice: String, CaseIterable, Sendable {
    case both, original, processed, none
}

/// The options of `cache stat`, `ls`, `verify`, `report`, `clean` and `rm` beside the filters.
extension Options {
    static let reset = Option(
        "reset", .cache, .flag, commandLineAlone: true, help: "Set the counts of hits and misses to 0")
    static let comparedSize = size(help: "Size limit to compare with; 0 is no limit")

    static let listing: [OptionSpec] = [sort.spec, reverse.spec, limit.spec, long.spec]
    static let sort = Option<EntryOrder>(
        "sort", .listing,
        .choice({ ["url", "size", "age", "used", "hits"] }, default: "url", .url) { EntryOrder(rawValue: $0) },
        help: "Order by URL, or largest, newest, most recently used or most used first")
    static let distance = Option<Int>(
        "distance", .listing, value: "N", .number(default: 2, .integer(in: ImageCache.duplicateDistances)),
        help: "Bits in which the hashes of similar images may differ, 0 to \(ImageCache.duplicateDistances.upperBound)")
    static let reverse = Option("reverse", .listing, .flag, help: "Reverse the order")
    static let limit = Option<Int?>(
        "limit", .listing, value: "N", .one(.integer(in: 1...Int.max)), help: "List only the first N entries")
    static let long = Option(
        "long", .listing, .flag,
        help: "Also show the last use, the size in pixels, the query string and the file's path")

    static let repair = Option(
        "repair", .cache, .flag, commandLineAlone: true,
        help: "Remove damaged entries and orphan files, correct the counts, and rebuild a damaged index")

    static let reportFile = Option<String?>(
        "output", short: "o", .output, value: "FILE", .one(.text), commandLineAlone: true,
        help: "Write the page to FILE, or to standard output if FILE is -")
    static let thumbnails = Option(
        "thumbnails", .output, value: "N", .number(default: 60, .integer(in: 0...1000)),
        help: "Show the N most recently used images, 0 to 1000")

    static let cleaning: [OptionSpec] =
        [all.spec] + selecting + [
            keepList.spec, keepLock.spec, skipInvalid.spec,
        ] + listReading + [targetSize.spec, dryRun.spec, yes.spec]
    static let all = Option(
        "all", .removal, .flag, commandLineAlone: true, help: "Remove everything, after confirmation")
    static let keepList = Option(
        "keep-list", .removal, value: "FILE", .each(.text(needs: "a list")), commandLineAlone: true,
        help: "Remove what is selected, or else everything, except the images that this list names")
    static let skipInvalid = Option(
        "skip-invalid", .removal, .flag, commandLineAlone: true,
        help: "Skip lines of --keep-list that are not URLs, with a warning")
    static let keepLock = Option(
        "keep-lock", .removal, value: "FILE", .each(.text(needs: "a lock of images")), commandLineAlone: true,
        help: "The same for a lock (images.lock)")
    static let targetSize = size(
        .removal, help: "Remove the least recently used entries until this size is reached; 0 is no limit")
    static let dryRun = Option("dry-run", .removal, .flag, help: "List what would be removed, and remove nothing")
    static let yes = Option(
        "yes", short: "y", .removal, .flag, commandLineAlone: true,
        help: "Remove without confirmation; --all needs it when there is no terminal")

    static let mergeDryRun = Option("dry-run", .cache, .flag, help: "Print what would be taken, and take nothing")

    static let removing: [OptionSpec] = selecting + [dryRun.spec]
}

/// The filters that `ls`, `rm`, `clean`, `verify` and `report` share. They choose what is deleted, so that only the
/// command line sets them.
extension Options {
    static let selecting: [OptionSpec] = [
        host.spec, withFormat.spec, expired.spec, olderThan.spec, unusedFor.spec, largerThan.spec, processor.spec,
        withTag.spec, globs.spec, keys.spec,
    ]
    static let host = Option<HostPattern?>(
        "host", .selection, value: "HOST", .one(.host), commandLineAlone: true,
        help: "Only images of this host: example.com, *.example.com, example.com:8080, [::1], local")
    static let withFormat = Option<ImageFormat?>(
        "format", .selection,
        .choice({ ImageFormat.allCases.map(\.rawValue) }, default: nil, nil) { ImageFormat(rawValue: $0) },
        homonym: true, help: "Only images of this format")
    static let expired = Option("expired", .selection, .flag, commandLineAlone: true, help: "Only expired entries")
    static let olderThan = Option<Duration?>(
        "older-than", .selection, value: "TIME", .one(.duration), commandLineAlone: true,
        help: "Only entries that were stored more than TIME ago")
    static let unusedFor = Option<Duration?>(
        "unused-for", .selection, value: "TIME", .one(.duration), commandLineAlone: true,
        help: "Only entries unused for TIME (recorded hourly)")
    static let largerThan = Option<Int64?>(
        "larger-than", .selection, value: "BYTES", .one(.size), commandLineAlone: true,
        help: "Only images of more than BYTES, such as 2M")
    static let processor = Option<ProcessorText?>(
        "processor", .selection, value: "SPEC",
        OptionForm(absent: nil) { (given) throws(UsageError) in
            // An empty identifier is that of the originals.
            let text = ProcessorText(given)
            guard !text.identifier.isEmpty else { throw given.problem("needs a processor, such as resize:320x240") }
            return text
        },
        commandLineAlone: true, help: "Only images that this processor made, as ls prints it after the @")
    static let withTag = Option(
        "tag", .selection, value: "NAME", .each(.tag), homonym: true,
        help: "Only entries with this tag; with several, entries that have them all")
    static let globs = Option(
        "glob", .selection, value: "PATTERN", .each(.text(needs: "a pattern")), commandLineAlone: true,
        help: "Only keys that match the pattern (* ? [...]), like an argument")
    static let keys = Option(
        "key", .selection, value: "KEY", .each(ValueReader.text(needs: "a key").map(GivenKey.cacheKey)),
        commandLineAlone: true,
        help: "Only the image stored under this key, and everything made from it")
}

/// The options of the lists that `--keep-list` of `clean` and `push` reads. In the environment they are for prefetch.
extension Options {
    static let listReading: [OptionSpec] = [
        inputFormat.spec.onCommandLine(.lists, help: "Format of the lists"),
        urlColumn.spec.onCommandLine(.lists, help: "Column or member of the lists with the URLs"),
        baseURL.spec.onCommandLine(.lists, help: "Complete relative URLs of the lists with this one"),
        keyColumn.spec.onCommandLine(.lists, help: "Column or member of the lists with cache keys"),
        keyIgnore.spec.onCommandLine(.lists, help: "Also what prefetch --key-ignore PARAM stored"),
    ]
}

/// The options of `cache push`.
extension Options {
    static let pushing: [OptionSpec] =
        [
            OptionSpec(
                remote.name, .cache, value: remote.spec.value, repeatable: true, secret: remote.spec.secret,
                help: "Upload to this shared cache: http(s)://, s3://BUCKET or file://"), pushDryRun.spec,
        ] + selecting + [
            keepList.spec.onCommandLine(
                .selection, help: "Only the images that this list names, and the arguments"),
            pushedLock.spec,
        ] + listReading
    static let pushDryRun = Option("dry-run", .cache, .flag, help: "Print what would be uploaded, and upload nothing")
    static let pushedLock = Option(
        lock.name, .selection, value: "FILE", .each(.text(needs: "a lock of images")), commandLineAlone: true,
        homonym: true, help: "Only the images of this lock (images.lock), and the arguments")
}

/// The options of `cache put`.
extension Options {
    static let putting: [OptionSpec] = [
        putKey.spec, hash.spec, expire.spec, extend.spec, tag.spec, check.spec, fsync.spec, maxSize.spec,
    ]
    static let putKey = Option<String?>(
        "key", .cache, value: "URL|KEY", .one(.text(needs: "a URL or a key")), commandLineAlone: true,
        secret: .userInfo,
        help: "Store the image under this URL, which fetch then finds in the cache, or under this key")
}

/// The text of `--processor`: the identifier of entries, or a processor in any form.
struct ProcessorText: Sendable {
    /// The identifier in its normal form, or the text itself if it has none.
    let identifier: String
    /// The reason why the text is not a processor; nil if it is one.
    let problem: String?

    init(_ given: Given) {
        let steps = given.text.parts(around: "|>")
            .map { (step: Substring) -> String in String(step.drop { $0.isWhitespace }) }
        // The last step may be the format that was written, which is not a processor.
        let encoding = steps.last.flatMap { $0.hasPrefix("encode:") ? $0 : nil }
        let chain = (encoding == nil ? steps[...] : steps.dropLast()).joined(separator: "|>")
        do {
            let processors = chain.isEmpty ? "" : try ValueReader.processor.read(given.only(chain)).identifier
            let parts = [processors, encoding ?? ""].filter { !$0.isEmpty }
            identifier = parts.joined(separator: "|>")
            problem = nil
        } catch {
            // `ls` also prints identifiers that do not parse: `vary=…`, and the processors of other programs.
            identifier = given.text.allSatisfy(\.isWhitespace) ? "" : given.text
            problem = error.message
        }
    }
}
