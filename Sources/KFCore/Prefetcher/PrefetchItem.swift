import KFImaging

/// An item of a list.
public struct PrefetchItem: Sendable {
    /// The path of the list; `-` is standard input.
    public internal(set) var list = ""
    /// The line number in the list, from 1; the first of several lines.
    public let line: Int
    /// The number of the item over all lists, from 1.
    public internal(set) var number = 0
    /// The number of the item among those of this run's part of the lists, from 1, without gaps.
    public internal(set) var position = 0
    /// The text of the source, as written in the list.
    public internal(set) var text = ""
    /// The bytes of the record, line break included; empty if it was too long to keep.
    public private(set) var record: ArraySlice<UInt8>
    /// The header record with the column names, which a new list with this record needs; empty if there is none.
    public internal(set) var header: [UInt8] = []
    /// The columns of the record's list; nil for a line and an invalid record.
    var layout: RecordColumns?
    /// The source to fetch, or the error of the record.
    public internal(set) var source: Result<Source, KingfisherError> = .failure(.sourceError(reason: .emptySource))
    /// The request headers, beside those of the options.
    public internal(set) var headers: [(name: String, value: String)] = []
    /// The name of a copy, in place of the source's own; nil if the list gives none.
    public internal(set) var name: String?
    /// The values of the columns that the template of the copies' names names.
    public internal(set) var columns: [String: String] = [:]
    /// The names of the copies; nil if none are written.
    var claim: ImageExporter.Claim?
    /// The processor that follows the options' processor; nil if the list gives none.
    public internal(set) var processor: (any ImageProcessor)?

    /// Whether the record has several items. All of them have its line, and a list of the record has all of them.
    public private(set) var sharesRecord = false
    /// Whether results have only the short columns, because the record has very many items.
    private var hasShortColumns = false

    /// Whether it belongs to another shard. It has a number and claims its name, and is left out otherwise.
    var isElsewhere = false

    /// Whether an earlier run has exported it, so that it is skipped.
    public var isExported = false

    /// The failures of its images that the earlier run has recorded, by form.
    public var recordedFailures: [Int: KingfisherError] = [:]

    /// Whether a list before it could not be read to its end.
    var followsGap = false

    /// Whether it has failed once because another process held a lock of the cache.
    var isPostponed = false

    init(line: Int, record: ArraySlice<UInt8>) {
        self.line = line
        self.record = record
    }

    /// The host of the URL; nil for a provider.
    var host: String? {
        guard case .success(.network(let resource)) = source else { return nil }
        return resource.downloadURL.host
    }

    /// Returns the options for this image.
    func options(_ form: OptionsBox) -> OptionsBox {
        guard processor != nil || !headers.isEmpty else { return form }
        return form.with { options in
            options.request.headers += headers
            if let processor { options.processor = options.processor.append(another: processor) }
        }
    }

    /// Returns the cache key of the image for these options and its own headers; nil if the item has no source.
    public func cacheKey(for request: RequestOptions) -> String? {
        guard case .success(let source) = source else { return nil }
        var request = request
        request.headers += headers
        return source.cacheKey(for: request)
    }

    /// Copies the record out of the block that was read, so that one waiting item does not keep the whole block in
    /// memory.
    mutating func detach() {
        if !sharesRecord { record = ArraySlice(Array(record)) }
    }

    /// The greatest size of a record's columns in the results of all of its items, in bytes.
    private static let mostShared = 4 << 20

    /// Copies the record for all of its items.
    mutating func share(among count: Int) {
        detach()
        sharesRecord = true
        hasShortColumns = record.count * count > Self.mostShared
    }
}

extension PrefetchItem {
    /// Whether the item's record has columns or members.
    package var hasColumns: Bool { layout?.isOfList == true }

    /// The names of the columns that all records of the list have; nil for a list of lines or objects.
    package var columnNames: [String]? { layout?.names }

    /// The columns or members of the item's record in their order; nil for a line and for an invalid record. Without
    /// request headers and the user info of URLs. The values of csv and tsv are strings. Each access parses the record.
    /// A record with many URLs has only its short values here: its items together would take more than 4 MiB otherwise.
    package var recordColumns: [StrictJSON.Member]? {
        if record.isEmpty { return nil }
        return hasShortColumns ? layout?.shortValues(of: record) : layout?.values(of: record)
    }
}
