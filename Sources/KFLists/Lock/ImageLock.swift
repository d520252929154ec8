import Glibc
import KFStorage
import KFSystem
import KFTerms

/// The hashes of images in a text file for version control, such as `images.lock`.
///
/// The first line is `# kf images.lock 1`. Each other line has a URL in the normal form of cache keys, the SHA-256 of its
/// image as Subresource Integrity writes it, and the size in bytes (`-` if it is not known), separated by blanks and sorted
/// by URL. Comments, and fields behind the third, are kept.
public struct ImageLock: Sendable {
    /// The hash and the size of a locked image.
    public struct Image: Sendable, Equatable {
        /// The hash of the bytes as the origin sends them.
        public let hash: ContentHash
        /// The size in bytes; nil if it is not known.
        public let bytes: Int64?

        /// Creates the description of an image.
        public init(hash: ContentHash, bytes: Int64?) {
            self.hash = hash
            self.bytes = bytes
        }
    }

    /// The reason why a file is no lock.
    public struct Problem: Error, Sendable, CustomStringConvertible {
        /// The number of the line, from 1.
        public let line: Int
        /// What is wrong with it, as a clause.
        public let detail: String

        public var description: String { "line \(line): \(detail)" }
    }

    /// An image in 48 bytes, beside its place in the table.
    private struct Row {
        let name: UInt64
        let digest: Digest
        /// -1 if it is not known.
        let bytes: Int64
    }

    static let firstLine = "# kf images.lock 1"
    private static let firstWords = "# kf images.lock "
    static let ignoring = "# without query parameters: "
    /// The largest file that is read.
    private static let largest = 1 << 30

    private var rows: [Row] = []
    /// The rows' places by name: a hash table with open addressing; 0 is free, and the others are one more than the row.
    private var table: [UInt32] = []
    /// The names of the query parameters that the URLs lack, as the header states them; nil without a header.
    public private(set) var ignoredParameters: String?

    /// Creates an empty lock.
    public init() {}

    /// Reads the content of a file. Empty content is a lock without images.
    public init(_ content: [UInt8]) throws(Problem) {
        var reading = Reading()
        try content.withBytes { bytes throws(Problem) in _ = try read(bytes, &reading, isLast: true) }
        try index(reading.lines)
    }

    /// Reads a file, piece by piece; nil if there is none. Throws `invalidLock` (1008). Blocks.
    package static func read(_ path: String) throws(KingfisherError) -> ImageLock? {
        guard let file = try open(path) else { return nil }
        var lock = ImageLock()
        var reading = Reading()
        var (rest, piece) = ([UInt8](), [UInt8](repeating: 0, count: 1 << 18))
        while true {
            let count: Int
            do throws(StorageError) {
                count = try piece.withMutableBytes { buffer throws(StorageError) in try file.read(into: buffer) }
            } catch {
                throw failure(path, error.reason)
            }
            rest += piece[..<count]
            do throws(Problem) {
                let used = try rest.withBytes { bytes throws(Problem) in
                    try lock.read(bytes, &reading, isLast: count == 0)
                }
                rest.removeFirst(used)
                if count > 0 { continue }
                try lock.index(reading.lines)
                return lock
            } catch {
                throw failure(path, error.description)
            }
        }
    }

    /// Opens a file; nil if there is none. Refuses anything else: opening a FIFO would wait for its writer.
    private static func open(_ path: String) throws(KingfisherError) -> FileDescriptor? {
        let kind: String
        do throws(StorageError) {
            let file = try FileDescriptor.open(path, O_RDONLY | O_NONBLOCK)
            let status = try file.status()
            if status.isRegularFile { return file }
            kind = status.kind
        } catch .system(_, _, ENOENT) {
            return nil
        } catch {
            throw failure(path, error.reason)
        }
        throw failure(path, "it is \(kind)")
    }

    package static func failure(_ path: String, _ detail: String) -> KingfisherError {
        .requestError(reason: .invalidLock(path: path, detail: detail))
    }

