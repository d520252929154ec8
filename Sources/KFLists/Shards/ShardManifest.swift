import Glibc
import KFStorage
import KFTerms
import Synchronization

/// The record of a part's shards: a hidden file with the settings that shape them, and the digest of each shard's items.
///
/// A shard's line is written before the shard gets its name, so that every shard has one. A line
/// without its shard is ignored. The file is locked for the whole run.
package final class ShardManifest: Sendable {
    package struct Shard: Sendable, Equatable {
        package let number: Int
        package let items: Int
        /// The digest of all items from the first of the list to the last of the shard.
        let digest: Digest

        package init(number: Int, items: Int, digest: Digest) {
            self.number = number
            self.items = items
            self.digest = digest
        }
    }

    package let folder: ShardFolder
    private let lock: FileLock
    private let file: Mutex<FileDescriptor>
    /// The shards that earlier runs have recorded.
    package let shards: [Int: Shard]

    /// Opens or creates the file, and locks it. `settings` are lines. Throws `outputFailed` (4002) if another process
    /// writes the same part, or if the data set was begun with other settings.
    package init(_ name: String, settings: [String], in folder: ShardFolder) throws(KingfisherError) {
        self.folder = folder
        do {
            lock = FileLock(try folder.open(name, O_RDWR | O_CREAT))
            guard try lock.tryAcquire(.exclusive, byte: 0) else {
                throw Self.refused("another process is writing these shards into \(folder.path)")
            }
            let file = try folder.open(name, O_RDWR | O_APPEND)
            let head = Self.head(settings)
            let bytes = try file.readAll(limit: Self.mostBytes)
            let (known, shards, end) = try Self.parse(bytes, file.path, head)
            if !shards.isEmpty { try Self.check(known, settings, folder) }
            // A killed process may have left the beginning of a line.
            let length = shards.isEmpty && !bytes.elementsEqual(head.utf8) ? 0 : end
            if length < bytes.count { try retry("truncate", file.path) { ftruncate(file.raw, off_t(length)) } }
            if length == 0 { try file.write(head) }
            self.shards = shards
            self.file = Mutex(file)
        } catch let error as KingfisherError {
            throw error
        } catch let error as StorageError {
            throw OutputFile.failure(error)
        } catch {
            preconditionFailure("nothing else is thrown: \(error)")
        }
    }

    // A process that is being started may have a copy of the descriptor, which would keep the lock.
    deinit { lock.release(byte: 0) }

    /// Records a shard that is about to get its name.
    package func add(_ shard: Shard) throws(StorageError) {
        let line = "\(shard.number) \(shard.items) \(shard.digest.hex)\n"
        try file.withLock { file throws(StorageError) in
            try file.write(line)
            try folder.synchronize(file)
        }
    }

    /// Checks that another part of the data set has the same settings. Throws `outputFailed` (4002).
    package static func check(_ name: String, settings: [String], in folder: ShardFolder) throws(KingfisherError) {
        let bytes = try OutputFile.failing { () throws(StorageError) in
            try folder.open(name, O_RDONLY).readAll(limit: mostBytes)
        }
        let (known, shards, _) = try parse(bytes, "\(folder.path)/\(name)", head(settings))
        if !shards.isEmpty { try check(known, settings, folder) }
    }

    private static func check(
        _ known: [String], _ settings: [String], _ folder: ShardFolder
    ) throws(KingfisherError) {
        guard let problem = difference(known, [version] + settings) else { return }
        throw refused("\(folder.path) was begun with \(problem); use another directory")
    }

    /// The lines before the shards.
    private static func head(_ settings: [String]) -> String {
        ([version] + settings + [separator]).map { $0 + "\n" }.joined()
    }

    private static let version = "kf-shards 1"
    /// The largest manifest that is read, of three million shards.
    private static let mostBytes = 1 << 28
    /// The line between the settings and the shards.
    private static let separator = "shards"

    /// Returns the settings, the shards and the length of the whole lines. Throws `outputFailed` (4002) for a manifest of
    /// another version and a damaged one, which must stay: nothing else says which shards are whole.
    private static func parse(
        _ bytes: [UInt8], _ path: String, _ head: String
    ) throws(KingfisherError) -> (settings: [String], shards: [Int: Shard], end: Int) {
        var (settings, shards, end, hasSettings) = ([String](), [Int: Shard](), 0, false)
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast() {
            let text = String(decoding: line, as: UTF8.self)
            end = line.endIndex + 1
            if !hasSettings {
                if text == Self.separator { hasSettings = true } else { settings.append(text) }
                continue
            }
            let words = text.split(separator: " ")
            guard words.count == 3, let number = Int(words[0]), let items = Int(words[1]),
                let digest = Digest(hex: words[2])
            else { throw damaged(path) }
            shards[number] = Shard(number: number, items: items, digest: digest)
        }
        // A process that was killed while it created the file has left a part of the head.
        guard hasSettings ? settings.first == version : head.utf8.starts(with: bytes) else { throw damaged(path) }
        return (settings, shards, end)
    }

    private static func damaged(_ path: String) -> KingfisherError {
        refused("\(path) is damaged or of another version of kf; use another directory")
    }

    /// Returns the first settings that differ, as the middle of a sentence.
    private static func difference(_ known: [String], _ settings: [String]) -> String? {
        for index in 0..<max(known.count, settings.count) {
            let old = index < known.count ? known[index] : nil
            let new = index < settings.count ? settings[index] : nil
            let name = { (line: String?) in line.map { "'\($0)'" } ?? "fewer forms" }
            if old != new { return "\(name(old)), not \(name(new))" }
        }
        return nil
    }

    /// The error of a file that no run has recorded, and that a shard would replace.
    package static func stranger(_ file: String, in folder: ShardFolder) -> KingfisherError {
        refused("\(folder.path)/\(file) is not of this data set; use another directory")
    }

    package static func refused(_ detail: String) -> KingfisherError {
        .processorError(reason: .outputFailed(detail: detail))
    }
}
