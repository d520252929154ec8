import KFCore
import Synchronization

/// The content of a report. Its memory depends on what the page shows, not on the size of the cache.
struct ReportContent: Sendable {
    struct Picture: Sendable {
        let entry: CachedEntry
        /// A small WebP.
        let bytes: [UInt8]
    }

    static let listLength = 20
    private static let pictureSide = 200.0
    /// The number of entries that are tried for thumbnails; some cannot be decoded.
    private static let mostTries = 2000

    let directory: String
    let now = Timestamp.now()
    private(set) var totals = CacheTotals()
    private(set) var limit: Int64 = 0
    private(set) var hosts: [CacheShare] = []
    private(set) var formats: [CacheShare] = []
    private(set) var ages: [CacheShare] = []
    private(set) var largest: [CachedEntry] = []
    private(set) var mostUsed: [CachedEntry] = []
    private(set) var pictures: [Picture] = []

    init(_ cache: ImageCache, directory: String, thumbnails: Int) async throws(KingfisherError) {
        self.directory = directory
        guard let summary = try await cache.summary() else { return }
        totals = summary.totals
        limit = summary.limit
        hosts = summary.hosts
        formats = summary.formats
        ages = summary.ages
        largest = try await Self.first(Self.listLength, .size, of: cache)
        mostUsed = try await Self.first(Self.listLength, .hits, of: cache).filter { $0.hits > 0 }
        pictures = try await Self.draw(thumbnails, cache)
    }

    private static func first(
        _ count: Int, _ order: EntryOrder, of cache: ImageCache
    ) async throws(KingfisherError) -> [CachedEntry] {
        let found = EntryBox()
        _ = try await cache.list(order: order, limit: count) { entry in
            if entry.answerStatus == nil { found.add(entry) }
            return true
        }
        return found.value
    }

    /// Makes thumbnails of the most recently used images, each once. The cache is not changed.
    private static func draw(_ count: Int, _ cache: ImageCache) async throws(KingfisherError) -> [Picture] {
        guard count > 0, let size = SizeSpec(width: pictureSide, height: pictureSide) else { return [] }
        var options = KingfisherOptions()
        options.processor = DownsamplingImageProcessor(size: size)
        options.cacheSerializer = FormatIndicatedCacheSerializer(format: .webp, options: EncodeOptions(quality: 75))
        options.onlyLoadFirstFrame = true
        options.cacheMemoryOnly = true
        let manager = KingfisherManager(cache: ImageCache(.init(directory: nil)))
        var seen: Set<String> = []
        var pictures: [Picture] = []
        for entry in try await first(min(count * 8, mostTries), .used, of: cache) {
            guard pictures.count < count else { break }
            guard entry.facts.isDecodable, seen.insert(entry.path).inserted else { continue }
            do throws(KingfisherError) {
                let source = Source.provider(try LocalFileImageDataProvider(path: entry.path))
                let result = try await manager.retrieveImage(with: source, options: options)
                pictures.append(Picture(entry: entry, bytes: try await result.data()))
            } catch {
                // A file that was removed meanwhile, or is damaged, has no thumbnail.
                continue
            }
        }
        await manager.shutdown()
        return pictures
    }
}

/// The entries that a listing delivers on another thread.
private final class EntryBox: Sendable {
    private let entries = Mutex<[CachedEntry]>([])

    var value: [CachedEntry] { entries.withLock { $0 } }

    func add(_ entry: CachedEntry) { entries.withLock { $0.append(entry) } }
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
        <meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
        <title>kf cache: \(HTMLText.escaped(content.directory))</title>
        <link rel="icon" href="data:,">
        <style>
        \(style)
        </style>
        </head>
        <body>
        <h1>Cache report</h1>
        <p class="path">\(HTMLText.escaped(content.directory))</p>
        \(numbers(content))
        <section class="charts">
        \(ReportChart.svg("Bytes by host", shares(content.hosts)))
        \(ReportChart.svg("Bytes by format", shares(content.formats)))
        \(ReportChart.svg("Entries by age", content.ages.map(age)))
        </section>
        \(table("Largest entries", content.largest, content.now))
        \(table("Most used entries", content.mostUsed, content.now))
        \(sheet(content))
        <footer>Written by \(HelpText.version)</footer>
        </body>
        </html>

