import KFImaging
import KFNetwork
import KFRemote
import KFStorage
import KFTerms
import Synchronization

/// An object of a remote that is read: an image, or the original of one or several. A class, because an entry is wide.
final class RemoteObject: Sendable {
    typealias Content = (object: RemoteObject, bytes: PendingBytes, findings: ImageInspector.Findings)

    /// Its entry; nil for the pinned object of a remote that has no entry for it.
    let entry: RemoteEntry?
    let digest: Digest
    let key: EntryKey
    let retrieval: Retrieval
    let remote: Remote
    /// Whether it is expired, so that its origin is asked whether it is still right.
    let isStale: Bool
    private let body = Mutex(ArrivingBody())

    init(
        _ entry: RemoteEntry?, _ digest: Digest, _ key: EntryKey, of retrieval: Retrieval, in remote: Remote,
        isStale: Bool = false
    ) {
        (self.entry, self.digest, self.key) = (entry, digest, key)
        (self.retrieval, self.remote, self.isStale) = (retrieval, remote, isStale)
    }

    /// The cache that it is stored in.
    var place: ImageCache { key == retrieval.target && !isStale ? retrieval.cache : retrieval.originals }

    /// Where its file is written, if it has one.
    private var store: BodyStore? {
        retrieval.options.cacheMemoryOnly ? nil : BodyStore(cache: place, key: key.source)
    }

    /// Begins to receive the bytes, and drops what has arrived of them.
    func begin() {
        let head = ResponseHead(status: 200, framing: entry.map { .length($0.size) } ?? .untilClose)
        body.withLock { $0.begin(head, in: store) }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        retrieval.options.tally?.receivedFromRemote(bytes.count)
        return bestEffort { () throws(SinkError) in try add(bytes) } != nil
    }

    private func add(_ bytes: UnsafeRawBufferPointer) throws(SinkError) {
        try body.withLock { body throws(SinkError) in try body.receive(bytes, in: store) }
    }

    /// Copies the bytes from the disk cache. Returns false if there is no such object of this size. Blocks.
    func copy() throws -> Bool {
        guard let size = entry?.size, let storage = place.alreadyOpen, let file = try storage.openObject(digest),
            try Int64(file.status().st_size) == size
        else { return false }
        begin()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 64)
        defer { buffer.deallocate() }
        while true {
            let count = try file.read(into: buffer)
            if count == 0 { return true }
            try add(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
        }
    }

    /// Returns the bytes, if they are what the entry says.
    func checked() throws(KingfisherError) -> Content {
        var inspector = retrieval.box.inspector
        // The image may be made of what the filter is for.
        inspector.filter = nil
        let body = try body.withLock { body throws(KingfisherError) in try body.close() }
        var bytes = body
        // The hash of the file serves for the check too. If the bytes cannot be staged, the store reports why.
        if case .memory(let inMemory) = body, !retrieval.options.cacheMemoryOnly, !retrieval.usesMemory,
            let staged = try? place.stage(inMemory)
        {
            bytes = .staged(staged)
        }
        return (self, bytes, try body.checked(by: inspector, digest, as: entry, digest: try bytes.digest()))
    }
}
