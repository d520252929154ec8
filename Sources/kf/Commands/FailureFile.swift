import Glibc
import KFCore
import Synchronization

/// The file of `--failures`: the records of items that failed or were not tried, byte for byte, so that the file is a
/// list itself.
///
/// Each record is written when its item fails: a killed process leaves whole records. Only the owner may read the file,
/// since URLs may hold passwords.
final class FailureFile: Sendable {
    private struct State {
        var header: [UInt8]?
        var problem: String?
        /// The records with several items that have been written.
        var shared: Set<Place> = []
    }

    private struct Place: Hashable {
        let list: String
        let line: Int
    }

    private let path: String
    private let file: Int32
    private let state = Mutex(State())

    /// Creates or truncates the file. It must not be one of the lists.
    init(_ path: String, lists: [String]) throws(UsageError) {
        guard !path.isEmpty, path != "-" else { throw UsageError(message: "--failures needs the name of a file") }
        var own = stat()
        if stat(path, &own) == 0 {
            for list in lists {
                var status = stat()
                let isThere = (list == "-" ? fstat(0, &status) : stat(list, &status)) == 0
                if isThere, own.st_mode & S_IFMT == S_IFREG, status.st_dev == own.st_dev, status.st_ino == own.st_ino {
                    throw UsageError(message: "--failures would overwrite the list \(list)")
                }
            }
        }
        self.path = path
        file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0o600)
        guard file >= 0 else {
            throw UsageError(message: "--failures: cannot write \(path): \(String(cString: strerror(errno)))")
        }
    }

    deinit { close(file) }

    /// The reason why failures are missing from the file; nil while none are.
    var problem: String? { state.withLock { $0.problem } }

    func add(_ item: PrefetchItem) {
        state.withLock { state in
            guard state.problem == nil else { return }
            if item.sharesRecord, !state.shared.insert(Place(list: item.list, line: item.line)).inserted { return }
            var bytes: [UInt8] = []
            if let header = state.header {
                // Headers of one list share their storage, so that == is fast even for a header of a megabyte.
                guard header == item.header else {
                    state.problem = "\(path): the lists do not have the same columns, \(item.list) is missing"
                    return
                }
            } else {
                state.header = item.header
                bytes += item.header
            }
            bytes += item.record
            if !item.record.isEmpty, bytes.last != UInt8(ascii: "\n") { bytes.append(UInt8(ascii: "\n")) }
            state.problem = write(bytes)
        }
    }

    private func write(_ bytes: [UInt8]) -> String? {
        bytes.withUnsafeBytes { bytes in
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = Glibc.write(file, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
                if count > 0 {
                    rest = rest.dropFirst(count)
                } else if errno != EINTR {
                    return "\(path): \(String(cString: strerror(errno)))"
                }
            }
            return nil
        }
    }
}
