import Glibc
import KFStorage

/// Reads a list line by line, whatever its length: never more than one block and one line are in memory.
///
/// Blocks on its descriptor; used from one thread at a time.
struct LineReader: ~Copyable, Sendable {
    /// A longer line is no URL.
    static let longestLine = 1 << 20
    private static let block = 1 << 16

    private let file: FileDescriptor
    private let bell: Bell
    private var rest: [UInt8] = []
    private var atEnd = false

    /// When the bell rings, the lines end.
    init(_ file: consuming FileDescriptor, bell: Bell) {
        self.file = file
        self.bell = bell
    }

    /// The lines of the next block; empty at the end. Of a pipe, what has come so far: a line that is there is not held
    /// back for one that is not.
    mutating func next() throws(StorageError) -> [[UInt8]] {
        while !atEnd {
            try fill()
            if atEnd {
                let last = rest
                rest = []
                // A last line needs no end.
                return last.isEmpty ? [] : Self.split(last + [0x0a]).lines
            }
            let (lines, tail) = Self.split(rest)
            rest = tail
            if rest.count > Self.longestLine { throw .system(call: "read a line of", path: file.path, errno: EMSGSIZE) }
            if !lines.isEmpty { return lines }
        }
        return []
    }

    private mutating func fill() throws(StorageError) {
        if try !bell.waits(for: file) {
            rest = []
            atEnd = true
            return
        }
        let start = rest.count
        rest.append(contentsOf: repeatElement(0, count: Self.block))
        let result = rest.withUnsafeMutableBytes { buffer in
            Result { () throws(StorageError) in
                try file.read(into: UnsafeMutableRawBufferPointer(rebasing: buffer[start...]))
            }
        }
        let count = try result.get()
        rest.removeLast(Self.block - count)
        atEnd = count == 0
    }

    /// Whole lines without their ends (a CR before the LF belongs to it), and what comes after the last end.
    private static func split(_ bytes: [UInt8]) -> (lines: [[UInt8]], tail: [UInt8]) {
        var lines: [[UInt8]] = []
        var start = 0
        bytes.withUnsafeBufferPointer { buffer in
            while let end = buffer[start...].firstIndex(of: 0x0a) {
                let last = end > start && buffer[end - 1] == 0x0d ? end - 1 : end
                lines.append(Array(buffer[start..<last]))
                start = end + 1
            }
        }
        return (lines, Array(bytes[start...]))
    }
}
