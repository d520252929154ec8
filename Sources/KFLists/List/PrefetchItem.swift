import KFImaging
import KFSystem
import KFTerms

/// An item of a list. What the list says is in one object that copies share.
public struct PrefetchItem: Sendable {
    package struct Facts: Sendable {
        var list = ""
        let line: Int
        var text = ""
        /// A copy, so that one waiting item does not keep the whole block in memory that was read.
        package var record: [UInt8] = []
        var header: [UInt8] = []
        /// The columns of the record's list; nil for a line and an invalid record.
        var layout: RecordColumns?
        var source: Result<Source, KingfisherError> = .failure(.sourceError(reason: .emptySource))
        /// Parses the source of an item that is only counted; nil if `source` has it.
        var parseSource: (@Sendable () -> Result<Source, KingfisherError>)?
        var headers: [(name: String, value: String)] = []
        var name: String?
        var columns: [String: String] = [:]
        var processor: (any ImageProcessor)?
        var hash: ContentHash?
        var siblings = 1
        var isEmpty = false
    }

    private final class Shared: Sendable {
        let facts: Facts

        init(_ facts: consuming Facts) { self.facts = facts }
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

    init(_ facts: consuming Facts) { shared = Shared(facts) }

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
    public var record: ArraySlice<UInt8> { shared.facts.record[...] }
    /// The header record with the column names, which a new list with this record needs; empty if there is none.
    public var header: [UInt8] { shared.facts.header }
    /// The source to fetch, or the error of the record.
    public var source: Result<Source, KingfisherError> { shared.facts.parseSource?() ?? shared.facts.source }
    /// The request headers, beside those of the options.
    public var headers: [(name: String, value: String)] { shared.facts.headers }
    /// The name of a copy, in place of the source's own; nil if the list gives none.
    public var name: String? { shared.facts.name }
    /// The values of the columns that the template of the copies' names names.
    public var columns: [String: String] { shared.facts.columns }
    /// The processor that follows the options' processor; nil if the list gives none.
    public var processor: (any ImageProcessor)? { shared.facts.processor }
    /// The hash that the image must have; nil if the list gives none.
    package var hash: ContentHash? { shared.facts.hash }
    /// Whether the list gives headers or a processor for this item.
    package var hasOwnOptions: Bool { shared.facts.processor != nil || !shared.facts.headers.isEmpty }
    /// Whether the record has no source, as that of a product without a picture.
    package var isEmpty: Bool { shared.facts.isEmpty }
    /// Whether the record has several items. All of them have its line, and a list of the record has all of them.
    public var sharesRecord: Bool { shared.facts.siblings > 1 }

    /// The host of the URL; nil for a provider, and for an item that is only counted.
    package var host: String? {
        guard case .success(.network(let resource)) = shared.facts.source else { return nil }
        return resource.downloadURL.host
    }

    /// The size of the record, in bytes.
    package var size: Int { shared.facts.record.count }

    /// Returns the cache key of the image for these options and its own headers; nil if the item has no source.
    public func cacheKey(for request: RequestOptions) -> String? {
        guard case .success(let source) = source else { return nil }
        if shared.facts.headers.isEmpty { return source.cacheKey(for: request) }
        var request = request
        request.headers += headers
        return source.cacheKey(for: request)
    }

    package var hasColumns: Bool { shared.facts.layout?.isOfList == true }

    /// The names of the columns that all records of the list have; nil for a list of lines or objects.
    package var columnNames: [String]? { shared.facts.layout?.names }

    /// The columns or members of the item's record in their order; nil for a line and for an invalid record. Without
    /// request headers and the user info of URLs. The values of csv and tsv are strings. Each access parses the record.
    /// A record with many URLs has only its short values here: its items together would take more than 4 MiB otherwise.
    package var recordColumns: [StrictJSON.Member]? {
        if shared.facts.record.isEmpty { return nil }
        let isShort = shared.facts.siblings > 1 && shared.facts.record.count * shared.facts.siblings > Self.mostShared
        return shared.facts.layout?.values(of: shared.facts.record, onlyShort: isShort)
    }
}
