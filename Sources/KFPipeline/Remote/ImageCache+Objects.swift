import KFNetwork
import KFStorage

extension ImageCache {
    /// Copies an object of the disk cache to a sink. Returns false if there is no such object of this size. Blocks.
    func copyObject(
        _ digest: Digest, of size: Int64, to sink: BodySink
    ) throws(StorageError) -> Bool {
        guard let storage = alreadyOpen, let file = try storage.openObject(digest),
            try Int64(file.status().st_size) == size
        else { return false }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 128 << 10, alignment: 64)
        defer { buffer.deallocate() }
        while true {
            let count = try file.read(into: buffer)
            if count == 0 { return true }
            let written = Result { () throws(SinkError) in
                try sink.receive(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            }
            guard case .success = written else { return false }
        }
    }
}
