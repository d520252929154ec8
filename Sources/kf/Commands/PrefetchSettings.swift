import KFCore

/// What `kf prefetch` makes of its own options.
struct PrefetchSettings: Sendable {
    var lists = ListOptions()
    let maxFailures: FailureLimit?
    let failures: String?

    init(_ arguments: ParsedArguments) throws(UsageError) {
        if let name = arguments.value("input-format"), name != "auto" {
            guard let format = ListFormat(rawValue: name) else {
                let names = ListFormat.allCases.map(\.rawValue).joined(separator: ", ")
                throw UsageError(message: "--input-format takes auto, \(names), not '\(name)'")
            }
            lists.format = format
        }
        lists.urlColumn = try Self.column(arguments, "url-column")
        lists.keyColumn = try Self.column(arguments, "key-column")
        lists.nameColumn = try Self.column(arguments, "name-column")
        lists.headersColumn = try Self.column(arguments, "headers-column")
        lists.processColumn = try Self.column(arguments, "process-column")
        lists.allowsLocal = arguments.flag("allow-local")
        lists.shard = try Self.shard(arguments)
        maxFailures = try Self.maxFailures(arguments)
        failures = arguments.value("failures")
    }

    private static func column(
        _ arguments: ParsedArguments, _ long: String
    ) throws(UsageError) -> ListOptions.Column? {
        guard let text = arguments.value(long) else { return nil }
        guard !text.isEmpty, text.contains(where: { $0 != "0" }) else {
            throw arguments.wrong(long, "a column's name, or its number from 1")
        }
        return Int(text).flatMap { $0 > 0 ? .number($0) : nil } ?? .name(text)
    }

    private static func shard(_ arguments: ParsedArguments) throws(UsageError) -> ListShard? {
        guard let text = arguments.value("shard") else { return nil }
        let numbers = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard numbers.count == 2, let index = numbers[0], let count = numbers[1],
            let shard = ListShard(index: index, count: count)
        else {
            throw UsageError(message: "--shard takes I/N with I from 0 to N-1, such as 0/4, not '\(text)'")
        }
        return shard
    }

    private static func maxFailures(_ arguments: ParsedArguments) throws(UsageError) -> FailureLimit? {
        guard let text = arguments.value("max-failures") else { return nil }
        if text.hasSuffix("%"), let percent = Double(text.dropLast()), (0...100).contains(percent) {
            return .percent(percent)
        }
        guard let count = Int(text), count >= 0 else {
            throw UsageError(message: "--max-failures takes a number such as 20, or a share such as 5%, not '\(text)'")
        }
        return .count(count)
    }
}
