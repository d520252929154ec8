import KFCore

/// The content of a report. Its memory depends on what the page shows, not on the size of the cache.
struct ReportContent: Sendable {
    /// A thumbnail: a small WebP.
    typealias Picture = (entry: CachedEntry, bytes: [UInt8])

    static let listLength = 20
    private static let pictureSide = 200.0
    /// The number of entries that are tried for thumbnails; some cannot be decoded.
    private static let mostTries = 2000

    let directory: String
    let now = Timestamp.now()
    /// Whether the page shows selected entries and not the whole cache.
    let isSelection: Bool
    /// Nil when there is no cache.
    let summary: CacheSummary?
    private(set) var largest: [CachedEntry] = []
    private(set) var pictures: [Picture] = []

    init(
        _ cache: ImageCache, _ selection: CacheSelection, directory: String, thumbnails: Int
    ) async throws(KingfisherError) {
        self.directory = directory
        isSelection = !selection.selectsAll
        summary = try await cache.summary(of: selection, exactly: true)
        if summary == nil { return }
        largest = try await Self.first(Self.listLength, .size, of: cache, selection)
        pictures = try await Self.draw(thumbnails, cache, selection)
    }

    var totals: CacheTotals { summary?.totals ?? CacheTotals() }

    private static func first(
        _ count: Int, _ order: EntryOrder, of cache: ImageCache, _ selection: CacheSelection
    ) async throws(KingfisherError) -> [CachedEntry] {
        try await cache.entries(selection, order: order, limit: count).filter { $0.answerStatus == nil }
    }

    /// Makes thumbnails of the most recently used images, each once. The cache is not changed.
    private static func draw(
        _ count: Int, _ cache: ImageCache, _ selection: CacheSelection
    ) async throws(KingfisherError) -> [Picture] {
        guard count > 0, let size = SizeSpec(width: pictureSide, height: pictureSide) else { return [] }
        var options = KingfisherOptions()
        options.processor = DownsamplingImageProcessor(size: size)
        options.cacheSerializer = FormatIndicatedCacheSerializer(format: .webp, options: EncodeOptions(quality: 75))
        options.onlyLoadFirstFrame = true
        options.cacheMemoryOnly = true
        let manager = KingfisherManager(cache: ImageCache(.init(directory: nil)))
        var seen: Set<String> = []
        var pictures: [Picture] = []
        for entry in try await first(min(count * 8, mostTries), .used, of: cache, selection) {
            guard pictures.count < count else { break }
            guard entry.facts.isDecodable, seen.insert(entry.path).inserted else { continue }
            do throws(KingfisherError) {
                let source = Source.provider(try LocalFileImageDataProvider(path: entry.path))
                let result = try await manager.retrieveImage(with: source, options: options)
                pictures.append((entry, try await result.data()))
            } catch {
                // A file that was removed meanwhile, or is damaged, has no thumbnail.
                continue
            }
        }
        await manager.shutdown()
        return pictures
    }
}

/// The page of a report: one file that loads nothing. Queries are left out, since they carry signatures.
enum ReportPage {
    private static let mostBars = 12

    static func html(_ content: ReportContent) -> String {
        """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
        script-src 'sha256-\(ReportScript.hash)'">
        <title>kf cache: \(HTMLText.escaped(content.directory))</title>
        <link rel="icon" href="data:,">
        <style>
        \(ReportStyle.text)
        </style>
        </head>
        <body>
        <h1>Cache report</h1>
        <p class="path">\(HTMLText.escaped(content.directory))</p>
        <p class="path">\(content.isSelection ? "Selected entries on " : "")\(time(content.now))</p>
        \(numbers(content))
        \(charts(content))
        \(find(content))
        \(table("Largest entries", content.largest))
        \(sheet(content))
        <footer>Written by \(HelpText.version) on \(time(content.now))</footer>
        <script>\(ReportScript.text)</script>
        </body>
        </html>

        """
    }

