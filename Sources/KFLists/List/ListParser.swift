import Glibc
import KFImaging
import KFSystem
import KFTerms

struct ListParser {
    // A reference, because it is asked for before each line.
    private final class OpenRecord: Sendable {
        let facts: PrefetchItem.Facts
        let wish: ListWish

        init(_ facts: PrefetchItem.Facts, _ wish: ListWish) { (self.facts, self.wish) = (facts, wish) }
    }

    private let format: ListFormat
    private let options: ListOptions
    private let path: String
    private var columns: ListColumns?
    private var members: ListRoles<MemberPath>?
    /// The header record of a csv or tsv list, as it was read.
    private var header: [UInt8] = []
    private var layout: RecordColumns?
    /// The record whose items are being returned, and the index of the next one.
    private var open: OpenRecord?
    private var nextIndex = 0
    /// The URL of the last item: neighbours in a list usually share their host.
    private var neighbour: RequestURL?
    /// The members that the options name and no object has had.
    private(set) var absent: [MemberPath] = []
    /// The number of records, and of objects without the URL's member.
    private var records = 0
    private var lacking = 0
    /// Whether items are only counted. Then their sources are parsed when they are asked for.
    var onlyCounts = false
    /// The last processor, because lists repeat them.
    private var lastProcessor: (text: String, processor: any ImageProcessor)?

    init(_ format: ListFormat, _ options: ListOptions, path: String = "") {
        self.format = format
        self.options = options
        self.path = path
    }

    /// Returns the first item of the next record; nil if it has none. Call it after `next` has returned nil. Throws
    /// `ListProblem.unusable` if the whole list cannot be read.
    ///
    /// `delimiter`: that of fields, if it is not the format's.
    mutating func take(_ record: ListRecord, delimiter: UInt8? = nil) throws(ListProblem) -> PrefetchItem? {
        let first = record.firstVisible
        if records == 0 { try check(record) }
        // Blank records and comments are passed over. The first column of a csv list may be called `#`.
        if record.problem == nil, first == nil || format.delimiter == nil && first == UInt8(ascii: "#") { return nil }
        // Without a given format, an object is recognised by its brace: no URL begins with one.
        let isJSON = format == .jsonl || format == .lines && options.format == nil && first == UInt8(ascii: "{")
        do throws(ListProblem) {
            if let problem = record.problem { throw problem }
            records += 1
            guard isJSON || format.delimiter != nil else {
                guard let text = try line(record.content) else { return nil }
                return sourced(facts(record, text), nil, key: nil)
            }
            guard let wish = try isJSON ? object(record.content) : fields(record, delimiter) else { return nil }
            open = OpenRecord(facts(record, ""), wish)
            nextIndex = 0
            return next()
        } catch {
            var details = PrefetchItem.Details(header: header)
            switch error {
            case .damaged, .unusable: throw error
            case .empty: details.isEmpty = true
            case .record: break
            }
            let problem = error.message
            if columns == nil, format.delimiter != nil { throw .unusable("its first record: \(problem)") }
            details.layout = isJSON || format.delimiter != nil ? layout : nil
            details.problem = .sourceError(reason: .invalidListRecord(detail: problem))
            return item(facts(record, shown(record, isJSON: isJSON)), details)
        }
    }

    private func facts(_ record: ListRecord, _ text: String) -> PrefetchItem.Facts {
        var text = text
        let isText = record.bytes.withUnsafeBufferPointer { bytes in
            text.withUTF8 { text in
                guard let start = text.baseAddress, let record = bytes.baseAddress else { return false }
                return text.count + 1 == bytes.count && bytes.last == 0x0a && memcmp(start, record, text.count) == 0
            }
        }
        return PrefetchItem.Facts(
            list: path, line: record.line, text: text, record: isText ? nil : Array(record.bytes))
    }

    /// Returns the next item of the record that was taken last; nil if it has no more.
    mutating func next() -> PrefetchItem? {
        guard let open else { return nil }
        let (wish, index) = (open.wish, nextIndex)
        guard index < wish.urls.count else {
            self.open = nil
            return nil
        }
        nextIndex += 1
        var own = open.facts
        own.text = wish.urls[index]
        var details = PrefetchItem.Details(header: header, layout: layout, siblings: wish.urls.count)
        do throws(ListProblem) {
            if let problem = wish.problem { throw problem }
            details.name = wish.name(of: index)
            details.columns = wish.columns(of: index)
            details.headers = wish.headers
            if let text = wish.processor(of: index) { details.processor = try processor(text) }
            if let text = wish.hash(of: index) {
                guard let hash = ContentHash(text) else {
                    throw .record("'\(text.prefix(100))' is not a hash such as sha256-BASE64 or 64 hexadecimal digits")
                }
                details.hash = hash
            }
            return sourced(own, details, key: wish.key(of: index))
        } catch {
            details.problem = .sourceError(reason: .invalidListRecord(detail: error.message))
            return item(own, details)
        }
    }

