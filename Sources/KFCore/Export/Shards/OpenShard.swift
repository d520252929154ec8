import KFLists
import KFPipeline
import KFStorage
import KFTerms
import Synchronization

/// A shard that is being written. Images are added as they arrive or in the order of the list, rows in the order of the
/// list.
final class OpenShard: Sendable {
    struct Image: Sendable {
        let name: String
        var image: EncodedImage
        /// The member behind it with the image's row.
        let rowName: String
        let row: Int
    }

    /// An item that has ended.
    struct Item: Sendable {
        var images: [Image]
        /// The member behind the images; nil for none.
        let caption: (name: String, text: String)?
        let rows: [ShardExporter.Row]
        let error: KingfisherError?
    }

    private struct Contents: ~Copyable {
        var tar: TarWriter?
        /// The file of the rows, created when the first rows are written.
        var rows: FileDescriptor?
        var written = ""
        /// The items that ended before others, by their index.
        var waiting: [Int: Item] = [:]
        /// The index of the first item without rows.
        var next = 0
        var statistics = ShardStatistics()
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
    private let isOrdered: Bool
    private let state = Mutex(Contents())

    init(_ name: String, _ manifest: ShardManifest, isOrdered: Bool) {
        self.name = name
        self.manifest = manifest
        self.isOrdered = isOrdered
    }

    private var folder: ShardFolder { manifest.folder }
    private var archive: String { "\(name).tar" }
    private var list: String { "\(name).jsonl" }
    private var statistics: String { name + ShardNames.statistics }

    /// Adds the images and rows of an ended item, and publishes the shard with its last item. Returns whether it is
    /// published. Throws `outputFailed` (4002), after which the shard cannot be used. Blocks.
    func add(_ index: Int, _ item: consuming Item) throws(KingfisherError) -> Bool {
        try change { [item] state throws(KingfisherError) in
            var item = item
            if isOrdered {
                for index in item.images.indices { item.images[index].image = item.images[index].image.atRest }
            } else {
                try write(item, &state)
                item.images = []
            }
            state.waiting[index] = item
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
            for file in [archive, list, statistics] { folder.discard(file) }
        }
    }

    /// Writes the images, their rows and the caption side by side: readers group the members that follow each other by
    /// their key.
    private func write(_ item: Item, _ state: inout Contents) throws(KingfisherError) {
        if item.images.isEmpty { return }
        let tar = try tar(&state)
        for image in item.images {
            try OutputFile.failing { () throws(StorageError) in try tar.begin(image.name, size: image.image.size) }
            try image.image.forEachPiece { (piece) throws(KingfisherError) in
                try OutputFile.failing { () throws(StorageError) in try tar.write(piece) }
            }
            try write(item.rows[image.row].member, as: image.rowName, tar)
        }
        if let caption = item.caption { try write(caption.text, as: caption.name, tar) }
    }

    private func write(_ text: String, as name: String, _ tar: TarWriter) throws(KingfisherError) {
        let bytes = Array(text.utf8)
        try OutputFile.failing { () throws(StorageError) in
            try tar.begin(name, size: Int64(bytes.count))
            try bytes.withBytes(tar.write)
        }
    }

    private func tar(_ state: inout Contents) throws(KingfisherError) -> TarWriter {
        if let tar = state.tar { return tar }
        let tar = try OutputFile.failing { () throws(StorageError) in try TarWriter(try folder.create(archive)) }
        state.tar = tar
        return tar
    }

    private func advance(_ state: inout Contents) throws(KingfisherError) -> Bool {
        while let item = state.waiting.removeValue(forKey: state.next) {
            try write(item, &state)
            for row in item.rows { state.written += row.line + "\n" }
            state.statistics.add(item.error)
            state.next += 1
        }
        if state.written.utf8.count >= Self.piece { try writeRows(&state) }
        guard let end = state.end, state.next == end.items else { return false }
        try publish(end, &state)
        return true
    }

    private func writeRows(_ state: inout Contents) throws(KingfisherError) {
        try OutputFile.failing { () throws(StorageError) in
            if state.rows == nil { state.rows = try folder.create(list) }
            try state.rows?.write(state.written)
            state.written = ""
        }
    }

    /// Gives the files their names, the archive last. The manifest has the shard before.
    private func publish(_ end: ShardManifest.Shard, _ state: inout Contents) throws(KingfisherError) {
        let tar = try tar(&state)
        try writeRows(&state)
        let text = state.statistics.json(now: .now())
        let present = try OutputFile.failing { () throws(StorageError) in
            try folder.present([archive, list, statistics])
        }
        // Another program may have made it since the shard was begun.
        if manifest.shards[end.number] == nil, let file = present.first {
            throw ShardManifest.stranger(file, in: folder)
        }
        try OutputFile.failing { () throws(StorageError) in
            let counts = try folder.create(statistics)
            try counts.write(text)
            try tar.close()
            try folder.synchronize(tar.file)
            if folder.synchronizes { try state.rows?.synchronize() }
            try folder.synchronize(counts)
            try manifest.add(end)
            for file in [statistics, list, archive] { try folder.publish(file) }
            try folder.synchronize()
        }
        state = Contents(isPublished: true)
    }
}
