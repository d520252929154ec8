import Glibc
import Synchronization

/// The end of a partial body's record, where checkpoints are appended while the body grows.
///
/// `kill -9` loses at most the checkpoint that was being written: a line without its line feed does not count. Nothing
/// is synchronized. After a power loss a checkpoint may be there without its bytes, which is what its hash tells.
final class CheckpointLog: Sendable {
    private struct State {
        /// The length that the last checkpoint confirms; 0 before the first.
        var last: Int64 = 0
        /// A line may have been cut short. What is appended to it would not be read.
        var isBroken = false
    }

    /// A checkpoint costs some microseconds, of which the hash of 256 KiB is already a hundred.
    private static let spacing: Int64 = 256 << 10
    /// Past 16 MiB the distance grows with the body, so that the record of 1 TiB still has fewer than 1,000 lines.
    private static let share: Int64 = 64

    private let file: FileDescriptor
    private let state = Mutex(State())

    /// A record that was opened with O_APPEND.
    init(_ file: consuming FileDescriptor) { self.file = file }

    /// The length that the last checkpoint confirms; 0 before the first.
    var last: Int64 { state.withLock { $0.last } }

    func isDue(at length: Int64) -> Bool {
        state.withLock { !$0.isBroken && length - $0.last >= max(Self.spacing, $0.last / Self.share) }
    }

    func append(_ checkpoint: Checkpoint) {
        state.withLock { state in
            guard !state.isBroken, checkpoint.length > state.last else { return }
            let written = Result { () throws(StorageError) in try file.write(checkpoint.line) }
            // The body is worth more than its resumption: it goes on, and earlier checkpoints count.
            guard case .success = written else { return state.isBroken = true }
            state.last = checkpoint.length
        }
    }

    /// Cuts the record to `size` bytes, behind the checkpoint that confirms `last`.
    func cut(to size: Int, last: Int64) throws(StorageError) {
        try state.withLock { state throws(StorageError) in
            try retry("ftruncate", file.path) { ftruncate(file.raw, off_t(size)) }
            state.last = last
        }
    }
}

/// The hash of the first `length` bytes of a body.
struct Checkpoint: Equatable, Sendable {
    let length: Int64
    let digest: Digest

    /// As it stands in a record, its line feed included.
    var line: String { "\(length) \(digest.hex)\n" }
}

extension Checkpoint {
    /// Nil when it is no line of a record; `line` is without its line feed.
    init?(line: String) {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, let length = Int64(words[0]), length > 0, let digest = Digest(hex: words[1]) else {
            return nil
        }
        self.init(length: length, digest: digest)
    }
}