    /// Checks that the list was what the options say. Throws `ListProblem.unusable` if no object has the URL's member.
    func finish() throws(ListProblem) {
        guard let members, lacking > 0, lacking == records else { return }
        throw .unusable("no object has the member \"\(members.url)\"")
    }

    /// Makes an item, which is marked if it belongs to another shard.
    private func item(_ facts: consuming PrefetchItem.Facts, _ details: PrefetchItem.Details?) -> PrefetchItem {
        guard let shard = options.shard else { return PrefetchItem(facts, details) }
        let key = facts.source.map { Self.key($0, shard.criterion) } ?? facts.text
        var item = PrefetchItem(facts, details)
        item.isElsewhere = !shard.contains(key: key)
        return item
    }

    private mutating func fields(_ record: ListRecord, _ delimiter: UInt8?) throws(ListProblem) -> ListWish? {
        guard let delimiter = delimiter ?? format.delimiter else { return nil }
        let fields = try DelimitedFields.split(record.content, delimiter: delimiter)
        if let columns { return try ListWish(fields, columns) }
        let found = try ListColumns(fields, options)
        columns = found
        layout = RecordColumns(fields, delimiter: delimiter, found)
        guard found.hasHeader else { return try ListWish(fields, found) }
        header = Array(record.bytes)
        return nil
    }

    /// Refuses anything that is not a list, by its first record. Throws `ListProblem.unusable` with the way to make it one.
    private func check(_ record: ListRecord) throws(ListProblem) {
        let marks: [[UInt8]] = [[0xff, 0xfe], [0xfe, 0xff]]
        if marks.contains(where: record.bytes.starts) {
            throw .unusable("it is UTF-16 text; iconv -f UTF-16 -t UTF-8 makes a list of it")
        }
        if let advice = Self.advice(on: record.bytes, path) { throw .unusable(advice) }
        if case .image(let format) = record.bytes.prefix(64).withUnsafeBytes({ ContentKind.sniff($0) }) {
            throw .unusable("it is an image (\(format.displayName)) and not a list; 'kf fetch' takes images")
        }
        if format.delimiter == nil, record.firstVisible == UInt8(ascii: "["), !options.allowsLocal {
            throw .unusable("it is a JSON array; jq -c '.[]' makes a list of it")
        }
    }

    /// Returns what a list in a format of tables or archives is, with the way to make a list of it; nil for any other.
    private static func advice(on bytes: ArraySlice<UInt8>, _ path: String) -> String? {
        func copy(_ setup: String = "") -> String {
            "duckdb -c \"\(setup)COPY (FROM '\(path)') TO 'list.csv'\" makes a list of it"
        }
        if bytes.starts(with: Array("PAR1".utf8)) { return "it is a Parquet file; \(copy())" }
        guard bytes.starts(with: [0x50, 0x4b, 0x03, 0x04]) else { return nil }
        return path.lowercased().hasSuffix(".xlsx") || bytes.firstRange(of: Array("[Content_Types].xml".utf8)) != nil
            ? "it is a workbook of Excel; \(copy("INSTALL excel; LOAD excel; "))"
            : "it is a zip file; unzip makes lists of it"
    }

    private mutating func object(_ content: ArraySlice<UInt8>) throws(ListProblem) -> ListWish? {
        if members == nil {
            let found = try ListRoles(options)
            members = found
            absent = found.optional
            layout = RecordColumns(found, isOfList: format == .jsonl || records == 1)
        }
        guard let members else { return nil }
        let json: StrictJSON
        do throws(StrictJSON.Problem) {
            json = try StrictJSON.parse(Array(content), keptDepth: members.keptDepth)
        } catch {
            throw .record(error.message)
        }
        if !absent.isEmpty, case .object(let members) = json {
            absent.removeAll { $0.values(in: members) != nil }
        }
        guard let wish = try ListWish(json, members) else {
            lacking += 1
            throw .record("the object has no member \"\(members.url)\"")
        }
        return wish.urls.isEmpty ? nil : wish
    }

