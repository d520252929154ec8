import Glibc
import KFCore
import Synchronization

enum CacheListCommand {
    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitStatus {
        let common = try CommonSettings(arguments)
        let selection = try EntrySelection(arguments)
        let order = try arguments[Options.sort]
        let isReversed = try arguments[Options.reverse]
        let limit = try arguments[Options.limit]
        let isLong = try arguments[Options.long]
        return common.onCache(access: .readOnly) { cache throws(KingfisherError) in
            guard let entries = try await selection.resolved(in: cache, common) else { return .someFailed }
            let hasHeading = Atomic(common.json || common.quiet || !Terminal.isTerminal(Session.current.output))
            var shown = entries.selection
            shown.hidesDescriptions = !common.json && !common.verbose && shown.identifier == nil
            _ = try await cache.list(shown, order: order, reversed: isReversed, limit: limit) { entry in
                entries.note(entry.name.key)
                if !hasHeading.exchange(true, ordering: .relaxed) { Terminal.print(EntryTable.header(isLong: isLong)) }
                print(entry, isLong: isLong, common)
                return !Terminal.isClosed
            }
            if selection.isEmpty || Terminal.isClosed { return .success }
            // A limit may hide the entries of an argument.
            if limit != nil { try await entries.noteAll(in: cache) }
            return entries.conclude(common)
        }
    }

    private static func print(_ entry: CachedEntry, isLong: Bool, _ common: CommonSettings) {
        if common.json {
            Terminal.print(JSONObject(entry, EntryTable.fields).json)
            return
        }
        var line = EntryTable.line(entry, now: .now(), isLong: isLong)
        line += EntryText.name(entry.name, whole: isLong || common.verbose)
        if let answer = EntryText.answer(entry) { line += " (\(answer))" }
        if isLong, !entry.tags.isEmpty { line += "  #" + Terminal.visible(entry.tags.joined(separator: " #")) }
        if isLong, entry.answerStatus == nil { line += "  \(Terminal.visible(entry.path))" }
        Terminal.print(line)
    }
}

/// `kf cache which`: lists the entries of a file, by its content, with their keys alone.
enum CacheWhichCommand {
    private static let fewestDigits = 8

    static func run(_ arguments: ParsedArguments) throws(UsageError) -> ExitStatus {
        let (common, files) = (try CommonSettings(arguments), arguments.operands)
        guard !files.isEmpty else { throw UsageError(message: "'kf cache which' needs a file or a SHA-256") }
        return common.onCache(access: .readOnly) { cache in
            var status = ExitStatus.success
            for file in files {
                do throws(KingfisherError) {
                    let found = try await cache.entries(sha256Prefix: try digits(file))
                    let hint = "\(found.count) files begin with these digits; give more of them"
                    guard found.count == 1, !found[0].isEmpty else {
                        throw .cacheError(reason: .imageNotExisting(key: found.count > 1 ? "\(file) (\(hint))" : file))
                    }
                    for entry in found[0] {
                        // The query is a part of what was asked for.
                        Terminal.print(
                            common.json
                                ? JSONObject(entry, EntryTable.fields).json : EntryText.name(entry.name, whole: true))
                    }
                } catch {
                    common.report(error, for: file)
                    status.raise(to: error.status)
                }
            }
            return status
        }
    }

    /// Returns the digits of a hash, or of the hash of a file's content. A file wins over a hash that is its name.
    private static func digits(_ text: String) throws(KingfisherError) -> String {
        let lower = text.lowercased()
        let isHash =
            (fewestDigits...64).contains(lower.utf8.count)
            && lower.utf8.allSatisfy { $0 &- 0x30 < 10 || $0 &- 0x61 < 6 }
        if isHash, access(text, F_OK) != 0 { return lower }
        return try ImageCache.sha256(ofFile: text)
    }
}

/// The columns and JSON members of cache entries.
enum EntryTable {
    /// A column of `cache ls`, set to the right. `isLong`: it is shown with `--long` only. `field`: the JSON member with the
    /// same figure.
    private typealias Column = (
        header: String, width: Int, isLong: Bool, field: String, meaning: String,
        text: @Sendable (CachedEntry, _ now: Timestamp) -> String
    )

    private static let columns: [Column] = [
        ("SIZE", 8, false, "bytes", "the size of the file", { entry, _ in ByteText.bytes(entry.facts.bytes) }),
        ("AGE", 5, false, "created", "the time since it was stored", { SpanText.short($1.since($0.created)) }),
        ("EXPIRES", 9, false, "expires", "when it stops being fresh", { SpanText.expiry($0.expires, now: $1) }),
        ("USED", 6, true, "accessed", "the time since it was last served", { SpanText.short($1.since($0.accessed)) }),
        ("PIXELS", 12, true, "width, height", "its width and height", { entry, _ in entry.facts.pixels ?? "-" }),
    ]