    /// Returns the images of a file by their URLs, in its order. Throws `invalidLock` (1008). Blocks.
    public static func images(of path: String) throws(KingfisherError) -> [(url: String, image: Image)] {
        guard let bytes = try content(of: path) else { throw failure(path, "there is no such file") }
        do throws(Problem) {
            _ = try ImageLock(bytes)
            var images: [(url: String, image: Image)] = []
            try bytes.withBytes { bytes throws(Problem) in
                var number = 1
                _ = try forEachLine(of: bytes, from: &number, isLast: true) { number, line throws(Problem) in
                    guard case .image(let url, let digest, let size) = try read(line, number) else { return }
                    images.append(
                        (String(decoding: url, as: UTF8.self), Image(hash: ContentHash(digest), bytes: size)))
                }
            }
            return images
        } catch {
            throw failure(path, error.description)
        }
    }

    /// What is known between two pieces of a file.
    private struct Reading {
        var number = 1
        /// The numbers of the images' lines, for messages.
        var lines: [UInt32] = []
    }

    /// Reads whole lines. Returns the number of bytes that they have.
    private mutating func read(
        _ bytes: UnsafeRawBufferPointer, _ reading: inout Reading, isLast: Bool
    ) throws(Problem) -> Int {
        try Self.forEachLine(of: bytes, from: &reading.number, isLast: isLast) { line, text throws(Problem) in
            switch try Self.read(text, line) {
            case .image(let url, let digest, let bytes):
                reading.lines.append(UInt32(clamping: line))
                rows.append(Row(name: Self.name(url), digest: digest, bytes: bytes ?? -1))
            case .comment:
                let text = String(decoding: text, as: UTF8.self)
                if text.hasPrefix(Self.ignoring) { ignoredParameters = String(text.dropFirst(Self.ignoring.count)) }
            }
        }
    }

    /// Fills the table.
    private mutating func index(_ lines: [UInt32]) throws(Problem) {
        var size = 16
        while size < rows.count * 3 / 2 { size *= 2 }
        table = [UInt32](repeating: 0, count: size)
        for index in rows.indices {
            let place = place(of: rows[index].name)
            if table[place] != 0 { throw Problem(line: Int(lines[index]), detail: "its URL has a line already") }
            table[place] = UInt32(clamping: index + 1)
        }
    }

    /// Returns the content of a file; nil if there is none. Throws `invalidLock` (1008). Blocks.
    static func content(of path: String) throws(KingfisherError) -> [UInt8]? {
        guard let file = try open(path) else { return nil }
        do throws(StorageError) { return try file.readAll(limit: largest) } catch { throw failure(path, error.reason) }
    }

    /// The number of images.
    public var count: Int { rows.count }

    /// Returns the image of a URL in its normal form; nil if it is not locked.
    public subscript(url: String) -> Image? { row(of: url).map { image($0) } }

    /// Returns the number of a URL's row; nil if it is not locked.
    package func row(of url: String) -> Int? {
        if table.isEmpty { return nil }
        var url = url
        let name = url.withUTF8 { Self.name(UnsafeRawBufferPointer($0)) }
        let found = table[place(of: name)]
        return found == 0 ? nil : Int(found) - 1
    }

    package func image(_ row: Int) -> Image {
        let row = rows[row]
        return Image(hash: ContentHash(row.digest), bytes: row.bytes < 0 ? nil : row.bytes)
    }

    /// The place of a name in the table, or the free one where it belongs.
    private func place(of name: UInt64) -> Int {
        var place = Int(truncatingIfNeeded: name) & (table.count - 1)
        while table[place] != 0, rows[Int(table[place]) - 1].name != name { place = (place + 1) & (table.count - 1) }
        return place
    }

    /// The hash of a URL, seeded anew in each process, so that nobody can choose two URLs with one name.
    private static func name(_ url: UnsafeRawBufferPointer) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(bytes: url)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}

/// The lines.
extension ImageLock {
    enum Line {
        case image(url: UnsafeRawBufferPointer, Digest, bytes: Int64?)
        case comment
    }

    /// The greatest length of a line.
    private static let longestLine = 1 << 16

