import KFImaging

/// The parser of one list's records.
struct ListParser {
    private let format: ListFormat
    private let options: ListOptions
    private var columns: ListColumns?
    private var members: ListMembers?
    /// The header record of a csv or tsv list, as it was read.
    private var header: [UInt8] = []
    private var layout: RecordColumns?
    /// The record whose items are being returned, with the index of the next one.
    private var open: (item: PrefetchItem, wish: ListWish?, index: Int)?
    /// The members that the options name and no object has had.
    private(set) var absent: [MemberPath] = []
    /// The number of records, and of objects without the URL's member.
    private var records = 0
    private var lacking = 0
    /// The last processor, because lists repeat them.
    private var lastProcessor: (text: String, processor: any ImageProcessor)?

    init(_ format: ListFormat, _ options: ListOptions) {
        self.format = format
        self.options = options
    }

    /// Takes the next record, after `next` has returned nil. Throws `ListProblem.unusable` if the whole list cannot be
    /// read.
    mutating func take(_ record: ListRecord) throws(ListProblem) {
        if record.problem == nil, isPassedOver(record) { return }
        var item = PrefetchItem(line: record.line, record: record.bytes)
        item.header = header
        do throws(ListProblem) {
            if let problem = record.problem { throw problem }
            guard let wish = try wish(record) else { return }
            item.layout = layout(of: record)
            // The items share one copy of the record, in place of one each.
            if wish.urls.count > 1 { item.share(among: wish.urls.count) }
            open = (item, wish, 0)
        } catch .record(let problem) {
            if columns == nil, format.delimiter != nil { throw .unusable("its first record: \(problem)") }
            item.text = shown(record)
            item.layout = layout(of: record)
            item.source = .failure(.sourceError(reason: .invalidListRecord(detail: problem)))
            open = (item, nil, 0)
        }
    }

    /// Returns the next item of the record that was taken last; nil if it has no more. Items of other shards are marked.
    mutating func next() -> PrefetchItem? {
        if let (item, wish, index) = open {
            let isLast = index + 1 >= wish?.urls.count ?? 1
            open = isLast ? nil : (item, wish, index + 1)
            var found = wish.map { filled(item, $0, index) } ?? item
            found.isElsewhere = options.shard.map { !$0.contains(key: Self.key(found, $0.criterion)) } ?? false
            return found
        }
        return nil
    }

    /// Checks that the list was what the options say. Throws `ListProblem.unusable` if no object has the URL's member.
    func finish() throws(ListProblem) {
        guard let members, lacking > 0, lacking == records else { return }
        throw .unusable("no object has the member \"\(members.url.text)\"")
    }

    private mutating func filled(_ item: PrefetchItem, _ wish: ListWish, _ index: Int) -> PrefetchItem {
        var item = item
        item.text = index < wish.urls.count ? wish.urls[index] : ""
        do throws(ListProblem) {
            if let problem = wish.problem { throw problem }
            item.name = wish.name(of: index)
            item.columns = wish.columns(of: index)
            item.headers = wish.headers
            item.source = source(item.text, key: wish.key(of: index))
            if let text = wish.processor(of: index) { item.processor = try processor(text) }
        } catch {
            item.source = .failure(.sourceError(reason: .invalidListRecord(detail: error.message)))
        }
        return item
    }

    private func isPassedOver(_ record: ListRecord) -> Bool {
        // The first column of a csv list may be called `#`.
        record.isBlank || format.delimiter == nil && record.firstVisible == UInt8(ascii: "#")
    }

    /// Whether the record is a JSON object. Without a given format, an object is recognised by its brace: no URL begins
    /// with one.
    private func isJSON(_ record: ListRecord) -> Bool {
        format == .jsonl || format == .lines && options.format == nil && record.firstVisible == UInt8(ascii: "{")
    }

    private func layout(of record: ListRecord) -> RecordColumns? {
        format.delimiter != nil || isJSON(record) ? layout : nil
    }

