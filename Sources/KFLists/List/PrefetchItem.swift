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
        package var headers: [(name: String, value: String)] = []
        var name: String?
        var columns: [String: String] = [:]
        package var processor: (any ImageProcessor)?
        package var hash: ContentHash?
        var siblings = 1
        /// Whether the record has no source, as that of a product without a picture.
        package var isEmpty = false
    }

    private final class Shared: Sendable {
        let facts: Facts

        init(_ facts: Facts) { self.facts = facts }

        // The lines of hosts ask for these, and a copy of the facts costs as much as half a look-up's key.

        var host: String? {
            guard case .success(.network(let resource)) = facts.source else { return nil }
            return resource.downloadURL.host
        }

        var size: Int { facts.record.count }
    }

    private let shared: Shared
    package var facts: Facts {
        _read { yield shared.facts }
    }

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

    /// The names of the copies; nil if none are written.
    package var claim: OutputTemplate.Claim?
    /// The rows of its images that the earlier run has written, by form.
    package var recordedRows: [RecordedRow] = []

    init(_ facts: Facts) { shared = Shared(facts) }

    /// The greatest size of a record's columns in the results of all of its items, in bytes.
    private static let mostShared = 4 << 20
}

extension PrefetchItem {
    /// The path of the list; `-` is standard input.
    public var list: String { facts.list }
    /// The line number in the list, from 1; the first of several lines.
    public var line: Int { facts.line }
    /// The text of the source, as written in the list.
    public var text: String { facts.text }
    /// The bytes of the record, line break included; empty if it was too long to keep.
    public var record: ArraySlice<UInt8> { facts.record[...] }
    /// The header record with the column names, which a new list with this record needs; empty if there is none.
    public var header: [UInt8] { facts.header }
    /// The source to fetch, or the error of the record.
    public var source: Result<Source, KingfisherError> { facts.parseSource?() ?? facts.source }
    /// The request headers, beside those of the options.
    public var headers: [(name: String, value: String)] { facts.headers }
    /// The name of a copy, in place of the source's own; nil if the list gives none.
    public var name: String? { facts.name }
    /// The values of the columns that the template of the copies' names names.
    public var columns: [String: String] { facts.columns }
    /// The processor that follows the options' processor; nil if the list gives none.
    public var processor: (any ImageProcessor)? { facts.processor }
    /// Whether the record has several items. All of them have its line, and a list of the record has all of them.
    public var sharesRecord: Bool { facts.siblings > 1 }

    /// The host of the URL; nil for a provider, and for an item that is only counted.
    package var host: String? { shared.host }

    /// The size of the record, in bytes.
    package var size: Int { shared.size }

    /// Returns the cache key of the image for these options and its own headers; nil if the item has no source.
    public func cacheKey(for request: RequestOptions) -> String? {
        guard case .success(let source) = source else { return nil }
        if facts.headers.isEmpty { return source.cacheKey(for: request) }
        var request = request
        request.headers += headers
        return source.cacheKey(for: request)
    }

    package var hasColumns: Bool { facts.layout?.isOfList == true }

    /// The names of the columns that all records of the list have; nil for a list of lines or objects.
    package var columnNames: [String]? { facts.layout?.names }

    /// The columns or members of the item's record in their order; nil for a line and for an invalid record. Without
    /// request headers and the user info of URLs. The values of csv and tsv are strings. Each access parses the record.
    /// A record with many URLs has only its short values here: its items together would take more than 4 MiB otherwise.
    package var recordColumns: [StrictJSON.Member]? {
        if facts.record.isEmpty { return nil }
        let isShort = facts.siblings > 1 && facts.record.count * facts.siblings > Self.mostShared
        return facts.layout?.values(of: facts.record, onlyShort: isShort)
    }
}
