import KFLists
import KFPipeline
import KFStorage
import KFSystem
import KFTerms
import Synchronization

/// The copies that runs with `--prune-output` have written into one directory. A later run removes those that its list no
/// longer names.
///
/// The record is a file in the cache: a first line, the directory, then a line for each copy with the SHA-256 of its bytes,
/// the hash of its source's name, and its path below the directory.
package final class OutputRecord: Sendable {
    /// The copies that a run has removed, or would remove.
    package struct Pruning: Sendable {
        /// The paths of the files, in their order.
        package var removed: [String] = []
        /// The reason why nothing was removed, for people; nil if the list decided.
        package var obstacle: String?
    }

    private typealias Known = (digest: Digest, source: UInt64)

    private struct Seen {
        /// The sources that the list names, by the hashes of their names.
        var named: Set<UInt64> = []
        /// Those of which an image is missing in this run, so that the copies of before stay.
        var failed: Set<UInt64> = []
        /// The copies of this run by their paths below the directory; nil for a file that was left as it is.
        var copies: [String: Known?] = [:]
        /// The place of the first line that names no source.
        var invalidLine: String?
    }

    private static let heading = "kf-outputs 1"

    /// The directory as it was given.
    private let directory: String
    private let skipsInvalid: Bool
    private let request: RequestOptions
    private let seen = Mutex(Seen())

    /// `skipsInvalid`: lines that name no source do not matter. `request` says what of a URL does not count.
    package init(directory: String, skipsInvalid: Bool = false, request: RequestOptions = RequestOptions()) {
        (self.directory, self.skipsInvalid, self.request) = (directory, skipsInvalid, request)
    }

    /// Notes a source that the list names, and returns the hash of its name there.
    package func name(_ source: Source) -> UInt64 {
        let hash = ImageExporter.digest(source.listName(for: request)).prefix
        _ = seen.withLock { $0.named.insert(hash) }
        return hash
    }

    /// Notes a line that names no source. An empty cell is none.
    package func noteInvalid(_ item: PrefetchItem) {
        guard !skipsInvalid, !item.isEmpty else { return }
        seen.withLock { $0.invalidLine = $0.invalidLine ?? "line \(item.line) of \(item.list)" }
    }

    /// Notes that an image of a source is missing in this run.
    package func fail(_ source: UInt64) { _ = seen.withLock { $0.failed.insert(source) } }

    /// Notes a copy. `digest` is nil for a file that was left as it is.
    package func add(_ name: String, of source: UInt64, _ digest: Digest?) {
        let known = digest.map { (digest: $0, source: source) }
        seen.withLock { _ = $0.copies.updateValue(known, forKey: name) }
    }

    /// Removes the copies that the list no longer names, and writes the record. Throws `outputFailed` (4002), and the errors
    /// of the cache. Blocks.
    ///
    /// - `isWhole`: the list was read and tried to its end. Otherwise nothing is removed.
    /// - `dryRun`: nothing is removed and nothing is written, and each source counts as one that has its image.
    /// - `isSpared`: whether a file must stay.
    package func finish(
        in cache: ImageCache, isWhole: Bool, dryRun: Bool = false, sparing isSpared: (_ path: String) -> Bool
    ) throws(KingfisherError) -> Pruning {
        guard let path = OutputDirectory.real(directory) else {
            return Pruning(obstacle: dryRun ? "there is no \(directory)" : "\(directory) is gone")
        }
        guard let storage = try cache.storage(), dryRun || !storage.isReadOnly else {
            return Pruning(obstacle: "the cache cannot keep a record of \(directory)")
        }
        var pruning = Pruning()
        let (name, seen) = (ImageExporter.digest(path).hex, seen.withLock { $0 })
        let record: [UInt8]?
        do { record = try storage.record(name) } catch { throw KingfisherError(reading: error) }
        let before = record.flatMap { Self.parse($0, path) }
        if before == nil {
            pruning.obstacle = "the cache has no record of \(directory) yet"
        } else if seen.named.isEmpty {
            pruning.obstacle = "the list names no image"
        } else if let line = seen.invalidLine {
            pruning.obstacle = "\(line) is not a source; --skip-invalid passes over it"
        } else if !isWhole {
            pruning.obstacle = "the run was stopped early"
        }
        var after = before ?? [:]
        if pruning.obstacle == nil {
            let files = try OutputFile.failing { () throws(StorageError) in try KnownFiles(in: path) }
            for (name, known) in (before ?? [:]).sorted(by: { $0.key < $1.key }) where seen.copies[name] == nil {
                // A source without an image in this run keeps the copy of before. A dry run cannot know the names.
                let isNamed = seen.named.contains(known.source)
                guard !isNamed || !dryRun && !seen.failed.contains(known.source) else { continue }
                after[name] = nil
                // A copy with other bytes belongs to the user.
                let shown = directory == "." ? name : "\(directory)/\(name)"
                guard files.holds(name, known.digest), !isSpared(shown) else { continue }
                if !dryRun { try OutputFile.failing { () throws(StorageError) in try files.remove(name) } }
                pruning.removed.append(shown)
            }
        }
        if dryRun { return pruning }
        for (name, known) in seen.copies { if let known { after[name] = known } }
        let bytes = Self.bytes(after, path)
        if bytes != record {
            do { try storage.setRecord(name, bytes) } catch { throw KingfisherError(writing: error) }
        }
        return pruning
    }

    private static func bytes(_ files: [String: Known], _ path: String) -> [UInt8] {
        var bytes = Array("\(heading)\n".utf8) + RawText.bytes(path) + [0x0a]
        for (name, known) in files.sorted(by: { $0.key < $1.key }) {
            bytes += "\(known.digest.hex) \(known.source.digits(16, radix: 16)) ".utf8
            bytes += RawText.bytes(name)
            bytes.append(0x0a)
        }
        return bytes
    }

    /// Returns the files of a record; nil unless it is one of this directory, and whole.
    private static func parse(_ bytes: [UInt8], _ path: String) -> [String: Known]? {
        guard bytes.last == 0x0a else { return nil }
        let lines = bytes.dropLast().split(separator: 0x0a, omittingEmptySubsequences: false)
        guard lines.count >= 2, lines[0].elementsEqual(heading.utf8), RawText.decode(lines[1]) == path else {
            return nil
        }
        var files: [String: Known] = [:]
        for line in lines.dropFirst(2) {
            let parts = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3, let digest = Digest(hex: String(decoding: parts[0], as: UTF8.self)),
                parts[1].count == 16, let source = UInt64(String(decoding: parts[1], as: UTF8.self), radix: 16),
                !parts[2].isEmpty
            else { return nil }
            files[RawText.decode(parts[2])] = (digest, source)
        }
        return files
    }
}
