import Glibc
import KFStorage
import Synchronization

/// A list of URLs, one a line, that is read while it is worked off. Blank lines and lines that begin with `#` are
/// passed over.
public final class PrefetchList: Sendable {
    private struct State: ~Copyable {
        var reader: LineReader
        var line = 0
    }

    private let state: Mutex<State>
    private let bell: Bell
    private let thread = WorkerPool(label: "kf.list", width: 1)

    /// Opens the list; `-` is standard input. Throws `dataProviderError` (5003).
    public init(path: String) throws(KingfisherError) {
        do throws(StorageError) {
            let file: FileDescriptor
            if path == "-" {
                file = FileDescriptor(taking: try retry("dup", "standard input") { dup(0) }, path: "standard input")
            } else {
                file = try .open(path, O_RDONLY)
            }
            guard try !file.status().isDirectory else {
                throw StorageError.system(call: "read", path: file.path, errno: EISDIR)
            }
            bell = try Bell()
            state = Mutex(State(reader: LineReader(file, bell: bell)))
        } catch {
            throw Self.failure(error, path)
        }
    }

    /// Ends the list here; who waits for its next lines gets none.
    func close() { bell.ring() }

    /// The items of the next lines; empty at the end of the list.
    func next() async throws(KingfisherError) -> [PrefetchItem] {
        try await thread.run { [self] () throws(KingfisherError) in
            while true {
                let items: [PrefetchItem]? = try state.withLock { state throws(KingfisherError) in
                    let lines: [[UInt8]]
                    do throws(StorageError) { lines = try state.reader.next() } catch {
                        throw Self.failure(error, "the list")
                    }
                    if lines.isEmpty { return nil }
                    let first = state.line
                    state.line += lines.count
                    return lines.enumerated().compactMap { offset, line in
                        // Editors elsewhere begin a file with a mark that nobody sees.
                        let isMarked = first + offset == 0 && line.starts(with: [0xef, 0xbb, 0xbf])
                        return Self.item(first + offset + 1, isMarked ? Array(line.dropFirst(3)) : line)
                    }
                }
                guard let items else { return [] }
                if !items.isEmpty { return items }
            }
        }
    }

    private static func item(_ number: Int, _ line: [UInt8]) -> PrefetchItem? {
        guard !line.allSatisfy({ $0 == 0x20 || $0 == 0x09 }), line.first != UInt8(ascii: "#") else { return nil }
        let text = PercentCoding.text(line)
        do {
            return PrefetchItem(line: number, text: text, source: .success(.network(try RequestURL(text))))
        } catch {
            return PrefetchItem(line: number, text: text, source: .failure(error))
        }
    }

    private static func failure(_ error: StorageError, _ path: String) -> KingfisherError {
        guard case .system(_, _, let code) = error else {
            return .sourceError(reason: .dataProviderError(detail: error.message))
        }
        return .sourceError(reason: .dataProviderError(detail: "\(path): \(describe(errno: code))"))
    }
}