    private mutating func wish(_ record: ListRecord) throws(ListProblem) -> ListWish? {
        records += 1
        if records == 1 { try Self.check(record, format, options) }
        if isJSON(record) { return try object(record.content) }
        guard let delimiter = format.delimiter else { return try line(record.content) }
        let fields = try DelimitedFields.split(record.content, delimiter: delimiter)
        if let columns { return try ListWish(fields, columns) }
        let found = try ListColumns(fields, options)
        columns = found
        layout = RecordColumns(fields, delimiter: delimiter, found)
        guard found.hasHeader else { return try ListWish(fields, found) }
        header = Array(record.bytes)
        return nil
    }

    /// Refuses what is no list, by its first record. Throws `ListProblem.unusable` with the way to make it one.
    private static func check(
        _ record: ListRecord, _ format: ListFormat, _ options: ListOptions
    ) throws(ListProblem) {
        let marks: [[UInt8]] = [[0xff, 0xfe], [0xfe, 0xff]]
        if marks.contains(where: record.bytes.starts) {
            throw .unusable("it is UTF-16 text; iconv -f UTF-16 -t UTF-8 makes a list of it")
        }
        if case .image(let format) = record.bytes.prefix(64).withUnsafeBytes({ ContentKind.sniff($0) }) {
            throw .unusable("it is an image (\(format.displayName)) and not a list; 'kf fetch' takes images")
        }
        if format.delimiter == nil, record.firstVisible == UInt8(ascii: "["), !options.allowsLocal {
            throw .unusable("it is a JSON array; jq -c '.[]' makes a list of it")
        }
    }

    private mutating func object(_ content: ArraySlice<UInt8>) throws(ListProblem) -> ListWish? {
        if members == nil {
            let found = try ListMembers(options)
            members = found
            absent = found.optional
            layout = RecordColumns(found, isOfList: format == .jsonl || records == 1)
        }
        guard let members else { return nil }
        let json = try JSONReader.parse(Array(content), keptDepth: members.keptDepth)
        if !absent.isEmpty, case .object(let members) = json {
            absent.removeAll { $0.values(in: members) != nil }
        }
        guard let wish = try ListWish(json, members) else {
            lacking += 1
            throw .record("the object has no member \"\(members.url.text)\"")
        }
        return wish.urls.isEmpty ? nil : wish
    }

    private func line(_ content: ArraySlice<UInt8>) throws(ListProblem) -> ListWish? {
        guard let text = try ListLine.source(content) else { return nil }
        if let column = options.copyColumns.first {
            throw .unusable("it is read as lines, which have no column '\(column)'; csv, tsv and jsonl have columns")
        }
        // The first line is that of a list with columns, which the name does not show.
        if records == 1, case .name(let column)? = options.urlColumn, !text.contains("://"), !options.allowsLocal {
            throw .unusable("it is read as lines, which have no column '\(column)'; csv, tsv and jsonl have columns")
        }
        return ListWish(url: text)
    }

    /// The longest accepted URL or key, in bytes. Servers refuse URLs beyond about 8 KiB, and every waiting item holds
    /// its own.
    private static let longestName = 1 << 16

    private func source(_ text: String, key: String?) -> Result<Source, KingfisherError> {
        Result { () throws(KingfisherError) in
            for (name, value) in [("URL", text), ("key", key ?? "")] where value.utf8.count > Self.longestName {
                throw .sourceError(
                    reason: .invalidListRecord(detail: "the \(name) is longer than \(Self.longestName >> 10) KiB"))
            }
            if let key, key.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) {
                throw .sourceError(reason: .invalidListRecord(detail: "the key has a control character"))
            }
            let key = key.map(GivenKey.cacheKey)
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
    private static func key(_ item: PrefetchItem, _ criterion: ListShard.Criterion) -> String {
        switch item.source {
        case .success(.network(let resource)) where criterion == .host: String(resource.downloadURL.hostName)
        case .success(let source): source.cacheKey
        case .failure: item.text
        }
    }

    /// Returns the beginning of an invalid record, or only `…` if it may contain headers, which may be secrets.
    private func shown(_ record: ListRecord) -> String {
        let content = record.content
        let hasHeaders =
            isJSON(record)
            ? options.headersColumn != nil || content.firstRange(of: Array("\"headers\"".utf8)) != nil
            : columns?.headers != nil
        return hasHeaders ? "…" : PercentCoding.text(Array(content.prefix(300)))
    }
}