    private static func numbers(_ content: ReportContent) -> String {
        let totals = content.totals
        let limit = content.summary.map(\.limit).flatMap { $0 == 0 ? nil : "of \(ByteText.limit($0))" } ?? "no limit"
        let files = "in \(EntryText.count(totals.objects, "file"))"
        var facts = [
            (EntryText.count(totals.entries, "entry", "entries"), "\(content.summary?.processed ?? 0) processed"),
            (ByteText.bytes(totals.stored), content.isSelection ? files : "\(files), \(limit)"),
            ("\(totals.expired)", "expired"),
        ]
        if !content.isSelection {
            facts.append(
                ("at least \(EntryText.count(Int(totals.reads.hits), "hit"))", "\(totals.reads.misses) misses"))
        }
        let items = facts.map {
            "<li><strong>\(HTMLText.escaped($0.0))</strong> <span>\(HTMLText.escaped($0.1))</span></li>"
        }
        return "<ul class=\"numbers\">\n\(items.joined(separator: "\n"))\n</ul>"
    }

    private typealias Bar = (label: String, value: Int64, text: String)

    private static func shares(_ shares: [CacheShare]) -> [Bar] {
        var bars = shares.prefix(mostBars).map { share in
            Bar(
                label: share.name.isEmpty ? "no host" : share.name, value: share.bytes,
                text: "\(ByteText.bytes(share.bytes)) in \(share.entries)")
        }
        let rest = shares.dropFirst(mostBars)
        if !rest.isEmpty {
            let bytes = rest.reduce(0) { $0 + $1.bytes }
            bars.append(Bar(label: "\(rest.count) others", value: bytes, text: ByteText.bytes(bytes)))
        }
        return bars
    }

    private static func age(_ age: CacheShare) -> Bar {
        Bar(
            label: age.name == "older" ? age.name : "< \(age.name)", value: Int64(age.entries),
            text: age.entries == 0 ? "0" : "\(age.entries), \(ByteText.bytes(age.bytes))")
    }

    /// A chart of horizontal bars, whose texts keep their size on a narrow screen.
    private static func charts(_ content: ReportContent) -> String {
        guard let summary = content.summary, summary.totals.entries > 0 else { return "" }
        return """
            <section class="charts">
            \(chart("Bytes by host", shares(summary.hosts)))
            \(chart("Bytes by format", shares(summary.formats)))
            \(chart("Entries by age", summary.ages.map(age)))
            </section>
            """
    }

    private static func chart(_ title: String, _ bars: [Bar]) -> String {
        let most = max(1, bars.map(\.value).max() ?? 1)
        let rows = bars.map { bar in
            // A small value is still visible. The longest bar leaves room for its text.
            let permille = bar.value == 0 ? 0 : max(10, Int(clamping: Double(bar.value) / Double(most) * 1000))
            return """
                <div><dt>\(HTMLText.escaped(bar.label))</dt><dd><i style="width:calc(\(permille) * .055%)"></i>\
                <span>\(HTMLText.escaped(bar.text))</span></dd></div>
                """
        }
        return """
            <figure><figcaption>\(HTMLText.escaped(title))</figcaption>
            <dl>
            \(rows.joined(separator: "\n"))
            </dl></figure>
            """
    }

    /// The search field and the order, which the script shows. Without scripts the page is as useful, and unsorted.
    private static func find(_ content: ReportContent) -> String {
        guard !content.largest.isEmpty || !content.pictures.isEmpty else { return "" }
        let orders = [
            ("", "as listed"), ("bytes", "largest"), ("stored", "stored last"), ("used", "used last"),
            ("pixels", "most pixels"), ("name", "name"),
        ]
        let choices = orders.map { "<option value=\"\($0.0)\">\($0.1)</option>" }
        return """
            <form id="find" hidden>
            <label>Search <input type="search" autocomplete="off" placeholder="URL, processor or format"></label>
            <label>Sort <select>\(choices.joined())</select></label>
            <output></output>
            </form>
            """
    }

