import KFStorage

/// The bytes of a list, unpacked, as they come: never more than one block of packed and one of unpacked bytes is in
/// memory.
///
/// Blocks on its descriptor; used from one thread at a time.
struct ListBytes: ~Copyable, Sendable {
    private static let block = 1 << 16

    private let file: FileDescriptor
    private let bell: Bell
    private var inflater: GzipInflater?
    private var isSniffed = false
    private var atEnd = false
    private var bytesRead: Int64 = 0
    /// Unpacked bytes that `next` has given out.
    private(set) var given: Int64 = 0
    /// How much of the file they were, packed or not.
    var position: Int64 { bytesRead - Int64(inflater?.waiting ?? 0) }

    /// When the bell rings, the bytes end.
    init(_ file: consuming FileDescriptor, bell: Bell) {
        self.file = file
        self.bell = bell
    }

    /// What has come since the last call; empty at the end. Throws `ListProblem.damaged` where packed bytes break off,
    /// after it has given out what came before.
    mutating func next() throws -> [UInt8] {
        let bytes = try unpacked()
        given += Int64(bytes.count)
        return bytes
    }

    private mutating func unpacked() throws -> [UInt8] {
        while !atEnd {
            if let inflater {
                let bytes = try inflater.next()
                if !bytes.isEmpty { return bytes }
            }
            let packed = try read()
            if packed.isEmpty { return try end() }
            if !isSniffed {
                isSniffed = true
                // The second byte may not have come yet; no list that is text begins with the first.
                if packed[0] == GzipInflater.magic { inflater = try GzipInflater() }
            }
            guard let inflater else { return packed }
            inflater.feed(packed)
        }
        return []
    }

    private mutating func end() throws -> [UInt8] {
        atEnd = true
        try inflater?.finish()
        return []
    }

    private mutating func read() throws(StorageError) -> [UInt8] {
        guard try bell.waits(for: file) else {
            // Whoever rang wants no more lines; that the packed bytes are not at their end is no damage.
            inflater = nil
            return []
        }
        var problem: StorageError?
        let bytes = [UInt8](unsafeUninitializedCapacity: Self.block) { buffer, count in
            do throws(StorageError) {
                count = try file.read(into: UnsafeMutableRawBufferPointer(buffer))
            } catch {
                problem = error
            }
        }
        if let problem { throw problem }
        bytesRead += Int64(bytes.count)
        return bytes
    }
}