    /// The columns as help explains them, with the JSON members that hold the same figures.
    static var columnHelp: String {
        let texts = columns.map { column in
            "\(column.header)\(column.isLong ? " (--long)" : ""): \(column.meaning) (JSON: \(column.field))"
        }
        return texts.joined(separator: "; ") + "; IMAGE: the key and, after an @, the identifier of the processors "
            + "(JSON: key, identifier)."
    }

    static func header(isLong: Bool) -> String { row(isLong) { $0.header } + "IMAGE" }

    static func line(_ entry: CachedEntry, now: Timestamp, isLong: Bool) -> String {
        row(isLong) { $0.text(entry, now) }
    }

    private static func row(_ isLong: Bool, _ text: (Column) -> String) -> String {
        columns.filter { isLong || !$0.isLong }.map { column in
            let text = text(column)
            return String(repeating: " ", count: max(0, column.width - text.count)) + text
        }.joined() + "  "
    }

    static let identifier =
        "The identifier of the processors that made the image; empty for an original. Where Vary selects among several "
        + "responses, vary= and a digest come first."

    static let fields: [JSONField<CachedEntry>] =
        [
            JSONField("key", CommonFields.key) { $0.name.key },
            JSONField("identifier", identifier) { $0.name.identifier },
            JSONField("url", "The URL that the image came from.") { $0.url ?? $0.name.key },
            JSONField("path", CommonFields.path) { $0.answerStatus == nil ? $0.path : nil },
        ] + CommonFields.facts.map { $0.of { $0.answerStatus == nil ? $0.facts : nil } } + [
            JSONField("http_status", "The status of a cached response without an image, such as 404; else null.") {
                $0.answerStatus
            },
            JSONField.ifPresent(
                "left_out", "true for an image that was left out: the entry has only its measures or its headers."
            ) { $0.isLeftOut ? true : nil },
            JSONField.ifPresent(
                "measures", "The figures that the entry keeps in place of an image, after --measure or --placeholder."
            ) { $0.describedValues.map(ImageMeasure.all(of:)) },
            JSONField("created", "When it was stored, in seconds since 1970.") { $0.created.seconds },
            JSONField("expires", "When it stops being fresh, in seconds since 1970; null for never.") {
                $0.expires.seconds
            },
            JSONField("expired", "Whether it is expired, so that the next fetch revalidates it.") { $0.isExpired },
            JSONField("accessed", "When it was last served, in seconds since 1970.") { $0.accessed.seconds },
            JSONField("hits", "How often it was served, at least.") { $0.hits },
            JSONField("tags", "The tags of the entry.") { $0.tags },
            JSONField("etag", "The validators for the next conditional request; null when the origin sent none.") {
                $0.etag
            },
            JSONField("last_modified", nil) { $0.lastModified },
            JSONField("original", "The SHA-256 of the original that it was made from; null for an original.") {
                $0.originalSHA256
            },
        ]
}

extension Timestamp {
    /// The seconds since 1970; nil for a time that never comes.
    var seconds: Int64? { self == .distantFuture ? nil : milliseconds / 1000 }
}

extension ImageFacts {
    /// `640x480`; nil if the size is not known.
    var pixels: String? { width.flatMap { width in height.map { "\(width)x\($0)" } } }
}

/// Names and counts of entries in text.
enum EntryText {
    /// `key@identifier`. Unless `whole` is true, the query of a URL is left out, since queries carry signatures.
    static func name(_ entry: EntryName, whole: Bool) -> String {
        let key = whole ? entry.key : RequestURL.redacted(entry.key)
        return Terminal.visible(entry.identifier.isEmpty ? key : "\(key)@\(entry.identifier)")
    }

    /// The answer that is remembered in place of an image: `response 404` or `left out`; nil for an image.
    static func answer(_ entry: CachedEntry) -> String? {
        entry.isLeftOut ? "left out" : entry.answerStatus.map { "response \($0)" }
    }

    /// `3 failed`, for each number above zero.
    static func counts(_ numbers: (Int, String)...) -> [String] {
        numbers.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    }

    static func partials(_ number: Int) -> String { count(number, "partial download") }

    static func count(_ number: Int, _ one: String, _ many: String? = nil) -> String {
        "\(number) \(number == 1 ? one : many ?? one + "s")"
    }
}
