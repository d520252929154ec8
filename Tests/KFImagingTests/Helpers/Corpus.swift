import Foundation
import Support

/// A collection of the corpora with a manifest.
struct Corpus {
    struct Entry {
        var path: String
        var format: String
        var size: (width: Int, height: Int)
        var frames: Int
        var orientation: Int
        /// The value that Pillow reports.
        var verdict: String
        /// The first 16 digits of the SHA-256 of the first frame as RGBA of 8 bits; nil when unknown.
        var digest: String?
        /// The value that Debian's library reports.
        var library: String
    }

    let folder: URL

    static var isThere: Bool { FileManager.default.fileExists(atPath: Corpora.url.path) }

    init(_ name: String) { folder = Corpora.url.appendingPathComponent(name) }

    func bytes(_ path: String) throws -> [UInt8] {
        try Array(Data(contentsOf: folder.appendingPathComponent(path)))
    }

    /// The names of the files with this ending, sorted.
    func names(_ ending: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(ending) }.sorted()
    }

    func entries() throws -> [Entry] {
        let text = try String(contentsOf: folder.appendingPathComponent("MANIFEST.tsv"), encoding: .utf8)
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.compactMap { line in
            let cells = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard cells.count >= 11 else { return nil }
            return Entry(
                path: cells[0], format: cells[3], size: (Int(cells[4]) ?? 0, Int(cells[5]) ?? 0),
                frames: Int(cells[7]) ?? 1, orientation: Int(cells[8]) ?? 1, verdict: cells[9],
                digest: cells[10] == "-" ? nil : cells[10], library: cells.count > 11 ? cells[11] : "-")
        }
    }
}
