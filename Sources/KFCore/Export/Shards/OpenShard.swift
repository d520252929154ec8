import KFLists
import KFPipeline
import KFStorage
import KFTerms
import Synchronization

/// A shard that is being written. Images are added as they arrive, rows are written in the order of the list.
final class OpenShard: Sendable {
    struct Member: Sendable {
        let name: String
        let image: EncodedImage
        /// The member behind it with the image's row.
        let rowName: String
        let row: Int
    }

    private struct Contents: ~Copyable {
        var tar: TarWriter?
        /// The file of the rows, created when the first rows are written.
        var rows: FileDescriptor?
        var written = ""
        /// The rows of items that ended before others, by their index.
        var waiting: [Int: [String]] = [:]
        /// The index of the first item without rows.
        var next = 0
        /// The last item's record; nil until the item is known.
        var end: ShardManifest.Shard?
        var isPublished = false
        /// Whether a write failed. What follows would not be the rest of the shard.
        var hasFailed = false
    }

    /// The rows are written in pieces of this size.
    private static let piece = 1 << 16

    private let name: String
    private let manifest: ShardManifest
    private let state = Mutex(Contents())

    init(_ name: String, _ manifest: ShardManifest) {
        self.name = name
        self.manifest = manifest
    }

    private var folder: ShardFolder { manifest.folder }
    private var archive: String { "\(name).tar" }
    private var list: String { "\(name).jsonl" }

    /// Adds the images and rows of an ended item, and publishes the shard with its last item. Returns whether it is
    /// published. Throws `outputFailed` (4002), after which the shard cannot be used. Blocks.
    func add(_ index: Int, _ members: [Member], rows: [String]) throws(KingfisherError) -> Bool {
        try change { state throws(KingfisherError) in
            for member in members { try write(member, rows, &state) }
            state.waiting[index] = rows
        }
    }

    /// Sets the last item. Publishes the shard if all of its items have ended, and returns whether it did.
    func end(with shard: ShardManifest.Shard) throws(KingfisherError) -> Bool {
        try change { state in state.end = shard }
    }

    private func change(_ body: (inout Contents) throws(KingfisherError) -> Void) throws(KingfisherError) -> Bool {
        try state.withLock { state throws(KingfisherError) in
            guard !state.hasFailed else { return false }
            do throws(KingfisherError) {
                try body(&state)
                return try advance(&state)
            } catch {
                state.hasFailed = true
                throw error
            }
        }
    }

    /// Removes the files, unless they are published.
    func discard() {
        state.withLock { state in
            guard !state.isPublished else { return }
            state = Contents()
            folder.discard(archive)
            folder.discard(list)
        }
    }

    /// Writes the image and its row side by side: readers group the members that follow each other by their key.
    private func write(_ member: Member, _ rows: [String], _ state: inout Contents) throws(KingfisherError) {
        let tar = try tar(&state)
        try ShardFolder.failing { () throws(StorageError) in try tar.begin(member.name, size: member.image.size) }
        try member.image.forEachPiece { (piece) throws(KingfisherError) in
            try ShardFolder.failing { () throws(StorageError) in try tar.write(piece) }
        }
        let row = Array(rows[member.row].utf8)
        try ShardFolder.failing { () throws(StorageError) in
            try tar.begin(member.rowName, size: Int64(row.count))
            try row.withBytes(tar.write)
        }
    }

    private func tar(_ state: inout Contents) throws(KingfisherError) -> TarWriter {
        if let tar = state.tar { return tar }
        let tar = try ShardFolder.failing { () throws(StorageError) in try TarWriter(try folder.create(archive)) }
        state.tar = tar
        return tar
    }

    private func advance(_ state: inout Contents) throws(KingfisherError) -> Bool {
        while let rows = state.waiting.removeValue(forKey: state.next) {
            for row in rows { state.written += row + "\n" }
            state.next += 1
        }
        if state.written.utf8.count >= Self.piece { try writeRows(&state) }
        guard let end = state.end, state.next == end.items else { return false }
        try publish(end, &state)
        return true
    }

    private func writeRows(_ state: inout Contents) throws(KingfisherError) {
        try ShardFolder.failing { () throws(StorageError) in
            if state.rows == nil { state.rows = try folder.create(list) }
            try state.rows?.write(state.written)
            state.written = ""
        }
    }

    /// Gives the files their names, the archive last. The manifest has the shard before.
    private func publish(_ end: ShardManifest.Shard, _ state: inout Contents) throws(KingfisherError) {
        let tar = try tar(&state)
        try writeRows(&state)
        let present = try ShardFolder.failing { () throws(StorageError) in try folder.present([archive, list]) }
        // Another program may have made it since the shard was begun.
        if manifest.shards[end.number] == nil, let file = present.first {
            throw ShardManifest.stranger(file, in: folder)
        }
        try ShardFolder.failing { () throws(StorageError) in
            try tar.close()
            try folder.synchronize(tar.file)
            if folder.synchronizes { try state.rows?.synchronize() }
            try manifest.add(end)
            try folder.publish(list)
            try folder.publish(archive)
            try folder.synchronize()
        }
        state = Contents(isPublished: true)
    }
}
