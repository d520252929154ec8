import Glibc
import KFStorage
import KFSystem
import KFTerms

/// A row that an earlier run has written.
package struct RecordedRow: Sendable {
    /// The JSON object.
    package let text: String
    /// The failure that it records, or why the image was left out.
    package let error: KingfisherError?
}

/// The rows of a shard that an earlier run has written, read in step with the items of the list.
package final class ShardRows {
    /// The number of bytes that are read at once.
    private static let piece = 1 << 18
    /// The maximum length of a row, in bytes. It may hold a record of 1 MiB, with most of its bytes escaped.
    private static let longest = 1 << 26

    private let name: String
    private let folder: ShardFolder
    private let forms: Int
    private let file: FileDescriptor
    private var lines = RecordSplitter(delimiter: nil, longest: ShardRows.longest)
    private var isAtEnd = false

    /// Opens the rows of a shard, `forms` for each item.
    package init(_ name: String, forms: Int, in folder: ShardFolder) throws(StorageError) {
        self.name = name
        self.folder = folder
        self.forms = forms
        file = try folder.open("\(name).jsonl", O_RDONLY)
    }

    /// Returns the rows of the next item's images. `sample` is its key. Throws `outputFailed` (4002) for rows that are not
    /// those of the shard.
    package func rows(of sample: String) throws(KingfisherError) -> [RecordedRow] {
        var rows: [RecordedRow] = []
        for _ in 0..<forms {
            guard let line = try next() else { throw damaged("the row of \(sample) is missing") }
            let error = try error(line, sample)
            rows.append(RecordedRow(text: String(decoding: line.content, as: UTF8.self), error: error))
        }
        return rows
    }

    /// Throws `outputFailed` (4002) if there are more rows.
    package func finish() throws(KingfisherError) {
        if try next() != nil { throw damaged("it has more rows than the shard has items") }
    }

    private func next() throws(KingfisherError) -> ListRecord? {
        while true {
            if let line = lines.next() { return line }
            if isAtEnd { return nil }
            var bytes = [UInt8](repeating: 0, count: Self.piece)
            let count = try OutputFile.failing { () throws(StorageError) in
                try bytes.withMutableBytes { bytes throws(StorageError) in try file.read(into: bytes) }
            }
            isAtEnd = count == 0
            if isAtEnd { lines.finish() } else { lines.feed(Array(bytes[..<count])) }
        }
    }

    /// Returns the failure in a row, or why its image was left out; nil for the row of an image.
    private func error(_ line: ListRecord, _ sample: String) throws(KingfisherError) -> KingfisherError? {
        // Most rows are of images, and need not be parsed.
        guard line.problem != nil || Self.mayHaveError(line.bytes) else { return nil }
        if let problem = line.problem { throw damaged("line \(line.line): \(problem.message)") }
        let row: StrictJSON
        do throws(StrictJSON.Problem) {
            // The record of the list is a member of the row.
            row = try StrictJSON.parse(Array(line.content), keptDepth: 1, deepest: StrictJSON.deepest + 1)
        } catch {
            throw damaged("line \(line.line): \(error.message)")
        }
        let (isMine, detail) = (row["sample"]?.string == sample, row["left_out"]?.string)
        switch (row["status"]?.string, detail) {
        case ("filtered", let detail?) where isMine:
            return .responseError(reason: .filtered(ImageMeasures(), detail: detail))
        case ("opted_out", let header?) where isMine: return .responseError(reason: .optedOut(header: header))
        case ("duplicate", let text?) where isMine:
            let prefix = "a duplicate of "
            guard text.hasPrefix(prefix) else { throw damaged("line \(line.line) names no sample that is kept") }
            return .responseError(reason: .duplicate(of: String(text.dropFirst(prefix.count))))
        case ("failed", _), ("filtered", _), ("opted_out", _), ("duplicate", _): break
        default: return nil
        }
        guard isMine, let error = row["error"], let code = error["code"]?.int,
            let name = error["reason"]?.string, let message = error["message"]?.string
        else { throw damaged("line \(line.line) is not the row of \(sample)") }
        return KingfisherError(recorded: code, name, message, status: row["http_status"]?.int)
    }

    /// The first eight bytes of a status without an image, with its quote.
    private static let marks = ["\"failed\"", "\"filtere", "\"opted_o", "\"duplica"].map { mark in
        mark.utf8.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    /// Returns whether the bytes may have such a status.
    private static func mayHaveError(_ row: ArraySlice<UInt8>) -> Bool {
        let (failed, filtered, optedOut, duplicate) = (marks[0], marks[1], marks[2], marks[3])
        return row.withUnsafeBytes { bytes in
            (0..<max(0, bytes.count - 7)).contains { index in
                // Eight bytes are compared at once.
                let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
                return word == failed || word == filtered || word == optedOut || word == duplicate
            }
        }
    }

    private func damaged(_ detail: String) -> KingfisherError {
        ShardManifest.refused(
            "\(folder.path)/\(name).jsonl is damaged: \(detail); without \(name).tar a repeated run makes both again")
    }
}

extension KingfisherError {
    /// Restores an error from its description in a row. The reasons on which callers act get their own case.
    fileprivate init(recorded code: Int, _ name: String, _ message: String, status: Int?) {
        switch (code, status) {
        case (2002, let status?): self = .responseError(reason: .invalidHTTPStatusCode(status))
        case (3014, _):
            let prefix = "not stored: "
            let detail = message.hasPrefix(prefix) ? String(message.dropFirst(prefix.count)) : message
            self = .cacheError(reason: .imageLargerThanCache(detail: detail))
        default: self = .sourceError(reason: .recordedFailure(code: code, name: name, message: message))
        }
    }
}
