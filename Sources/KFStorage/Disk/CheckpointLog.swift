import Glibc
import Synchronization

/// The checkpoints at the end of a partial body's record, appended while the body grows.
///
/// `kill -9` loses at most the checkpoint that was being written: a line without its line feed does not count. The log
/// is not synchronized. After a power loss, a checkpoint may exist without its bytes; its hash then does not match.
final class CheckpointLog: Sendable {
    private struct Confirmed {
        /// The length that the last checkpoint confirms; 0 before the first.
        var last: Int64 = 0
        /// Whether a line may be incomplete. A checkpoint after such a line could not be read.
        var isBroken = false
    }

    /// The least distance of two checkpoints in bytes. A checkpoint costs some microseconds; hashing 256 KiB takes
    /// about a hundred.
    private static let spacing: Int64 = 256 << 10
    /// The divisor of the body's length that gives the distance past 16 MiB. So the record of 1 TiB has fewer than
    /// 1,000 lines.
    private static let share: Int64 = 64

    private let file: FileDescriptor
    private let state = Mutex(Confirmed())

    /// Creates a log from a record that was opened with O_APPEND.
    init(_ file: consuming FileDescriptor) { self.file = file }

    /// The length that the last checkpoint confirms; 0 before the first.
    var last: Int64 { state.withLock { $0.last } }

    func isDue(at length: Int64) -> Bool {
        state.withLock { !$0.isBroken && length - $0.last >= max(Self.spacing, $0.last / Self.share) }
    }

    func append(_ checkpoint: Checkpoint) {
        state.withLock { state in
            guard !state.isBroken, checkpoint.length > state.last else { return }
            // A failure ends the checkpoints but not the transfer: the body can be resumed from the earlier ones.
            state.isBroken = bestEffort { try file.write(checkpoint.line) } == nil
            if !state.isBroken { state.last = checkpoint.length }
        }
    }

    /// Truncates the record to `size` bytes, which end with the checkpoint for the length `last`.
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

    /// The line in a record, with its line feed.
    var line: String { "\(length) \(digest.hex)\n" }
}

extension Checkpoint {
    /// Parses a line without its line feed; nil when it is malformed.
    init?(line: String) {
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 2, let length = Int64(words[0]), length > 0, let digest = Digest(hex: words[1]) else {
            return nil
        }
        self.init(length: length, digest: digest)
    }
}