    /// Calls `body` with the whole lines and their numbers. Returns the number of bytes that they have.
    static func forEachLine(
        of content: UnsafeRawBufferPointer, from number: inout Int, isLast: Bool,
        _ body: (Int, UnsafeRawBufferPointer) throws(Problem) -> Void
    ) throws(Problem) -> Int {
        guard let base = content.baseAddress else { return 0 }
        var start = 0
        while start < content.count {
            guard let end = memchr(base + start, 0x0a, content.count - start).map({ UnsafeRawPointer($0) - base })
            else {
                if content.count - start > longestLine { throw Problem(line: number, detail: "the line is too long") }
                if isLast { throw Problem(line: number, detail: "the file is cut off") }
                return start
            }
            var line = UnsafeRawBufferPointer(rebasing: content[start..<end])
            if line.last == 0x0d { line = UnsafeRawBufferPointer(rebasing: line.dropLast()) }
            if line.count > longestLine { throw Problem(line: number, detail: "the line is too long") }
            if number == 1 { try checkFirst(line) }
            try body(number, line)
            (number, start) = (number + 1, end + 1)
        }
        return start
    }

    private static func checkFirst(_ line: UnsafeRawBufferPointer) throws(Problem) {
        let text = String(decoding: line, as: UTF8.self)
        if text == firstLine { return }
        guard text.hasPrefix(firstWords), let version = Int(text.dropFirst(firstWords.count)), version > 1 else {
            throw Problem(line: 1, detail: "not the lock of images; it would begin with '\(firstLine)'")
        }
        throw Problem(line: 1, detail: "written by a newer kf (format \(version), this one reads 1)")
    }

    static func read(_ line: UnsafeRawBufferPointer, _ number: Int) throws(Problem) -> Line {
        guard let base = line.baseAddress, line.count > 0, line[0] != UInt8(ascii: "#") else { return .comment }
        func problem(_ detail: String) -> Problem { Problem(line: number, detail: detail) }
        func next(_ start: Int) -> Int {
            start >= line.count
                ? line.count
                : memchr(base + start, 0x20, line.count - start).map { UnsafeRawPointer($0) - base } ?? line.count
        }
        let url = UnsafeRawBufferPointer(rebasing: line[..<next(0)])
        if url.count == line.count { throw problem("no hash behind the URL") }
        let isWeb = url.count > 8 && (memcmp(base, "https://", 8) == 0 || memcmp(base, "http://", 7) == 0)
        var isPrintable = true
        for byte in url where byte &- 0x21 > 0x5d { isPrintable = false }
        if !isWeb || !isPrintable { throw problem("no http or https URL") }
        let hash = url.count + 1..<next(url.count + 1)
        guard let digest = digest(UnsafeRawBufferPointer(rebasing: line[hash])) else {
            throw problem("no hash of the form sha256-BASE64")
        }
        let start = min(hash.upperBound + 1, line.count)
        let size = UnsafeRawBufferPointer(rebasing: line[start..<next(start)])
        if size.count == 1, size[0] == UInt8(ascii: "-") { return .image(url: url, digest, bytes: nil) }
        var bytes: Int64 = 0
        guard (1...15).contains(size.count) else { throw problem("no size in bytes") }
        for digit in size {
            guard digit &- 0x30 < 10 else { throw problem("no size in bytes") }
            bytes = bytes * 10 + Int64(digit &- 0x30)
        }
        return .image(url: url, digest, bytes: bytes)
    }

    /// Reads `sha256-` and 44 digits.
    private static func digest(_ text: UnsafeRawBufferPointer) -> Digest? {
        guard text.count == 51, let base = text.baseAddress, memcmp(base, "sha256-", 7) == 0 else { return nil }
        return withUnsafeTemporaryAllocation(byteCount: 33, alignment: 8) { bytes in
            let digits = UnsafeRawBufferPointer(rebasing: text[7...])
            // The last digit has two bits that no byte uses.
            guard Base64.decode(digits, into: bytes) == 32, bytes[32] == 0 else { return nil }
            return Digest(UnsafeRawBufferPointer(rebasing: bytes[..<32]))
        }
    }
}