    private static func table(_ title: String, _ entries: [CachedEntry]) -> String {
        guard !entries.isEmpty else { return "" }
        let rows = entries.map { entry in
            """
            <tr \(facts(entry))><td class="n" data-label="Size">\(ByteText.bytes(entry.facts.bytes))</td>\
            <td class="n" data-label="Pixels">\(pixels(entry))</td>\
            <td class="n" data-label="Stored">\(time(entry.created))</td>\
            <td class="n" data-label="Used">\(time(entry.accessed))</td>\
            <td>\(link(entry, name(entry)))</td></tr>
            """
        }
        return """
            <section><h2>\(title)</h2>
            <table><thead><tr><th>Size</th><th>Pixels</th><th>Stored</th><th>Used</th><th>Image</th></tr></thead>
            <tbody class="items">
            \(rows.joined(separator: "\n"))
            </tbody></table></section>
            """
    }

    private static func sheet(_ content: ReportContent) -> String {
        guard !content.pictures.isEmpty else { return "" }
        let items = content.pictures.map { picture in
            let entry = picture.entry
            let image = "<img alt=\"\" loading=\"lazy\" src=\"\(HTMLText.dataURI(picture.bytes, type: "image/webp"))\">"
            return """
                <li \(facts(entry))>\(link(entry, image))
                <p>\(link(entry, name(entry)))</p>
                <p>\(pixels(entry)) · \(entry.facts.format.rawValue) · \(ByteText.bytes(entry.facts.bytes))</p>
                <p>stored \(time(entry.created)), used \(time(entry.accessed))</p></li>
                """
        }
        return """
            <section><h2>Most recently used</h2>
            <ul class="sheet items">
            \(items.joined(separator: "\n"))
            </ul></section>
            """
    }

    private static func facts(_ entry: CachedEntry) -> String {
        let name = "\(EntryText.name(entry.name, whole: false)) \(entry.facts.format.rawValue)".lowercased()
        let pixels = Double(entry.facts.width ?? 0) * Double(entry.facts.height ?? 0)
        return """
            data-name="\(HTMLText.escaped(name))" data-bytes="\(entry.facts.bytes)" \
            data-pixels="\(Int64(clamping: pixels))" data-stored="\(entry.created.milliseconds)" \
            data-used="\(entry.accessed.milliseconds)"
            """
    }

    /// The whole name: the key, and the processor on a line of its own.
    private static func name(_ entry: CachedEntry) -> String {
        let key = HTMLText.escaped(EntryText.name(EntryName(key: entry.name.key), whole: false))
        guard !entry.name.identifier.isEmpty else { return key }
        return "\(key)<small>@\(HTMLText.escaped(entry.name.identifier))</small>"
    }

    private static func pixels(_ entry: CachedEntry) -> String {
        guard let width = entry.facts.width, let height = entry.facts.height else { return "–" }
        return "\(width)×\(height)"
    }

    private static func link(_ entry: CachedEntry, _ content: String) -> String {
        "<a href=\"file://\(HTMLText.urlPath(entry.path))\">\(content)</a>"
    }

    /// The date and time in UTC.
    private static func time(_ time: Timestamp) -> String {
        guard let text = DateText.text(time) else { return "–" }
        return "<time datetime=\"\(text)Z\" title=\"\(text) UTC\">\(text.prefix(10))</time>"
    }
}

/// Text for a page. Keys come from anywhere, and none may become markup.
enum HTMLText {
    static func escaped(_ text: String) -> String {
        attribute(Terminal.visible(text))
    }

    /// Returns the text with its invisible characters, for the value of an attribute in double quotes.
    static func attribute(_ text: String) -> String {
        RawText.percentEscaped(text).unicodeScalars.reduce(into: "") { $0 += escapes[$1] ?? String($1) }
    }

    private static let escapes: [Unicode.Scalar: String] = [
        "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;", "'": "&#39;",
    ]

    /// Returns a path as a URL has it, in ASCII that also `srcset` takes.
    static func urlPath(_ path: String) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.".utf8)
        return RawText.bytes(path).reduce(into: "") { url, byte in
            if plain.contains(byte) {
                url.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                url += PercentCoding.encode(byte)
            }
        }
    }

    static func dataURI(_ bytes: [UInt8], type: String) -> String { "data:\(type);base64,\(Base64.encode(bytes))" }
}