        """
    }

    private static func numbers(_ content: ReportContent) -> String {
        let totals = content.totals
        let limit = content.limit == 0 ? "no limit" : "of \(ByteText.limit(content.limit))"
        let facts = [
            (EntryText.count(totals.entries, "entry", "entries"), "\(totals.variants) processed"),
            (ByteText.bytes(totals.stored), "in \(EntryText.count(totals.objects, "file")), \(limit)"),
            ("\(totals.expired)", "expired"),
            ("\(totals.reads.hits)", "hits at least, \(totals.reads.misses) misses"),
        ]
        let items = facts.map {
            "<li><strong>\(HTMLText.escaped($0.0))</strong> <span>\(HTMLText.escaped($0.1))</span></li>"
        }
        return "<ul class=\"numbers\">\n\(items.joined(separator: "\n"))\n</ul>"
    }

    private static func shares(_ shares: [CacheShare]) -> [ReportChart.Bar] {
        var bars = shares.prefix(mostBars).map { share in
            ReportChart.Bar(
                label: share.name.isEmpty ? "no host" : share.name, value: share.bytes,
                text: "\(ByteText.bytes(share.bytes)) in \(share.entries)")
        }
        let rest = shares.dropFirst(mostBars)
        if !rest.isEmpty {
            let bytes = rest.reduce(0) { $0 + $1.bytes }
            bars.append(
                ReportChart.Bar(label: "\(rest.count) others", value: bytes, text: ByteText.bytes(bytes)))
        }
        return bars
    }

    private static func age(_ age: CacheShare) -> ReportChart.Bar {
        ReportChart.Bar(
            label: age.name, value: Int64(age.entries),
            text: age.entries == 0 ? "0" : "\(age.entries), \(ByteText.bytes(age.bytes))")
    }

    private static func table(_ title: String, _ entries: [CachedEntry], _ now: Timestamp) -> String {
        guard !entries.isEmpty else { return "" }
        let rows = entries.map { entry in
            """
            <tr><td class="n">\(ByteText.bytes(entry.facts.bytes))</td><td class="n">\(pixels(entry))</td>\
            <td class="n">\(entry.hits)</td><td class="n">\(SpanText.short(now.since(entry.created)))</td>\
            <td>\(link(entry, HTMLText.escaped(EntryText.name(entry.name, whole: false))))</td></tr>
            """
        }
        return """
            <section><h2>\(title)</h2>
            <div class="scroll"><table><thead><tr><th>Size</th><th>Pixels</th><th>Hits</th><th>Age</th><th>Image</th></tr></thead>
            <tbody>
            \(rows.joined(separator: "\n"))
            </tbody></table></div></section>
            """
    }

    private static func sheet(_ content: ReportContent) -> String {
        guard !content.pictures.isEmpty else { return "" }
        let items = content.pictures.map { picture in
            let name = HTMLText.escaped(EntryText.name(picture.entry.name, whole: false))
            let image = "<img alt=\"\" loading=\"lazy\" src=\"\(HTMLText.dataURI(picture.bytes, type: "image/webp"))\">"
            return "<li title=\"\(name)\">\(link(picture.entry, image + "<span>\(name)</span>"))</li>"
        }
        return """
            <section><h2>Most recently used</h2>
            <ul class="sheet">
            \(items.joined(separator: "\n"))
            </ul></section>
            """
    }

    private static func pixels(_ entry: CachedEntry) -> String {
        guard let width = entry.facts.width, let height = entry.facts.height else { return "–" }
        return "\(width)×\(height)"
    }

    private static func link(_ entry: CachedEntry, _ content: String) -> String {
        "<a href=\"\(HTMLText.fileURL(entry.path))\">\(content)</a>"
    }

    private static let style = """
        :root { --ink: #1d2327; --dim: #5b666e; --page: #fafaf8; --card: #fff; --line: #dfe3e2; --bar: #2a7f9e; }
        @media (prefers-color-scheme: dark) {
          :root { --ink: #e4e8ea; --dim: #98a4ab; --page: #14181a; --card: #1d2326; --line: #333b40; --bar: #55b3d4; }
        }
        * { box-sizing: border-box; }
        body { margin: 0 auto; max-width: 1120px; padding: 2rem 1.25rem 3rem; background: var(--page); color: var(--ink);
          font: 15px/1.5 system-ui, sans-serif; }
        h1 { margin: 0; font-size: 1.7rem; } h2 { margin: 2rem 0 .6rem; font-size: 1.15rem; }
        .path, footer { color: var(--dim); margin: .2rem 0 0; overflow-wrap: anywhere; } footer { margin-top: 3rem; }
        .numbers { display: flex; flex-wrap: wrap; gap: .8rem; margin: 1.5rem 0; padding: 0; list-style: none; }
        .numbers li { flex: 1 1 11rem; padding: .8rem 1rem; background: var(--card); border: 1px solid var(--line);
          border-radius: 8px; }
        .numbers strong { display: block; font-size: 1.35rem; } .numbers span { color: var(--dim); }
        .charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 500px), 1fr)); gap: .8rem; }
        figure { margin: 0; padding: .8rem 1rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
        figcaption { font-weight: 600; margin-bottom: .4rem; } svg { display: block; width: 100%; }
        svg text { fill: var(--ink); font-size: 14px; } svg .label { text-anchor: end; fill: var(--dim); }
        svg rect { fill: var(--bar); }
        .scroll { overflow-x: auto; background: var(--card); border: 1px solid var(--line); border-radius: 8px; }
        table { width: 100%; border-collapse: collapse; font-size: .92rem; }
        th { text-align: left; color: var(--dim); font-weight: 600; }
        th, td { padding: .35rem .8rem; border-bottom: 1px solid var(--line); } tr:last-child td { border: 0; }
        td { overflow-wrap: anywhere; } .n { white-space: nowrap; font-variant-numeric: tabular-nums; }
        a { color: inherit; text-decoration-color: var(--bar); } a:hover { color: var(--bar); }
        .sheet { display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: .8rem; margin: 0; padding: 0;
          list-style: none; }
        .sheet a { display: block; padding: .5rem; background: var(--card); border: 1px solid var(--line); border-radius: 8px;
          text-decoration: none; }
        .sheet img { display: block; width: 100%; height: 130px; object-fit: contain; }
        .sheet span { display: block; margin-top: .4rem; color: var(--dim); font-size: .75rem; white-space: nowrap;
          overflow: hidden; text-overflow: ellipsis; direction: rtl; text-align: left; }
        """
}

/// A chart of horizontal bars as SVG, in the colours of the page.
enum ReportChart {
    struct Bar {
        let label: String
        let value: Int64
        /// The text behind the bar.
        let text: String
    }

    private static let (rowHeight, labelWidth, barWidth, width) = (26, 150, 240, 560)

    static func svg(_ title: String, _ bars: [Bar]) -> String {
        let most = max(1, bars.map(\.value).max() ?? 1)
        let height = max(1, bars.count) * rowHeight
        var rows: [String] = []
        for (index, bar) in bars.enumerated() {
            let y = index * rowHeight
            // A small value is still visible.
            let length = bar.value == 0 ? 0 : max(2, Int(Double(bar.value) / Double(most) * Double(barWidth)))
            let label = bar.label.count > 22 ? "\(bar.label.prefix(21))…" : bar.label
            rows.append(
                """
                <g><title>\(HTMLText.escaped(bar.label)): \(HTMLText.escaped(bar.text))</title>\
                <text class="label" x="\(labelWidth - 8)" y="\(y + 18)">\(HTMLText.escaped(label))</text>\
                <rect x="\(labelWidth)" y="\(y + 5)" width="\(length)" height="\(rowHeight - 10)" rx="3"/>\
                <text x="\(labelWidth + length + 8)" y="\(y + 18)">\(HTMLText.escaped(bar.text))</text></g>
                """)
        }
        return """
            <figure><figcaption>\(HTMLText.escaped(title))</figcaption>
            <svg viewBox="0 0 \(width) \(height)" role="img" aria-label="\(HTMLText.escaped(title))">
            \(rows.joined(separator: "\n"))
            </svg></figure>
            """
    }
}

/// Text for a page. Keys come from anywhere, and none may become markup.
enum HTMLText {
    static func escaped(_ text: String) -> String {
        var result = ""
        for scalar in Terminal.visible(text).unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// Returns `file:///…` for an attribute.
    static func fileURL(_ path: String) -> String {
        let plain = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.".utf8)
        var result: [UInt8] = Array("file://".utf8)
        for byte in RawText.bytes(path) {
            if plain.contains(byte) {
                result.append(byte)
            } else {
                let digits = String(byte, radix: 16, uppercase: true)
                result += Array("%\(digits.count == 1 ? "0" : "")\(digits)".utf8)
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    static func dataURI(_ bytes: [UInt8], type: String) -> String { "data:\(type);base64,\(Base64.encode(bytes))" }
}
