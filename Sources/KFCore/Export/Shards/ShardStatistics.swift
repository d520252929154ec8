import KFStorage
import KFSystem
import KFTerms

/// The counts of a shard's items, in the members that readers of img2dataset's statistics expect.
struct ShardStatistics {
    private let start = Timestamp.now()
    /// The numbers of items by how they ended.
    private var counts: [String: Int] = [:]
    private var downloads = 0
    private var processing = 0

    private static let (success, filtered, optedOut, duplicate) = ("success", "filtered", "opted_out", "duplicate")

    mutating func add(_ error: KingfisherError?) {
        counts[Self.reason(error), default: 0] += 1
        guard let error, !error.isLeftOut else { return }
        if case .processorError = error { processing += 1 } else { downloads += 1 }
    }

    private static func reason(_ error: KingfisherError?) -> String {
        switch error {
        case nil: success
        case .responseError(reason: .filtered)?: filtered
        case .responseError(reason: .optedOut)?: optedOut
        case .responseError(reason: .duplicate)?: duplicate
        case let error?: error.httpStatus.map { "HTTP \($0)" } ?? error.reasonName
        }
    }

    /// Times are in seconds since 1970.
    func json(now: Timestamp) -> String {
        func number(_ value: some CustomStringConvertible) -> StrictJSON { .number("\(value)") }
        let members: [(String, StrictJSON)] = [
            ("count", number(counts.values.reduce(0, +))), ("successes", number(counts[Self.success] ?? 0)),
            ("failed_to_download", number(downloads)), ("failed_to_resize", number(processing)),
            ("filtered", number(counts[Self.filtered] ?? 0)), ("opted_out", number(counts[Self.optedOut] ?? 0)),
            ("duplicates", number(counts[Self.duplicate] ?? 0)),
            ("duration", number(Double(now.since(start)) / 1000)),
            ("start_time", number(Double(start.milliseconds) / 1000)),
            ("end_time", number(Double(now.milliseconds) / 1000)),
            (
                "status_dict",
                .object(counts.sorted { $0.key < $1.key }.map { StrictJSON.Member(name: $0, value: number($1)) })
            ),
        ]
        return StrictJSON.object(members.map { StrictJSON.Member(name: $0, value: $1) }).json + "\n"
    }
}
