import KFImaging

/// The parser of one list's records.
struct ListParser {
    private let format: ListFormat
    private let options: ListOptions
    private var columns: ListColumns?
    private var members: ListMembers?
    /// The header record of a csv or tsv list, as it was read.
    private var header: [UInt8] = []
    /// The last processor, because lists repeat them.
    private var lastProcessor: (text: String, processor: any ImageProcessor)?

    init(_ format: ListFormat, _ options: ListOptions) {
        self.format = format
        self.options = options
    }

    /// Returns the item of a record; nil if it has none, or belongs to another shard. Throws `ListProblem.unusable` if
    /// the whole list cannot be read.
    mutating func item(_ record: ListRecord) throws(ListProblem) -> PrefetchItem? {
        if record.problem == nil, isPassedOver(record) { return nil }
        var item = PrefetchItem(line: record.line, record: record.bytes)
        item.header = header
        do throws(ListProblem) {
            if let problem = record.problem { throw problem }
            guard let wish = try wish(record) else { return nil }
            item.text = PercentCoding.text(wish.url)
            if let problem = wish.problem { throw problem }
            item.name = wish.name
            item.headers = wish.headers
            item.source = source(item.text, wish)
            if let text = wish.processor { item.processor = try processor(text) }
        } catch .record(let problem) {
            if item.text.isEmpty { item.text = shown(record.content) }
            item.source = .failure(.sourceError(reason: .invalidListRecord(detail: problem)))
        }
        if let shard = options.shard, !shard.contains(key: Self.key(item)) { return nil }
        return item
    }

    private func isPassedOver(_ record: ListRecord) -> Bool {
        // The first column of a csv list may be called `#`.
        record.isBlank || format.delimiter == nil && record.bytes.first == UInt8(ascii: "#")
    }

    private mutating func wish(_ record: ListRecord) throws(ListProblem) -> ListWish? {
        switch format {
        case .lines: return ListWish(url: record.content)
        case .jsonl:
            if members == nil { members = try ListMembers(options) }
            guard let members else { return nil }
            return try ListWish(try JSONReader.parse(Array(record.content), keptDepth: 1), members)
        case .csv, .tsv:
            guard let delimiter = format.delimiter else { return nil }
            let fields = try DelimitedFields.split(record.content, delimiter: delimiter)
            if let columns { return try ListWish(fields, columns) }
            let found = try ListColumns(fields, options)
            columns = found
            guard found.hasHeader else { return try ListWish(fields, found) }
            header = Array(record.bytes)
            return nil
        }
    }

    /// The longest accepted URL or key, in bytes. Servers refuse URLs beyond about 8 KiB, and every waiting item holds
    /// its own.
    private static let longestName = 1 << 16

    private func source(_ text: String, _ wish: ListWish) -> Result<Source, KingfisherError> {
        Result { () throws(KingfisherError) in
            for (name, value) in [("URL", text), ("key", wish.key ?? "")] where value.utf8.count > Self.longestName {
                throw .sourceError(
                    reason: .invalidListRecord(detail: "the \(name) is longer than \(Self.longestName >> 10) KiB"))
            }
            if let key = wish.key, key.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) {
                throw .sourceError(reason: .invalidListRecord(detail: "the key has a control character"))
            }
            let key = wish.key.map(GivenKey.cacheKey)
            if options.allowsLocal, !text.contains("://") || text.prefix(5).lowercased() == "file:" {
                let path = try LocalFileImageDataProvider.path(of: text)
                return .provider(try LocalFileImageDataProvider(path: path, cacheKey: key))
            }
            let url = try RequestURL(text)
            return .network(key.map { ImageResource(downloadURL: url, cacheKey: $0) } ?? url)
        }
    }

    private mutating func processor(_ text: String) throws(ListProblem) -> any ImageProcessor {
        if let last = lastProcessor, last.text == text { return last.processor }
        do {
            let processor = try ProcessorParser.parse(text)
            lastProcessor = (text, processor)
            return processor
        } catch {
            throw .record("processor: \(error.message)")
        }
    }

    /// Returns the text that determines the shard. An invalid record belongs to one shard too, which reports it.
    private static func key(_ item: PrefetchItem) -> String {
        if case .success(let source) = item.source { return source.cacheKey }
        return item.text
    }

    /// Returns the beginning of an invalid record, or only `…` if it may contain headers, which may be secrets.
    private func shown(_ content: ArraySlice<UInt8>) -> String {
        let hasHeaders =
            format == .jsonl ? content.firstRange(of: Array("\"headers\"".utf8)) != nil : columns?.headers != nil
        return hasHeaders ? "…" : PercentCoding.text(Array(content.prefix(300)))
    }
}
