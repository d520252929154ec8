import KFImaging
import KFSystem
import KFTerms

/// An item of a list. What the list says is in one object that copies share.
public struct PrefetchItem: Sendable {
    package struct Facts: Sendable {
        var list = ""
        let line: Int
        var text = ""
        /// A copy, so that one waiting item does not keep the whole block in memory that was read. Nil if it is the text and
        /// a line feed.
        package var record: [UInt8]? = []
        /// Nil if the record has an error, and of an item that is only counted.
        var source: Source?
    }

    /// The facts that the records of plain lists have only with an error.
    struct Details {
        var header: [UInt8] = []
        /// The columns of the record's list; nil for a line and an invalid record.
        var layout: RecordColumns?
        /// The error of an item without a source.
        var problem = KingfisherError.sourceError(reason: .emptySource)
        /// Parses the source of an item that is only counted.
        var parseSource: (@Sendable () -> Result<Source, KingfisherError>)?
        var headers: [(name: String, value: String)] = []
        var name: String?
        var columns: [String: String] = [:]
        var processor: (any ImageProcessor)?
        var hash: ContentHash?
        var siblings = 1
        var isEmpty = false
    }

    private final class Extra: Sendable {
        let details: Details

        init(_ details: consuming Details) { self.details = details }
    }

    /// At most 120 bytes: malloc frees larger objects of other threads under a lock.
    private final class Shared: Sendable {
        let facts: Facts
        let extra: Extra?

        init(_ facts: consuming Facts, _ extra: Extra?) { (self.facts, self.extra) = (facts, extra) }
    }

    // Each property reads its own field of the object: a copy of the facts costs as much as half a look-up's key.
    private let shared: Shared

    /// The number of the item over all lists, from 1.
    public package(set) var number = 0
    /// The number of the item among those of this run's part of the lists, from 1, without gaps.
    public package(set) var position = 0

    /// Whether it belongs to another shard. It has a number and claims its name, and is left out otherwise.
    package var isElsewhere = false
    /// Whether an earlier run has exported it, so that it is skipped.
    public var isExported = false
    /// Whether a list before it could not be read to its end.
    package var followsGap = false
    /// Whether it has been put off once: another process held a lock of the cache, or the circuit of its host was open.
    package var wasPostponed = false
    /// The line in which it waits for its host.
    package var place = 0

    private final class Export: Sendable {
        let claim: OutputTemplate.Claim?
        let recordedRows: [RecordedRow]

        init(_ claim: OutputTemplate.Claim?, _ recordedRows: [RecordedRow]) {
            (self.claim, self.recordedRows) = (claim, recordedRows)
        }
    }

    /// The facts of an export about the item; nil without an export. One reference, because each hit of a list copies its
    /// item.
    private var export: Export?

    init(_ facts: consuming Facts, _ details: Details? = nil) {
        shared = Shared(facts, details.map { Extra($0) })
    }

    private var extra: Extra? { shared.extra }

    /// The greatest size of a record's columns in the results of all of its items, in bytes.
    private static let mostShared = 4 << 20
}

extension PrefetchItem {
    /// The names of the copies; nil if none are written.
    package var claim: OutputTemplate.Claim? {
        get { export?.claim }
        set { export = Export(newValue, recordedRows) }
    }
    /// The rows of its images that the earlier run has written, by form.
    package var recordedRows: [RecordedRow] {
        get { export?.recordedRows ?? [] }
        set { export = Export(claim, newValue) }
    }

    /// The path of the list; `-` is standard input.
    public var list: String { shared.facts.list }
    /// The line number in the list, from 1; the first of several lines.
    public var line: Int { shared.facts.line }
    /// The text of the source, as written in the list.
    public var text: String { shared.facts.text }
    /// The bytes of the record, line break included; empty if it was too long to keep.
    public var record: ArraySlice<UInt8> { bytes[...] }
    private var bytes: [UInt8] { shared.facts.record ?? Array(text.utf8) + [0x0a] }
    /// The header record with the column names, which a new list with this record needs; empty if there is none.
    public var header: [UInt8] { extra?.details.header ?? [] }
    /// The source to fetch, or the error of the record.
    public var source: Result<Source, KingfisherError> {
        if let source = shared.facts.source { return .success(source) }
        return extra?.details.parseSource?() ?? .failure(extra?.details.problem ?? .sourceError(reason: .emptySource))
    }
    /// The request headers, beside those of the options.
    public var headers: [(name: String, value: String)] { extra?.details.headers ?? [] }
    /// The name of a copy, in place of the source's own; nil if the list gives none.
    public var name: String? { extra?.details.name }
    /// The values of the columns that the template of the copies' names names.
    public var columns: [String: String] { extra?.details.columns ?? [:] }
    /// The processor that follows the options' processor; nil if the list gives none.
    public var processor: (any ImageProcessor)? { extra?.details.processor }
    /// The hash that the image must have; nil if the list gives none.
    package var hash: ContentHash? { extra?.details.hash }
    /// Whether the list gives headers or a processor for this item.
    package var hasOwnOptions: Bool {
        guard let extra else { return false }
        return extra.details.processor != nil || !extra.details.headers.isEmpty
    }
    /// Whether the record has no source, as that of a product without a picture.
    package var isEmpty: Bool { extra?.details.isEmpty ?? false }
    private var siblings: Int { extra?.details.siblings ?? 1 }
    /// Whether the record has several items. All of them have its line, and a list of the record has all of them.
    public var sharesRecord: Bool { siblings > 1 }

    /// The host of the URL; nil for a provider, and for an item that is only counted.
    package var host: String? {
        guard case .network(let resource)? = shared.facts.source else { return nil }
        return resource.downloadURL.host
    }

    /// The size of the record, in bytes.
    package var size: Int { shared.facts.record?.count ?? text.utf8.count + 1 }

    /// Returns the cache key of the image for these options and its own headers; nil if the item has no source.
    public func cacheKey(for request: RequestOptions) -> String? {
        guard case .success(let source) = source else { return nil }
        if headers.isEmpty { return source.cacheKey(for: request) }
        var request = request
        request.headers += headers
        return source.cacheKey(for: request)
    }

    package var hasColumns: Bool { extra?.details.layout?.isOfList == true }

    /// The names of the columns that all records of the list have; nil for a list of lines or objects.
    package var columnNames: [String]? { extra?.details.layout?.names }

    /// The columns or members of the item's record in their order; nil for a line and for an invalid record. Without
    /// request headers and the user info of URLs. The values of csv and tsv are strings. Each access parses the record.
    /// A record with many URLs has only its short values here: its items together would take more than 4 MiB otherwise.
    package var recordColumns: [StrictJSON.Member]? {
        guard let layout = extra?.details.layout, case let record = bytes, !record.isEmpty else { return nil }
        let isShort = siblings > 1 && record.count * siblings > Self.mostShared
        return layout.values(of: record, onlyShort: isShort)
    }
}