    private func line(_ content: ArraySlice<UInt8>) throws(ListProblem) -> String? {
        guard let text = try ListLine.source(content) else { return nil }
        var column = options.copyColumns.first
        // The first line is that of a list with columns, which the name does not show.
        if column == nil, records == 1, case .name(let name)? = options.urlColumn, !text.contains("://"),
            !options.allowsLocal
        {
            column = name
        }
        guard let column else { return text }
        throw .unusable("it is read as lines, which have no column '\(column)'; csv, tsv and jsonl have columns")
    }

    /// The longest accepted URL or key, in bytes. Servers refuse URLs beyond about 8 KiB, and every waiting item holds
    /// its own.
    private static let longestName = 1 << 16

    /// Makes the item of the source that its text names.
    private mutating func sourced(
        _ facts: consuming PrefetchItem.Facts, _ details: consuming PrefetchItem.Details?, key: String?
    ) -> PrefetchItem {
        if onlyCounts, options.shard == nil {
            let (text, allowsLocal, base) = (facts.text, options.allowsLocal, options.baseURL)
            details = details ?? PrefetchItem.Details()
            details?.parseSource = {
                var neighbour: RequestURL?
                do throws(KingfisherError) {
                    return .success(try Self.source(text, key: key, allowsLocal, base, &neighbour))
                } catch {
                    return .failure(error)
                }
            }
        } else {
            do throws(KingfisherError) {
                facts.source = try Self.source(facts.text, key: key, options.allowsLocal, options.baseURL, &neighbour)
            } catch {
                details = details ?? PrefetchItem.Details()
                details?.problem = error
            }
        }
        return item(consume facts, consume details)
    }

    private static func source(
        _ text: String, key: String?, _ allowsLocal: Bool, _ base: RequestURL?, _ neighbour: inout RequestURL?
    ) throws(KingfisherError) -> Source {
        if text.utf8.count > longestName || key.map({ $0.utf8.count > longestName }) == true {
            let name = text.utf8.count > longestName ? "URL" : "key"
            throw .sourceError(
                reason: .invalidListRecord(detail: "the \(name) is longer than \(longestName >> 10) KiB"))
        }
        if let key, key.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7f }) {
            throw .sourceError(reason: .invalidListRecord(detail: "the key has a control character"))
        }
        let key = key.map(GivenKey.cacheKey)
        if let neighbour, let url = RequestURL(text, near: neighbour) { return .url(url, key: key) }
        if let base, let url = try base.resolving(RawText.percentEscaped(text)) { return .url(url, key: key) }
        if allowsLocal, !text.contains("://") || text.prefix(5).lowercased() == "file:" {
            let path = try LocalFileImageDataProvider.path(of: text)
            return .provider(try LocalFileImageDataProvider(path: path, cacheKey: key))
        }
        do throws(KingfisherError) {
            let url = try RequestURL(RawText.percentEscaped(text))
            neighbour = url
            return .url(url, key: key)
        } catch {
            guard !allowsLocal, !RequestURL.hasScheme(text) || text.prefix(5).lowercased() == "file:" else {
                throw error
            }
            let detail = "not a URL; --allow-local accepts paths and file: URLs, --base-url completes relative URLs"
            throw .sourceError(reason: .invalidListRecord(detail: detail))
        }
    }

    private mutating func processor(_ text: String) throws(ListProblem) -> any ImageProcessor {
        if let last = lastProcessor, last.text == text { return last.processor }
        let processor: any ImageProcessor
        do { processor = try ProcessorParser.parse(text) } catch { throw .record("processor: \(error.message)") }
        // A list may be a stranger's, and the overlay a file of this machine.
        if !processor.missingOverlays.isEmpty {
            throw .record("processor: 'watermark' is for -p and --variant, not for a list")
        }
        lastProcessor = (text, processor)
        return processor
    }

    /// Returns the text that determines the shard of a source. An invalid record belongs to one shard too, which reports it.
    private static func key(_ source: Source, _ criterion: ListShard.Criterion) -> String {
        if criterion == .host, case .network(let resource) = source { return String(resource.downloadURL.hostName) }
        return source.cacheKey
    }

    /// Returns the beginning of an invalid record, or only `…` if it may contain headers, which may be secrets.
    private func shown(_ record: ListRecord, isJSON: Bool) -> String {
        let content = record.content
        let hasHeaders =
            isJSON
            ? options.headersColumn != nil || content.firstRange(of: Array("\"headers\"".utf8)) != nil
            : columns?.roles.headers != nil
        return hasHeaders ? "…" : PercentCoding.text(content.prefix(300))
    }
}
