import Glibc
import KFCore

/// `kf cache ls`: what is in the cache, one line an entry.
struct CacheListCommand: Sendable {
    private let common: CommonSettings
    private let operands: [String]
    private let order: EntryOrder
    private let isReversed: Bool
    private let limit: Int?
    private let host: HostPattern?
    private let isLong: Bool

    init(_ arguments: ParsedArguments) throws(UsageError) {
        common = try CommonSettings(arguments)
        operands = arguments.operands
        order = arguments.value("sort").flatMap(EntryOrder.init) ?? .url
        isReversed = arguments.flag("reverse")
        limit = try arguments.integer("limit", in: 1...Int.max)
        host = try arguments.host("host")
        isLong = arguments.flag("long")
    }

    func run() async -> ExitStatus {
        let cache = common.cache(sizeLimit: nil, access: .readOnly)
        var status = ExitStatus.success
        printHeader()
        for operand in operands.isEmpty ? [nil] : operands.map(Optional.some) {
            do throws(KingfisherError) {
                let count = try await list(operand, cache)
                if let operand, count == 0 { throw .cacheError(reason: .imageNotExisting(key: operand)) }
            } catch {
                common.report(error, for: operand.map(SourceArgument.name))
                status.raise(to: error.isCacheFailure ? .cacheFailed : .someFailed)
            }
        }
        return status
    }

    /// How many were listed.
    private func list(_ operand: String?, _ cache: ImageCache) async throws(KingfisherError) -> Int {
        var selection = CacheSelection()
        if let operand {
            let isPattern = operand.contains { "*?[".contains($0) }
            selection.glob = isPattern ? operand : CacheSelection.glob(exactly: try SourceArgument.key(operand))
        }
        selection.host = host
        let count = SharedCount()
        _ = try await cache.list(selection, order: order, reversed: isReversed, limit: limit) { [self] entry in
            count.add()
            print(entry)
            return !Terminal.isClosed
        }
        return count.value
    }

    private func printHeader() {
        guard !common.json, !common.quiet, Terminal.isTerminal(STDOUT_FILENO) else { return }
        Terminal.print(
            Self.columns("SIZE", "AGE", "EXPIRES", "HITS") + (isLong ? Self.long("USED", "PIXELS") : "") + "IMAGE")
    }

    private func print(_ entry: CachedEntry) {
        if common.json {
            Terminal.print(JSONObject(entry).line)
            return
        }
        let now = Timestamp.now()
        var line = Self.columns(
            ByteText.bytes(entry.facts.bytes), SpanText.short(now.since(entry.created)),
            SpanText.expiry(entry.expires, now: now), "\(entry.hits)")
        if isLong {
            let facts = entry.facts
            let pixels = facts.width.flatMap { width in facts.height.map { "\(width)x\($0)" } } ?? "-"
            line += Self.long(SpanText.short(now.since(entry.accessed)), pixels)
        }
        line += EntryText.name(entry.name, whole: isLong || common.verbose)
        if let status = entry.answerStatus { line += " (response \(status))" }
        if isLong, entry.answerStatus == nil { line += "  \(Terminal.visible(entry.path))" }
        Terminal.print(line)
    }

    private static func columns(_ size: String, _ age: String, _ expires: String, _ hits: String) -> String {
        left(size, 8) + left(age, 5) + left(expires, 9) + left(hits, 6) + "  "
    }

    private static func long(_ used: String, _ pixels: String) -> String {
        left(used, 4) + left(pixels, 12) + "  "
    }

    /// Set to the right of a column.
    private static func left(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(0, width - text.count)) + text
    }
}
